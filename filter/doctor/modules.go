package doctor

import (
	"bytes"
	"context"
	"strings"

	"qss-filter/symsrc"
)

// examined is a module with the search for its files.
type examined struct {
	*module
	files *symsrc.Files
}

// examined searches for the files of a module again: what the cache has answered says nothing of them.
func (o *Options) examined(ctx context.Context, m *module) examined {
	files := m.files
	if o.Finder != nil && (m.named < m.frames || files == nil || len(files.Tried) == 0) {
		if found := o.Finder.Find(ctx, m.Module); found != nil {
			files = found
		}
	}
	if files == nil {
		files = &symsrc.Files{ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.UnknownError}
	}
	return examined{m, files}
}

// bad reports whether some frame has no name.
func (m *examined) bad() bool { return m.named < m.frames }

// title is the module as the log has it.
func (m *module) title() string {
	text := m.Name
	if text == "" {
		text = "(unnamed module)"
	}
	if m.Member != "" {
		text += "!" + m.Member
	}
	if m.BuildID == "" {
		return text + " (no build ID in the log)"
	}
	return text + " (BuildId: " + m.BuildID.String() + ")"
}

// asked is the file that has no symbol for an address: the program itself, where it is there.
func (m *examined) asked() string {
	if f := m.files; f.Elf != "" && (f.ElfStatus == symsrc.OK || f.ElfStatus == symsrc.Incomplete) {
		return f.Elf
	}
	return m.files.Debug
}

// used says which files the names are from; "" for none.
func (m *examined) used() string {
	elf, debug := m.files.ElfRange.Of(m.files.Elf), m.files.DebugRange.Of(m.files.Debug)
	switch {
	case m.named > 0 && len(m.files.Symbols) > 0:
		return strings.Join(m.files.Symbols, ", ")
	case !m.files.Usable():
		return ""
	case debug == "" || m.files.DebugStatus != symsrc.OK && elf != "":
		return elf
	case elf == "" || m.files.ElfStatus != symsrc.OK && m.files.ElfStatus != symsrc.Incomplete:
		return debug
	}
	return elf + ", debug information from " + debug
}

// wrongStart returns what a log is that is no text, by its first bytes; todo is what to do about it.
func wrongStart(head []byte) (what, todo string) {
	for _, m := range [...]struct{ magic, what, todo string }{
		{"\x7fELF", "an ELF file, and no log", "qss-filter symbolize %s 0xADDRESS ..., or qss-filter where %s"},
		{"\x1f\x8b", "compressed (gzip)", "gzip -dc %s | qss-filter"},
		{"\xfd7zXZ\x00", "compressed (xz)", "xz -dc %s | qss-filter"},
		{"\x28\xb5\x2f\xfd", "compressed (zstd)", "zstd -dc %s | qss-filter"},
		{"BZh", "compressed (bzip2)", "bzip2 -dc %s | qss-filter"},
		{"PK\x03\x04", "a zip archive", "unzip -p %s | qss-filter"},
		{"\xff\xfe", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 %s | qss-filter"},
		{"\xfe\xff", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 %s | qss-filter"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.what, m.todo
		}
	}
	if len(head) >= 16 && bytes.Count(head, []byte{0}) > len(head)/3 {
		return "full of NUL bytes, as UTF-16 text is", "iconv -f UTF-16LE -t UTF-8 %s | qss-filter"
	}
	return "", ""
}
