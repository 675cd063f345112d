package findings

import (
	"bytes"
	"regexp"
	"strconv"
	"sync"

	"qss-filter/filter/match"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// placeForm is a form of lines that state a place in a source file. The groups of its expression are file, line and column, or function where
// it is func.
type placeForm struct {
	mark       string // in all such lines
	expression *regexp.Regexp
	frame      bool // of a stack; the function is on the line before
	numbered   bool // a frame with its number, of ThreadSanitizer, without an address
}

var placeForms = sync.OnceValue(func() []placeForm {
	return []placeForm{
		{"panicked at ", regexp.MustCompile(`panicked at (?:'.*', )?(?P<file>[^\s':]+\.rs):(?P<line>\d+):(?P<column>\d+)`), false, false},
		{".rs:", regexp.MustCompile(`^\s+at (?P<file>\S+\.rs):(?P<line>\d+)(?::(?P<column>\d+))?$`), true, false},
		{".go:", regexp.MustCompile(`^\t(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?(?: fp=0x.*)?$`), true, false},
		{": runtime error: ", regexp.MustCompile(`(?:^|\s)(?P<file>[^\s:]+):(?P<line>\d+)(?::(?P<column>\d+))?: runtime error: `), false, false},
		{": Assertion ", regexp.MustCompile("(?:^|\\s)(?P<file>[^\\s:]+):(?P<line>\\d+): (?P<func>.+?): Assertion [`'\"]"), false, false},
		{"+0x", regexp.MustCompile(`^\s*#(?P<number>\d+) (?P<func>[^0\s].*?) (?P<file>\S+?):(?P<line>\d+)(?::(?P<column>\d+))? \(\S+\+0x[0-9a-f]+\)(?: \(BuildId: [0-9a-f]+\))?$`), false, true},
	}
})

// goroutineWord begins a traceback of Go.
const goroutineWord = "goroutine "

// places finds the lines that hold the mark of a form, or goroutineWord, which comes last.
var places = sync.OnceValue(func() *match.Lines {
	var marks [][]string
	for _, form := range placeForms() {
		marks = append(marks, []string{form.mark})
	}
	return match.NewLines(maxPlace, append(marks, []string{goroutineWord})...)
})

// functionLine matches the line above the place of a frame: `   4: app::main`, of Rust with or without an address, and `main.f(0x1, {...})` of Go.
var functionLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\s*\d+:\s+(?:0x[0-9a-f]+ - )?|created by )?(.+?)(?:\([^()]*\))?(?: in goroutine \d+)?$`)
})

// maxPlace bounds the lines that are read, in bytes.
const maxPlace = 4 << 10

// Read is for filter.Options.Read.
func (st *Stream) Read(first int, lines []byte) {
	st.heads.Read(first, lines)
	for line := range places().In(first, lines) {
		st.read(line.Number, line.Text, lines[:line.Begin])
	}
	if last := lastLine(lines); len(last) <= maxPlace {
		st.before = append(st.before[:0], last...)
	} else {
		st.before = st.before[:0]
	}
}

// above returns the line before a place in the lines at hand.
func (st *Stream) above(lines []byte) string {
	if len(lines) == 0 {
		return string(st.before)
	}
	return string(lastLine(lines))
}

// lastLine returns the last line of lines, without its end.
func lastLine(lines []byte) []byte {
	lines = bytes.TrimRight(bytes.TrimSuffix(lines, []byte{'\n'}), "\r")
	return lines[bytes.LastIndexByte(lines, '\n')+1:]
}

// read reads a line that may state a place. above are the lines at hand above it.
func (st *Stream) read(number int, line, above []byte) {
	if bytes.HasPrefix(line, []byte(goroutineWord)) {
		if st.quoted != nil { // the first one is the one that has failed
			st.quoted = &stack{of: st.quoted.of, s: &Stack{}}
		}
		return
	}
	marks := places().Look(line)
	for i, form := range placeForms() {
		if !marks.Any(1 << i) {
			continue
		}
		found := form.expression.FindSubmatch(line)
		if found == nil {
			continue
		}
		var fr symsrc.Frame
		frameNumber := ""
		for i, name := range form.expression.SubexpNames() {
			switch name {
			case "file":
				fr.File = string(found[i])
			case "line":
				fr.Line, _ = strconv.Atoi(string(found[i]))
			case "column":
				fr.Column, _ = strconv.Atoi(string(found[i]))
			case "func":
				fr.Func = string(found[i])
			case "number":
				frameNumber = string(found[i])
			}
		}
		if form.frame {
			fr.Func = functionOf(st.above(above))
		}
		fr = st.c.Names.Mapped([]symsrc.Frame{fr})[0]
		switch {
		case form.frame:
			st.framed(number, fr)
		case form.numbered:
			st.numbered(number, frameNumber == "0", fr)
		default:
			st.stated(number, fr)
		}
		return
	}
}

// functionOf returns the function that the line above the place of a frame names.
func functionOf(line string) string {
	if found := functionLine().FindStringSubmatch(line); found != nil {
		return found[1]
	}
	return ""
}

// stated takes the place of a fault that its headline states.
func (st *Stream) stated(number int, fr symsrc.Frame) {
	about := st.heads.Above(number)
	if about.Text == "" || about.Kind != triage.Fault {
		return
	}
	f := st.fault(about, number)
	f.Message = message(about, fr.Func)
	st.quoted = nil
	if st.c.Names.Own.OwnFunction(&fr, "") {
		st.locate(f, &fr)
	}
}

// numbered takes a frame that the log states with its place. first begins a stack.
func (st *Stream) numbered(number int, first bool, fr symsrc.Frame) {
	if first {
		st.quoted = st.begin(number)
	}
	if s := st.quoted; s != nil && number-s.of.line <= 1 {
		st.placed, s.of.line = number, number
		st.add(s, Frame{Frame: fr}, 0, false)
	}
}

// framed takes a frame of a stack that the log states line by line, with its place on a line of its own. The frame may have been seen on the
// line above.
func (st *Stream) framed(number int, fr symsrc.Frame) {
	for _, s := range st.open {
		if n := len(s.s.Frames); s.run.Line() == number-1 {
			if n > 0 && s.s.Frames[n-1].File == "" {
				s.s.Frames[n-1].File, s.s.Frames[n-1].Line, s.s.Frames[n-1].Column = fr.File, fr.Line, fr.Column
			}
			st.place(s, &Frame{Frame: fr})
			return
		}
	}
	fresh := st.quoted == nil || st.last != st.quoted.of || number-st.last.line > maxAway
	if about := st.heads.Above(number); about.Text != "" && about.Kind == triage.Fault {
		st.fault(about, number)
		fresh = true
	}
	f := st.last
	if f == nil || f.about.Text == "" || number-f.line > maxAway {
		return
	}
	if fresh {
		if len(f.Stacks) > 0 {
			return
		}
		st.quoted = &stack{of: f, s: &Stack{Kind: triage.Fault}, main: true}
		f.Stacks = append(f.Stacks, st.quoted.s)
	}
	st.placed, f.line = number, number
	if st.quoted.main {
		st.add(st.quoted, Frame{Frame: fr}, 0, false)
	}
}
