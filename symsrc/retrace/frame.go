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
	r := Result{Known: true}
	all := c.methods[f.Method]
	if len(all) == 0 {
		r.Candidates = [][]Frame{{m.named(f, c.original, f.Method, f.Line, f.HasLine)}}
		return r
	}
	groups, fits := matching(all, f)
	if before.outlined {
		if line, ok := called(groups, before.position); ok {
			f.Line, f.HasLine = line, true
			groups, fits = matching(all, f)
		}
	}
	r.Fits = fits
	for _, g := range groups {
		if g[len(g)-1].outline {
			*t = Trace{thrown: before.thrown, outlined: true, position: f.Line}
			r.Dropped = true
			return r
		}
	}
	dropped := false
	for _, g := range groups {
		chain, gone := m.chain(g, f, fits, before.thrown)
		dropped = dropped || gone
		if len(chain) > 0 && !slices.ContainsFunc(r.Candidates, func(other []Frame) bool { return slices.Equal(other, chain) }) && len(r.Candidates) < maxCandidates {
			r.Candidates = append(r.Candidates, chain)
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
	return rest, !f.HasLine
}

// chain returns the functions of a group. gone is set if they are not shown.
func (m *Map) chain(g []entry, f Frame, fits bool, thrown string) (chain []Frame, gone bool) {
	ranged := g[0].from >= 0
	if ranged && (!f.HasLine || !fits) && !(g[0].from == 0 && (g[0].to == 0 || g[0].to == catchAll)) {
		outer := &g[len(g)-1] // which of the inlined functions it is, only the line says
		return []Frame{m.named(f, outer.class, outer.method, 0, false)}, false
	}
	for i := range g {
		e := &g[i]
		line, has := f.Line, f.HasLine
		switch {
		case e.firsts == 0 && ranged && e.from == 0 && e.to == catchAll:
		case e.firsts == 0:
		case e.firsts == 1 || e.first == e.last || !ranged || !f.HasLine:
			line, has = e.first, true
		default:
			line = min(e.first+f.Line-e.from, e.last)
		}
		chain = append(chain, m.named(f, e.class, e.method, line, has && line > 0))
	}
	last := &g[len(g)-1]
	if thrown != "" {
		for _, w := range last.rewrites {
			if len(w.throws) > 0 && !slices.Contains(w.throws, "L"+strings.ReplaceAll(thrown, ".", "/")+";") || w.remove <= 0 {
				continue
			}
			n := min(w.remove, len(chain))
			chain, g, gone = chain[n:], g[n:], true
			break
		}
	}
	shown := chain[:0:0]
	for i := range chain {
		if !g[i].synthesized {
			shown = append(shown, chain[i])
		}
	}
	if len(shown) > 0 {
		chain = shown
	}
	return chain, gone
}

// named returns a frame of a method. Its file is that of the map, or has the name of the outermost class.
func (m *Map) named(f Frame, class, method string, line int, has bool) Frame {
	fr := Frame{Class: class, Method: method, File: m.fileOf(class), Line: line, HasLine: has}
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
