package resolve

import (
	"bytes"
	"context"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
	"qss-filter/symsrc/javamap"
	"qss-filter/symsrc/retrace"
)

// Weighed is with which maps a line is read.
type Weighed struct {
	// Maps apply in this order. There are none if the trace does not say which: files has the reason then.
	Maps  []*javamap.Map
	files *symsrc.Files
}

// Decided reports whether it is known with which maps the trace of a thread is read.
func (j *Java) Decided(t *Thread) bool {
	return len(j.maps.Named()) > 0 || t.javaMaps != nil || t.java != nil
}

// Decides reports whether it is known with which maps a frame of a thread is read, without its trace.
func (j *Java) Decides(t *Thread, fr *parse.Frame) bool {
	return len(j.maps.Named()) > 0 || t.javaMaps != nil || len(frame.JavaMap(fr.SymbolText)) > 0
}

// Weighed returns how the exception above a frame is read that decides.
func (j *Java) Weighed(ctx context.Context, fr *parse.Frame) (as Weighed) {
	_, _, file, _, _ := frame.SplitJava(fr.HintText, fr.SymbolText)
	if id := frame.JavaMap(file); len(id) > 0 {
		if m, _ := j.maps.ByID(ctx, string(id)); m != nil {
			as.Maps = j.chain(m)
		}
	}
	return as
}

// Weighs reports whether a trace with that frame may be evidence for a map.
func (j *Java) Weighs(ctx context.Context, fr *parse.Frame) bool {
	if !j.looked {
		return false
	}
	class, _, _, _, _ := frame.SplitJava(fr.HintText, fr.SymbolText)
	return knows(j.maps.Found(ctx), string(class))
}

// Evidence is what a trace says of maps.
type Evidence struct {
	frames  []retrace.Frame
	classes []string
	// maps are those that a frame names.
	maps []*javamap.Map
}

// Named adds the maps that a frame names.
func (e *Evidence) Named(as Weighed) { e.maps = as.Maps }

// Frame adds a frame, and Class an exception.
func (e *Evidence) Frame(fr *parse.Frame) {
	class, method, file, line, numbered := frame.SplitJava(fr.HintText, fr.SymbolText)
	e.frames = append(e.frames, retrace.Frame{Class: string(class), Method: string(method), File: string(file), Line: line, HasLine: numbered})
}

func (e *Evidence) Class(name []byte) { e.classes = append(e.classes, string(name)) }

// undecided is the name of what is not known.
const undecided = "mapping.txt"

// Weigh returns with which map a trace is read: the only one whose classes fit all frames of the trace, and which no frame contradicts.
func (j *Java) Weigh(ctx context.Context, e *Evidence) Weighed {
	if e.maps != nil {
		return Weighed{Maps: e.maps}
	}
	found := j.maps.Found(ctx)
	var fit []*javamap.Map
	for _, m := range found {
		if j.fits(m, found, e) {
			fit = append(fit, m)
		}
	}
	if len(fit) == 1 {
		return Weighed{Maps: fit}
	}
	note := "no map that was found fits all frames of the trace"
	if len(fit) > 1 {
		note = fit[0].Path + " and " + fit[1].Path + " fit all frames of the trace"
	}
	return Weighed{files: &symsrc.Files{ElfStatus: symsrc.NotVerified, DebugStatus: symsrc.NotVerified, Note: note}}
}

// fits reports whether a map of several has the classes of a trace, and every method.
func (j *Java) fits(m *javamap.Map, of []*javamap.Map, e *Evidence) bool {
	renames := false
	for _, class := range e.classes {
		if !hasClass(m, class) && (knows(of, class) || isShort(class)) {
			return false
		}
	}
	var state retrace.Trace
	for i := range e.frames {
		fr := &e.frames[i]
		original, ok := m.Class(fr.Class)
		switch {
		case !ok && (knows(of, fr.Class) || isShort(fr.Class)):
			return false
		case !ok:
			continue
		}
		renames = renames || original != fr.Class
		if r := m.Retrace(&state, *fr); r.Known && !r.Fits && isShort(fr.Method) {
			return false
		}
	}
	return renames
}

// isShort reports whether a name looks as obfuscators make them.
func isShort(name string) bool { return len(name)-strings.LastIndexByte(name, '.')-1 <= 2 }

// ElidesJava reports whether a line stands for frames that were in the trace above, `... 42 more`.
func ElidesJava(text []byte) bool {
	text = scan.TrimLeft(text)
	return bytes.HasPrefix(text, []byte("... "))
}
