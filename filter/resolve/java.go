package resolve

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"qss-filter/filter/frame"
	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/symsrc"
	"qss-filter/symsrc/javamap"
	"qss-filter/symsrc/retrace"
)

// Java restores names of Java that R8 or ProGuard has replaced, with the maps of its build. Which map that is, the frames say by its ID, or
// the user; of other maps a trace decides, see Weigh.
type Java struct {
	maps      *javamap.Maps
	memo      *memo
	processes *Processes
	// insist has frames named although another one contradicts their map.
	insist bool
	// refuted is set once a frame has contradicted a map.
	refuted bool
	// looked is set once something had the places searched.
	looked bool
	// known remembers what Knows has returned since then, and every what knowsEvery has.
	known map[string]bool
	every *bool
}

// JavaAnswer is what maps say of a frame of Java.
type JavaAnswer struct {
	// Candidates are the possible originals of a frame that may be several, each with its chain of functions, innermost first.
	Candidates [][]symsrc.Frame
	// InPlace is set for a frame of machine code that names a method of Java: the name alone is replaced.
	InPlace bool
	// Dropped is set if the frame is the compiler's own and stands for no line of source.
	Dropped bool
	// TooMany is set if more methods may be meant than are given.
	TooMany bool
	// Maps are those that the frame has named, with which the frames after it in its process are read that name none.
	Maps []*javamap.Map
	// Refuting says which map another frame of the process contradicts, and how. It is "" if none does.
	Refuting string
}

// mapsOf returns the maps with which the trace of a thread is read whose frame has that source: those that were weighed, or of the frame's ID,
// or the named ones, or those of the frames before. The module is what has them, with how the search ended.
func (j *Java) mapsOf(ctx context.Context, t *Thread, source []byte, as *Weighed) (maps []*javamap.Map, m *Module) {
	if id := frame.JavaMap(source); len(id) > 0 {
		m = j.memo.module(source, "")
		one, files := j.maps.ByID(ctx, string(id))
		if m.Files = files; one == nil {
			return nil, m
		}
		maps = j.chain(one)
		j.Again(t, maps)
		return maps, m
	}
	switch {
	case len(as.Maps) > 0:
		maps = as.Maps
	case as.files != nil:
		m = j.memo.module([]byte(undecided), "")
		m.Files = as.files
		return nil, m
	case len(j.maps.Named()) > 0:
		maps = j.maps.Named()
	default:
		maps = j.proven(t)
	}
	if len(maps) == 0 {
		return nil, nil
	}
	m = j.memo.module([]byte(maps[0].Name()), "")
	m.Files = maps[0].Files
	return maps, m
}

// Frame returns the answer for a frame of Java, nil if its class is in no map: then it has its own name.
func (j *Java) Frame(ctx context.Context, t *Thread, fr *parse.Frame, as *Weighed) *Answer {
	class, method, file, line, numbered := frame.SplitJava(fr.HintText, fr.SymbolText)
	maps, m := j.mapsOf(ctx, t, file, as)
	if m == nil {
		return nil
	}
	a := &Answer{Module: m, files: m.Files, Java: &JavaAnswer{}}
	if len(maps) == 0 {
		return a
	}
	was := retrace.Frame{Class: string(class), Method: string(method), File: string(file), Line: line, HasLine: numbered}
	if len(frame.JavaMap(file)) > 0 {
		a.Java.Maps = maps
	}
	trace := j.on(t, maps)
	found, known, fits := trace.retrace(was)
	j.opens(trace, trace.outlined())
	if trace.tooMany {
		a.Java.TooMany = true
		return a
	}
	switch {
	case !known && len(frame.JavaMap(file)) == 0:
		return nil
	case !known:
		found = [][]retrace.Frame{{was}} // a class that has kept its name
	case !fits && m.Files.Unverified && len(found) > 0 && len(found[0]) > 0 && found[0][0].Class == was.Class:
		return nil // it has its own name, and maybe its own line
	case !fits && m.Files.Unverified && isShort(was.Method):
		a.Elsewhere = was.Method
		j.refute(t.Process, maps, &was)
		return a
	case m.Files.Unverified:
		if by := j.refuting(t.Process, maps); by != "" {
			a.Elsewhere, a.Java.Refuting = was.Method, by
			return a
		}
	}
	a.Java.Dropped = len(found) == 0
	for _, chain := range found {
		a.Java.Candidates = append(a.Java.Candidates, javaFrames(chain))
	}
	if len(found) == 1 {
		a.Frames = a.Java.Candidates[0]
	}
	return a
}

// refute notes that a frame of a process contradicts its maps, which no build ID verifies: the first of them that has the frame's class.
func (j *Java) refute(p *Process, maps []*javamap.Map, by *retrace.Frame) {
	for _, m := range maps {
		if !m.Files.Unverified || !hasClass(m, by.Class) {
			continue
		}
		if p.refutedMaps == nil {
			p.refutedMaps = map[*javamap.Map]string{}
		}
		if p.refutedMaps[m] == "" {
			p.refutedMaps[m], j.refuted = m.Name()+" does not have "+by.Class+"."+by.Method, true
			if by.HasLine {
				p.refutedMaps[m] += " at line " + strconv.Itoa(by.Line)
			}
		}
		return
	}
}

// refuting returns how a frame of a process contradicts one of the maps, "" if none does, or if the user insists.
func (j *Java) refuting(p *Process, maps []*javamap.Map) string {
	if !j.refuted || j.insist {
		return ""
	}
	for _, m := range maps {
		if by := p.refutedMaps[m]; by != "" {
			return by
		}
	}
	return ""
}

// opens notes whether the next frame of a trace may depend on what was before it.
func (j *Java) opens(t *javaTrace, open bool) {
	switch {
	case open && !t.open:
		j.processes.open++
	case !open && t.open:
		j.processes.open--
	}
	t.open = open
}

// Settled reports whether maps are known, and no frame depends on what was before it: then one of a class that no map has means nothing.
func (j *Java) Settled() bool {
	return j.processes.open == 0 && (j.looked || !j.maps.MayFind()) && j.knowsEvery()
}

// knowsEvery reports whether Knows returns true for every exception that means something: none of the maps says what is below any exception, and
// all are open.
func (j *Java) knowsEvery() bool {
	if j.every == nil {
		found := []*javamap.Map(nil)
		if j.looked {
			found = j.maps.Found(context.Background())
		}
		rewrites := func(m *javamap.Map) bool { return m.Rewrites("") }
		every := !j.maps.TooMany() && !slices.ContainsFunc(j.maps.Named(), rewrites) && !slices.ContainsFunc(found, rewrites)
		j.every = &every
	}
	return *j.every
}

// Again notes that a frame of a thread has named maps, as one before did.
func (j *Java) Again(t *Thread, maps []*javamap.Map) {
	if t != j.unnamed() {
		t.javaMaps = maps
	}
	j.on(t, maps)
}

// Means reports whether a frame of a class with that source may be another one.
func (j *Java) Means(ctx context.Context, class, source []byte) bool {
	return len(frame.JavaMap(source)) > 0 || j.Knows(ctx, class)
}

// Plain reports whether every frame of Java is read with the same maps, and none depends on what was before it.
func (j *Java) Plain() bool { return j.processes.open == 0 && !j.refuted && len(j.maps.Named()) > 0 }

// proven returns the maps of the build that a process runs, as its frames have said. Lines that name no process may be of any.
func (j *Java) proven(t *Thread) []*javamap.Map { return t.javaMaps }

// unnamed returns the thread of lines that name no process.
func (j *Java) unnamed() *Thread { return j.processes.Unnamed }

// Thrown returns the name of an exception of a thread whose class has that name in the log, "" if it is the same or not known.
func (j *Java) Thrown(t *Thread, class string, as *Weighed) string {
	maps := as.Maps
	if len(maps) == 0 {
		maps = j.maps.Named()
	}
	if len(maps) == 0 {
		maps = j.proven(t)
	}
	if len(maps) == 0 && t.java != nil {
		maps = t.java.maps
	}
	if len(maps) == 0 || j.refuting(t.Process, maps) != "" {
		return ""
	}
	trace, now, open := j.on(t, maps), class, false
	for i, m := range maps {
		if original, ok := m.Exception(&trace.of[i], now); ok {
			now = original
		}
		open = open || m.Rewrites(now)
	}
	j.opens(trace, open)
	if now == class {
		return ""
	}
	return now
}

// Knows reports whether a map that may apply has a class, or says something about frames below it as an exception.
func (j *Java) Knows(ctx context.Context, class []byte) bool {
	if knows, ok := j.known[string(class)]; ok {
		return knows
	}
	if len(j.known) >= maxKnown || j.known == nil {
		j.known = map[string]bool{}
	}
	name := string(class)
	says := func(m *javamap.Map) bool { return hasClass(m, name) || m.Throws(name) }
	knows := slices.ContainsFunc(j.maps.Named(), says) || j.looked && slices.ContainsFunc(j.maps.Found(ctx), says)
	if len(name) <= maxKnownName {
		j.known[name] = knows
	}
	return knows
}

// maxKnown bounds the names of classes that are remembered, and maxKnownName the length of each, in bytes.
const (
	maxKnown     = 1 << 10
	maxKnownName = 1 << 8
)

// hasClass reports whether a map has a class.
func hasClass(m *javamap.Map, class string) bool {
	_, ok := m.Class(class)
	return ok
}

// knows reports whether one of some maps has a class.
func knows(maps []*javamap.Map, class string) bool {
	return slices.ContainsFunc(maps, func(m *javamap.Map) bool { return hasClass(m, class) })
}

// State returns the state of the search for lines: none while no frame of Java may mean anything but by its own ID.
func (j *Java) State() match.When {
	switch {
	case len(j.maps.Named()) > 0:
		return match.Retracing
	case !j.maps.MayFind():
		return 0
	case !j.looked:
		return match.Seeking
	case j.maps.Any(context.Background()):
		return match.Retracing
	}
	return 0
}

// Look has the places of maps searched, if that has not happened: a line may be of Java. Where that takes longer than a log may be held, a later
// call finds what was found.
func (j *Java) Look(ctx context.Context) {
	if !j.looked && j.maps.Looked(ctx) {
		j.looked, j.known, j.every = true, nil, nil
	}
}

// LookAhead is Look in the background, for a log that may never have a line of Java. It reports whether the state has changed; until then
// it may be called again.
func (j *Java) LookAhead(ctx context.Context) (changed bool) {
	if j.State() != match.Seeking || !j.maps.LookAhead(ctx) {
		return false
	}
	j.looked, j.known, j.every = true, nil, nil
	return true
}

// explanation returns why a frame has no name, or what is to be known of the one that it has.
func (j *JavaAnswer) explanation(a *Answer) string {
	name := a.Module.Shown
	switch {
	case j.TooMany:
		return "several methods may be meant, which are too many to show"
	case len(j.Candidates) > 1:
		return "several methods may be meant: the frame does not say which line"
	case len(a.Frames) > 0:
		return "unverified: the trace does not say of which build it is"
	case j.Refuting != "":
		return "another build: " + symsrc.Visible(j.Refuting) + ", which the log has"
	case a.Elsewhere != "":
		return "another build: no method " + symsrc.Visible(a.Elsewhere) + " of that class in " + name
	}
	text := a.Outcome().String() + " " + name
	if words := a.words(); words != "" {
		text += ": " + words
	}
	return text
}

// chain returns the maps that apply to frames of one: itself, and then those that the user has named, of libraries that were obfuscated
// before.
func (j *Java) chain(m *javamap.Map) []*javamap.Map {
	maps := []*javamap.Map{m}
	for _, other := range j.maps.Named() {
		if other != m {
			maps = append(maps, other)
		}
	}
	return maps
}

// Compiled returns the answer for a frame of machine code that was compiled of a method of Java, which it names as `a.b.c.d+12`. It is
// nil if no map has another name for it. Such a frame has no line.
func (j *Java) Compiled(t *Thread, hint []byte) *Answer {
	name := len(hint)
	if plus := bytes.LastIndexByte(hint, '+'); plus > 0 {
		name = plus
	}
	dot := bytes.LastIndexByte(hint[:name], '.')
	if dot <= 0 || dot+1 == name || bytes.ContainsAny(hint[:name], " ()/:") {
		return nil
	}
	maps := j.maps.Named()
	if len(maps) == 0 {
		maps = j.proven(t)
	}
	if len(maps) == 0 || j.refuting(t.Process, maps) != "" {
		return nil
	}
	was := retrace.Frame{Class: string(hint[:dot]), Method: string(hint[dot+1 : name])}
	trace := javaTrace{maps: maps, of: make([]retrace.Trace, len(maps))}
	found, known, fits := trace.retrace(was)
	if !known || !fits {
		return nil
	}
	m := j.memo.module([]byte(maps[0].Name()), "")
	m.Files = maps[0].Files
	a := &Answer{Module: m, files: m.Files, Java: &JavaAnswer{InPlace: true}}
	for _, chain := range found {
		if len(chain) == 0 {
			return nil
		}
		outer := javaFrames(chain[len(chain)-1:])
		outer[0].File, outer[0].Line = "", 0
		if len(a.Java.Candidates) == 0 || a.Java.Candidates[0][0].Func != outer[0].Func {
			a.Java.Candidates = append(a.Java.Candidates, outer)
		}
	}
	switch {
	case len(a.Java.Candidates) == 0, len(a.Java.Candidates) == 1 && a.Java.Candidates[0][0].Func == string(hint[:name]):
		return nil
	case len(a.Java.Candidates) == 1:
		a.Frames = a.Java.Candidates[0]
	}
	return a
}
