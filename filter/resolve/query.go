package resolve

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"qss-filter/ctxstate"
	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
	"qss-filter/symsrc/sourcemap"
)

// query is an address of a module as the log has it.
type query struct {
	mod   *Module
	off   uint64
	kind  symsrc.Kind
	space symsrc.Space
	Rule  Rule
	// from is the function that off counts from, or nil.
	from *symbol
	// pointed is set if the module is that of the board's program, which the user names: no stack of a process proves it.
	pointed bool
}

// addr returns the query for a source.
func (q *query) addr() symsrc.Addr {
	a := symsrc.Addr{Module: q.mod.Module, Offset: q.off, Kind: q.kind, Space: q.space}
	if q.from != nil {
		a.Symbol, a.Size = q.from.name, q.from.size
	}
	return a
}

// place returns where in its module the query is, as messages have it: `0x113d`, or `__libc_start_main+0x7f`.
func (q *query) place() string {
	if q.from != nil {
		return fmt.Sprintf("%s+0x%x", q.from.name, q.off)
	}
	return fmt.Sprintf("0x%x", q.off)
}

// address is an absolute address in one state of a process's address space.
type address struct {
	proc       *Process
	generation uint64
	addr       uint64
	kind       symsrc.Kind
	rule       Rule
}

// queries finds the query of a frame: a place in a module.
type queries struct {
	adjust Adjust
	memo   *memo
	lists  *lists
	board  *symsrc.Board // nil for none
}

// of returns the query of a frame. If absolute is set, off is an address of the process. ok is false if there is nothing
// to ask of a module: none is named, or no mapping covers the address.
func (s *queries) of(t *Thread, line int, text []byte, fr *parse.Frame) (q query, ok, absolute bool) {
	if q, ok = s.onBoard(t, fr); ok || fr.Machines != 0 {
		return q, ok, false
	}
	if fr.Space == symsrc.InScript {
		return query{mod: s.module(t, fr), off: fr.Offset, space: fr.Space, Rule: exact}, true, false
	}
	first := t.first(line, fr)
	rule := t.summed(text, fr.Offset, fr.ModuleText, s.adjust.Frame(t, t.convention(fr, first), first))
	if s.ofSeastar(t, text, fr) && !t.headed(first, seastarHeadline) { // it is of another list
		return query{off: fr.Offset, Rule: rule}, false, true
	}
	return s.under(t, text, fr, rule)
}

// under is the same under a rule.
func (s *queries) under(t *Thread, text []byte, fr *parse.Frame, rule Rule) (q query, ok, absolute bool) {
	kind := symsrc.Code
	if fr.Data {
		kind = symsrc.Data
	}
	if fr.Space == symsrc.InFileOrFixed || fr.Space == symsrc.Fixed && len(fr.ModuleText) > 0 && t.Space.Empty() && s.lists.preload == nil && s.lists.running == nil {
		return query{mod: s.module(t, fr), off: fr.Offset, kind: kind, space: fr.Space, Rule: rule}, true, false
	}
	if fr.Base == frame.InMapping {
		m, off, space, ok := t.profile.At(fr.ImageIndex-1, fr.Offset)
		if !ok {
			return q, false, false
		}
		return query{mod: s.memo.module([]byte(m.Name), m.BuildID), off: off, kind: kind, space: space, Rule: rule}, true, false
	}
	if m, off, ok := s.beside(t.Process, fr); ok {
		return query{mod: m, off: off, kind: kind, Rule: rule}, true, false
	}
	if s.ofSeastar(t, text, fr) {
		return query{mod: s.memo.written([]byte(s.board.Module.Name), nil), off: fr.Offset, kind: kind, Rule: rule}, true, false
	}
	if addr, ok := s.absoluteAddress(t, text, fr); ok {
		return query{off: addr, kind: kind, Rule: rule}, false, true
	}
	m, of, addr := s.loaded(t, text, fr)
	if m != nil && of.running && m.BuildID != "" && fr.Base == frame.FromSymbol { // several functions may have that name
		if q, ok, several := s.at(of, addr, kind, rule); ok && !several {
			return q, true, false
		}
	}
	if m == nil {
		m = s.module(t, fr)
	}
	if m == nil {
		return q, false, false
	}
	q = query{mod: m, off: fr.Offset, kind: kind, space: fr.Space, Rule: rule}
	if m.Arch != "" && fr.Arch == "" && fr.Base == frame.InModule && fr.Space == symsrc.Linked {
		q.space = symsrc.InImage // programs that run on other systems, too, count from where the image begins
	}
	if fr.Base == frame.FromSymbol {
		q.from = s.memo.symbol(fr.SymbolText, fr.Size)
	}
	return q, true, false
}

// loaded returns the module of a frame that names it by its path, as the mappings of a process have it at the frame's address. It is nil if they do not
// say. A program may have begun in another directory than the filter, `cd build && ./test`, and the mappings may have the build ID of a file that
// is not at its path any more.
func (s *queries) loaded(t *Thread, text []byte, fr *parse.Frame) (m *Module, of *Process, addr uint64) {
	name := fr.ModuleText
	if fr.Addr.Empty() || len(name) == 0 || len(fr.BuildIDText) > 0 || len(fr.MemberText) > 0 || fr.Arch != "" || fr.Size > 0 {
		return nil, nil, 0
	}
	addr, _, _ = scan.Address(fr.Addr.Of(text), 0)
	of = s.lists.of(t.Process, addr)
	at, ok := of.Space.Resolve(addr)
	if !ok || of.fixed || !strings.HasPrefix(at.Module.Name, "/") {
		return nil, nil, 0
	}
	if path.Base(at.Module.Name) != path.Base(string(name)) { // a program may be started by another name, and a path may have links
		ok = of.running && (fr.Base == frame.FromSymbol || (addr-fr.Offset)%leastPage == 0)
	}
	if name[0] == '/' {
		ok = ok && len(at.Module.BuildID) > 0 && (of.running || at.Module.Name == string(name))
	}
	if !ok {
		return nil, nil, 0
	}
	return s.memo.module([]byte(at.Module.Name), symsrc.BuildID(at.Module.BuildID)), of, addr
}

// leastPage is the size of the smallest pages: modules begin at such.
const leastPage = 4096

// Loads reports whether there are mappings that may say which file a module of a thread's frames is that the log names by a relative path.
func (r *Resolver) Loads(t *Thread) bool {
	s := r.queries.lists
	return !t.Space.Empty() || s.preload != nil || s.running != nil || !s.processes.Unnamed.Space.Empty()
}

// beside returns the module of a frame that names none, and the place in it, by where the frames beside it say that modules begin. ok is
// false if the process's mappings know it, which are more exact.
func (s *queries) beside(p *Process, fr *parse.Frame) (m *Module, off uint64, ok bool) {
	if !fr.Beside {
		return nil, 0, false
	}
	if _, mapped := p.Space.Resolve(fr.Offset); mapped {
		return nil, 0, false
	}
	var at *beginning
	for i := range p.begins {
		if b := &p.begins[i]; b.addr < fr.Offset && (at == nil || b.addr > at.addr) {
			at = b
		}
	}
	if at == nil {
		return nil, 0, false
	}
	return s.memo.written([]byte(at.name), nil), fr.Offset - at.addr, true
}

// beginning is where a module begins in memory.
type beginning struct {
	name string
	addr uint64
}

// maxBeginnings bounds those of a process.
const maxBeginnings = 64

// noteBeginning notes where the module of a frame begins that has an address of the process and one of the module.
func (p *Process) noteBeginning(text []byte, fr *parse.Frame) {
	if fr.Base != frame.InModule || fr.Space != symsrc.Linked || fr.Addr.Empty() || len(fr.ModuleText) == 0 || len(fr.MemberText) > 0 {
		return
	}
	addr, _, _ := scan.Address(fr.Addr.Of(text), 0)
	if addr < fr.Offset || (addr-fr.Offset)%pageSize != 0 {
		return
	}
	addr -= fr.Offset
	i := slices.IndexFunc(p.begins, func(b beginning) bool { return b.name == string(fr.ModuleText) })
	switch {
	case i >= 0:
		p.begins[i].addr = addr
	case len(p.begins) < maxBeginnings:
		p.begins = append(p.begins, beginning{string(fr.ModuleText), addr})
	}
}

// absoluteAddress returns the address of a frame that must be looked up in the process's mappings: the frame names no module, or
// its offset counts from where the emitter assumed the module to begin and a list of mappings is more exact.
func (s *queries) absoluteAddress(t *Thread, text []byte, fr *parse.Frame) (addr uint64, ok bool) {
	if fr.Base == frame.Absolute {
		return fr.Offset, true
	}
	if (fr.Space == symsrc.InImage || fr.Space == symsrc.InText || fr.Arch != "" && fr.Base == frame.FromSymbol) && !fr.Addr.Empty() && t.Space.Listed() {
		addr, _, _ = scan.Address(fr.Addr.Of(text), 0)
		if _, ok = t.Space.Resolve(addr); !ok && fr.Arch != "" {
			_, addr, ok = authenticated(t.Process, addr)
		}
	}
	return addr, ok
}

// Names of modules that frames leave out. Frames of Dart and Flutter are of the program's only library. Frames of the kernel
// without a module are of the kernel itself.
var (
	dartLibrary = []byte("libapp.so")
	kernel      = []byte("vmlinux")
	kernelFile  = []byte(".ko")
)

// module returns the module of a frame that names one, or whose emitter has only one. A build ID that the log states elsewhere
// counts for a frame without one.
func (s *queries) module(t *Thread, fr *parse.Frame) *Module {
	name, id := fr.ModuleText, fr.BuildIDText
	if fr.Above {
		id = t.begun.id
	}
	switch {
	case fr.ImageIndex > 0:
		if i := fr.ImageIndex - 1; i < uint64(len(t.images)) {
			return s.memo.module([]byte(t.images[i].Name), t.images[i].BuildID)
		}
		return nil
	case fr.ImageBase > 0:
		if m, ok := t.bases[fr.ImageBase]; ok {
			return s.memo.module([]byte(m.Name), m.BuildID)
		}
		return nil
	case fr.Base == frame.FromSymbol && fr.Size > 0:
		if len(name) == 0 {
			name = kernel
		} else if bytes.IndexByte(name, '.') < 0 {
			name = append(bytes.Clone(name), kernelFile...)
		}
	case fr.Kernel != "":
		name = []byte(fr.Kernel)
	case len(name) == 0 && len(id) == 0 && len(t.dart) > 0:
		return s.memo.module(dartLibrary, t.dart)
	case len(name) == 0 && fr.Space == symsrc.InScript:
		return s.memo.module([]byte(sourcemap.Bundle), "")
	case len(name) == 0 && len(id) == 0:
		return nil
	case len(fr.MemberText) > 0 || fr.InArchive > 0:
		return s.memo.member(name, fr.MemberText, fr.InArchive, symsrc.ReadBuildID(id))
	}
	if len(id) == 0 && len(t.buildIDs) > 0 {
		if known, ok := t.buildIDs[string(name[bytes.LastIndexByte(name, '/')+1:])]; ok {
			return s.memo.module(name, known)
		}
	}
	if fr.Kernel == "" && fr.Space != symsrc.InScript {
		switch m, ok := s.lists.loadedAs(name, s.memo.piece); {
		case !ok:
		case m.BuildID != "" && len(id) == 0:
			return s.memo.module([]byte(m.Name), m.BuildID)
		case bytes.IndexByte(name, '/') < 0: // as ThreadSanitizer names files
			name = []byte(m.Name)
		}
	}
	switch {
	case len(id) > 0:
	case fr.Arch != "":
		return s.memo.apple(name, fr.Arch)
	case fr.Space != symsrc.InScript && isDarwin(name):
		return s.memo.apple(name, symsrc.AnyArch)
	}
	return s.memo.written(name, id)
}

// darwinParts are in paths of bundles of Darwin, and darwinSuffix ends the names of its libraries.
var (
	darwinParts  = [...][]byte{[]byte(".app/Contents/"), []byte(".framework/")}
	darwinSuffix = []byte(".dylib")
	elfPart      = []byte(".so")
)

// isDarwin reports whether a module is a Mach-O file, by its name. GNUstep has frameworks of ELF files.
func isDarwin(name []byte) bool {
	if bytes.HasSuffix(name, darwinSuffix) {
		return true
	}
	return (bytes.Contains(name, darwinParts[0]) || bytes.Contains(name, darwinParts[1])) && !bytes.Contains(name, elfPart)
}

// inStack returns the query of a frame, absolute or not.
func (s *queries) inStack(t *Thread, text []byte, fr *parse.Frame, rule Rule) (q query, ok bool) {
	if fr.Done || fr.Data || fr.Shape == frame.NumberOnly || fr.Machines != 0 || fr.Space == symsrc.InScript {
		return q, false
	}
	q, ok, absolute := s.under(t, text, fr, rule)
	if !absolute {
		return q, ok
	}
	q, ok, _ = s.at(s.lists.of(t.Process, q.off), q.off, q.kind, q.Rule)
	return q, ok
}

// authenticated returns the mapping of an address of a process whose high bits have a pointer authentication code, and the address without
// that. Bit 55 of it is 0 (Arm ARM, D8.10); addresses on Darwin have up to 47 bits, on iOS 39.
func authenticated(p *Process, addr uint64) (at *ctxstate.Mapping, plain uint64, ok bool) {
	if addr>>47 == 0 || addr>>55&1 != 0 {
		return nil, addr, false
	}
	for _, bits := range [...]uint{47, 39} {
		if at, ok = p.Space.Resolve(addr & (1<<bits - 1)); ok {
			return at, addr & (1<<bits - 1), true
		}
	}
	return nil, addr, false
}

// at returns the query of an absolute address of a process. For a return address the mapping of the call before it
// counts, since the call may end its mapping. ok is false if no mapping covers the address, or if several may.
func (s *queries) at(p *Process, addr uint64, kind symsrc.Kind, rule Rule) (q query, ok, several bool) {
	near := addr
	if rule.before() {
		near--
	}
	at, ok := p.Space.Resolve(near)
	if !ok {
		at, near, ok = authenticated(p, near)
	}
	if p.Space.Cut() {
		at, near, several = p.Space.ResolveCut(near, kind == symsrc.Code)
		ok = at != nil
	}
	if !ok {
		return q, false, several
	}
	m := s.memo.module([]byte(at.Module.Name), symsrc.BuildID(at.Module.BuildID))
	if p.fixed {
		m = s.memo.fixed([]byte(at.Module.Name))
	}
	if at.Module.Written != "" {
		m.Shown = symsrc.Visible(at.Module.Written)
	}
	off := at.ModuleAddr(near)
	if rule.before() {
		off++
	}
	return query{mod: m, off: off, kind: kind, space: at.Space, Rule: rule}, true, false
}
