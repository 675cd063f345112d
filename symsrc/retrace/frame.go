package retrace

import (
	"cmp"
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
	outline  string // the outline, as `Lclass;method(`; "" for none
}

// Open reports whether the last frame may be of an outline: then the next one may stand for another line than it says.
func (t *Trace) Open() bool { return t.outline != "" }

// Result is what a frame was.
type Result struct {
	// Known is set if the class is in the map, and Fits if the method is, and its line if the frame has one.
	Known, Fits bool
	// TooMany is set if so many methods may be meant that none is given, or if the class is too large to be read.
	TooMany bool
	// Dropped is set if the frame stands for no line of source. What it says counts for the next frame.
	Dropped bool
	// Candidates are the possible originals, each a chain of functions, innermost first, sorted by the innermost one.
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
	all := m.method(c, f.Method)
	groups, fits := matching(all, f)
	if line, ok := before.called(groups); ok {
		f.Line, f.HasLine = line, true
		groups, fits = matching(all, f)
	}
	r := Result{Known: true, Fits: fits, TooMany: c.cut || len(groups) > maxCandidates}
	switch {
	case r.TooMany:
		r.Fits = true // the map does not contradict
	case !fits:
		r.Candidates = [][]Frame{{m.named(f, c.original, f.Method, f.Line)}}
	default:
		r.Candidates = m.candidates(groups, f, before.thrown)
		r.Dropped = len(r.Candidates) == 0
		t.enter(groups, f, before.thrown, r.Dropped)
	}
	return r
}

// candidates returns what the functions of some groups are.
func (m *Map) candidates(groups [][]entry, f Frame, thrown string) (all [][]Frame) {
	for _, g := range groups {
		for _, chain := range m.chains(g, f, len(groups) > 1, thrown) {
			if len(chain) > 0 && len(all) < maxCandidates && !slices.ContainsFunc(all, func(other []Frame) bool { return slices.Equal(other, chain) }) {
				all = append(all, chain)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b []Frame) int {
		return cmp.Or(strings.Compare(a[0].Class, b[0].Class), strings.Compare(a[0].Method, b[0].Method), strings.Compare(a[0].File, b[0].File), cmp.Compare(a[0].Line, b[0].Line))
	})
	return all
}

// enter notes that a frame may be of an outline. The exception still counts for the next frame if this one is not shown.
func (t *Trace) enter(groups [][]entry, f Frame, thrown string, dropped bool) {
	for _, g := range groups {
		if !g[len(g)-1].outline {
			continue
		}
		*t = Trace{position: f.Line, outline: "L" + strings.ReplaceAll(f.Class, ".", "/") + ";" + f.Method + "("}
		if dropped {
			t.thrown = thrown
		}
	}
}

// called returns the line, in the log's terms, for which a place in the outline of the frame before stands in one of some functions.
func (t *Trace) called(groups [][]entry) (line int, ok bool) {
	if t.outline == "" {
		return 0, false
	}
	for _, g := range groups {
		for i := range g {
			if g[i].notes == nil {
				continue
			}
			for _, at := range g[i].notes.callsites {
				if at.outline != "" && !strings.HasPrefix(at.outline, t.outline) {
					continue
				}
				if line, ok = at.positions[t.position]; ok {
					return line, true
				}
			}
		}
	}
	return 0, false
}

// kinds of groups of entries. Those of a kind count only where there is none of the kinds before it.
const (
	exact    = iota // its range has the line, or the beginning if there is no line
	wide            // its range has all lines
	plain           // it has no range
	anywhere        // its range counts, since there is no line
	none
)

// kindOf returns of which kind the groups are that begin with an entry.
func (e *entry) kindOf(f Frame) int {
	switch {
	case e.from < 0:
		return plain
	case e.from == 0 && e.to == catchAll:
		return wide
	case f.HasLine && e.from <= f.Line && f.Line <= e.to, !f.HasLine && e.from == 0:
		return exact
	case !f.HasLine:
		return anywhere
	}
	return none
}

// goesOn reports whether an entry is of the function that the function of first is inlined into: it has the same range of lines. ProGuard's
// entries without lines of the source are of functions that stand on one line, such as lambdas, and have got one name.
func (e *entry) goesOn(first *entry) bool {
	return first.from >= 0 && e.from == first.from && e.to == first.to && (e.firsts > 0 || first.firsts > 0 || e.signature == first.signature)
}

// matching returns the entries that a frame may be, in groups: those of a group are functions that are inlined into each other. fits is set
// if there are some.
func matching(all []entry, f Frame) (groups [][]entry, fits bool) {
	best := none
	for i := 0; i < len(all); {
		k := i + 1
		for k < len(all) && all[k].goesOn(&all[i]) && k-i < maxChain {
			k++
		}
		kind := all[i].kindOf(f)
		if kind < best {
			best, groups = kind, groups[:0]
		}
		if kind == best && kind < none {
			groups = append(groups, all[i:k])
		}
		i = k
	}
	return groups, best < none
}

// chains returns the possible functions of a group, innermost first, one chain for each line of source that a single line may have been.
// A chain is empty if its functions are not shown. several is set if there are other groups.
func (m *Map) chains(g []entry, f Frame, several bool, thrown string) (chains [][]Frame) {
	known := true // the line of each function
	switch e := &g[0]; {
	case !f.HasLine && e.from > 0:
		g, known = g[len(g)-1:], false // which of the inlined functions it is, only the line says
	case !f.HasLine && (several && e.from < 0 || slices.ContainsFunc(g, func(e entry) bool { return e.first < e.last })):
		known = false
	}
	remove := 0
	for i := range g {
		remove += g[i].removes(thrown)
	}
	if remove > len(g) {
		remove = 0 // as R8 does
	}
	shown := g[remove:]
	if outer := &g[len(g)-1]; len(shown) > 0 && (outer.synthesized || outer.outline) {
		shown = shown[:len(shown)-1]
	}
	chains = [][]Frame{nil}
	for i := range shown {
		lines := []int{0}
		if known {
			lines = shown[i].lines(f)
		}
		var longer [][]Frame
		for _, before := range chains {
			for _, line := range lines {
				if len(longer) < maxCandidates {
					longer = append(longer, append(slices.Clip(before), m.named(f, shown[i].class, shown[i].method, line)))
				}
			}
		}
		chains = longer
	}
	return chains
}

// lines returns the lines of source that a frame may be in, 0 for one that is not known.
func (e *entry) lines(f Frame) []int {
	switch {
	case e.firsts == 0 && f.HasLine:
		return []int{f.Line}
	case e.firsts == 0:
		return []int{0}
	case e.firsts == 1 || e.first == e.last:
		return []int{e.first}
	case e.from >= 0 && e.to-e.from == e.last-e.first:
		return []int{e.first + max(f.Line-e.from, 0)}
	case e.last-e.first >= maxCandidates:
		return []int{0}
	}
	var all []int
	for line := e.first; line <= e.last; line++ {
		all = append(all, line)
	}
	return all
}

// removes returns how many inner functions are not shown right below an exception.
func (e *entry) removes(thrown string) (n int) {
	if thrown == "" || e.notes == nil {
		return 0
	}
	for _, w := range e.notes.rewrites {
		if len(w.throws) == 0 || slices.Contains(w.throws, "L"+strings.ReplaceAll(thrown, ".", "/")+";") {
			n += w.remove
		}
	}
	return n
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
