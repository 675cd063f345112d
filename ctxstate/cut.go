package ctxstate

import "strings"

// maxDisplaced bounds the mappings that are kept after newer ones have taken their place.
const maxDisplaced = 4096

// CutTo32 notes that the process's addresses have lost all but their low 32 bits: LLVM's own stack traces print pointers
// with `%#016x` through a 32-bit conversion. Modules from different 4 GiB windows may then seem to overlap, and one that
// crosses a window's end seems to leave the address space; from now on mappings are kept though newer ones overlap them,
// for ResolveCut to choose from.
func (p *Process) CutTo32() {
	if !p.cut {
		p.cut = true
		p.changed()
	}
}

// Cut reports whether CutTo32 was called since the last Reset.
func (p *Process) Cut() bool { return p.cut }

// ResolveCut finds the mapping of an address that was cut. Of several that fit, an address of code belongs to the one that
// is executable; if modules still contradict each other there is none, since no guess may name a function, and several is
// true.
func (p *Process) ResolveCut(addr uint64, code bool) (at *Mapping, full uint64, several bool) {
	ok := false
	for _, a := range [...]uint64{addr, addr + 1<<32} {
		if m := p.mapped.find(a); m != nil {
			at, full, ok = choose(at, full, ok, m, a, code)
		}
		for _, m := range p.displaced {
			if m.Start <= a && a <= m.Last {
				at, full, ok = choose(at, full, ok, m, a, code)
			}
		}
	}
	return at, full, ok && at == nil
}

// choose weighs one more mapping against the one found so far: at is nil and ok true where two contradict each other.
func choose(at *Mapping, full uint64, ok bool, m *Mapping, addr uint64, code bool) (*Mapping, uint64, bool) {
	if code && !strings.Contains(m.Mode, "x") {
		return at, full, ok
	}
	switch {
	case !ok:
		return m, addr, true
	case at == nil || at.Module == m.Module && at.ModuleAddr(full) == m.ModuleAddr(addr):
		return at, full, ok
	}
	return nil, 0, true
}

// displace keeps the mappings that a new one of a process with cut addresses is about to overlap.
func (p *Process) displace(added *Mapping) {
	if !p.cut || len(p.displaced) >= maxDisplaced {
		return
	}
	for _, m := range p.mapped.all() {
		if m.Start <= added.Last && added.Start <= m.Last && m.Module != added.Module && len(p.displaced) < maxDisplaced {
			p.displaced = append(p.displaced, m)
		}
	}
}
