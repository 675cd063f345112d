package locate

import (
	"fmt"
	"slices"

	"qss-filter/symsrc"
)

// byName accepts a file by the module's name alone, for a log without build IDs. If an index has several different files of the
// name, the search fails. After a file is accepted, its build ID is the wanted one, so that all files found
// later belong to it.
func (s *search) byName() {
	if s.where.path == "" || s.fromIndex(s.l.objects) {
		return
	}
	if s.where.absolute() {
		for _, root := range s.l.roots {
			if s.adoptModule(s.placeIn(root)) {
				s.verdict.assumed = !s.l.explicit
				s.contradict()
				return
			}
		}
	}
	if len(s.l.opt.Symbols) > 0 {
		x := s.l.symbols.get(s.ctx)
		if x == nil || s.fromIndex(x) {
			return
		}
		s.tryTrees(s.l.symbols, x, "of this name")
	}
	if s.where.absolute() || s.adoptModule(s.hostPlace()) {
		s.verdict.assumed = !s.where.absolute()
		return
	}
	if !s.l.explicit && s.name.single() && s.in.archive.path == "" {
		s.verdict.assumed = slices.ContainsFunc(loaderDirs[:], func(dir string) bool {
			return s.adoptModule(place{root: s.l.roots[0], path: dir + "/" + s.name.path})
		})
	}
}

// adoptModule accepts the module at its path, and reports whether there is one.
func (s *search) adoptModule(p place) bool {
	if p.path == "" || s.ctx.Err() != nil {
		return false
	}
	s.module(p, asElf)
	return s.adopted()
}

// adopt accepts the file at p, and reports whether there is one.
func (s *search) adopt(p place, as role) bool {
	if p.path == "" || s.ctx.Err() != nil {
		return false
	}
	s.look(p, as, nil)
	return s.adopted()
}

// adopted makes the build ID of the accepted file the wanted one. It reports whether a file was accepted.
func (s *search) adopted() bool {
	f := s.verdict.any()
	if f == nil {
		return false
	}
	s.want, s.wantOf = f.id, f.name()
	return true
}

// fromIndex accepts the file of the module's name in an index. It reports whether the search by name is over: with a file, or
// because there are several different ones.
func (s *search) fromIndex(x *index) bool {
	if x == nil {
		return false
	}
	list := slices.DeleteFunc(s.in.among(x, x.named(s.name)), func(e *entry) bool { return !s.isFormat(e) })
	if n := s.different(list, nil); n > 1 {
		s.verdict.ambiguous(n, s.where.base)
		if path := list[0].path; !slices.ContainsFunc(list, func(e *entry) bool { return e.path != path || e.arch == "" }) {
			s.verdict.elfFailure = nil // it is one file of several architectures
			s.look(place{path: path}, asElf, nil)
		}
		return true
	}
	for _, e := range list[:min(len(list), maxSame)] {
		if s.adopt(e.place(), quiet) {
			return true
		}
	}
	return false
}

// contradict drops a file of the host that was accepted by its path, if the symbol directories have files of that name and
// none is the same: the log is probably from another machine.
func (s *search) contradict() {
	if s.l.explicit || len(s.l.opt.Symbols) == 0 {
		return
	}
	x := s.l.symbols.get(s.ctx)
	if x == nil {
		return
	}
	list := s.in.among(x, x.named(s.name))
	if len(list) == 0 {
		return
	}
	f := s.verdict.any()
	mine := &entry{path: f.path, member: f.place.member, id: f.id}
	if n := s.different(list, mine); n > s.different(list, nil) {
		s.verdict.ambiguous(n, s.where.base)
		s.want = ""
		return
	}
	s.verdict.assumed = false // the symbol directories have it, too
}

// different counts the different files in list and more, if that is not nil: by build ID, or, without one, by
// size and checksum.
func (s *search) different(list []*entry, more *entry) int {
	if more != nil {
		list = append([]*entry{more}, list...)
	}
	if len(list) < 2 {
		return len(list)
	}
	seen := make(map[symsrc.BuildID]bool)
	for _, e := range list {
		id := e.id
		if id == "" {
			id = s.contentID(e)
		}
		seen[id] = true
	}
	return len(seen)
}

// contentID returns a replacement for the build ID of a file without one.
func (s *search) contentID(e *entry) symsrc.BuildID {
	var sum uint32
	var size int64
	var err error
	if m := e.member; m != nil && m.packing != whole { // the archive knows
		sum, size = m.crc, m.size
	} else {
		sum, size, err = checksum(s.ctx, e.path, true)
	}
	if err != nil {
		return symsrc.BuildID("unreadable " + e.path)
	}
	return symsrc.BuildID(fmt.Sprintf("content %08x %d", sum, size))
}
