package resolve

import "qss-filter/symsrc"

// Member returns a module, which may be a member of an archive.
func (r *Resolver) Member(name, member []byte, at uint64, id symsrc.BuildID) *Module {
	return r.memo.member(name, member, at, id)
}
