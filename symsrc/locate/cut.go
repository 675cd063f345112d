package locate

import (
	"path/filepath"

	"qss-filter/symsrc"
)

// A log of minidump-stackwalk has debug identifiers, of which a build ID can be told but for what is beyond its first 16 bytes. The whole
// ID is that of the one file here that begins so.

// wholeIn makes the wanted build ID whole if an index has a file that begins so.
func (s *search) wholeIn(x *index) {
	if !s.want.IsCut() || x == nil || len(x.byID[s.want]) > 0 {
		return
	}
	for id := range x.byID {
		if s.want.Fits(id) {
			s.want = id
			return
		}
	}
}

// wholeBelow does the same with directories of xx/yyyy.debug, which paths below roots lead to.
func (s *search) wholeBelow(roots []string, below string) {
	for _, root := range roots {
		if !s.want.IsCut() {
			return
		}
		p := &prefixed{digits: s.want.String(), found: map[symsrc.BuildID]bool{}}
		p.tree(filepath.Join(root, below))
		for id := range p.found {
			if s.want.Fits(id) {
				s.want = id
				break
			}
		}
	}
}
