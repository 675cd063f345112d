package print

import (
	"bytes"
	"context"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/filter/triage"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// Brief is a printer for a reader at a terminal: in stacks with functions of the program's own, runs of others' become one line,
//
//	… 3 frames of libstdc++
//
// and a line below the stack of a fault says what happened, where, and how often that was so far:
//
//	[heap-use-after-free READ 4 in shop::Cart::total src/cart.cpp:16:3 · shop::Cart::total--main · seen 2×]
//
// The rows of a run are held back until the stack goes on, ends, or the input pauses.
type Brief struct {
	Printer
	text *Text
	opt  Options
	// Heads are told of all lines of the log.
	Heads triage.Headlines

	// now is the line at hand, from Begin to End.
	now struct {
		lineAtHand
		before   []byte
		frame    uint64
		numbered bool
		named    symsrc.Frame // the first of the program's own, or what the log names if inLog is set
		inLog    bool
		module   string
		frames   []triage.Frame
		places   []symsrc.Frame  // the functions, if they are named here
		head     triage.Headline // of the stack that begins here
		addr     uint64
		inlined  int // how many functions at this address the log has listed, with this one
	}
	// stack is the one that is open; its thread is nil for none.
	stack struct {
		of       *resolve.Thread
		number   uint64
		numbered bool
		before   []byte
		end      []byte
		own      bool // one of the program's own was there
		pending  []heldRow
		bytes    int
		sign     triage.Signature
		head     triage.Headline
		place    symsrc.Frame // the first of the program's own
		places   []symsrc.Frame
		addr     uint64
		inlined  int
	}
	single [1]symsrc.Frame
	seen   map[string]int
}

// rowMark is where the row of a function begins.
type rowMark struct {
	at         int
	own, named bool
	of         string // whose code it is, if not the program's
}

// heldRow is the text of a row, with the lines of source code below it.
type heldRow struct {
	text  []byte
	folds bool
	of    string
}

// maxCrashes bounds the faults that are remembered, and maxHeld the bytes of rows that are held back.
const (
	maxCrashes = 1 << 12
	maxHeld    = 1 << 20
)

// NewBrief returns a printer around out, which writes by text.
func NewBrief(out Printer, text *Text, o Options) *Brief {
	text.marked = true
	return &Brief{Printer: out, text: text, opt: o, seen: map[string]int{}}
}

// mark notes that the row of one function begins.
func (w *renderer) mark(dst []byte, a *resolve.Answer, i int) {
	if !w.marked || w.Quoted {
		return
	}
	var m rowMark
	if a != nil && i < len(a.Frames) {
		m = w.shown(a).marks[i]
		m.named = a.Frames[i].Func != "" && !a.Unverified()
	}
	m.at = len(dst)
	w.rows = append(w.rows, m)
}

// markOf returns what is kept of the mark of a function's row: whose code it is.
func (w *renderer) markOf(a *resolve.Answer, i int) rowMark {
	m := rowMark{own: w.isOwn(a, i)}
	if w.marked && !m.own {
		m.of = library(&a.Frames[i], a.Module.Name, &w.opt.Names.Own)
	}
	return m
}

// Pending reports whether something is held back.
func (b *Brief) Pending() bool { return b.stack.of != nil }

// Begin begins a line.
func (b *Brief) Begin(dst []byte, number int, line []byte) []byte {
	b.now.begin(dst, number, line)
	b.text.rows, b.text.only = b.text.rows[:0], 0
	return b.Printer.Begin(dst, number, line)
}

// Items notes a line that is one frame.
func (b *Brief) Items(ctx context.Context, dst []byte, t *resolve.Thread, s parse.Segment, items []Item, alone int) []byte {
	if alone >= 0 {
		b.Note(dst, t, s, &items[alone])
	}
	return b.Printer.Items(ctx, dst, t, s, items, alone)
}

// Note notes that the line is one frame, which may leave as it came.
func (b *Brief) Note(dst []byte, t *resolve.Thread, s parse.Segment, it *Item) {
	if s.Quoted() || len(dst) != b.now.start+b.now.flushed {
		return
	}
	b.note(t, s.Text, it)
	if !b.continues() {
		if before := &b.stack; before.of != nil && before.head.Kind == triage.Fault && before.sign.String() == "" {
			b.Heads.GiveBack()
			before.head = triage.Headline{}
		}
		b.now.head = b.Heads.Above(b.now.number)
		kind := b.now.head.Kind
		b.text.sourced = kind != "" && kind != triage.Fault // where memory came from, and the like, has no source code
	}
}

// note notes that the line is one frame.
func (b *Brief) note(t *resolve.Thread, text []byte, it *Item) {
	n := &b.now
	n.of = t
	before := text
	if it.Element != nil {
		before, n.frame, n.numbered = text[:it.Element.Start], it.Element.BTFields.Num, true
	} else {
		before, n.frame, n.numbered = text[:it.Frame.Whole.Start], it.Frame.Number, !it.Frame.Num.Empty()
	}
	n.before = append(n.before[:0], before...)
	o := it.Observation(n.number, t, text, true)
	n.frames, n.module, n.named = n.frames[:0], o.Module.Name, symsrc.Frame{}
	all := o.Functions(&b.single)
	n.places = o.Frames
	if n.inlined, b.text.only = 0, 0; it.Frame != nil && !it.Frame.Counts {
		n.addr = it.Frame.Offset
		if i := b.listed(all, o.Hint); i >= 0 {
			n.inlined, b.text.only, n.places = i+1, i+1, all[i:i+1]
			all = n.places
		}
	}
	for i := range all {
		fr := &all[i]
		f := triage.Frame{Func: fr.Func, File: fr.File, Line: fr.Line, Module: o.Module.Name, At: o.At + o.Back, Located: o.Located, Foreign: fr.Foreign}
		n.frames = append(n.frames, f)
		if n.named.Func == "" && b.opt.Names.Own.OwnFunction(fr, o.Module.Name) {
			n.named = *fr
		}
	}
	if n.inLog = len(o.Frames) == 0; n.inLog {
		n.named = all[0]
	}
}

// listed returns the index of the function that the frame at hand is about, where the log itself lists all functions at an address, as Rust
// does: each has a frame, with its name. It is negative for a frame that has all of them.
func (b *Brief) listed(all []symsrc.Frame, hint []byte) int {
	listed := 0
	if s := &b.stack; b.continues() && s.addr == b.now.addr {
		listed = s.inlined
	}
	return listedAt(all, hint, listed)
}

// continues reports whether the line at hand is the next frame of the open stack.
func (b *Brief) continues() bool {
	n, s := &b.now, &b.stack
	return s.of != nil && n.of == s.of && n.numbered == s.numbered && (!n.numbered || n.frame > s.number)
}

// End ends the line: it leaves, or is held back.
func (b *Brief) End(dst []byte) []byte {
	n, s := &b.now, &b.stack
	dst = b.Printer.End(dst)
	if !n.open {
		return dst
	}
	n.open = false
	if n.of == nil {
		if place := dst[n.start:]; s.of != nil && n.flushed == 0 && isPlaceLine(place) {
			return b.belongs(dst, place)
		}
		if s.of == nil {
			return dst
		}
	}
	text := bytes.Clone(dst[n.start:])
	rows := b.text.rows
	dst = dst[:n.start]
	if n.of == nil {
		return append(b.close(dst), text...)
	}
	if n.flushed > 0 {
		dst, text = append(b.close(dst), text[:n.flushed]...), text[n.flushed:]
	}
	if !b.continues() {
		dst = b.close(dst)
		s.of, s.numbered, s.own, s.bytes = n.of, n.numbered, false, 0
		s.before, s.end = append(s.before[:0], n.before...), append(s.end[:0], n.end...)
		s.sign, s.head, s.place = triage.Signature{}, n.head, symsrc.Frame{}
	}
	s.number, s.addr, s.inlined, s.places = n.frame, n.addr, n.inlined, n.places
	for i := range n.frames {
		if s.sign.Add(&n.frames[i], &b.opt.Names.Own) && s.place.Func == "" {
			s.place = symsrc.Frame{Func: n.frames[i].Func, File: n.frames[i].File}
			if n.named.Func == s.place.Func {
				s.place = n.named
			}
		}
	}
	from := n.start + n.flushed
	if n.inLog && n.named.Func != "" && len(rows) < 2 {
		return b.logged(dst, text)
	}
	if len(rows) == 0 || rows[0].at != from {
		return b.row(dst, heldRow{text: text}, false)
	}
	for i, m := range rows {
		end := len(text)
		if i+1 < len(rows) {
			end = rows[i+1].at - from
		}
		dst = b.row(dst, heldRow{text: text[m.at-from : end], folds: m.named && !m.own, of: m.of}, m.named && m.own)
	}
	return dst
}

// logged writes the row of a frame that the log names: the name of one of the program's own in the color of these, another row less bright.
func (b *Brief) logged(dst, text []byte) []byte {
	n := &b.now
	fr := &n.named
	own := b.opt.Names.Own.OwnFunction(fr, n.module)
	if name := triage.WithoutHash(fr.Func); name != fr.Func {
		text, fr.Func = bytes.Replace(text, []byte(fr.Func), []byte(name), 1), name
	}
	r := heldRow{text: text, folds: !own, of: library(fr, n.module, &b.opt.Names.Own)}
	if b.text.palette() == nil || !b.text.Color.Plain() || bytes.IndexByte(text, 0x1b) >= 0 {
		return b.row(dst, r, own)
	}
	if line, end := scan.CutEnd(text); !own {
		r.text = append(b.text.quiet(nil, line), end...)
	} else if at := bytes.LastIndex(line, []byte(fr.Func)); at >= 0 {
		r.text = append(append(b.text.appendName(bytes.Clone(line[:at]), fr.Func, false), line[at+len(fr.Func):]...), end...)
	}
	return b.row(dst, r, own)
}

// isPlaceLine reports whether a line says where the function on the line above is, as Rust's `at src/main.rs:3:8`.
func isPlaceLine(line []byte) bool {
	text := bytes.TrimLeft(line, " ")
	return len(line)-len(text) >= 4 && bytes.HasPrefix(text, []byte("at "))
}

// belongs adds a line to the row above it.
func (b *Brief) belongs(dst, line []byte) []byte {
	s := &b.stack
	if saysAgain(line, s.places) {
		return dst[:b.now.start]
	}
	if len(s.pending) == 0 {
		return dst
	}
	last := &s.pending[len(s.pending)-1]
	if last.folds && last.of == "" {
		_, file, _ := bytes.Cut(line, []byte("at "))
		last.of = libraryOf(string(file))
	}
	if last.folds && b.text.palette() != nil && bytes.IndexByte(line, 0x1b) < 0 {
		text, end := scan.CutEnd(line)
		last.text = append(append(last.text, b.text.quiet(nil, text)...), end...)
	} else {
		last.text = append(last.text, line...)
	}
	return dst[:b.now.start]
}

// saysAgain reports whether a line says a place that the row above it has.
func saysAgain(line []byte, places []symsrc.Frame) bool {
	_, place, _ := strings.Cut(strings.TrimSpace(string(line)), "at ")
	for i := range places {
		fr := &places[i]
		at := path.Base(fr.File) + ":" + strconv.Itoa(fr.Line)
		if rest, ok := strings.CutPrefix(place[strings.LastIndexByte(place, '/')+1:], at); ok && fr.File != "" && (rest == "" || rest[0] == ':') {
			return true
		}
	}
	return false
}

// row writes a row, or holds it back.
func (b *Brief) row(dst []byte, r heldRow, own bool) []byte {
	s := &b.stack
	if own {
		dst = b.write(dst, true)
		s.own = true
		return append(dst, r.text...)
	}
	if !r.folds && s.own {
		return append(b.write(dst, false), r.text...)
	}
	if len(s.pending) == 0 { // the line for a run has the time of its first row
		s.before = append(s.before[:0], b.now.before...)
	}
	s.pending = append(s.pending, r)
	if s.bytes += len(r.text); s.bytes > maxHeld {
		dst = b.write(dst, false)
	}
	return dst
}

// write writes the rows that are held back. called is set if one of the program's own functions follows, which has called the last of them:
// in the first rows of a stack that one is written.
func (b *Brief) write(dst []byte, called bool) []byte {
	s := &b.stack
	rows := s.pending
	for len(rows) > 0 {
		n := 0
		for n < len(rows) && rows[n].folds {
			n++
		}
		folded := n
		if n == len(rows) && called && !s.own {
			folded--
		}
		if folded < 2 || !s.own && !called {
			folded = 0
		}
		if folded > 0 {
			dst = b.folded(dst, rows[:folded])
		}
		for _, r := range rows[folded:min(max(n, 1), len(rows))] {
			dst = append(dst, r.text...)
		}
		rows = rows[max(n, 1):]
	}
	s.pending, s.bytes = s.pending[:0], 0
	return dst
}

// folded writes the line that is in the place of some rows.
func (b *Brief) folded(dst []byte, rows []heldRow) []byte {
	var of []string
	for _, r := range rows {
		if r.of != "" && !contains(of, r.of) {
			of = append(of, r.of)
		}
	}
	dst = append(dst, b.stack.before...)
	if b.stack.before == nil || len(bytes.TrimSpace(b.stack.before)) == 0 && len(b.stack.before) < 4 {
		dst = append(dst, "    "[len(b.stack.before):]...)
	}
	text := b.opt.Screen.ellipsis() + " " + strconv.Itoa(len(rows)) + " frames"
	switch len(of) {
	case 0:
	case 1:
		text += " of " + of[0]
	case 2:
		text += " of " + of[0] + " and " + of[1]
	default:
		text += " of " + of[0] + ", " + of[1] + " and others"
	}
	return append(b.text.quiet(dst, symsrc.AppendVisible(nil, text)), b.stack.end...)
}

func contains(list []string, text string) bool {
	for _, one := range list {
		if one == text {
			return true
		}
	}
	return false
}

// close ends the open stack.
func (b *Brief) close(dst []byte) []byte {
	s := &b.stack
	if s.of == nil {
		return dst
	}
	dst = b.write(dst, false)
	s.of = nil
	if s.head.Kind != triage.Fault || s.head.Text == "" {
		return dst
	}
	if n := len(dst); n > 0 && dst[n-1] != '\n' { // the last line of the log has no end
		return dst
	}
	return b.crash(dst)
}

// crash writes the line about a fault whose stack has ended.
func (b *Brief) crash(dst []byte) []byte {
	s := &b.stack
	signature := s.sign.String()
	if signature == "" { // nothing is known of the stack: the line would say what the headline says
		b.Heads.GiveBack()
		return dst
	}
	key := s.head.Text + "\x00" + signature
	if len(b.seen) >= maxCrashes {
		clear(b.seen)
	}
	b.seen[key]++
	between, times := " · ", "×"
	if b.opt.Screen.ASCII {
		between, times = "; ", "x"
	}
	quiet := func(text string) { dst = b.text.quiet(dst, symsrc.AppendVisible(nil, text)) }
	var in, name, place string
	if s.place.Func != "" {
		in, name = " in ", symsrc.Visible(triage.Name(s.place.Func))
		if s.place.File != "" && s.place.Line > 0 {
			place = " " + b.opt.Screen.path(symsrc.Visible(b.opt.Names.source(&s.place)), true) + ":" + strconv.Itoa(s.place.Line)
			if s.place.Column > 0 {
				place += ":" + strconv.Itoa(s.place.Column)
			}
		}
	}
	often := between + "first time]"
	if n := b.seen[key]; n > 1 {
		often = between + "seen " + strconv.Itoa(n) + times + "]"
	}
	what := symsrc.Visible(strings.TrimRight(s.head.Text, ": "))
	others := sgr.Width([]byte("[" + in + name + place + often))
	if text := b.fitting(what, others); text != "" {
		what = text
	}
	quiet("[" + what + in)
	if name != "" {
		dst = b.text.appendName(dst, name, false)
		quiet(place)
	}
	if text := b.fitting(signature, others+sgr.Width([]byte(what+between))); text != "" {
		quiet(between + text)
	}
	quiet(often)
	return append(dst, s.end...)
}

// fitting returns a text as far as it fits a row that has so many cells besides, and "" if that is too little to say anything.
func (b *Brief) fitting(text string, others int) string {
	place := b.opt.Screen.Columns - others
	const some = 16
	switch {
	case b.opt.Screen.Columns <= 0, sgr.Width([]byte(text)) <= place:
		return text
	case place < some:
		return ""
	}
	place -= sgr.Width([]byte(b.opt.Screen.ellipsis()))
	for sgr.Width([]byte(text)) > place {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text + b.opt.Screen.ellipsis()
}

// Abandon appends a line as it came, after what is held back.
func (b *Brief) Abandon(dst []byte, number int, line []byte) []byte {
	return b.now.abandon(b.Printer, b.close, dst, number, line)
}

// Flush appends what is held back, within a line only what the other printer does.
func (b *Brief) Flush(dst []byte) []byte {
	return b.now.flush(b.Printer, b.close, dst)
}

// libraries are the names of code that is not the program's own, by parts of the paths of its source.
var libraries = [...][2]string{
	{"/include/c++/", "libstdc++"}, {"/libstdc++-v3/", "libstdc++"}, {"/c++/v1/", "libc++"}, {"libcxx", "libc++"},
	{"/rustc/", "Rust's library"}, {"/library/std/", "Rust's library"}, {"/library/core/", "Rust's library"}, {"/library/alloc/", "Rust's library"},
	{"sanitizer", "the sanitizer"}, {"/compiler-rt/", "the sanitizer"}, {"/src/runtime/", "Go's runtime"},
	{"/sysdeps/", "libc"}, {"/csu/", "libc"}, {"/nptl/", "libc"}, {"/stdlib/", "libc"},
}

// library returns the name of the library that a function is of, which is not the program's own. It is "" if that is not known.
func library(fr *symsrc.Frame, module string, rules *triage.Rules) string {
	if of := libraryOf(fr.File); of != "" {
		return of
	}
	if fr.File == "" || module != "" && !rules.OwnModule(module) {
		switch name := triage.Name(triage.WithoutHash(fr.Func)); {
		case strings.HasPrefix(name, "std::") && strings.HasSuffix(fr.File, ".rs"):
			return "Rust's library"
		case module == "" || rules.OwnModule(module):
			return ""
		}
		name := module[strings.LastIndexAny(module, `/\`)+1:]
		name, _, _ = strings.Cut(name, ".so")
		return name
	}
	return ""
}

// libraryOf returns the name of the library that a source file is of, "" if its path does not say that.
func libraryOf(file string) string {
	file = path.Clean("/" + strings.ReplaceAll(file, `\`, "/"))
	for _, l := range libraries {
		if strings.Contains(file, l[0]) {
			return l[1]
		}
	}
	return ""
}
