package markup

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
func ParseModule(e *Element) (ModuleFields, error) {
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
