package symsrc

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestParseBuildID(t *testing.T) {
	for _, c := range []struct {
		digits string
		want   BuildID
		ok     bool
	}{
		{"", "", false},
		{"0", "\x00", true},
		{"a", "\x0a", true},
		{"abc", "\x0a\xbc", true}, // an odd digit is the first
		{"ABCdef09", "\xab\xcd\xef\x09", true},
		{"00000000", "\x00\x00\x00\x00", true},
		{"0x12", "", false},
		{"12 ", "", false},
		{"12g4", "", false},
		{"é1", "", false},
		{"\x00\x00", "", false},
		{strings.Repeat("f", 128), BuildID(strings.Repeat("\xff", 64)), true},
		{strings.Repeat("f", 127), BuildID("\x0f" + strings.Repeat("\xff", 63)), true},
		{strings.Repeat("f", 129), "", false},
		{strings.Repeat("f", 1<<20), "", false},
	} {
		got, ok := ParseBuildID(c.digits)
		if got != c.want || ok != c.ok {
			t.Errorf("ParseBuildID(%q) = %q, %v, want %q, %v", c.digits, got, ok, c.want, c.ok)
		}
		if got, ok := ParseBuildID([]byte(c.digits)); got != c.want || ok != c.ok {
			t.Errorf("ParseBuildID of the bytes %q = %q, %v", c.digits, got, ok)
		}
		if ok && len(c.digits)%2 == 0 && got.String() != strings.ToLower(c.digits) {
			t.Errorf("%q is printed as %q", c.digits, got)
		}
	}
	if s := BuildID("").String(); s != "" {
		t.Errorf("no build ID is printed as %q", s)
	}
}

func TestStatus(t *testing.T) {
	want := strings.Fields(`OK NOT_FOUND NO_READ_PERMISSION NOT_ELF CORRUPTED INCOMPLETE UNSUPPORTED_COMPRESSED
		MISMATCH_BUILD_ID READ_ERROR UNKNOWN_ERROR UNKNOWN_ERROR`)
	for i, code := range want {
		s := Status(i)
		if s.String() != code {
			t.Errorf("status %d is %s, want %s", i, s, code)
		}
		if usable := s == OK || s == Incomplete; s.usable() != usable {
			t.Errorf("%s: usable is %v", s, s.usable())
		}
	}
	if s := Status(255).String(); s != "UNKNOWN_ERROR" {
		t.Errorf("status 255 is %s", s)
	}
}

func TestFiles(t *testing.T) {
	for _, c := range []struct {
		files  Files
		usable bool
		reason Status
	}{
		{Files{}, false, OK},
		{Files{Elf: "/a", ElfStatus: OK, DebugStatus: NotFound}, true, NotFound},
		{Files{Elf: "/a", ElfStatus: Incomplete, DebugStatus: NotFound}, true, NotFound},
		{Files{Elf: "/a", ElfStatus: MismatchBuildID, DebugStatus: NotFound}, false, MismatchBuildID},
		{Files{Elf: "/a", ElfStatus: NotFound, Debug: "/a.debug"}, true, NotFound},
		{Files{Elf: "/a", ElfStatus: OK, Debug: "/a.debug", DebugStatus: Corrupted}, true, Corrupted},
		{Files{Elf: "/a", Debug: "/a.debug"}, true, OK},
	} {
		if got := c.files.Usable(); got != c.usable {
			t.Errorf("%+v: usable is %v", c.files, got)
		}
		if got := c.files.Reason(); got != c.reason {
			t.Errorf("%+v: the reason is %v, want %v", c.files, got, c.reason)
		}
	}
}

// fixed answers every question alike, and counts them.
type fixed struct {
	answer Answer
	asked  atomic.Int64
}

func (f *fixed) Frames(context.Context, Addr) Answer {
	f.asked.Add(1)
	return f.answer
}

func TestChain(t *testing.T) {
	named := func(name string) *fixed { return &fixed{answer: Answer{Frames: []Frame{{Func: name}}}} }
	missing := func(note string) *fixed { return &fixed{answer: Answer{Files: &Files{Note: note}}} }
	silent := func() *fixed { return &fixed{} }
	for _, c := range []struct {
		what       string
		sources    []*fixed
		name, note string
		asked      string // times each source was asked
	}{
		{"no source", nil, "", "", ""},
		{"one source", []*fixed{named("f")}, "f", "", "1"},
		{"the first that names a function", []*fixed{silent(), missing("no file"), named("f"), named("g")}, "f", "", "1110"},
		{"the last reason", []*fixed{missing("first"), missing("last"), silent()}, "", "last", "111"},
		{"no reason", []*fixed{silent(), silent()}, "", "", "11"},
	} {
		t.Run(c.what, func(t *testing.T) {
			var sources []Source
			for _, s := range c.sources {
				sources = append(sources, s)
			}
			a := Chain(sources...).Frames(t.Context(), Addr{})
			var name, note, asked string
			if len(a.Frames) > 0 {
				name = a.Frames[0].Func
			}
			if a.Files != nil {
				note = a.Files.Note
			}
			for _, s := range c.sources {
				asked += string(rune('0' + s.asked.Load()))
			}
			if name != c.name || note != c.note || asked != c.asked {
				t.Errorf("name %q, note %q, asked %s; want %q, %q, %s", name, note, asked, c.name, c.note, c.asked)
			}
		})
	}
}

// echo answers with the question, so that a mixed-up answer shows.
type echo struct{ asked atomic.Int64 }

func (e *echo) Frames(_ context.Context, q Addr) Answer {
	e.asked.Add(1)
	return Answer{Frames: []Frame{{Offset: q.Offset, Func: q.Module.Name}}}
}

func TestMemo(t *testing.T) {
	src := &echo{}
	m := NewMemo(src, 4)
	ask := func(offset uint64, asked int64) {
		t.Helper()
		a := m.Frames(t.Context(), Addr{Offset: offset, Module: Module{Name: "m"}})
		if len(a.Frames) != 1 || a.Frames[0].Offset != offset || a.Frames[0].Func != "m" {
			t.Errorf("the answer to %d is %+v", offset, a)
		}
		if got := src.asked.Load(); got != asked {
			t.Errorf("after %d the source was asked %d times, want %d", offset, got, asked)
		}
	}
	for offset := range uint64(4) {
		ask(offset, int64(offset)+1)
	}
	for offset := range uint64(4) { // remembered
		ask(offset, 4)
	}
	ask(4, 5) // one too many: all are forgotten but this
	ask(4, 5)
	ask(0, 6)
	ask(0, 6)
	if n := len(m.m); n != 2 {
		t.Errorf("%d answers are remembered, want 2", n)
	}

	// Every part of the question counts.
	q := Addr{Offset: 9, Module: Module{Name: "m"}}
	before := src.asked.Load()
	for _, other := range []Addr{
		q, {Offset: 9, Module: Module{Name: "n"}}, {Offset: 9, Module: Module{Name: "m", BuildID: "b"}},
		{Offset: 9, Module: Module{Name: "m"}, Kind: Data},
	} {
		m.Frames(t.Context(), other)
	}
	if got := src.asked.Load() - before; got != 4 {
		t.Errorf("four questions reached the source %d times", got)
	}
}

// TestMemoConcurrent is for the race detector: answers stay with their questions while the memo overflows.
func TestMemoConcurrent(t *testing.T) {
	m := NewMemo(&echo{}, 16)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range uint64(2000) {
				q := Addr{Offset: i * uint64(g+1) % 40}
				if a := m.Frames(t.Context(), q); a.Frames[0].Offset != q.Offset {
					t.Errorf("the answer to %d is for %d", q.Offset, a.Frames[0].Offset)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := len(m.m); n > 16 {
		t.Errorf("%d answers are remembered, over the limit of 16", n)
	}
}
