package resolve

import (
	"context"

	"qss-filter/filter/parse"
	"qss-filter/symsrc"
)

// place finds out whether an offset counts in the file or in the module. That is known if both are the same place, or if there is code at
// only one of them.
func (s *source) place(ctx context.Context, got *found) {
	inFile := got.addr
	got.addr.Space, inFile.Space = symsrc.Linked, symsrc.InFile
	if s.prober == nil {
		return
	}
	switch a, b := s.prober.Probe(ctx, got.addr), s.prober.Probe(ctx, inFile); {
	case a.Linked == b.Linked, a.Known && !b.Known:
	case b.Known && !a.Known:
		got.addr = inFile
	default:
		got.unclear = inFileOrModule
	}
}

// laterMapping says why a query is unclear.
const laterMapping = "unclear: the offset in the archive is not that of the file"

// inArchive finds out where an address is of which the log has the offset of a mapping of an archive. One that counts from the executable
// mapping counts from that one; of others it is not known what they count from, unless it is the file's first one.
func (s *source) inArchive(ctx context.Context, got *found) {
	files := s.symbols.Frames(ctx, got.addr).Files
	if files == nil || files.ElfRange.Whole() {
		return
	}
	switch begin := uint64(files.ElfRange.Offset); {
	case got.addr.Space == symsrc.InText:
		got.addr.Space, got.addr.Offset = symsrc.InFile, got.addr.Offset+got.addr.Module.InArchive-begin
	case got.addr.Module.InArchive != begin:
		got.unclear = laterMapping
	}
}

// inFileOrProcess says why a query is unclear.
const inFileOrProcess = "unclear: the address may count in the file or in the process"

// unfixed returns the query of a frame whose address counts in the file or in the process as one of the two: as the one at which there is
// code, and if both are, at which a call ends. It returns q if that is not known either.
func (s *source) unfixed(ctx context.Context, q query) query {
	fixed, inFile := q, q
	fixed.space, inFile.space = symsrc.Fixed, symsrc.InFile
	if s.prober == nil {
		return fixed
	}
	a, b := s.prober.Probe(ctx, fixed.addr()), s.prober.Probe(ctx, inFile.addr())
	switch {
	case !b.Known, a.Known && a.Linked == b.Linked, a.Known && a.Returns && !b.Returns:
		return fixed
	case !a.Known, b.Returns && !a.Returns:
		return inFile
	}
	return q
}

// placed returns the query of a frame whose offset counts in the file or in the module as the one of the two at which the file has the
// function that the log names, as far before it as the log says.
func (s *answers) placed(ctx context.Context, q query, fr *parse.Frame) query {
	switch q.space {
	case symsrc.InFileOrLinked:
	case symsrc.InFileOrFixed:
		return s.source.unfixed(ctx, q)
	default:
		return q
	}
	name, offset, has := parse.SplitHint(fr.HintText)
	if name == "" || !has {
		return q
	}
	for _, space := range [...]symsrc.Space{symsrc.Linked, symsrc.InFile} {
		at := q
		at.space = space
		if a := *s.ask(ctx, at); len(a.Frames) > 0 {
			a.Frames = nil // a function that is inlined there says nothing of the place
			if s.source.compare(ctx, &a, name, offset, has) == agrees {
				return at
			}
		}
	}
	return q
}

// holds reports whether the module of a query may have its place: an address of the process is one of a file that is loaded where it is
// linked, and of no other.
func (s *answers) holds(ctx context.Context, q query) bool {
	if q.space != symsrc.Fixed {
		return true
	}
	a := s.ask(ctx, q)
	return len(a.Frames) > 0 || a.Unclear != ""
}
