package resolve_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"qss-filter/filter/frame"
	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// recorded is a source that names each address after itself, and notes its queries.
type recorded struct{ asked []string }

func (s *recorded) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	s.asked = append(s.asked, fmt.Sprintf("%s+%#x", q.Module.Name, q.Offset))
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: fmt.Sprintf("f%x", q.Offset)}}, Files: &symsrc.Files{}}
}

// thread returns the thread that writes a text, with the text's prefixes read.
func thread(r *resolve.Resolver, text string) *resolve.Thread {
	var p parse.Parser
	return r.Processes.Thread(p.ReadPrefix([]byte(text)), nil, nil, []byte(text), match.All)
}

// frames returns the answers of the frames of a text, as `function` or the reason.
func frames(t *testing.T, r *resolve.Resolver, th *resolve.Thread, line int, text string) (got []string) {
	t.Helper()
	var p parse.Parser
	if !p.ReadFrames(parse.Segment{Text: []byte(text)}, true, true) {
		t.Fatalf("%q: the search gave up", text)
	}
	for i := range p.Frames {
		a := r.ResolveFrame(t.Context(), th, line, []byte(text), &p.Frames[i])
		switch {
		case a == nil:
			got = append(got, "nothing to ask")
		case len(a.Frames) == 0:
			got = append(got, a.Explanation())
		default:
			got = append(got, a.Frames[0].Func)
		}
	}
	return got
}

// TestProcesses holds which texts are of one process, and that mappings of one are not those of another.
func TestProcesses(t *testing.T) {
	r := resolve.New(resolve.Options{Symbols: &recorded{}})
	const a, b = "11-21 10:11:12.123  1201  1202 F DEBUG   : x", "11-21 10:11:12.123  4242  4242 F DEBUG   : x"
	first := thread(r, a)
	if again := thread(r, a); again != first || thread(r, a).Process == thread(r, b).Process || thread(r, "x") != r.Processes.Unnamed {
		t.Error("processes are not told apart by their IDs")
	}
	mapping, _, _ := r.ApplyListed(thread(r, a), []byte("1000-2000 r-xp 00000000 08:01 7 /a.so"), match.All, 1)
	if !mapping || !r.Mapped {
		t.Fatal("a mapping was not read")
	}
	for text, want := range map[string]string{a: "f20", b: "no mapping covers the address"} {
		if got := frames(t, r, thread(r, text), 2, "    @     0x1021 g()"); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestClaims holds that the lines of a process without a prefix are those of the process that a header names.
func TestClaims(t *testing.T) {
	r := resolve.New(resolve.Options{Symbols: &recorded{}})
	before := thread(r, "x").Process
	if got := thread(r, "==77==ERROR: AddressSanitizer: SEGV").Process; got != before || got.Key != thread(r, "y").Key {
		t.Errorf("the first header does not name the process so far: %q, %q", got.Key, before.Key)
	}
	if got := thread(r, "==78==ERROR: AddressSanitizer: SEGV").Process; got == before {
		t.Error("a second header names the same process")
	}
}

// TestAdjustMarkup holds what decides on the address of an element, the strongest evidence first.
func TestAdjustMarkup(t *testing.T) {
	const moved, raw = "==1==ERROR: AddressSanitizer: SEGV", "WARNING: ThreadSanitizer: data race (pid=1)"
	for _, c := range []struct {
		header string
		adjust resolve.Adjust
		typ    markup.PCType
		exact  bool
		back   bool
	}{
		{"", resolve.AdjustAuto, markup.Exact, false, false},
		{"", resolve.AdjustRA, markup.Exact, false, false},
		{"", resolve.AdjustAuto, markup.ReturnAddress, false, true},
		{"", resolve.AdjustNone, markup.ReturnAddress, false, false},
		{moved, resolve.AdjustAuto, markup.ReturnAddress, false, true},
		{moved, resolve.AdjustAuto, markup.Unmarked, false, false},
		{moved, resolve.AdjustRA, markup.Unmarked, false, true},
		{raw, resolve.AdjustAuto, markup.Unmarked, false, true},
		{"", resolve.AdjustAuto, markup.Unmarked, true, false},
		{"", resolve.AdjustAuto, markup.Unmarked, false, true},
	} {
		s := &recorded{}
		r := resolve.New(resolve.Options{Symbols: s, Adjust: c.adjust})
		th := thread(r, c.header)
		th.Note([]byte(c.header), match.Look([]byte(c.header)))
		th.Space.AddModule(markup.ModuleFields{ID: 1, Name: "/a.so", BuildID: "\x01"})
		if _, err := th.Space.AddMMap(markup.MMapFields{Start: 0x1000, Size: 0x1000, ModuleID: 1, Mode: "rx"}); err != nil {
			t.Fatal(err)
		}
		a := r.ResolveAddress(t.Context(), th.Process, 0x1021, symsrc.Code, c.adjust.Element(th, c.typ, c.exact))
		want := map[bool]string{false: "/a.so+0x21", true: "/a.so+0x20"}[c.back]
		if !slices.Equal(s.asked, []string{want}) || a.Back == 1 != c.back {
			t.Errorf("%+v: asked %q, %d back", c, s.asked, a.Back)
		}
	}
}

// TestMemo holds that a query is asked once, until its answer is stale.
func TestMemo(t *testing.T) {
	s := &recorded{}
	r := resolve.New(resolve.Options{Symbols: s})
	for line := range 5 {
		r.Arrive()
		if got := frames(t, r, r.Processes.Unnamed, line, "#1 0x7f21 (/a.so+0x21) (BuildId: 0a)"); !slices.Equal(got, []string{"f20"}) {
			t.Fatalf("got %q", got)
		}
	}
	if len(s.asked) != 1 {
		t.Errorf("asked %q", s.asked)
	}
	if got := r.Counts.Tally; got.Frames != 5 || got.Unnamed() != 0 {
		t.Errorf("counted %+v", got)
	}
}

// TestWithoutMap holds what is said of frames of scripts without a source map: whether the log has a name, a place that a person can look at, or neither.
func TestWithoutMap(t *testing.T) {
	const name, place, neither = "IN_LOG: the log names the function already", "IN_LOG: the log names the place already", "NOT_ASKED: no source map of the script is known"
	r := resolve.New(resolve.Options{Symbols: &recorded{}})
	for text, want := range map[string]string{
		"    at f (/srv/app/dist/main.js:1:2345)":                                         name,
		"    at new K (/srv/app/dist/main.js:1:2345)":                                     name,
		"    at inner (address at index.android.bundle:1:237392)":                         name,
		"f@https://example.com/a.js:1:22":                                                 name,
		"value@1:557290":                                                                  name,
		"    at /srv/app/src/server.js:12:5":                                              place,
		"    at Object.<anonymous> (/srv/app/src/server.js:12:5)":                         place,
		"@https://example.com/a.js:1:22":                                                  place,
		"/srv/app/index.js:7":                                                             name, // the headline of the stack below it
		"    at /srv/app/dist/main.js:1:2345":                                             neither,
		"    at async file:///srv/app/dist/main.mjs:1:2345":                               neither,
		"    at <anonymous> (/srv/app/dist/main.js:1:2345)":                               neither,
		"    at Object.<anonymous> (/srv/app/dist/main.js:1:2345)":                        neither,
		"    at index.android.bundle:1:237392":                                            neither,
		"    at anonymous (address at index.android.bundle:1:7)":                          neither,
		"anonymous@1:557290":                                                              neither,
		`{"colno":2507,"filename":"app:///main.jsbundle","function":"?","lineno":19}`:     neither,
		`{"colno":2507,"filename":"app:///main.jsbundle","function":"value","lineno":19}`: name,
	} {
		p := parse.Parser{}
		fr := &parse.Frame{}
		if x, ok := frame.ReadExcerpt([]byte(text), 0); ok && text[0] == '/' {
			fr.Frame = x.Frame(0)
		} else if p.ReadFrames(parse.Segment{Text: []byte(text)}, false, false); len(p.Frames) == 1 {
			fr = &p.Frames[0]
		} else {
			t.Errorf("%q: %d frames", text, len(p.Frames))
			continue
		}
		a := r.ResolveFrame(t.Context(), r.Processes.Unnamed, 1, []byte(text), fr)
		if got := resolve.OutcomeOf(fr, a).String() + ": " + resolve.Unasked(fr); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestNothingToAsk holds that frames without a place in a module cost no query.
func TestNothingToAsk(t *testing.T) {
	s := &recorded{}
	r := resolve.New(resolve.Options{Symbols: s})
	for _, text := range []string{"#0 0x1 in f /a.c:3 (/a.so+0x3)", "#2 <unknown>"} {
		for _, got := range frames(t, r, r.Processes.Unnamed, 1, text) {
			if got != "nothing to ask" {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("asked %q", s.asked)
	}
}
