package locate

import (
	"fmt"

	"qss-filter/symsrc"
)

// byName takes a file by the module's name alone, for a log without build IDs. An index with several different files of the
// name ends the search without one. Once a file is taken, its own build ID is the wanted one, so that all that is found
// afterwards belongs to it.
func (s *search) byName() {
	if s.name.path == "" || s.fromIndex(s.l.objects) {
		return
	}
	if s.name.absolute() {
		for _, root := range s.l.roots {
			if s.adopt(s.placeIn(root), asElf) {
				s.contradict()
				return
			}
		}
	}
	if len(s.l.opt.Symbols) > 0 && s.fromIndex(s.l.symbols.get(s.ctx)) {
		return
	}
	if !s.name.absolute() {
		s.adopt(s.hostPlace(), asElf)
	}
}

// adopt takes the file at p as the module's and tells whether there is one.
func (s *search) adopt(p place, as role) bool {
	if p.path == "" || s.ctx.Err() != nil {
		return false
	}
	s.look(p, as, nil)
	f := s.verdict.any()
	if f == nil {
		return false
	}
	s.want, s.wantOf = f.id, f.path
	return true
}

// fromIndex takes the file of the module's name from an index. It tells whether the search by name is over: with a file, or
// because there are several different ones.
func (s *search) fromIndex(x *index) bool {
	if x == nil {
		return false
	}
	list := x.named(s.name)
	if n := s.different(list, nil); n > 1 {
		s.verdict.ambiguous(n, s.name.base)
		return true
	}
	for _, e := range list[:min(len(list), maxSame)] {
		if s.adopt(place{path: e.path}, quiet) {
			return true
		}
	}
	return false
}

// contradict drops a file of the host's that was taken by its path, when the symbol directories have files of that name and
// none is the same: the log is likely to be from another machine.
func (s *search) contradict() {
	if s.l.explicit || len(s.l.opt.Symbols) == 0 {
		return
	}
	x := s.l.symbols.get(s.ctx)
	if x == nil {
		return
	}
	list := x.named(s.name)
	if len(list) == 0 {
		return
	}
	f := s.verdict.any()
	mine := &entry{path: f.path, id: f.id}
	if n := s.different(list, mine); n > s.different(list, nil) {
		s.verdict.ambiguous(n, s.name.base)
		s.want = ""
	}
}

// different counts the different files among list and, if it is not nil, one more: by build ID, and where they have none by
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
			id = s.contentID(e.path)
		}
		seen[id] = true
	}
	return len(seen)
}

// contentID stands in for the build ID of a file that has none.
func (s *search) contentID(path string) symsrc.BuildID {
	sum, size, err := checksum(s.ctx, path, true)
	if err != nil {
		return symsrc.BuildID("unreadable " + path)
	}
	return symsrc.BuildID(fmt.Sprintf("content %08x %d", sum, size))
}
