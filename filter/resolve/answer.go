package resolve

import (
	"bytes"
	"context"
	"slices"
	"time"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/symsrc"
)

// Answer is a module-relative address with what is known of it. What is asked of the answer for each of its frames comes first: it is in few
// lines of a processor's cache then.
type Answer struct {
	// Module is nil if no mapping covers the address.
	Module *Module
	// Frames are the functions there, innermost first.
	Frames []symsrc.Frame
	adjusted
	validity
	// files is how the search for the module's files had ended when the query was asked. It is nil if a source does not say.
	files *symsrc.Files
	// Offset is the place of the code or the variable in the module.
	Offset uint64
	// Kind is Code or Data.
	Kind symsrc.Kind
	// Space is what Offset counts from.
	Space symsrc.Space
	// Ambiguous is set if more than one mapping may cover the address, since addresses were cut to 32 bits.
	Ambiguous bool
	// refuting is set if Elsewhere shows that the file is another one.
	refuting bool
	// called is set if the name of the last function is that which named has for logged, the log's.
	called bool
	logged string
	named  func(logged string) string
	// Java is what maps say of a frame of Java, nil for others. Frames has the only candidate.
	Java *JavaAnswer
	// Printed is what a printer remembers of the answer.
	Printed any
	// unlisted is why no mapping covers the address, if those of running processes were looked at, or "".
	unlisted string
	// Made is symsrc.Answer.Made.
	Made time.Time
	// Elsewhere is the function that the log names there, if the file does not have it there. It is "" otherwise.
	Elsewhere string
	// Unclear says why it is not known which instruction is meant. It is "" otherwise.
	Unclear string
	// Refused is why the file's names are not used, if it may not be the one that ran. It is "" otherwise.
	Refused string
}

// adjusted is how a logged address became that of the code.
type adjusted struct {
	rule Rule
	// Back is how many bytes before the logged address the code is.
	Back uint64
	// probed is set if there was machine code to look at, and trampoline if that is a signal trampoline.
	probed, trampoline bool
}

// validity is how long an answer holds.
type validity struct {
	// retry, if not nil, reports whether asking again may bring more by now.
	retry func() bool
	// generation and refutations are those of the module at the time of the query.
	generation, refutations uint64
}

// answers answers queries. It remembers the answers.
type answers struct {
	memo     *memo
	queries  *queries
	source   *source
	prefetch *Prefetch
}

// ask returns the answer for an address of a module.
func (s *answers) ask(ctx context.Context, q query) *Answer {
	if a := s.memo.answers.get(&q); s.memo.isCurrent(a) {
		return a
	}
	a := s.look(ctx, q)
	s.memo.answers.put(&q, a)
	return a
}

// address returns the answer for an absolute address of a process, whether or not the files are verified.
func (s *answers) address(ctx context.Context, p *Process, addr uint64, kind symsrc.Kind, rule Rule) *Answer {
	p = s.queries.lists.of(p, addr)
	q := address{p, p.Space.Generation(), addr, kind, rule}
	if a := s.memo.absolute.get(q); s.memo.isCurrent(a) {
		return a
	}
	a := s.lookAbsolute(ctx, p, addr, kind, rule)
	s.memo.absolute.put(q, a, len(s.memo.answers.slots))
	return a
}

// lookAbsolute finds the mapping of an address, and asks for what is mapped there.
func (s *answers) lookAbsolute(ctx context.Context, p *Process, addr uint64, kind symsrc.Kind, rule Rule) *Answer {
	q, ok, several := s.queries.at(p, addr, kind, rule)
	if !ok {
		return &Answer{Ambiguous: several, unlisted: s.queries.lists.unlisted(p), adjusted: adjusted{rule: rule, Back: rule.back(symsrc.Probe{})}}
	}
	return s.ask(ctx, q)
}

// look asks the source.
func (s *answers) look(ctx context.Context, q query) *Answer {
	s.memo.watch(q.mod)
	got := s.prefetch.take(ctx, q)
	a := &Answer{Module: q.mod, Kind: q.kind, Offset: got.addr.Offset, Space: got.addr.Space, Frames: symsrc.Unfold(got.Frames), Made: got.Made, Unclear: got.unclear, named: got.Named,
		adjusted: adjusted{q.Rule, got.back, got.probe.Known, got.probe.Trampoline}, validity: validity{generation: q.mod.generation, refutations: q.mod.refutations}}
	if got.Files != nil {
		a.files, a.retry = q.mod.found(got.Files), got.Files.Retry
	}
	for i := range a.Frames {
		if isEmpty(&a.Frames[i]) {
			a.Frames = slices.DeleteFunc(slices.Clone(a.Frames), func(fr symsrc.Frame) bool { return isEmpty(&fr) })
			break
		}
	}
	return a
}

// isEmpty reports whether a function has neither a name nor a place.
func isEmpty(fr *symsrc.Frame) bool { return fr.Func == "" && fr.File == "" }

// hinted is an answer, and the function and offset that the log has for it.
type hinted struct {
	answer *Answer
	hint   string
}

// agreeing returns the answer for a frame, without names if the file has not the function there that the log has for it, which is
// Answer.Elsewhere then: a file that was found by its name alone may be of another build.
func (s *answers) agreeing(ctx context.Context, a *Answer, text []byte, fr *parse.Frame) *Answer {
	hint := hintOf(text, fr)
	if len(hint) == 0 || fr.Base == frame.FromSymbol || fr.Space == symsrc.InScript || len(a.Frames) == 0 || a.Kind != symsrc.Code || !a.byPath() && !fr.Beside {
		return a
	}
	if known := s.memo.agreed[hinted{a, string(hint)}]; known != nil {
		return known
	}
	agreed := a
	if name, offset, has := parse.SplitHint(hint); name != "" {
		if says := s.source.compare(ctx, a, name, offset, has); says >= differs || fr.Beside && says != agrees {
			other := *a
			other.Frames, other.Printed, other.Elsewhere, other.refuting = nil, nil, name, says == contradicts && !fr.Beside
			agreed = &other
		}
	}
	s.memo.agree(hinted{a, string(hint)}, agreed)
	return agreed
}

// calledSo returns the answer for a place in a script with the name that the log has for the function, if the map has none: most have none.
// The answer itself gets the first such name, or stays without one if the first frame has none. A log hardly ever has another one for the place.
func (s *answers) calledSo(a *Answer, name []byte) *Answer {
	last := len(a.Frames) - 1 // others were put in the place of their calls
	switch {
	case last < 0, a.Frames[last].Func != "" && !a.called:
		return a
	case a.called && a.logged == string(name):
		return a
	case !a.called:
		a.logged, a.called, a.Printed = string(name), true, nil
		a.Frames[last].Func = a.name(a.logged)
		return a
	}
	key := hinted{a, string(name)}
	if known := s.memo.agreed[key]; known != nil {
		return known
	}
	named := *a
	named.Frames, named.Printed = slices.Clone(a.Frames), nil
	named.logged = key.hint
	named.Frames[last].Func = a.name(key.hint)
	s.memo.agree(key, &named)
	return &named
}

// name returns the name of the last function for the one that the log has.
func (a *Answer) name(logged string) string {
	if a.named == nil || logged == "" {
		return logged
	}
	return a.named(logged)
}

// agree remembers what an answer becomes with what the log says of it.
func (m *memo) agree(key hinted, a *Answer) {
	if m.agreed == nil || len(m.agreed) >= memoLimit {
		m.agreed = map[hinted]*Answer{}
	}
	m.agreed[key] = a
}

// hintOf returns what the log says of the function of a frame. The summary of a sanitizer has that after the frame:
// `SUMMARY: AddressSanitizer: ABRT (/lib/libf.so+0x40) in f`.
func hintOf(text []byte, fr *parse.Frame) []byte {
	if fr.Shape != frame.Pair || len(fr.HintText) > 0 || !bytes.HasPrefix(text[fr.Whole.End:], inWord) || !bytes.Contains(text, SummaryWord) {
		return fr.HintText
	}
	return text[fr.Whole.End:]
}
