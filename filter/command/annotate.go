package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// maxAnnotations is how many annotations GitHub shows of a step.
const maxAnnotations = 10

// maxOpen bounds the stacks in memory.
const maxOpen = 1 << 12

// annotations writes `::error` lines for GitHub, which shows them at the lines of the source. Each stack has one, for the first of the
// program's own functions with a line. Several streams may write them at once.
type annotations struct {
	// root is the directory of the repository; paths are shown relative to it.
	root  string
	names print.Names

	mu   sync.Mutex
	out  io.Writer
	seen map[string]bool
}

// newAnnotations returns annotations that are written to out.
func newAnnotations(out io.Writer, names print.Names) *annotations {
	return &annotations{out: out, root: os.Getenv("GITHUB_WORKSPACE"), names: names, seen: map[string]bool{}}
}

// use makes a filter write annotations.
func (a *annotations) use(o *filter.Options) {
	s := &annotatedStream{annotations: a, open: map[any]*annotated{}}
	o.Observe, o.Read = observers(o.Observe, s.observe), readers(o.Read, s.heads.Read)
}

// annotatedStream is the stream of one filter.
type annotatedStream struct {
	*annotations
	heads  triage.Headlines
	open   map[any]*annotated
	single [1]symsrc.Frame
}

// annotated is a stack.
type annotated struct {
	run   triage.Run
	about triage.Headline
	done  bool
}

// observe is for filter.Options.Observe.
func (a *annotatedStream) observe(o *print.Observation) {
	if o.Sentence {
		return
	}
	s := a.open[o.Thread]
	if s == nil || !s.run.Continue(o.Line, o.Number, o.Numbered) {
		if len(a.open) >= maxOpen {
			clear(a.open)
		}
		s = &annotated{run: triage.Begin(o.Line, o.Number, o.Numbered), about: a.heads.Above(o.Line)}
		a.open[o.Thread] = s
	}
	if s.done {
		return
	}
	for _, fr := range a.names.Mapped(o.Functions(&a.single)) {
		if fr.Line > 0 && fr.File != "" && a.names.Own.Own(fr.Func, o.Module.Name, fr.File) {
			s.done = true
			a.write(&fr, s.about)
			return
		}
	}
}

// write writes an annotation, unless there is the same one.
func (a *annotations) write(fr *symsrc.Frame, about triage.Headline) {
	message := "in " + symsrc.Visible(fr.Func)
	switch {
	case about.Kind != "" && about.Kind != triage.Fault:
		message = about.Text + ", " + about.Kind + ": " + symsrc.Visible(fr.Func)
	case about.Text != "":
		message = about.Text + " " + message
	}
	place := "file=" + property(a.relative(fr.File)) + fmt.Sprintf(",line=%d", fr.Line)
	if fr.Column > 0 {
		place += fmt.Sprintf(",col=%d", fr.Column)
	}
	line := "::error " + place + "::" + data(strings.TrimPrefix(message, ", ")) + "\n"
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.seen[line] && len(a.seen) < maxAnnotations {
		a.seen[line] = true
		_, _ = io.WriteString(a.out, line) // it is a message; the log goes on without it
	}
}

// relative returns a path relative to the repository, if it lies in it.
func (a *annotations) relative(path string) string {
	if a.root == "" {
		return path
	}
	if rel, err := filepath.Rel(a.root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// data escapes the message of a command of GitHub's runner, and property one of its properties.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(text))
}

// observers adds an observer to those of a filter.
func observers(before, more func(*print.Observation)) func(*print.Observation) {
	if before == nil {
		return more
	}
	return func(o *print.Observation) {
		before(o)
		more(o)
	}
}

// readers adds a reader of lines to those of a filter.
func readers(before, more func(first int, lines []byte)) func(first int, lines []byte) {
	if before == nil {
		return more
	}
	return func(first int, lines []byte) {
		before(first, lines)
		more(first, lines)
	}
}
