package resolve

import (
	"path"
	"slices"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/javamap"
	"qss-filter/symsrc/retrace"
)

// javaTrace is what a thread's trace has left behind.
type javaTrace struct {
	maps []*javamap.Map // that the trace is read with, in the order in which they apply
	of   []retrace.Trace
	// open is set if the next frame may depend on what was before it.
	open bool
	// tooMany is set if more methods may be meant than are given.
	tooMany bool
}

// maxCandidates bounds the originals of one frame, over all maps of a chain.
const maxCandidates = 64

// on returns the state of the trace of a thread that is read with the given maps, which begins anew where these are others.
func (j *Java) on(t *Thread, maps []*javamap.Map) *javaTrace {
	if t.java == nil || !slices.Equal(t.java.maps, maps) {
		if t.java != nil {
			j.opens(t.java, false)
		}
		t.java = &javaTrace{maps: maps, of: make([]retrace.Trace, len(maps))}
	}
	return t.java
}

// outlined reports whether the next frame may depend on the last one.
func (t *javaTrace) outlined() bool {
	return slices.ContainsFunc(t.of, func(of retrace.Trace) bool { return of.Open() })
}

// retrace looks a frame up in one map after the other.
func (t *javaTrace) retrace(was retrace.Frame) (found [][]retrace.Frame, known, fits bool) {
	found, fits, t.tooMany = [][]retrace.Frame{{was}}, true, false
	for i, m := range t.maps {
		var next [][]retrace.Frame
		for _, chain := range found {
			next = append(next, t.chain(i, m, chain, &known, &fits)...)
		}
		if len(next) > maxCandidates {
			next = next[:maxCandidates]
		}
		found = next
	}
	return found, known, fits
}

// chain looks the functions of one candidate up in a map. Those of which it knows nothing stay.
func (t *javaTrace) chain(i int, m *javamap.Map, chain []retrace.Frame, known, fits *bool) [][]retrace.Frame {
	all := [][]retrace.Frame{nil}
	dropped := len(chain) > 0
	for _, fr := range chain {
		r := m.Retrace(&t.of[i], fr)
		t.tooMany = t.tooMany || r.TooMany
		if !r.Known {
			r.Candidates = [][]retrace.Frame{{fr}}
		} else {
			*known, *fits = true, *fits && r.Fits
		}
		if r.Dropped {
			continue
		}
		dropped = false
		if len(chain) == 1 { // nearly always
			return r.Candidates
		}
		var longer [][]retrace.Frame
		for _, before := range all {
			for _, more := range r.Candidates {
				if len(longer) < maxCandidates {
					longer = append(longer, slices.Concat(before, more))
				}
			}
		}
		all = longer
	}
	if dropped {
		return nil
	}
	return all
}

// javaFrames returns functions as answers have them: the source file lies in the directory of its package.
func javaFrames(chain []retrace.Frame) []symsrc.Frame {
	list := make([]symsrc.Frame, len(chain))
	for i := range chain {
		fr := &chain[i]
		list[i] = symsrc.Frame{Func: fr.Class + "." + fr.Method, File: fr.File}
		if fr.HasLine {
			list[i].Line = fr.Line
		}
		if dot := strings.LastIndexByte(fr.Class, '.'); dot > 0 && path.Ext(fr.File) != "" && !strings.Contains(fr.File, "/") {
			list[i].File = strings.ReplaceAll(fr.Class[:dot], ".", "/") + "/" + fr.File
		}
	}
	return list
}
