package resolve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Stack is the frames of one stack of the log, in their order there, as far as they were read.
type Stack struct {
	process *Process
	sites   []site
	// line and number are those of the last frame.
	line     int
	number   uint64
	numbered bool
	// interrupted is set if a signal has interrupted the next frame.
	interrupted bool
}

// site is a frame of a stack.
type site struct {
	q      query
	asked  bool // q is set
	done   bool // the emitter has resolved the frame
	number uint64
	// less is set if the emitter takes 1 from every address, also from that of a signal trampoline.
	less bool
	// pointers is set if the emitter may have followed frame pointers, which not all code sets: such a stack may end with anything.
	pointers bool
	// kernel is set for a frame of the kernel of a BSD, which may be in one of its modules: these are other files.
	kernel bool
	// vague is set if the log does not say what the offset counts from.
	vague bool
	// hides is set if the emitter may leave out the caller of a function that sets no frame pointer up.
	hides bool
	// called is set if the next inner frame was called here, so that the place is one that a call returns to.
	called bool
	// sure is set if, moreover, the next inner frame is known to be none of a signal trampoline. It is filled in when the stack is weighed.
	sure bool
	// name is the function that the log has, with the offset in it if has is set.
	name   string
	offset uint64
	has    bool
	// addr is the address of the process that the log has, or 0.
	addr uint64
	// elsewhere is the function that another stack of the process has at addr. It is filled in when the stack is weighed.
	elsewhere string
	// answer and call are filled in when the stack is weighed.
	answer *Answer
	call   *symsrc.Call
}

// maxSites bounds the frames of a stack. After that many a new one begins.
const maxSites = 512

// Reset makes it another stack, without frames, in the same memory.
func (s *Stack) Reset() {
	sites := s.sites
	clear(sites) // which would keep answers
	*s = Stack{sites: sites[:0]}
}

// Continues reports whether a frame of a thread on that line may be one of the stack.
func (s *Proofs) Continues(of *Stack, t *Thread, line int, fr *parse.Frame) bool {
	numbered := !fr.Num.Empty()
	switch {
	case of.process != t.Process || len(of.sites) >= maxSites || numbered != of.numbered:
		return false
	case of.descends(), fr.Run == frame.EitherWay && len(of.sites) == 1 && fr.Number+1 == of.number:
		return fr.Number < of.number
	case numbered:
		return fr.Number > of.number
	}
	between := maxBetween // lines of other threads
	if t == s.processes.Unnamed {
		between = 1
	}
	return line-of.line <= between && !of.ended()
}

// Pass notes that a line without a frame, the first one of a frame of two lines, goes on with the stack that the line before it is of.
func (s *Stack) Pass(line int) {
	if s.line == line-1 {
		s.line = line
	}
}

// ended reports whether the last frame is that of a program's entry, so that the next one is of another stack.
func (s *Stack) ended() bool {
	last := &s.sites[len(s.sites)-1]
	return last.answer != nil && nameOf(last.answer) == entry
}

// Add adds a frame that stands on that line to a stack. unproven is set if what the stack says may decide on its name.
func (s *Proofs) Add(ctx context.Context, to *Stack, t *Thread, line int, text []byte, fr *parse.Frame) (unproven bool) {
	t.Process.noteBeginning(text, fr)
	at := to.site(text, fr)
	s.note(t.Process, to, at.addr)
	rule := probing
	if !at.called {
		rule = probingFirst
	}
	if at.q, at.asked = s.answers.queries.inStack(t, text, fr, rule); at.q.space == symsrc.InFileOrFixed {
		at.q = s.answers.source.unfixed(ctx, at.q)
	}
	held := s.answers.holds(ctx, at.q)
	at.asked = at.asked && held
	to.process, to.line, to.number, to.numbered = t.Process, line, fr.Number, !fr.Num.Empty()
	to.interrupted = !held || namesTrampoline(fr.HintText) || handlerBeside(text, fr.Whole) || bytes.Contains(fr.ModuleText, vdso)
	if at.asked && at.q.mod.BuildID == "" && (!to.numbered || s.mayRefute(at.q.mod)) {
		at.answer = s.answers.ask(ctx, at.q)
	}
	if fr.Beside && at.asked { // what stands beside it may not be all that is mapped
		a := s.answers.agreeing(ctx, s.answers.ask(ctx, at.q), text, fr)
		if len(a.Frames) == 0 {
			at.asked, at.answer = false, nil
		}
	}
	to.sites = append(to.sites, at)
	return s.depends(t.Process, to.sites) || fr.Beside && !at.asked
}

// depends reports whether what a stack says may decide on the name of the last frame. A file that names all that does not refute it depends
// on no frames that were weighed before.
func (s *Proofs) depends(p *Process, sites []site) bool {
	at := &sites[len(sites)-1]
	if at.answer == nil || !at.answer.byPath() || isKernel(at.q.mod) {
		return false
	}
	s.look(at.q.mod)
	of := s.of(p, at.q.mod)
	return of.refuted == "" && (at.q.mod.assumed() || !of.pairs[pair(sites)])
}

// pair returns a hash of what the last frame of a stack and the next inner one say.
func pair(sites []site) uint64 {
	var key []byte
	for _, at := range sites[max(0, len(sites)-2):] {
		at.elsewhere = "" // which is not known before the stack is weighed
		key = at.append(key)
	}
	return maphash.Bytes(seed, key)
}

// append appends what the frame says.
func (at *site) append(key []byte) []byte {
	if !at.asked {
		return append(key, 0)
	}
	key = binary.AppendUvarint(append(key, 1), at.q.mod.number)
	key = binary.AppendUvarint(key, at.q.off)
	key = append(append(key, at.name...), 0)
	if key = append(append(key, at.elsewhere...), 0); at.called {
		key = append(key, 1)
	}
	return key
}

// isKernel reports whether a module is a kernel or a part of one. It changes its own code when it starts, so that calls are not where its
// file has them.
func isKernel(m *Module) bool {
	name := m.Name[strings.LastIndexByte(m.Name, '/')+1:]
	return strings.HasPrefix(name, string(kernel)) || strings.HasSuffix(name, string(kernelFile)) || strings.HasPrefix(name, "[kernel")
}

// note notes the function that the last frame of a stack names, if the next one is at another address. Of functions at the same one all but
// the last are inlined, and a file without debug information does not have them there.
func (s *Proofs) note(p *Process, of *Stack, next uint64) {
	if len(of.sites) == 0 || of.process != p {
		return
	}
	last := &of.sites[len(of.sites)-1]
	if !last.done || last.name == "" || last.addr == 0 || next == 0 || next == last.addr || len(last.name) > maxNamed {
		return
	}
	s.renew(p)
	if _, known := p.proofs.named[last.addr]; !known {
		s.room(1 + len(last.name)/placeWeight)
		s.renew(p)
	}
	if p.proofs.named == nil {
		p.proofs.named = map[uint64]string{}
	}
	p.proofs.named[last.addr] = last.name
}

// namedAt returns the function that another stack has at the address of a frame, which one of the emitters may have moved into its call. It
// is "" if the frame has a name itself, or lies where it was linked to: other programs have the same addresses there.
func (p *proofs) namedAt(at *site) string {
	if len(p.named) == 0 || at.name != "" || at.addr == at.q.off {
		return ""
	}
	return cmp.Or(p.named[at.addr], p.named[at.addr-1], p.named[at.addr+1])
}

// site returns what a frame says of the next site of the stack.
func (s *Stack) site(text []byte, fr *parse.Frame) site {
	// gfortran's addresses lie in the calls, and are exact after a signal alone.
	inCalls := fr.Lists && fr.Convention == frame.Exact
	at := site{number: fr.Number, done: fr.Done, less: fr.Convention == frame.OneLess || inCalls,
		pointers: fr.Convention == frame.Sanitizers || fr.Convention == frame.Moved}
	if !fr.Addr.Empty() {
		at.addr, _, _ = scan.Address(fr.Addr.Of(text), 0)
	}
	at.vague, at.kernel = fr.Convention == frame.Strace, fr.Kernel != ""
	at.hides = at.pointers || at.less || fr.Num.Empty() && (fr.Base == frame.Absolute || fr.Run == frame.Adjacent)
	if last := len(s.sites) - 1; last >= 0 {
		at.called = !s.interrupted && (fr.Convention != frame.Exact || inCalls) && (fr.Num.Empty() || s.sites[last].number+1 == fr.Number)
		if inCalls && s.sites[last].addr == at.addr { // which is inlined here
			at.called = false
		}
	}
	if fr.Done || fr.Shape == frame.NumberOnly {
		at.name = said(text[fr.Whole.Start:], fr.Whole.End-fr.Whole.Start+maxSaid)
	} else {
		at.name, at.offset, at.has = parse.SplitHint(fr.HintText)
	}
	return at
}

// mayRefute reports whether a stack may refute the file of a module, as far as it was searched for.
func (s *Proofs) mayRefute(m *Module) bool {
	s.answers.memo.watch(m)
	return m.Files == nil || m.Files.Unverified
}

// inWord stands before the functions of sanitizers.
var inWord = []byte(" in ")

// maxSaid bounds what a log says behind a frame of its function, in bytes: a line may hold thousands of frames.
const maxSaid = 4 << 10

// said returns the function of a frame that the log names: `#1 0x40 in f(int) /src/f.c:12`, `#1 0x40 in f (n=1) at f.c:12`, or
// `#1 0x40 in f src/f.c:12 <application>+0x40`. It is "" if the log names none, or none that ends within limit bytes.
func said(text []byte, limit int) string {
	cut := len(text) > limit
	_, name, ok := bytes.Cut(text[:min(len(text), limit)], inWord)
	if !ok {
		return ""
	}
	end := endOfName(name)
	if cut && end == len(name) {
		return ""
	}
	name = bytes.TrimSpace(name[:end])
	for i := bytes.LastIndexByte(name, ' '); i >= 0 && isPlace(name[i+1:]); i = bytes.LastIndexByte(name, ' ') {
		name = bytes.TrimSpace(name[:i])
	}
	if !parse.IsFunction(name) {
		return ""
	}
	return string(name)
}

// endOfName returns where a path or arguments begin after a function, or the length if none do: at ` /`, ` (`, ` ./` or ` ../`.
func endOfName(name []byte) int {
	for at := 0; ; at++ {
		space := bytes.IndexByte(name[at:], ' ')
		if space < 0 {
			return len(name)
		}
		at += space
		if rest := name[at+1:]; len(rest) > 0 && (rest[0] == '/' || rest[0] == '(' ||
			rest[0] == '.' && (bytes.HasPrefix(rest, []byte("./")) || bytes.HasPrefix(rest, []byte("../")))) {
			return at
		}
	}
}

// isPlace reports whether a word after a function is a place in a source file or a module: `src/f.c:12:3`, `??:0`, `<libc.so>+0x9840e`.
func isPlace(word []byte) bool {
	i := bytes.LastIndexByte(word, ':')
	j := bytes.LastIndex(word, []byte(">+0x"))
	return string(word) == "<null>" || j > 0 || i > 0 && len(word) > i+1 && word[i-1] != ':' && (word[i+1]-'0' <= 9 || word[i+1] == '?')
}

// vdso is in the names of the library that the kernel maps, in which signal trampolines are on some machines.
var vdso = []byte("vdso")
