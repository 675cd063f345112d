package importer

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/symsrc"
)

// TestLogStacks: a stack ends where its numbers begin anew, those of several threads may mix, and equal ones are counted.
func TestLogStacks(t *testing.T) {
	passed := 0
	s := NewLogStacks(func(*filter.Observation) { passed++ })
	frame := func(thread string, number uint64, name string) {
		s.Observe(&filter.Observation{Thread: thread, Numbered: true, Number: number, Located: true, At: uint64(name[0]),
			Module: symsrc.Module{Name: "/a.so"}, Frames: []symsrc.Frame{{Func: name}}})
	}
	for range 2 {
		frame("one", 0, "leaf")
		frame("two", 0, "other")
		frame("one", 1, "main")
		frame("two", 1, "main")
	}
	s.Observe(&filter.Observation{Thread: "one", Sentence: true, Located: true})
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
