package retrace

import (
	"path"
	"slices"
	"strings"
)

// Frame is a frame `at Class.Method(File:Line)`. Class has dots between its parts.
type Frame struct {
	Class, Method, File string
	Line                int
	HasLine             bool
}

// Trace is what the lines of one stack leave behind for the next one. The zero Trace is that of no line.
type Trace struct {
	thrown   string // the exception that the line before has named, by its own name
	position int    // in an outline
	outlined bool
}

// Result is what a frame was.
type Result struct {
	// Known is set if the class is in the map, and Fits if the method is, and its line if the frame has one.
	Known, Fits bool
	// Dropped is set if the frame stands for no line of source. What it says counts for the next frame.
	Dropped bool
	// Candidates are the possible originals, each a chain of functions, innermost first.
	Candidates [][]Frame
}

const (
	// catchAll is the end of a range that has all lines of a method.
	catchAll = 65535
	// maxChain and maxCandidates bound what a frame becomes.
	maxChain      = 1 << 10
	maxCandidates = 64
)

// Exception returns the own name of the exception that a line names, whose frames follow.
func (m *Map) Exception(t *Trace, name string) (original string, ok bool) {
	original, ok = m.Class(name)
	*t = Trace{thrown: name}
	if ok {
		t.thrown = original
	}
	return original, ok
}

// Retrace returns what a frame was.
func (m *Map) Retrace(t *Trace, f Frame) Result {
	before := *t
	*t = Trace{}
	c := m.class(f.Class)
	if c == nil {
		return Result{}
	}
	f.HasLine = f.HasLine && f.Line > 0
	r := Result{Known: true}
	all := c.methods[f.Method]
	groups, fits := matching(all, f)
	if before.outlined {
		if line, ok := called(groups, before.position); ok {
			f.Line, f.HasLine = line, true
			groups, fits = matching(all, f)
		}
	}
	if r.Fits = fits; !fits {
		r.Candidates = [][]Frame{{m.named(f, c.original, f.Method, f.Line)}}
		return r
	}
	for _, g := range groups {
		if g[len(g)-1].outline {
			*t = Trace{thrown: before.thrown, outlined: true, position: f.Line}
			r.Dropped = true
			return r
		}
	}
	dropped := false
	for _, g := range groups {
		chains, gone := m.chains(g, f, len(groups) > 1, before.thrown)
		dropped = dropped || gone
		for _, chain := range chains {
			if len(chain) > 0 && len(r.Candidates) < maxCandidates && !slices.ContainsFunc(r.Candidates, func(other []Frame) bool { return slices.Equal(other, chain) }) {
				r.Candidates = append(r.Candidates, chain)
			}
		}
	}
	r.Dropped = dropped && len(r.Candidates) == 0
	return r
}

// called returns the line in the log's terms that a place in an outline stands for, in the function that has called it.
func called(groups [][]entry, position int) (line int, ok bool) {
	for _, g := range groups {
		for i := range g {
			if line, ok = g[i].positions[position]; ok {
				return line, true
			}
		}
	}
	return 0, false
}

// matching returns the entries that a frame may be, in groups: those of a group are functions that are inlined into each other. fits is set
// if the line is one of the map's, or there is none.
func matching(all []entry, f Frame) (groups [][]entry, fits bool) {
	var exact, wide, plain, rest [][]entry
	for i := 0; i < len(all); {
		k := i + 1
		for k < len(all) && all[i].from >= 0 && all[k].from == all[i].from && all[k].to == all[i].to && k-i < maxChain {
			k++
		}
		g := all[i:k]
		switch e := &all[i]; {
		case e.from < 0:
			plain = append(plain, g)
		case e.from == 0 && e.to == catchAll:
			wide = append(wide, g)
		case f.HasLine && e.from <= f.Line && f.Line <= e.to, !f.HasLine && e.from == 0 && e.to == 0:
			exact = append(exact, g)
		default:
			rest = append(rest, g)
		}
		i = k
	}
	for _, groups := range [][][]entry{exact, wide, plain} {
		if len(groups) > 0 {
			return groups, true
		}
	}
	return rest, !f.HasLine && len(rest) > 0
}

// chains returns the possible functions of a group, innermost first, one chain for each line of source that a single line may have been.
// gone is set if they are not shown. several is set if there are other groups.
func (m *Map) chains(g []entry, f Frame, several bool, thrown string) (chains [][]Frame, gone bool) {
	lines := make([][]int, len(g))
	switch e := &g[0]; {
	case e.from >= 0 && !f.HasLine && !(e.from == 0 && (e.to == 0 || e.to == catchAll)):
		g, lines = g[len(g)-1:], lines[len(g)-1:] // which of the inlined functions it is, only the line says
	case !f.HasLine && (several && e.from < 0 || slices.ContainsFunc(g, func(e entry) bool { return e.first < e.last })):
	default:
		for i := range g {
			lines[i] = g[i].lines(f)
		}
	}
	shown := make([]bool, len(g))
	for i := range g {
		shown[i] = !g[i].synthesized
	}
	if !slices.Contains(shown, true) {
		for i := range shown {
			shown[i] = true
		}
	}
	if n := g[len(g)-1].removes(thrown); n > 0 {
		n, gone = min(n, len(g)), true
		g, lines, shown = g[n:], lines[n:], shown[n:]
	}
	chains = [][]Frame{nil}
	for i := range g {
		if !shown[i] {
			continue
		}
		var longer [][]Frame
		for _, before := range chains {
			for _, line := range append(lines[i][:len(lines[i]):len(lines[i])], make([]int, max(0, 1-len(lines[i])))...) {
				if len(longer) < maxCandidates {
					longer = append(longer, append(slices.Clip(before), m.named(f, g[i].class, g[i].method, line)))
				}
			}
		}
		chains = longer
	}
	return chains, gone
}

// lines returns the lines of source that a frame may be in, none if that is not known.
func (e *entry) lines(f Frame) []int {
	switch {
	case e.firsts == 0 && f.HasLine:
		return []int{f.Line}
	case e.firsts == 0:
		return nil
	case e.firsts == 1 || e.first == e.last:
		return []int{e.first}
	case e.from >= 0 && e.from < e.to && e.to != catchAll:
		return []int{min(e.first+f.Line-e.from, e.last)}
	case e.last-e.first >= maxCandidates:
		return nil
	}
	var all []int
	for line := e.first; line <= e.last; line++ {
		all = append(all, line)
	}
	return all
}

// removes returns how many inner functions are not shown right below an exception.
func (e *entry) removes(thrown string) int {
	if thrown == "" {
		return 0
	}
	for _, w := range e.rewrites {
		if len(w.throws) == 0 || slices.Contains(w.throws, "L"+strings.ReplaceAll(thrown, ".", "/")+";") {
			return w.remove
		}
	}
	return 0
}

// named returns a frame of a method, whose line is not known if it is 0. Its file is that of the map, or has the name of the outermost class.
func (m *Map) named(f Frame, class, method string, line int) Frame {
	fr := Frame{Class: class, Method: method, File: m.fileOf(class), Line: max(line, 0), HasLine: line > 0}
	if fr.File != "" {
		return fr
	}
	name := class[strings.LastIndexByte(class, '.')+1:]
	if i := strings.IndexByte(name, '$'); i > 0 {
		name = name[:i]
	}
	ext := path.Ext(f.File)
	switch ext {
	case ".kt", ".java", ".scala", ".groovy":
	default:
		ext = ".java"
		if short, kotlin := strings.CutSuffix(name, "Kt"); kotlin && short != "" {
			ext = ".kt"
		}
	}
	if short, kotlin := strings.CutSuffix(name, "Kt"); kotlin && short != "" && ext == ".kt" {
		name = short
	}
	fr.File = name + ext
	return fr
}
