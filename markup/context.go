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

// ParseModule reads the fields of a module element. The last ":elf:" ends the name; fields behind the build ID are
// ignored. The error is a *FieldError.
//
// The hand-written scanner reads what is well-formed, a hundred times faster than the grammar; the grammar explains what
// is not, and is what the scanner is tested against.
func ParseModule(e *Element) (ModuleFields, error) {
	if e.Tag == Module && e.End-e.Start <= maxInside {
		if s, ok := scanModule(e.Body); ok {
			return ModuleFields{ID: s.id, Name: string(s.name), BuildID: decodeHex(s.buildID)}, nil
		}
	}
	return moduleByGrammar(e)
}

func moduleByGrammar(e *Element) (ModuleFields, error) {
	p, err := e.parse()
	if err != nil {
		return ModuleFields{}, err
	}
	if p.Module == nil {
		return ModuleFields{}, e.otherTag("module")
	}
	m := p.Module
	return ModuleFields{ID: uint64(m.ID.Value), Name: m.Name, BuildID: string(m.BuildID.Value)}, nil
}

// ParseMMap reads the fields of an mmap element; fields behind the last one are ignored. The error is a *FieldError. It
// says nothing of a range that leaves the address space.
func ParseMMap(e *Element) (MMapFields, error) {
	if e.Tag == MMap && e.End-e.Start <= maxInside {
		if s, ok := scanMMap(e.Body); ok {
			return MMapFields{s.start, s.size, s.moduleID, modeOf(s.mode), s.rel}, nil
		}
	}
	return mmapByGrammar(e)
}

func mmapByGrammar(e *Element) (MMapFields, error) {
	p, err := e.parse()
	if err != nil {
		return MMapFields{}, err
	}
	if p.MMap == nil {
		return MMapFields{}, e.otherTag("mmap")
	}
	m := p.MMap
	return MMapFields{
		Start: uint64(m.Start.Value), Size: uint64(m.Size.Value), ModuleID: uint64(m.ModuleID.Value),
		Mode: string(m.Mode.Value), Rel: uint64(m.Rel.Value),
	}, nil
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
