package markup

import (
	"bytes"

	"qss-filter/filter/scan"
)

// ModuleFields are the fields of a module element.
type ModuleFields struct {
	ID uint64
	// Name is the module's file name, for people; it may be empty and may hold colons.
	Name string
	// BuildID is raw bytes.
	BuildID string
}

// MMapFields are the fields of an mmap element.
type MMapFields struct {
	Start, Size, ModuleID uint64
	// Mode is one or more of "rwx", in this order and in lower case.
	Mode string
	// Rel is the address in the module's own address space (p_vaddr) that is mapped at Start.
	Rel uint64
}

// ParseModule reads the fields of a module element. The last ":elf:" ends the name; fields after the build ID are
// ignored. The error is a *FieldError.
func ParseModule(e *Element) (ModuleFields, error) {
	if e.Tag != Module {
		return ModuleFields{}, e.otherTag("module")
	}
	var v [maxFields]value
	if e.End-e.Start > maxInside || !layouts[Module].scan(e.Body, &v) {
		return ModuleFields{}, e.explain()
	}
	return ModuleFields{ID: v[0].number, Name: string(v[1].of(e.Body)), BuildID: decodeHex(v[3].of(e.Body))}, nil
}

// ParseMMap reads the fields of an mmap element; fields after the last one are ignored. The error is a *FieldError. It
// says nothing of a range that leaves the address space.
func ParseMMap(e *Element) (MMapFields, error) {
	if e.Tag != MMap {
		return MMapFields{}, e.otherTag("mmap")
	}
	var v [maxFields]value
	if e.End-e.Start > maxInside || !layouts[MMap].scan(e.Body, &v) {
		return MMapFields{}, e.explain()
	}
	return MMapFields{v[0].number, v[1].number, v[3].number, modeOf(v[4].of(e.Body)), v[5].number}, nil
}

// decodeHex returns the bytes that hexadecimal digits stand for; an odd number of them has a zero in front.
func decodeHex(digits []byte) string {
	var buffer [64]byte
	raw := buffer[:0]
	raw, _ = scan.AppendBytes(raw, digits)
	return string(raw)
}

// modeOf returns a mode in lower case, without allocating: there are only seven.
func modeOf(written []byte) string {
	for _, mode := range [...]string{"r", "rx", "rw", "rwx", "w", "wx", "x"} {
		if bytes.EqualFold(written, []byte(mode)) {
			return mode
		}
	}
	return string(bytes.ToLower(written))
}
