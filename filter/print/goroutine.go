package print

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// GoLine is what a line is in a traceback that Go has printed.
type GoLine uint8

const (
	// GoNone is no line of one.
	GoNone GoLine = iota
	// GoHead begins one: `goroutine 1 [running]:`.
	GoHead
	// GoFunc names a function, GoPlace is the line below it, with its place.
	GoFunc
	GoPlace
	// GoOther says something of the goroutine.
	GoOther
	// GoEnd is an empty line.
	GoEnd
)

// goForms are the forms of lines that are few, whose blanks at the end do not count.
var goForms = sync.OnceValue(func() (f struct{ head, other *regexp.Regexp }) {
	f.head = regexp.MustCompile(`^(?:goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[[^\[\]]+(?:\[[^\[\]]*\][^\[\]]*)*\]|runtime stack):$`)
	f.other = regexp.MustCompile(`^(?:\.\.\.(?:additional|\d+) frames elided\.\.\.|\tgoroutine running on other thread; stack unavailable)$`)
	return
})

// isBlank reports whether a byte is white space.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }

// isGoName reports whether a text is a function's name with its package: `main.f`, `net/http.(*conn).serve`.
func isGoName(name []byte) bool {
	if len(name) < 3 {
		return false
	}
	dot := 1 + bytes.IndexByte(name[1:], '.')
	begin, inside := 0, false
	for i, c := range name {
		switch {
		case isBlank(c):
			return false
		case c == '(':
			if inside || dot < 1 || i <= dot {
				return false
			}
			begin, inside = i, true
		case c == ')':
			if !inside || i == begin+1 {
				return false
			}
			inside = false
		}
	}
	return dot >= 1 && dot < len(name)-1 && !inside
}

// goFunction returns the function that is called on a line: `main.f(0x1, ...)`. It is nil where none is.
func goFunction(text []byte) (name []byte) {
	in, ok := bytes.CutSuffix(text, []byte(")"))
	open := bytes.LastIndexByte(in, '(')
	if !ok || open < 0 || bytes.IndexByte(in[open:], ')') >= 0 {
		return nil
	}
	if name = in[:open]; string(name) != "panic" && !isGoName(name) {
		return nil
	}
	return name
}

// goCreator returns the function of a line `created by main.f in goroutine 1`. It is nil in others.
func goCreator(text []byte) (name []byte) {
	rest, ok := bytes.CutPrefix(text, []byte("created by "))
	if !ok {
		return nil
	}
	name, in, more := bytes.Cut(rest, []byte(" "))
	if number, ok := bytes.CutPrefix(in, []byte("in goroutine ")); more && !(ok && areDigits(number)) || !isGoName(name) {
		return nil
	}
	return name
}

// goPlace returns the file and the line of a place, `<tab>/src/m.go:3 +0x1f`. file is nil where none is.
func goPlace(text []byte) (file, line []byte) {
	if bytes.HasPrefix(text, []byte{'\t'}) {
		text = text[1:]
	} else if blanks := len(text) - len(bytes.TrimLeft(text, " ")); blanks >= 2 && blanks <= 8 {
		text = text[blanks:]
	}
	if before, ok := cutHex(text, " pc="); ok {
		if before, ok = cutHex(before, " sp="); ok {
			if before, ok = cutHex(before, " fp="); ok {
				text = before
			}
		}
	}
	text, _ = cutHex(text, " +")
	colon := bytes.LastIndexByte(text, ':')
	if colon < 1 || isBlank(text[0]) || !areDigits(text[colon+1:]) {
		return nil, nil
	}
	return text[:colon], text[colon+1:]
}

// cutHex cuts a word and a number in hexadecimal, which has 0x, off the end.
func cutHex(text []byte, word string) (before []byte, ok bool) {
	before = bytes.TrimRight(text, "0123456789abcdef")
	if len(before) == len(text) {
		return text, false
	}
	if before, ok = bytes.CutSuffix(before, []byte("0x")); ok {
		before, ok = bytes.CutSuffix(before, []byte(word))
	}
	if !ok {
		return text, false
	}
	return before, true
}

// areDigits reports whether a text is a decimal number.
func areDigits(text []byte) bool {
	return len(text) > 0 && len(bytes.TrimLeft(text, "0123456789")) == 0
}

// maxGoLine bounds the lines of tracebacks that are read, in bytes.
const maxGoLine = 4 << 10

// GoLineOf returns what a line without its prefix is.
func GoLineOf(text []byte) GoLine {
	text = bytes.TrimRight(text, " \r\n")
	if len(text) == 0 {
		return GoEnd
	}
	f := goForms()
	isPlace := func() bool { file, _ := goPlace(text); return file != nil }
	switch last := text[len(text)-1]; {
	case len(text) > maxGoLine || bytes.IndexByte(text, 0x1b) >= 0:
		return GoNone
	case last == ':':
		if f.head.Match(text) {
			return GoHead
		}
	case text[0] == '\t' || text[0] == ' ':
		if isPlace() {
			return GoPlace
		}
		if f.other.Match(text) {
			return GoOther
		}
	case text[0] == '/': // what the log went through has taken the blanks away
		if isPlace() {
			return GoPlace
		}
	case goFunction(text) != nil, goCreator(text) != nil:
		return GoFunc
	case f.other.Match(text):
		return GoOther
	}
	return GoNone
}

// GoPrefix returns what stands before the head of a goroutine on a line, whose other lines begin with the same. ok is false if the line has
// no head.
func GoPrefix(line []byte) (prefix []byte, ok bool) {
	for _, word := range [...]string{"goroutine ", "runtime stack:"} {
		at := bytes.Index(line, []byte(word))
		if at < 0 || at > 0 && bytes.IndexByte([]byte(" \t|:]>"), line[at-1]) < 0 {
			continue
		}
		if GoLineOf(line[at:]) == GoHead {
			return line[:at], true
		}
	}
	return nil, false
}

// GoReader reads the lines of goroutines' tracebacks, one by one.
type GoReader struct {
	prefix []byte // of all lines of the goroutine
	place  bool   // the line before names a function, and its place may follow
}

// Prefix returns what stands before the lines of the goroutine.
func (r *GoReader) Prefix() []byte { return r.prefix }

// Begin reports whether a line begins a goroutine, which is read from then on.
func (r *GoReader) Begin(line []byte) bool {
	prefix, ok := GoPrefix(line)
	if ok {
		r.prefix, r.place = append(r.prefix[:0], prefix...), false
	}
	return ok
}

// Continue reports whether a line goes on with the goroutine, and returns what it is there.
func (r *GoReader) Continue(line []byte) (what GoLine, ok bool) {
	text, ok := bytes.CutPrefix(line, r.prefix)
	if !ok && len(bytes.TrimSpace(line)) > 0 && !bytes.Equal(bytes.TrimSpace(line), bytes.TrimSpace(r.prefix)) {
		return GoNone, false
	}
	switch what = GoLineOf(text); what {
	case GoPlace:
		ok = r.place
	case GoFunc, GoOther, GoEnd:
		ok = true
	default:
		return what, false
	}
	if ok {
		r.place = what == GoFunc
	}
	return what, ok
}

// GoFrame returns the function that a line of a goroutine names, with the place on the line below, which may be nil. It is foreign where it is
// no code that somebody has written. ok is false where the line names what created the goroutine, which is no function of its stack.
func GoFrame(function, place []byte) (fr symsrc.Frame, ok bool) {
	name := goFunction(bytes.TrimRight(function, " \r\n"))
	if name == nil {
		return fr, false
	}
	fr.Func = string(name)
	if file, line := goPlace(bytes.TrimRight(place, " \r\n")); file != nil {
		fr.File = string(file)
		fr.Line, _ = strconv.Atoi(string(line))
	}
	fr.Foreign = notWritten(fr.Func)
	return fr, true
}

// notWritten reports whether a function of Go is in no program's source: panic itself, and what the compiler makes of go statements and deferred calls, and
// cgo of functions that C calls.
func notWritten(name string) bool {
	return name == "panic" || strings.Contains(name, ".gowrap") || strings.Contains(name, "._cgoexp")
}

// goFrame is a function of a goroutine with the lines that it takes.
type goFrame struct {
	text     []byte // its first line, without the prefix
	place    []byte // the second, nil if it has none
	ends     [2][]byte
	name     string
	file     string
	line     int
	of       string // what it is of, if not of the program's own
	own      bool
	creates  bool // it has created the goroutine
	readable bool // it is a function
}

// goThread stands for the thread of a goroutine, whose stack is the open one while it is written.
var goThread = new(resolve.Thread)

// Goroutine writes the lines of a goroutine's traceback, whose prefix GoPrefix has returned and which begin on a line of that number: it is
// shortened as other stacks are. One in which nothing is the program's own has its head and a line for the rest, unless something happened
// there.
func (b *Brief) Goroutine(dst []byte, number int, prefix []byte, lines [][]byte) []byte {
	dst = b.close(dst)
	frames := b.goFrames(prefix, lines[1:])
	if len(frames) == 0 {
		return append(dst, bytes.Join(lines, nil)...)
	}
	s := &b.stack
	s.of, s.own, s.bytes, s.pending = goThread, false, 0, s.pending[:0]
	s.before = append(s.before[:0], prefix...)
	s.sign, s.place = triage.Signature{}, symsrc.Frame{}
	own := false
	for i := range frames {
		fr := &frames[i]
		own = own || fr.own
		if fr.readable && !fr.creates && s.sign.Add(&triage.Frame{Func: fr.name, File: fr.file, Foreign: notWritten(fr.name)}, &b.opt.Names.Own) && s.place.Func == "" {
			s.place = symsrc.Frame{Func: fr.name, File: fr.file, Line: fr.line}
		}
	}
	if frames[0].readable {
		s.head = b.Heads.Above(number)
	} else {
		s.head = triage.Headline{}
	}
	fault := s.head.Kind == triage.Fault
	head, end := scan.CutEnd(lines[0])
	s.end = append(s.end[:0], end...)
	if own || fault {
		dst = append(dst, lines[0]...)
	} else {
		dst = append(append(append(dst, prefix...), b.text.quiet(nil, head[len(prefix):])...), end...)
		s.own = true // the rows that follow may be folded
	}
	b.now.before = append(append(b.now.before[:0], prefix...), "    "...)
	for i := range frames {
		fr := &frames[i]
		text := b.goRow(prefix, fr)
		if n := len(s.pending); fr.creates && !fr.own && n > 0 && s.pending[n-1].folds {
			s.pending[n-1].text = append(s.pending[n-1].text, text...) // no function of the stack: it does not count
			continue
		}
		dst = b.row(dst, heldRow{text: text, folds: fr.readable && !fr.own, of: fr.of}, fr.own)
	}
	dst = b.write(dst, false)
	s.of = nil
	if fault && s.place.Func == "" { // lines of others may have cut it in two
		b.Heads.GiveBack()
	}
	if !fault || s.head.Text == "" || s.place.Func == "" || !bytes.HasSuffix(dst, []byte{'\n'}) {
		return dst
	}
	return b.crash(append(dst, prefix...))
}

// goFrames reads the functions of a goroutine.
func (b *Brief) goFrames(prefix []byte, lines [][]byte) []goFrame {
	var frames []goFrame
	for _, line := range lines {
		text, end := scan.CutEnd(bytes.TrimPrefix(line, prefix))
		switch GoLineOf(text) {
		case GoFunc:
			fr := goFrame{text: text, ends: [2][]byte{end}, readable: true}
			if name := goCreator(text); name != nil {
				fr.name, fr.creates = string(name), true
			} else {
				fr.name = string(goFunction(text))
			}
			frames = append(frames, fr)
		case GoPlace:
			if n := len(frames); n > 0 && frames[n-1].readable && frames[n-1].place == nil {
				fr := &frames[n-1]
				file, line := goPlace(bytes.TrimRight(text, " "))
				fr.place, fr.ends[1], fr.file = text, end, string(file)
				fr.line, _ = strconv.Atoi(string(line))
				break
			}
			frames = append(frames, goFrame{text: text, ends: [2][]byte{end}})
		default:
			frames = append(frames, goFrame{text: text, ends: [2][]byte{end}})
		}
	}
	for i := range frames {
		if fr := &frames[i]; fr.readable {
			file := fr.file
			if file == "<autogenerated>" { // a wrapper, which is of the package that it is in
				file = goPath(fr.name) + "/_.go"
			}
			fr.own = fr.place != nil && !notWritten(fr.name) && b.opt.Names.Own.Own(fr.name, "", file)
			if !fr.own {
				fr.of = goLibrary(fr.name)
			}
		}
	}
	return frames
}

// goPath returns the path of a function's package.
func goPath(name string) string {
	slash := strings.LastIndexByte(name, '/') + 1
	return name[:slash+max(strings.IndexByte(name[slash:], '.'), 0)]
}

// goLibrary returns what a function is of that is not the program's own. What go statements and deferred calls become is called by the runtime.
func goLibrary(name string) string {
	if name == "panic" || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/") || strings.Contains(name, ".gowrap") {
		return "Go's runtime"
	}
	of := goPath(name)
	if first, _, _ := strings.Cut(of, "/"); !strings.Contains(first, ".") {
		return "Go's library"
	}
	if parts := strings.SplitN(of, "/", 4); len(parts) > 3 { // the packages of one module are one thing
		of = strings.Join(parts[:3], "/")
	}
	return of
}

// goRow returns the lines of a function as they are written: without the addresses of its frame.
func (b *Brief) goRow(prefix []byte, fr *goFrame) []byte {
	w := b.text
	dst := append([]byte(nil), prefix...)
	if !fr.readable {
		return append(append(dst, fr.text...), fr.ends[0]...)
	}
	if fr.own {
		at := bytes.Index(fr.text, []byte(fr.name))
		dst = w.quiet(dst, fr.text[:at])
		if fr.creates {
			dst = append(dst, fr.name...)
		} else {
			dst = w.appendName(dst, fr.name, false)
		}
		dst = w.quiet(dst, fr.text[at+len(fr.name):])
	} else {
		dst = w.quiet(dst, fr.text)
	}
	dst = append(dst, fr.ends[0]...)
	if fr.place == nil {
		return dst
	}
	dst = append(dst, prefix...)
	at := bytes.Index(fr.place, []byte(fr.file))
	place := b.opt.Screen.path(symsrc.Visible(b.opt.Names.shown(b.opt.Names.local(fr.file))), fr.own) + ":" + strconv.Itoa(fr.line)
	dst = append(dst, fr.place[:at]...)
	rest := fr.place[at+len(fr.file)+1+len(strconv.Itoa(fr.line)):]
	if fp := bytes.Index(rest, []byte(" fp=0x")); fp >= 0 {
		rest = rest[:fp]
	}
	if p := w.palette(); fr.own && p != nil {
		dst = w.paint(dst, p.File, place)
	} else {
		dst = w.quiet(dst, []byte(place))
	}
	return append(w.quiet(dst, rest), fr.ends[1]...)
}
