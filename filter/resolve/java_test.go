package resolve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc/javamap"
)

// TestForgottenTraces holds that a trace whose thread was forgotten is not waited for: every line would be read in full from then on.
func TestForgottenTraces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mapping.txt")
	outline := "# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.0\"}\nout.Class -> a.b:\n    1:2:int out():0 -> a\n# {\"id\":\"com.android.tools.r8.outline\"}\n"
	if err := os.WriteFile(path, []byte(outline), 0o644); err != nil {
		t.Fatal(err)
	}
	maps, err := javamap.New(t.Context(), javamap.Options{Files: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	r := resolve.New(resolve.Options{Symbols: &recorded{}, Java: maps})
	line := func(pid int) string {
		return fmt.Sprintf("11-21 10:11:12.123  %d  %d E AndroidRuntime: \tat a.b.a(SourceFile:1)", pid, pid)
	}
	open := func(pid int) *resolve.Thread {
		th := thread(r, line(pid))
		var p parse.Parser
		text := []byte(line(pid))
		p.ReadJava(parse.Segment{Text: text, Start: p.ReadPrefix(text).Start, End: len(text)})
		_ = r.Java.Frame(t.Context(), th, &p.Frames[0], &resolve.Weighed{})
		return th
	}
	first := open(1)
	if r.Java.Plain() || r.Java.Settled() {
		t.Fatal("the frame of an outline leaves nothing open")
	}
	pid := 2
	for before := r.Processes.Forgotten(); r.Processes.Forgotten() == before; pid++ {
		thread(r, line(pid))
	}
	if thread(r, line(1)) == first {
		t.Fatal("the thread is remembered")
	}
	if !r.Java.Plain() || !r.Java.Settled() {
		t.Error("a trace is open whose thread was forgotten")
	}
	open(1)
	if r.Java.Plain() {
		t.Error("a trace is not open after the threads were forgotten")
	}
}
