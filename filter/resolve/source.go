package resolve

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"qss-filter/filter/guard"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/sourcemap"
)

// source is what is asked for symbols and machine code. It may be asked by several goroutines at once.
type source struct {
	symbols symsrc.Source
	prober  symsrc.Prober // nil if symbols is none
	scripts *sourcemap.Maps
}

// found is the outcome of a query: how its address was adjusted, and the answer.
type found struct {
	probe symsrc.Probe
	addr  symsrc.Addr
	back  uint64
	symsrc.Answer
	// unclear is Answer.Unclear.
	unclear string
	// broken describes the panic that the query caused. It is "" if there was none.
	broken string
}

// fetch answers a query.
func (s *source) fetch(ctx context.Context, q query) (got found) {
	defer got.rescue(q)
	got.addr = q.addr()
	if got.addr.Space == symsrc.InScript {
		if script := s.script(ctx, q.mod); script != nil {
			got.Answer = script.At(q.off)
		} else {
			got.Files = &symsrc.Files{}
		}
		return got
	}
	if q.mod.InArchive > 0 && q.mod.Member == "" {
		s.inArchive(ctx, &got)
	}
	if got.addr.Space == symsrc.InFileOrFixed {
		got.unclear, got.Files = inFileOrProcess, s.symbols.Frames(ctx, symsrc.Addr{Module: got.addr.Module}).Files
		return got
	}
	if got.addr.Space == symsrc.InFileOrLinked {
		s.place(ctx, &got)
	}
	if s.probes(&q) {
		got.probe = s.prober.Probe(ctx, got.addr)
	}
	switch q.Rule.mode() {
	case straced, stracedExact:
		s.countFrom(ctx, q, &got)
	}
	got.back = q.Rule.back(got.probe)
	if q.Rule&shifted != 0 && got.back == 0 && s.prober != nil && keepsTrampoline(q.mod.Name) {
		at := got.addr
		at.Offset++
		if p := s.prober.Probe(ctx, at); p.Trampoline {
			got.probe, got.back = p, further
		}
	}
	near := got.back
	if q.Rule.returns() && s.prober != nil {
		got.back, near = s.returned(ctx, q, &got)
	}
	got.addr.Offset -= got.back
	got.Answer = s.symbols.Frames(ctx, got.addr)
	if near != got.back {
		s.doubt(ctx, near, rawOrMoved, &got)
	}
	if other, why := q.Rule.otherwise(got.probe); why != "" && got.unclear == "" && other != got.back {
		s.doubt(ctx, other, why, &got)
	}
	if got.unclear != "" {
		got.Frames = nil
	}
	return got
}

// script returns the script that a module is, nil if there is no map for it.
func (s *source) script(ctx context.Context, m *Module) *sourcemap.Script {
	if s.scripts == nil {
		return nil
	}
	return s.scripts.Script(ctx, m.Name)
}

// inFileOrModule says why a query is unclear.
const inFileOrModule = "unclear: the offset may count in the file or in the module"

// countFrom finds out whether a frame of strace counts in the file, as asked, or in the module.
func (s *source) countFrom(ctx context.Context, q query, got *found) {
	called := q.Rule.mode() == straced
	if called && got.probe.Returns || s.prober == nil {
		return
	}
	other := got.addr
	other.Space = symsrc.Linked
	switch p := s.prober.Probe(ctx, other); {
	case p.Linked == got.probe.Linked, !p.Known:
	case called && p.Calls && !p.Returns, !got.probe.Known:
		got.addr, got.probe = other, p
	default:
		got.unclear = inFileOrModule
	}
}

// doubt looks whether it makes a difference that the code may lie as far before the logged address as other says.
func (s *source) doubt(ctx context.Context, other uint64, why string, got *found) {
	at := got.addr
	at.Offset += got.back - other
	if !slices.EqualFunc(got.Frames, s.symbols.Frames(ctx, at).Frames, func(a, b symsrc.Frame) bool {
		return a.Func == b.Func && a.File == b.File && a.Line == b.Line
	}) {
		got.unclear = why
	}
}

// probes reports whether the machine code is looked at for a query.
func (s *source) probes(q *query) bool { return s.prober != nil && q.Rule.mode() != exact }

// call asks for the call at the place of a frame.
func (s *source) call(ctx context.Context, at *site) *symsrc.Call {
	a := at.q.addr()
	a.Kind = symsrc.CallSite
	call := s.symbols.Frames(ctx, a).Call
	if at.less && call != nil && !call.Ends {
		a.Offset++
		if next := s.symbols.Frames(ctx, a).Call; next != nil && next.Trampoline {
			return next
		}
	}
	return call
}

// rescue is deferred around a query. It turns a panic into an answer without names whose reason is the panic.
func (got *found) rescue(q query) {
	cause := recover()
	if cause == nil {
		return
	}
	*got = found{addr: q.addr(), broken: guard.Fault(cause)}
	got.Files = &symsrc.Files{ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.UnknownError, Note: "internal error" + got.broken}
}

// maxMoved is by how many bytes an emitter may have moved an address into its call: the width of an instruction.
const maxMoved = 4

// comparison is what a name in the log says of the file.
type comparison uint8

const (
	saysNothing comparison = iota
	// agrees means that the file has the function at the place that the log has.
	agrees
	// differs means that the file has a function of another name there, and may not have all names.
	differs
	// contradicts means that the file has no function of that name there, although it has all names or has the function elsewhere.
	contradicts
)

// compare compares a function that the log names with the file. Its place is offset bytes before the address or, if has is false,
// around it.
func (s *source) compare(ctx context.Context, a *Answer, name string, offset uint64, has bool) comparison {
	plain := demangle.PlainName(name)
	for i := range a.Frames {
		if fr := &a.Frames[i]; (i < len(a.Frames)-1 || !has) && (demangle.PlainName(fr.Func) == plain || demangle.PlainName(fr.Linkage) == plain) {
			return agrees // the offset in an inlined function does not count from its beginning
		}
	}
	q := symsrc.Addr{Module: a.Module.Module, Kind: symsrc.Named, Space: a.Space, Offset: a.Offset + a.Back, Symbol: name}
	named := s.symbols.Frames(ctx, q).Frames
	for i := range named {
		at := named[i].Offset
		switch {
		case has && at-offset+maxMoved <= 2*maxMoved:
			return agrees
		case !has && (at <= named[i].Size || named[i].Size == 0):
			return agrees
		}
	}
	switch all := a.Files().DebugStatus == symsrc.OK; {
	case len(named) > 0, has && plain != "" && all && s.inside(ctx, q, offset):
		return contradicts
	case plain == "" || !isOneWord(name) || len(a.Frames) == 0 || slices.ContainsFunc(a.Frames, func(fr symsrc.Frame) bool { return mayBe(plain, &fr) }):
		return saysNothing
	case all && !has && a.Frames[len(a.Frames)-1].Origin != symsrc.SymbolOnly:
		return contradicts
	}
	return differs
}

// isOneWord reports whether a text is a function's name and nothing else: there is no space in it but among arguments and before const.
func isOneWord(name string) bool {
	depth := 0
	for _, c := range []byte(strings.TrimSuffix(name, " const")) {
		switch c {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ' ', '\t', ',', '"', '/', '|', '=':
			if depth <= 0 {
				return false
			}
		}
	}
	return depth == 0 && name != "" && (name[0] == '_' || name[0] == '<' || name[0] == '(' || name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

// mayBe reports whether a function of a file may be what the log has by that plain name: emitters write scopes, template arguments,
// closures and the aliases of the C library in several ways, and cut long names.
func mayBe(plain string, fr *symsrc.Frame) bool {
	if fr.Linkage == "MAIN__" || fr.Linkage == "_QQmain" {
		return true // the program of gfortran and of flang, whose own name is in the debug information alone
	}
	for _, name := range [...]string{fr.Func, fr.Linkage} {
		of := demangle.PlainName(name)
		switch begin, cut := strings.CutSuffix(plain, "..."); {
		case of == "", cut && strings.HasPrefix(of, begin):
			return true
		}
		one, other := lastWord(plain), lastWord(of)
		if one == "" || other == "" || one == other {
			return true
		}
	}
	return false
}

// aliasMarks are what the aliases of functions begin with.
var aliasMarks = [...]string{"_", "GI_", "IO_", "libc_", "interceptor_", "wrap_", "real_"}

// lastWord returns the last word of a plain name, without its scopes and template arguments, and what aliases have before and after it. It is
// "" for a name that ends with none, as those of closures.
func lastWord(plain string) string {
	if at := strings.LastIndex(plain, "::h"); at > 0 && len(plain)-at == len("::h")+16 { // of a crate of Rust
		plain = plain[:at]
	}
	var word []byte
	depth := 0
	for _, c := range []byte(plain) {
		switch {
		case c == '<':
			depth++
		case c == '>':
			depth--
		case depth == 0 && (c == ':' || c == '.'):
			word = word[:0]
		case depth == 0:
			word = append(word, c)
		}
	}
	if depth != 0 || bytes.ContainsAny(word, "{}()[]$ '\"") {
		return ""
	}
	name := strings.Trim(string(word), "_")
	for i := 0; i < len(aliasMarks); i++ {
		if rest, ok := strings.CutPrefix(name, aliasMarks[i]); ok && rest != "" {
			name, i = rest, -1
		}
	}
	return name
}

// inside reports whether the function that the log has at offset before an address would begin within another function of the
// file. A file with debug information has the names of all functions.
func (s *source) inside(ctx context.Context, q symsrc.Addr, offset uint64) bool {
	q.Offset -= offset
	code := q
	code.Kind, code.Symbol = symsrc.Code, ""
	over := s.symbols.Frames(ctx, code).Frames
	if len(over) == 0 || over[len(over)-1].Origin == symsrc.DebugOnly {
		return false
	}
	q.Symbol = over[len(over)-1].Linkage
	within := false
	for _, fn := range s.symbols.Frames(ctx, q).Frames {
		if fn.Offset+maxMoved <= 2*maxMoved {
			return false
		}
		within = within || fn.Offset < fn.Size
	}
	return within
}
