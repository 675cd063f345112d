package filter

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"qss-filter/ctxstate"
	"qss-filter/filter/frame"
	"qss-filter/filter/linecache"
	"qss-filter/filter/parse"
	"qss-filter/filter/print"
	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
	"qss-filter/markup"
	"qss-filter/sgr"
)

// known is what a filter knows of lines that it has seen. Only the lines that are not known go to Filter.Line.
type known struct {
	f        *liner
	elements linecache.Elements[contextFields]
	frames   linecache.Outputs[shownBy]
	tails    linecache.Outputs[shownTail]
	heads    []knownHead
	nextHead int // which of them is replaced next
	block    contextBlock
	// last is where the last line begins that run has handled.
	last int
	// printed is set if known lines are printed anew: by the options more than their bytes counts, for a stack that is held back or an observer.
	// What it took to read and to resolve them is saved then.
	printed bool
	// off is set if every line is to be looked at in full: after a panic, and where a test compares.
	off bool
	// read is how many frames are kept that are printed anew.
	read int
}

// contextFields is what a context element says that was seen before.
type contextFields struct {
	tag    markup.Tag
	module markup.ModuleFields
	mmap   markup.MMapFields
	// head is the begin of the module's line, or the line of a reset.
	head, end []byte
}

// shownBy is what the output of a known frame depends on.
type shownBy struct {
	dependency
	typ markup.PCType
}

// init makes it that of a liner.
func (k *known) init(f *liner) {
	k.f = f
	k.printed = f.opt.Dedupe || f.brief != nil || f.eachCounts() || f.opt.Style != print.Annotate
	k.elements.Init()
	k.frames.Init()
	k.tails.Init()
	k.heads, k.read = nil, 0
}

// footprint returns about how many bytes of memory it takes.
func (k *known) footprint() int {
	return k.elements.Footprint() + k.frames.Footprint() + k.tails.Footprint() + min(k.read, k.tails.Most())*int(unsafe.Sizeof(readFrame{})) + len(k.heads)*headWeight
}

// lineKind is what a line may be that is known.
type lineKind uint8

const (
	otherLine  lineKind = iota
	textLine            // a frame as text
	markupLine          // an element
)

// kind returns what the first line of b may be.
func (k *known) kind(b []byte) lineKind {
	switch {
	case k.printed:
	case b[0] == ' ' || b[0] == '#':
		if k.takesText() {
			return textLine
		}
	case bytes.HasPrefix(b, parse.OpenBraces):
		if k.takes() && k.f.opt.Renumber != print.RenumberAlways {
			return markupLine
		}
	}
	return otherLine
}

// takes reports whether the line at hand may be known.
func (k *known) takes() bool {
	f := k.f
	return !k.off && !f.dump.open && !f.parser.Long && !f.parser.InXML() && (f.opt.Palette == nil || f.text.Color.Untouched())
}

// takesText reports whether the line at hand may be a frame as text that is known.
func (k *known) takesText() bool {
	return k.takes() && k.f.window == 0 && k.f.opt.Renumber != print.RenumberNever
}

// line appends what becomes of a line that is not known. If it has come before, it is known from then on.
func (k *known) line(ctx context.Context, dst, line []byte) []byte {
	switch k.kind(line) {
	case textLine:
		of := k.f.resolver.Processes.Unnamed
		if t, ok := readTextFrame(line, 0); ok && k.tail(of, &t, k.f.line+1) == nil {
			return k.learnText(dst, of, &t, func(dst []byte) []byte { return k.f.Line(ctx, dst, line) })
		}
	case markupLine:
		if bytes.HasPrefix(line, linecache.BTStart) && isElement(line) {
			return k.learnFrame(ctx, dst, line)
		}
	}
	return k.f.Line(ctx, dst, line)
}

// run handles the lines at the start of b that equal others before, and returns the number of
// bytes that they take. b is of complete lines.
func (k *known) run(dst, b []byte) (out []byte, n int) {
	f := k.f
	k.last = 0
	switch k.kind(b) {
	case otherLine:
		return dst, 0
	case textLine:
		return k.text(dst, b)
	}
	t := f.resolver.Processes.Unnamed // nothing precedes the elements
	folds := f.opt.Context == print.ContextFold && f.opt.DumpContext == nil
	block := &k.block
	for len(dst) < stream.MaxOutput && bytes.HasPrefix(b[n:], parse.OpenBraces) {
		if n > 0 {
			f.reach(dst, n)
		}
		used, line := 0, b[n:]
		switch {
		case bytes.HasPrefix(line, linecache.BTStart):
			block.end(f, t, dst, b[:n])
			used, dst = k.frame(dst, t, line)
		case !folds:
		case bytes.HasPrefix(line, linecache.MMapStart):
			used, dst = k.mapping(dst, t, line)
		case bytes.HasPrefix(line, linecache.ModuleStart):
			used, dst = k.module(dst, t, line)
		case bytes.HasPrefix(line, linecache.ResetStart):
			block.end(f, t, dst, b[:n])
			if used, dst = k.replay(dst, t, line); used == 0 {
				used, dst = k.reset(dst, t, line, n)
			}
		}
		if used == 0 {
			break
		}
		k.last = n
		n += used
	}
	block.end(f, t, dst, b[:n])
	return dst, n
}

// frame handles a bt element that is alone on its line.
func (k *known) frame(dst []byte, t *resolve.Thread, b []byte) (used int, out []byte) {
	f := k.f
	if f.opt.Maps != nil && t.Space.Empty() {
		return 0, dst // the mappings of a running process count, which may be others by now
	}
	line := b[:bytes.IndexByte(b, '\n')+1]
	s := k.frames.Find(line, t.Space.Generation())
	if s == nil || !k.holds(&s.By.dependency, t, f.opt.Adjust.Element(t, s.By.typ, false)) {
		return 0, dst
	}
	f.line++
	a := s.By.kept.Answer()
	f.resolver.Counts.Count(nil, a)
	t.Answered(f.line, a)
	if f.objects != nil {
		dst = record.AppendNumber(dst, f.objects.Number(f.line))
	}
	f.only.begin(dst)
	return len(line), f.only.end(append(f.text.Fold.Flush(dst), s.Text()...))
}

// learnFrame appends what becomes of a bt element that is alone on its line and not known.
func (k *known) learnFrame(ctx context.Context, dst, line []byte) []byte {
	f := k.f
	generation := f.resolver.Processes.Unnamed.Space.Generation()
	s, again := k.frames.Slot(line, generation)
	dst = f.text.Fold.Flush(dst)
	before, rescued := len(dst), f.rescued
	f.asked = shownBy{}
	dst = f.Line(ctx, dst, line)
	if f.objects != nil {
		before = len(dst) - len(record.CutNumber(dst[before:]))
	}
	before = f.only.begun(before)
	a := f.asked.kept.Answer()
	if f.only.writes() && k.frames.Settled(generation) && again && a != nil && a.Module != nil && rescued == f.rescued && !print.Awaited(a) && !a.Assumed() &&
		len(dst)-before <= linecache.MaxText && len(line) <= linecache.MaxLine {
		k.frames.Keep(s, line, dst[before:], generation, f.asked)
	}
	return dst
}

// isElement reports whether a line that begins with an element is nothing else, and has no escape sequence.
func isElement(line []byte) bool {
	_, end, _ := bytes.Cut(line, parse.CloseBraces)
	return (len(end) == 1 || len(end) == 2 && end[0] == '\r') && bytes.IndexByte(line, 0x1b) < 0
}

// mapping handles a mapping whose text after the address is known.
func (k *known) mapping(dst []byte, t *resolve.Thread, b []byte) (used int, out []byte) {
	f := k.f
	start, at, ok := scan.Hex(b, len(linecache.MMapStart))
	if !ok {
		return 0, dst
	}
	e := k.elements.Find(b[at:], learnMapping)
	if e == nil || e.Says.tag != markup.MMap || cutTo32(b[len(linecache.MMapStart)-len("0x"):at]) {
		return 0, dst
	}
	m := e.Says.mmap
	m.Start = start
	if _, ok := t.Space.Module(m.ModuleID); !ok || m.Size != 0 && m.Size-1 > math.MaxUint64-start {
		return 0, dst
	}
	in, err := t.Space.AddMMap(m)
	if err != nil {
		return 0, dst
	}
	f.line++
	k.elements.Follow(e)
	return at + len(e.Text), f.text.Fold.Add(dst, in.Module, print.Range{Start: start, Last: start + m.Size - 1, Mode: m.Mode}, nil, e.Says.end)
}

// module handles the definition of a module that is new, or the same as before.
func (k *known) module(dst []byte, t *resolve.Thread, b []byte) (used int, out []byte) {
	f := k.f
	e := k.elements.Find(b, learnModule)
	if e == nil || e.Says.tag != markup.Module {
		return 0, dst
	}
	def := &e.Says.module
	if old, ok := t.Space.Module(def.ID); ok && (old.Name != def.Name || old.BuildID != def.BuildID) {
		return 0, dst
	}
	t.Space.AddModule(*def)
	f.unidentified = f.unidentified || def.BuildID == ""
	m, _ := t.Space.Module(def.ID)
	f.line++
	k.elements.Follow(e)
	return len(e.Text), f.text.Fold.DefineKnown(dst, m, e.Says.head, e.Says.end)
}

// reset handles a reset, which is at b[at:] of what run looks at.
func (k *known) reset(dst []byte, t *resolve.Thread, b []byte, at int) (used int, out []byte) {
	f := k.f
	e := k.elements.Find(b, learnReset)
	if e == nil || e.Says.tag != markup.Reset {
		return 0, dst
	}
	t.Process.Restart()
	if t.Space.Reset() {
		dst = f.text.Fold.Flush(dst)
		k.block.begin(f, dst, at)
		dst = append(dst, e.Says.head...)
	}
	f.line++
	k.elements.Follow(e)
	return len(e.Text), dst
}

// learnMapping reads what follows the address of a mapping.
func learnMapping(text []byte) (k contextFields, ok bool) {
	line := append([]byte("{{{mmap:0x0"), text...)
	e, ok := alone(line, markup.MMap, &k)
	if !ok {
		return k, false
	}
	var err error
	k.mmap, err = markup.ParseMMap(&e)
	return k, err == nil
}

// learnModule reads the definition of a module.
func learnModule(line []byte) (k contextFields, ok bool) {
	e, ok := alone(line, markup.Module, &k)
	if !ok {
		return k, false
	}
	var err error
	if k.module, err = markup.ParseModule(&e); err != nil {
		return k, false
	}
	k.head = print.AppendModuleHead(nil, &ctxstate.Module{ID: k.module.ID, Name: k.module.Name, BuildID: k.module.BuildID}, true)
	return k, true
}

// learnReset reads a reset.
func learnReset(line []byte) (k contextFields, ok bool) {
	e, ok := alone(line, markup.Reset, &k)
	if !ok {
		return k, false
	}
	k.head = append(print.AppendReset(nil, &e), k.end...)
	return k, true
}

// alone returns the element that a line consists of. Why its fields are malformed, if they are, is not asked here.
func alone(line []byte, tag markup.Tag, k *contextFields) (e markup.Element, ok bool) {
	body, end := scan.CutEnd(line)
	e, ok = markup.Next(body, 0)
	if !ok || e.Tag != tag || e.Start != 0 || e.End != len(body) || len(end) == 0 {
		return e, false
	}
	for _, other := range [...][]byte{resolve.SanitizerWord, resolve.RuntimeError, resolve.SummaryWord, {0x1b}} {
		if bytes.Contains(body, other) { // which means something to others
			return e, false
		}
	}
	e.Terse = true
	k.tag, k.end = tag, bytes.Clone(end)
	return e, true
}

// contextBlock is the latest run of context lines from a reset on. Where it comes again while nothing has changed since, as
// when a process crashes over and over, it changes nothing either.
type contextBlock struct {
	// generation is that of the address space after it, and fold is the line that is open then.
	generation uint64
	fold       print.Fold
	text, out  []byte
	lines      int
	// from, outFrom and line are where one begins that has not ended yet: in the text, in its output and in the log.
	from, outFrom, line int
	open                bool
}

// maxBlock bounds a block, in bytes.
const maxBlock = 64 << 10

// begin notes that a reset has come at b[from:], with what the output was before it.
func (k *contextBlock) begin(f *liner, dst []byte, from int) {
	k.open, k.from, k.outFrom, k.line = true, from, len(dst), f.line
}

// end notes that something other than context has come, or another reset.
func (k *contextBlock) end(f *liner, t *resolve.Thread, dst, b []byte) {
	if !k.open {
		return
	}
	k.open = false
	if k.text = k.text[:0]; len(b)-k.from > maxBlock || !f.text.Fold.Pending() {
		return
	}
	k.text, k.out = append(k.text, b[k.from:]...), append(k.out[:0], dst[k.outFrom:]...)
	k.generation, k.lines = t.Space.Generation(), f.line-k.line
	k.fold.CopyFrom(&f.text.Fold)
}

// replay handles the latest block again.
func (k *known) replay(dst []byte, t *resolve.Thread, b []byte) (used int, out []byte) {
	f, block := k.f, &k.block
	if len(block.text) == 0 || block.generation != t.Space.Generation() || !bytes.HasPrefix(b, block.text) {
		return 0, dst
	}
	t.Process.Restart()
	dst = append(f.text.Fold.Flush(dst), block.out...)
	f.text.Fold.CopyFrom(&block.fold)
	f.line += block.lines
	return len(block.text), dst
}

// dependency is what the output of a known frame depends on besides its text.
type dependency struct {
	kept resolve.Kept
	// process is the key of the one whose frame it is, which objects of JSON tell.
	process string
	take    resolve.Rule
}

// dependsOn returns what the output of a frame depends on.
func dependsOn(t *resolve.Thread, a *resolve.Answer, take resolve.Rule) dependency {
	return dependency{kept: resolve.Keep(a), process: t.Key, take: take}
}

// holds reports whether a known frame of t, whose address is to be taken so, still becomes what it became.
func (k *known) holds(d *dependency, t *resolve.Thread, take resolve.Rule) bool {
	return d.take == take && !t.Heads() && k.f.resolver.Holds(&d.kept) && d.process == t.Key
}

// A stack of text comes again with other numbers and at other addresses, since every process lies elsewhere; what
// follows the address, `  (/usr/lib/a.so+0x1130) (BuildId: 5290…)`, is the same. The lines that such a frame becomes are
// therefore kept by that, without what precedes it.

// shownTail is what the output of a known tail depends on.
type shownTail struct {
	dependency
	// object is where the line's own words are in its object, where lines leave as JSON.
	object objectCuts
	// digits is how long the address is, by which some emitters are told.
	digits int8
	// outcome is what became of the frame.
	outcome    resolve.Outcome
	convention frame.Convention
	// identified is set if the line has the module's build ID. What the log says elsewhere counts for others.
	identified bool
	// relative is set if the log names the module by a relative path, without a build ID. Mappings may say which file that is, by the address.
	relative bool
	// plain is set if nothing but the frame means anything in the tail, and it has a build ID.
	plain bool
	// read is the frame as it was read, if it is printed anew.
	read *readFrame
	// dated is set if the time at which the line was written decides how it is marked. Behind a logger's prefix that is another for each line.
	dated bool
}

// textFrame is a frame's line as known tails have it: a prefix, blanks, a number, a blank, an address, and the tail with the line's end.
type textFrame struct {
	line                      []byte
	numStart, numEnd, addrEnd int
	number                    uint64
	digits                    int8
	behind                    bool // a prefix
}

// readTextFrame reads the line that b begins with, after a prefix of i bytes. ok is false for lines that are not of that kind, and where
// the tail might mean something to the recognisers of prefixes.
func readTextFrame(b []byte, i int) (t textFrame, ok bool) {
	t.behind = i > 0
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if i == len(b) || b[i] != '#' {
		return t, false
	}
	i++
	t.numStart = i
	for i < len(b) && b[i]-'0' <= 9 {
		t.number = 10*t.number + uint64(b[i]-'0')
		i++
	}
	t.numEnd = i
	if n := t.numEnd - t.numStart; n == 0 || n > 4 || n > 1 && b[t.numStart] == '0' || !bytes.HasPrefix(b[i:], []byte(" 0x")) {
		return t, false
	}
	i += len(" 0x")
	_, t.addrEnd, ok = scan.Hex(b, i)
	if t.addrEnd-i > 16 { // zeros before them
		return t, false
	}
	t.digits = int8(t.addrEnd - i)
	end := bytes.IndexByte(b[t.addrEnd:], '\n')
	if !ok || end <= 0 || b[t.addrEnd] != ' ' || end > linecache.MaxLine {
		return t, false
	}
	t.line = b[:t.addrEnd+end+1]
	return t, true
}

func (t *textFrame) tail() []byte { return t.line[t.addrEnd:] }

// text handles the lines at the start of b that are frames with a known tail, and returns the number of bytes that they take.
func (k *known) text(dst, b []byte) (out []byte, n int) {
	f := k.f
	t := f.resolver.Processes.Unnamed
	for len(dst) < stream.MaxOutput && n < len(b) && (b[n] == ' ' || b[n] == '#') {
		line, ok := readTextFrame(b[n:], 0)
		if !ok {
			break
		}
		s := k.tail(t, &line, f.line+1)
		if s == nil || s.By.read != nil {
			break
		}
		if n > 0 {
			f.reach(dst, n)
		}
		f.line++
		f.only.begin(dst)
		dst = f.only.end(k.again(dst, t, &line, s))
		f.resolver.Processes.Handled(t)
		k.last = n
		n += len(line.line)
	}
	if n > 0 {
		f.rescan()
	}
	return dst, n
}

// tail returns the entry of the tail of a frame's line of that number, nil if it is not known.
func (k *known) tail(t *resolve.Thread, line *textFrame, number int) *linecache.Output[shownTail] {
	s := k.tails.Find(line.tail(), 1)
	if s == nil || s.By.digits != line.digits || s.By.dated && line.behind || !s.By.identified && t.KnowsBuildIDs() || s.By.relative && k.f.resolver.Loads(t) ||
		!k.holds(&s.By.dependency, t, k.f.opt.Adjust.Frame(t, s.By.convention, t.Stack.First(number, true, line.number))) {
		return nil
	}
	return s
}

// again appends what becomes of the line at hand, a frame with that tail.
func (k *known) again(dst []byte, t *resolve.Thread, line *textFrame, s *linecache.Output[shownTail]) []byte {
	f := k.f
	if number := t.Stack.Number(line.number); f.objects != nil {
		dst = line.writeObject(dst, s.Text(), &s.By.object, f.objects.Number(f.line))
	} else {
		dst = line.write(f.text.Fold.Flush(dst), s.Text(), number)
	}
	f.resolver.Counts.Again(s.By.outcome, s.By.kept.Answer())
	t.Again(f.line, line.number, &s.By.kept)
	t.Stack.Insert(s.By.kept.Inserted())
	if f.only != nil {
		f.only.holds = true
	}
	f.idle, f.lasting = false, false
	return dst
}

// frameOf returns the frame that the line at hand is, maybe behind the prefix of a logger, which names its thread. ok is false for lines that
// are not known.
func (k *known) frameOf(l *parse.Line, line []byte) (t textFrame, ok bool) {
	if l.Inside || l.Split() || l.End < len(l.Body) || l.Start == 0 && !k.printed && k.read == 0 || !k.takesText() ||
		k.f.opt.Palette != nil && bytes.IndexByte(l.Body[:l.Start], 0x1b) >= 0 {
		return t, false
	}
	return readTextFrame(line, l.Start)
}

// segment appends what becomes of the line at hand of t, a frame. look does what is to be done if it is not known.
func (k *known) segment(dst []byte, t *resolve.Thread, l *parse.Line, line *textFrame, look func(dst []byte) []byte) []byte {
	f := k.f
	s := k.tail(t, line, f.line)
	switch {
	case s != nil && s.By.read != nil:
		f.parser.Elements, f.parser.Frames = f.parser.Elements[:0], append(f.parser.Frames[:0], s.By.read.Frame)
		line.move(s.By.read, &f.parser.Frames[0])
		f.recalled = &s.By
		return look(dst)
	case !line.behind && !k.printed: // it is known as a whole, or learned
		return look(dst)
	case s != nil && f.objects == nil:
		k.learnHead(t, l, &s.By)
		return k.again(dst, t, line, s)
	}
	return k.learnText(dst, t, line, look)
}

// learnText appends what becomes of the line at hand of t, a frame whose tail is not known: what look appends.
func (k *known) learnText(dst []byte, t *resolve.Thread, line *textFrame, look func(dst []byte) []byte) []byte {
	f := k.f
	s, again := k.tails.Slot(line.tail(), 1)
	if !again {
		return look(dst)
	}
	f.resolver.Asked = resolve.Asked{}
	if !k.printed {
		dst = f.text.Fold.Flush(dst)
	}
	before := len(dst)
	dst = look(dst)
	if by, became, ok := k.learn(t, line, dst[min(f.only.begun(before), len(dst)):]); ok {
		k.tails.Keep(s, line.tail(), became, 1, by)
	}
	return dst
}

// write writes the lines of a frame's functions, of which all but their begins is known.
func (t *textFrame) write(dst, known []byte, n uint64) []byte {
	for len(known) > 0 {
		address := 1 + int(known[0])
		end := address + bytes.IndexByte(known[address:], '\n') + 1
		dst = append(dst, t.line[:t.numStart]...)
		dst = strconv.AppendUint(dst, n, 10)
		dst = append(dst, known[1:address]...)
		dst = append(dst, t.line[t.numEnd:t.addrEnd]...)
		dst = append(dst, known[address:end]...)
		known, n = known[end:], n+1
	}
	return dst
}

// learn returns what is kept of a line that became those lines, or that object.
func (k *known) learn(of *resolve.Thread, t *textFrame, became []byte) (by shownTail, known []byte, ok bool) {
	f := k.f
	q := &f.resolver.Asked
	if !q.Plain || !f.only.writes() || print.Awaited(q.Answer) || q.Answer.Assumed() || len(f.parser.Frames) != 1 || bytes.ContainsAny(t.line, "|\t\r\x1b") {
		return by, nil, false
	}
	by = shownTail{dependency: dependsOn(of, q.Answer, q.Rule), digits: t.digits, outcome: resolve.OutcomeOf(&f.parser.Frames[0], q.Answer),
		identified: len(f.parser.Frames[0].BuildIDText) > 0, plain: isPlain(t.tail()) && bytes.Contains(t.tail(), buildIDWord), convention: q.Convention,
		dated: f.resolver.Dates(q.Answer)}
	name := f.parser.Frames[0].ModuleText
	by.relative = !by.identified && len(name) > 0 && name[0] != '/'
	if by.dated && t.behind || by.relative && f.resolver.Loads(of) {
		return by, nil, false
	}
	switch {
	case k.printed, f.objects != nil && t.behind, len(became) > linecache.MaxText:
	case f.objects != nil:
		known, by.object, ok = k.learnObject(t, became)
	default:
		known, ok = t.learnTail(became, max(1, len(q.Answer.Frames)))
	}
	if !ok {
		by.read, known = t.learnRead(&f.parser.Frames[0]), nil
		if ok = by.read != nil; ok {
			k.read++
		}
	}
	return by, known, ok
}

// readFrame is a frame as it was read on a line, on which its address ended there.
type readFrame struct {
	parse.Frame
	addrEnd int
}

// learnRead returns the frame of the line, if it can be moved to another one with the same tail.
func (t *textFrame) learnRead(fr *parse.Frame) *readFrame {
	if !t.places(fr) || !frame.Candidate(t.tail(), false, false) {
		return nil
	}
	for _, at := range fr.Spans() {
		if *at != (frame.Span{}) && at.Start < t.addrEnd && at != &fr.Whole && at != &fr.Num && at != &fr.Addr {
			return nil
		}
	}
	return &readFrame{*fr, t.addrEnd}
}

// places reports whether a frame has its number and its address where the line has them.
func (t *textFrame) places(fr *parse.Frame) bool {
	return fr.Num == frame.Span{Start: t.numStart, End: t.numEnd} && fr.Addr == frame.Span{Start: t.address(), End: t.addrEnd} && fr.Whole.Start == t.numStart-1
}

// move makes fr, a copy of a frame that was read, the frame of the line.
func (t *textFrame) move(was *readFrame, fr *parse.Frame) {
	fr.Number = t.number
	for _, at := range fr.Spans() {
		if *at != (frame.Span{}) {
			at.Start, at.End = at.Start+t.addrEnd-was.addrEnd, at.End+t.addrEnd-was.addrEnd
		}
	}
	fr.Whole.Start, fr.Num = t.numStart-1, frame.Span{Start: t.numStart, End: t.numEnd}
	fr.ReadTexts(t.line)
}

// learnTail returns what is known of the lines that a frame of so many functions became: of each the color of its address, after the length of
// that, and what follows the address.
func (t *textFrame) learnTail(became []byte, functions int) (known []byte, ok bool) {
	var n uint64
	for i := range functions {
		// Whatever the line became, it is known only if that is of the kind that write writes.
		rest, found := bytes.CutPrefix(became, t.line[:t.numStart])
		width := 0
		for width < len(rest) && rest[width]-'0' <= 9 {
			width++
		}
		number, fits := scan.Number(rest[:width], 10)
		color, rest, same := bytes.Cut(rest[width:], t.line[t.numEnd:t.addrEnd])
		end := bytes.IndexByte(rest, '\n') + 1
		if !found || !fits || !same || len(color) > math.MaxUint8 || len(sgr.Uncolored(nil, color)) > 0 || end == 0 || i > 0 && number != n+1 {
			return nil, false
		}
		n = number
		known, became = append(append(append(known, byte(len(color))), color...), rest[:end]...), rest[end:]
	}
	return known, len(became) == 0
}

// Where lines leave as JSON, of the object of a frame with a known tail everything is known but four of the line's own
// words, which are digits, blanks and the like and stand as they are in a string:
//
//	{"line":16,"text":"    #3 0x7f000003c4d0 (…","frames":[{…,"number":3,"text":"#3 0x7f000003c4d0 (…","address":"0x7f000003c4d0",…
//	                   └───────text────────┘                         number  └─────frame─────┘                └──address───┘

// objectCuts is where in what is known of an object, which begins after the number of the line, these words go.
type objectCuts [4]uint16

// objectWords are the keys that the words follow. No string has them in it, since its quotation marks are escaped.
var objectWords = [len(objectCuts{})][]byte{[]byte(`,"text":"`), []byte(`,"number":`), []byte(`,"text":"`), []byte(`,"address":"`)}

// words returns the words.
func (t *textFrame) words() [len(objectCuts{})][]byte {
	return [...][]byte{t.line[:t.addrEnd], t.line[t.numStart:t.numEnd], t.line[t.numStart-1 : t.addrEnd], t.line[t.address():t.addrEnd]}
}

// address is where the address begins, with its 0x.
func (t *textFrame) address() int { return t.addrEnd - int(t.digits) - len("0x") }

// writeObject writes the object of the line of that number, of which all but the words is known.
func (t *textFrame) writeObject(dst, known []byte, at *objectCuts, line int) []byte {
	dst = record.AppendNumber(dst, line)
	from := 0
	for i, word := range t.words() {
		to := int(at[i])
		dst = append(append(dst, known[from:to]...), word...)
		from = to
	}
	return append(dst, known[from:]...)
}

// learnObject returns what is known of the object that the line at hand became, if that is of the kind that writeObject writes.
func (k *known) learnObject(t *textFrame, became []byte) (known []byte, at objectCuts, ok bool) {
	f := k.f
	l, fr := &f.objects.Line, &f.parser.Frames[0]
	if !t.places(fr) || l.Process != f.resolver.Processes.Unnamed.Key ||
		!utf8.Valid(t.line) { // whose bytes stand beside the text, as base64
		return nil, at, false
	}
	rest := record.CutNumber(became)
	for i, word := range t.words() {
		end := bytes.Index(rest, objectWords[i])
		if end < 0 {
			return nil, at, false
		}
		end += len(objectWords[i])
		if known = append(known, rest[:end]...); !bytes.HasPrefix(rest[end:], word) {
			return nil, at, false
		}
		at[i], rest = uint16(len(known)), rest[end+len(word):]
	}
	return append(known, rest...), at, true
}
