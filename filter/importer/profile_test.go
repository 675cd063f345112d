package importer

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"qss-filter/filter/print"
	"qss-filter/symsrc"
)

// demo is a profile of three stacks, two of which are the same, with an inlined function and a frame without a name.
func demo() *Profile {
	p := NewProfile(ValueKind{"samples", "count"}, ValueKind{"time", "microseconds"})
	main := Call{Module: symsrc.Module{Name: "/bin/a", BuildID: "\xab\xcd"}, Addr: 0x100, Frames: []symsrc.Frame{{Func: "main", File: "/src/a.c", Line: 7}}}
	work := Call{Module: main.Module, Addr: 0x200, Frames: []symsrc.Frame{{Func: "inl;ined", File: "/src/a.h", Line: 3},
		{Func: "work", Linkage: "_Z4workv", File: "/src/a.c", Line: 20, Column: 5}}}
	raw := Call{Addr: 0x300}
	p.Add([]Call{work, main}, 2, 30)
	p.Add([]Call{raw, main}, 1, 5)
	p.Add([]Call{work, main}, 3, 12)
	p.Add([]Call{main}, 0, 0)
	return p
}

func TestFolded(t *testing.T) {
	var b bytes.Buffer
	if err := demo().WriteFolded(context.Background(), &b); err != nil || b.String() != "main;[unknown] 1\nmain;work;inl:ined 5\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestTable(t *testing.T) {
	const heads = "     samples       %       time/us       %  "
	for by, want := range map[By]string{
		ByFunction: "           5  83.33%            42  89.36%  inl;ined\n           1  16.67%             5  10.64%  [unknown]\n",
		ByLine:     "           5  83.33%            42  89.36%  inl;ined /src/a.h:3\n           1  16.67%             5  10.64%  [unknown]\n",
		ByAddress:  "           5  83.33%            42  89.36%  a+0x200 inl;ined /src/a.h:3\n           1  16.67%             5  10.64%  ?+0x300 [unknown]\n",
		ByModule:   "           5  83.33%            42  89.36%  /bin/a\n           1  16.67%             5  10.64%  [unknown]\n",
	} {
		var b bytes.Buffer
		if err := demo().WriteTable(context.Background(), &b, by); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != heads+by.String()+"\n"+want {
			t.Errorf("by %s:\n%s", by, got)
		}
	}
}

// TestPprof reads what was written with pprof's own reader.
func TestPprof(t *testing.T) {
	var b bytes.Buffer
	if err := demo().WritePprof(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Error(err)
	}
	text := p.String()
	for _, want := range []string{"samples/count time/microseconds", "5         42: 2 1", "1          5: 3 1",
		"1: 0x100 M=1 main /src/a.c:7:0", "2: 0x200 M=1 inl;ined /src/a.h:3:0", "work /src/a.c:20:5", "(_Z4workv)", "/bin/a abcd [FN]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestDeepStacks checks that of a recursion without an end the innermost frames count.
func TestDeepStacks(t *testing.T) {
	p := NewProfile(ValueKind{"samples", "count"})
	stack := make([]Call, 10*maxDepth)
	for i := range stack {
		stack[i] = Call{Addr: uint64(i + 1)}
	}
	p.Add(stack, 1)
	if n := len(p.stacks.tree) - 1; n != maxDepth || p.calls[len(p.calls)-1].Addr != 1 {
		t.Errorf("%d frames", n)
	}
}

// TestGoTool checks that go tool pprof reads the profiles of the samples.
func TestGoTool(t *testing.T) {
	if err := exec.Command("go", "tool", "-n", "pprof").Run(); err != nil {
		t.Skip("no go tool pprof:", err)
	}
	s := symbols(t)
	for path, want := range map[string][]string{
		"chopstix": {"Type: task-clock", "1.88s", "busy_hash", "libc.so.6]"},
		"perflow":  {"Type: samples", "leaf", "plugin_work", "call_through"},
		"scaler":   {"Type: time", "pthread_cond_wait", "engine::step"},
	} {
		dir := t.TempDir()
		o := Options{Symbols: s, Pprof: filepath.Join(dir, "p.pb.gz"), Folded: filepath.Join(dir, "p.folded")}
		if _, err := lines(t, filepath.Join("testdata", path), o); err != nil {
			t.Fatal(err)
		}
		for _, view := range []string{"-top", "-raw"} {
			text, err := exec.Command("go", "tool", "pprof", view, "-nodefraction=0", o.Pprof).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			for _, w := range want {
				if view == "-top" && !strings.Contains(string(text), w) {
					t.Errorf("%s: no %q in\n%s", path, w, text)
				}
			}
		}
		if folded, err := os.ReadFile(o.Folded); err != nil || len(folded) == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := lines(t, "testdata/perflow", Options{Pprof: filepath.Join(t.TempDir(), "none", "p")}); err == nil {
		t.Error("a profile that cannot be written is no error")
	}
}

// TestLogStacks: a stack ends where its numbers begin again, those of several threads may mix, and equal ones are counted.
func TestLogStacks(t *testing.T) {
	passed := 0
	s := NewLogStacks(func(*print.Observation) { passed++ })
	frame := func(thread string, number uint64, name string) {
		s.Observe(&print.Observation{Thread: thread, Numbered: true, Number: number, Located: true, At: uint64(name[0]),
			Module: symsrc.Module{Name: "/a.so"}, Frames: []symsrc.Frame{{Func: name}}})
	}
	for range 2 {
		frame("one", 0, "leaf")
		frame("two", 0, "other")
		frame("one", 1, "main")
		frame("two", 1, "main")
	}
	s.Observe(&print.Observation{Thread: "one", Sentence: true, Located: true})
	path := filepath.Join(t.TempDir(), "folded")
	if err := s.Save(context.Background(), &Options{Folded: path}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"main;leaf 2\n", "main;other 2\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the folded stacks lack %q:\n%s", want, text)
		}
	}
	if passed != 9 {
		t.Errorf("%d frames passed on, want 9", passed)
	}
}
