package symsrc

// Range is a part of a file: an ELF file that lies in an archive as it is. The zero Range is the whole file.
type Range struct {
	// Offset and Size count bytes.
	Offset, Size int64
	// Member is its name in the archive, for a person to read.
	Member string
}

// Whole reports whether it is all of the file.
func (r Range) Whole() bool { return r.Offset == 0 && r.Size == 0 }

// Of names the part of the file at path as logs do: base.apk!lib/arm64-v8a/libfoo.so.
func (r Range) Of(path string) string {
	if r.Member == "" {
		return path
	}
	return path + "!" + r.Member
}
