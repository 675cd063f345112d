package filter

// A file that was taken by its path alone may become another build's while the filter runs: a program is compiled anew and
// started again. What was answered from it, and that there was none, counts until a look at the disk sees the change. There
// is one look at most for each piece of input, before the first frame of the module in it.

// stands reports whether there is an answer that asking again would not change.
func (f *Filter) stands(a *answer) bool {
	if a == nil || a.retry != nil && a.retry() {
		return false
	}
	if a.mod == nil {
		return true
	}
	f.watch(a.mod)
	return a.generation == a.mod.generation
}

// watch looks whether the files of a module are still those that were found.
func (f *Filter) watch(m *module) {
	if m.watched == f.piece {
		return
	}
	m.watched = f.piece
	if files := m.files; files != nil && (files.Unverified || !files.Usable()) && files.Watch.Look() {
		m.generation++
	}
}
