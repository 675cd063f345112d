package tree

import (
	"bytes"
	"strconv"

	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// otherGoroutine is the kind of the stack of a goroutine that Go lists after the one that has crashed.
const otherGoroutine = "other goroutine"

// goroutines reads the tracebacks of Go in a log. Go names the functions itself, so that they are no frames for the filter.
type goroutines struct {
	read    print.GoReader
	inside  bool
	thread  *goThread // of the goroutine that is read
	crashed *stack    // the goroutine of the last fault, whose list of goroutines goes on
	end     int       // the last line of a goroutine
	// system is set if what is read is no goroutine, but the stack of the thread that the runtime has: Go writes it first, and the goroutine
	// that has crashed below. waiting is such a stack, which has the headline until that is there.
	system  bool
	waiting *stack
	// function is the last line that names a function, without its prefix, until its place is there; line is its number.
	function []byte
	line     int
	number   uint64 // of the next function
}

// goThread is a goroutine, as the thread of a stack. It has a size, so that each has an address of its own.
type goThread struct{ _ byte }

// maxGoApart bounds the lines between a signal and the goroutine that had it, and between the goroutines of one list: Go writes empty ones.
const maxGoApart = 3

// readLines reads complete lines of the log, the first of which has that number, before the frames in them are observed.
func (l *logSink) readLines(first int, lines []byte) {
	l.heads.Read(first, lines)
	if g := &l.goroutines; !g.inside && !bytes.Contains(lines, []byte("goroutine ")) && !bytes.Contains(lines, []byte("runtime stack:")) {
		return
	}
	for number := first; len(lines) > 0; number++ {
		line := lines
		if end := bytes.IndexByte(lines, '\n'); end >= 0 {
			line = lines[:end+1]
		}
		lines = lines[len(line):]
		l.goLine(number, line)
	}
}

// goLine reads a line of the log, which may be of a goroutine.
func (l *logSink) goLine(number int, line []byte) {
	g := &l.goroutines
	if g.inside {
		what, ok := g.read.Continue(line)
		switch {
		case ok && what == print.GoPlace:
			l.goFunction(bytes.TrimPrefix(line, g.read.Prefix()))
		case ok:
			l.goFunction(nil)
		}
		switch {
		case ok && what == print.GoFunc:
			g.function = append(g.function[:0], bytes.TrimPrefix(line, g.read.Prefix())...)
			g.line = number
		case !ok || what == print.GoEnd:
			l.endGoroutine()
		}
		if g.inside {
			g.end = number
		}
		if ok {
			return
		}
	}
	if g.read.Begin(line) {
		g.inside, g.thread, g.number, g.system = true, new(goThread), 0, bytes.HasPrefix(line[len(g.read.Prefix()):], []byte("runtime"))
		if g.crashed != nil && number-g.end > maxGoApart {
			g.crashed, g.waiting = nil, nil
		}
		g.end = number
	}
}

// endGoroutine ends the goroutine that is read.
func (l *logSink) endGoroutine() {
	g := &l.goroutines
	l.goFunction(nil)
	if s := l.open[g.thread]; s != nil && s != g.waiting {
		l.finish(s)
		if g.waiting != nil { // it is below that
			l.finish(g.waiting)
			g.waiting = nil
		}
	}
	g.inside = false
}

// goFunction observes the function that was read last, whose place is on a line.
func (l *logSink) goFunction(place []byte) {
	g := &l.goroutines
	fr, ok := print.GoFrame(g.function, place)
	g.function = g.function[:0]
	if !ok {
		return
	}
	first := g.number == 0
	var signal *stack // the place at which a signal came, which Go writes above the goroutine and names again in it
	if s := l.fault; first && s != nil && !s.over && s.frames == 1 && s.alone != "" && g.line-s.line <= maxGoApart+1 {
		signal, s.again = s, true
	}
	text := []byte(fr.Func)
	if fr.File != "" {
		text = strconv.AppendInt(append(append(append(text, ' '), fr.File...), ':'), int64(fr.Line), 10)
	}
	l.observe(&print.Observation{Line: g.line, Text: text, Whole: text, Rest: text, Thread: g.thread, Number: g.number, Numbered: true,
		Hint: []byte(fr.Func), Outcome: resolve.InLog, Unasked: "named by Go", Frames: []symsrc.Frame{fr}})
	g.number++
	s := l.open[g.thread]
	if !first || s == nil {
		return
	}
	waiting := g.waiting
	switch {
	case s.about.Kind == triage.Fault:
		g.crashed = s
	case s.about != (triage.Headline{}):
	case signal != nil:
		s.about = signal.about
		l.finish(signal)
		l.fault, g.crashed = s, s
	case waiting != nil && !waiting.over:
		s.about = waiting.about
		waiting.about.Kind, waiting.fault = otherGoroutine, s
		l.fault, g.crashed = s, s
	case g.crashed != nil:
		s.about, s.fault = triage.Headline{Text: g.crashed.about.Text, Kind: otherGoroutine}, g.crashed
	}
	if g.system && s == g.crashed {
		g.waiting = s
	}
}
