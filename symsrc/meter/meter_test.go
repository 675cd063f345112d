package meter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"qss-filter/symsrc"
)

// slow takes its time, and asks a finder.
type slow struct {
	f    symsrc.Finder
	time time.Duration
}

func (s slow) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	time.Sleep(s.time)
	return symsrc.Answer{Files: s.f.Find(ctx, q.Module)}
}

func (s slow) Probe(context.Context, symsrc.Addr) symsrc.Probe  { return symsrc.Probe{Known: true} }
func (s slow) Prefetch(context.Context, []symsrc.Expected) bool { return true }

// plain is a source that is nothing else.
type plain struct{ symsrc.Source }

// found is a finder of one answer.
type found struct {
	files *symsrc.Files
	time  time.Duration
}

func (f *found) Find(context.Context, symsrc.Module) *symsrc.Files {
	time.Sleep(f.time)
	return f.files
}

// TestMeter holds that a layer counts its own time only, and hides nothing of what it is put around. The clock is made up: it
// moves only while all sleep.
func TestMeter(t *testing.T) { synctest.Test(t, meterOnce) }

func meterOnce(t *testing.T) {
	m := New()
	finder := m.Finder("inner", &found{&symsrc.Files{}, 30 * time.Millisecond})
	source := m.Source("outer", slow{finder, 10 * time.Millisecond})
	for range 3 {
		if a := source.Frames(t.Context(), symsrc.Addr{}); a.Files == nil {
			t.Fatal("no answer")
		}
	}
	inner, outer := m.layer("inner"), m.layer("outer")
	if inner.calls.Load() != 3 || outer.calls.Load() != 3 {
		t.Errorf("%d and %d calls", inner.calls.Load(), outer.calls.Load())
	}
	if in, out := time.Duration(inner.self.Load()), time.Duration(outer.self.Load()); in != 90*time.Millisecond || out != 30*time.Millisecond {
		t.Errorf("inner took %v, outer %v", in, out)
	}
	if p, ok := source.(symsrc.Prober); !ok || !p.Probe(t.Context(), symsrc.Addr{}).Known {
		t.Error("the source is no prober any more")
	}
	if p := symsrc.PrefetcherOf(source); p == nil {
		t.Error("the source is told of no queries any more")
	} else {
		p.Prefetch(t.Context(), nil)
	}
	if outer.calls.Load() != 3 {
		t.Errorf("%d calls of outer after a probe", outer.calls.Load())
	}
	if p := symsrc.PrefetcherOf(m.Source("plain", plain{source})); p != nil {
		t.Error("the plain source wants to be told of queries")
	}
	if p := m.Source("plain", plain{source}).(symsrc.Prober).Probe(t.Context(), symsrc.Addr{}); p != (symsrc.Probe{}) {
		t.Errorf("the plain source has probed %v", p)
	}
}

// TestReport is a table of figures.
func TestReport(t *testing.T) {
	m := New()
	m.layer("locate").self.Store(int64(time.Second / 2))
	m.layer("cache").calls.Store(50)
	got := m.report(Figures{Lines: 1000, Read: 2e6, Written: 3e6, Frames: 200, Unresolved: 20}, 2*time.Second, usage{time.Second, 30e6})
	want := "wall 2.000 s, CPU 1.000 s (0.50 cores), peak memory 30.0 MB\n1000 lines, 2000000 bytes in, 3000000 bytes out (1.50 of it): 500 lines/s, 1.0 MB/s\n" +
		"200 frames (0.2000 of the lines), 20 without a name (0.1000 of them)\n50 distinct look-ups: 4.0 frames each\n" +
		"locate        0.500 s (0.2500 of wall), 0 calls\ncache         0.000 s (0.0000 of wall), 50 calls\n"
	if got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if got := New().report(Figures{}, 0, usage{}); !strings.HasPrefix(got, "wall 0.000 s\n") || strings.Contains(got, "NaN") {
		t.Errorf("of nothing it says\n%s", got)
	}
	m.cpu = used().cpu + time.Hour // which the process has not used since
	if got := m.Report(Figures{}); strings.Contains(got, "CPU") {
		t.Errorf("what was used before the begin is told\n%s", got)
	}
	if u := used(); u.cpu == 0 && u.peak == 0 {
		t.Log("this system does not tell what a process has used")
	}
}

// TestTell says what is asked for, and nothing else.
func TestTell(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{{Options{}, ""}, {Options{Verbose: true}, "5 look-ups, 3 of them answered by the cache"}, {Options{Benchmark: true}, "wall "}} {
		said := ""
		m := c.o.Start()
		if m != nil {
			m.layer("parse").calls.Store(2)
			m.layer("cache").calls.Store(5)
		}
		c.o.Tell(m, Figures{Read: 1}, func(message string) { said += message + "\n" })
		if !strings.HasPrefix(said, c.want) || c.want == "" && said != "" || c.o.Benchmark && !strings.Contains(said, "\n5 distinct look-ups") {
			t.Errorf("%+v says %q, want %q", c.o, said, c.want)
		}
	}
}

// TestTellWithoutCache holds that a layer which is not there does not count as the outermost one.
func TestTellWithoutCache(t *testing.T) {
	o := Options{Verbose: true, Benchmark: true}
	m := o.Start()
	m.layer("parse").calls.Store(2)
	said := ""
	o.Tell(m, Figures{Read: 1}, func(message string) { said += message + "\n" })
	if !strings.Contains(said, "\n2 distinct look-ups") || strings.Contains(said, "cache") {
		t.Errorf("it says %q", said)
	}
}

// TestTalk tells of a search once, and again where it has another outcome.
func TestTalk(t *testing.T) {
	var said []string
	f := &found{files: &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: "elf not found", Tried: []string{"a", "b"}, Retry: func() bool { return true }}}
	talker := Talk(f, func(message string) { said = append(said, message) })
	m := symsrc.Module{Name: "/lib/a\x1b.so", BuildID: "\x01"}
	for range 2 {
		talker.Find(t.Context(), m)
	}
	for _, files := range []*symsrc.Files{{Debug: "/d", ElfStatus: symsrc.NotFound}, {Elf: "/e", Debug: "/d"}, {Elf: "/e", Unverified: true}, nil} {
		f.files = files
		talker.Find(t.Context(), m)
	}
	name := `"/lib/a\x1b.so" (BuildId: 01)`
	want := []string{"search for " + name, name + ": NOT_FOUND: elf not found; looked at 2 places; the search goes on", name + `: debug information from "/d"`,
		name + `: from "/e", debug information from "/d"`, name + `: from "/e" (unverified: by name alone)`, name + ": not searched for"}
	if !slices.Equal(said, want) {
		t.Errorf("said\n%s, want\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	for i := range maxTold {
		talker.Find(t.Context(), symsrc.Module{Name: fmt.Sprint(i)})
	}
	if got := title(symsrc.Module{Name: "a.apk", Member: "b.so"}); got != `"a.apk!b.so"` {
		t.Errorf("the title is %s", got)
	}
}
