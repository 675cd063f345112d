package resolve

import (
	"bytes"

	"qss-filter/filter/frame"
	"qss-filter/filter/match"
	"qss-filter/filter/scan"
)

// headline is what a headline says of the stacks below it.
type headline uint8

const (
	// noHeadline is the state before any headline.
	noHeadline headline = iota
	// movedHeadline is that of a sanitizer, which prints addresses that lie in the call already, except in TSan's own reports. The
	// address of a fault is exact. Either way nothing is subtracted.
	movedHeadline
	// rawHeadline is that of a report of TSan, which in markup prints return addresses, even for frame 0.
	rawHeadline
	// seastarHeadline is that of Seastar.
	seastarHeadline
	// perFlowHeadline is that of a stack of PerFlow, which prints return addresses only.
	perFlowHeadline
	// appleHeadline is that of the thread that crashed in a report of Darwin: its first frame is exact.
	appleHeadline
	// counterHeadline is that of the program counter, a frame of its own above the stack: it is exact.
	counterHeadline
)

// emitter is what the log's headlines say of the program that prints the frames that follow.
type emitter struct {
	headline headline
	// fault is set if the headline names the program counter of a fault: the first frame is exact.
	fault bool
	// once is set if the headline is that of one stack, and not of a report that ends with a summary.
	once bool
	// headlines counts them, and top is the first frame below the last one; nil before that.
	headlines uint32
	top       *topFrame
	// begun is set once a frame has come after the headline.
	begun bool
	// signaled is set after the headline of an hs_err report for a signal, native after that of its native frames, and inNative after the
	// first of these.
	signaled, native, inNative bool
	// started is set once a line says that a program has ended, or another one begun.
	started bool
}

// Words of the sanitizers' headers.
var (
	// SanitizerWord is in the names of all sanitizers.
	SanitizerWord = []byte("Sanitizer")
	// SummaryWord begins the last line of a report.
	SummaryWord = []byte("SUMMARY: ")
	// ErrorWord and WarningWord are in the first line of a report, before the sanitizer.
	ErrorWord, WarningWord = []byte("ERROR: "), []byte("WARNING: ")
	// RuntimeError begins a message of UBSan.
	RuntimeError = []byte("runtime error:")

	threadWord = []byte("ThreadSanitizer")
	faultWord  = []byte("(pc 0x")
	goPanic    = []byte("panic") // of Go's `panic: runtime error: index out of range`
)

// Words of others.
var (
	// Seastar's own headlines are `Reactor stalled for 8 ms on shard 0. Backtrace: 0x…`, `Aborting on shard 0.` and others, and its logger
	// begins a message with `[shard 0]`.
	onShard = []byte(" on shard ")
	inShard = []byte("[shard ")
	// PerFlow's line above each stack is `[1795191696932172754] Call Stack (depth: 4)`.
	callStack = []byte("] Call Stack ")
	depthWord = []byte("(depth: ")
	// hs_err says at which instruction a signal came, `SIGSEGV (0xb) at pc=0x00007f4ee736d0f9, pid=7`, and begins its native frames with
	// `Native frames: (J=compiled Java code, …`.
	signalNumber = []byte("(0x")
	atPC         = []byte(" at pc=0x")
	nativeFrames = []byte("Native frames: ")
	framesKey    = []byte("(J=")
	// What a program has printed ends before each test of GoogleTest, where a test may be a process, and with a shell's words for one that
	// a signal has ended.
	testRun    = []byte("[ RUN      ] ")
	testsRun   = []byte("[==========] Running ")
	dumpedWord = []byte("(core dumped)")
	// A report of Tizen's crash-manager has this line above the process's ID, its mappings and its stack.
	crashInformation = []byte("Crash Information")
	// `Thread 0 Crashed:` is the thread that crashed in a report of Darwin, and `Crashed: NAME` in one of Crashlytics.
	crashedWord = []byte("Crashed:")
	threadStart = []byte("Thread ")
	// Redis, Valkey and KeyDB print `EIP:` alone on a line above the frame of what the signal interrupted (logStackTrace in Redis's debug.c).
	counterKey = []byte("EIP:")
)

// headlineWords are in headlines, and in what else a thread notes.
var headlineWords = match.Subscribe(string(SanitizerWord), string(RuntimeError), string(onShard), string(inShard), string(depthWord), string(framesKey),
	string(atPC), string(testRun), string(testsRun), string(dumpedWord), string(crashInformation), string(sumWord), string(crashedWord),
	string(counterKey))

// partWords are in the lines of frames that are parts of them.
var partWords = match.Subscribe(frame.SatyrWords()...)

// notePart notes what a line says of a frame whose offset stands below.
func (t *Thread) notePart(text []byte) {
	switch p, ok := frame.PartOf(text); {
	case p.Begins:
		t.begun.first, t.begun.id = p.First, nil
	case ok:
		t.begun.id = bytes.Clone(p.BuildID.Of(text))
	}
}

// Note notes the headline that a text of the thread may be, by the words that it holds, and forgets what is not of the program that the next frames
// are of.
func (t *Thread) Note(text []byte, words match.Words) {
	if words.Any(partWords) {
		t.notePart(text)
	}
	if !words.Any(headlineWords) && !t.Emitter.started {
		return
	}
	before := t.Emitter.headlines
	t.Emitter.note(text)
	if t.Emitter.headlines != before {
		t.forget() // another stack follows
	}
	t.NoteSum(text)
	switch {
	case bytes.HasSuffix(bytes.TrimRight(text, " \t\r\n"), crashInformation):
		t.reported = true
		t.Space.DropList()
		t.Restart()
	case t.Emitter.started && t.spent():
		t.Space.DropList()
	}
	t.Emitter.started = false
}

// note notes the headline that a line may be.
func (e *emitter) note(line []byte) {
	if i := bytes.Index(line, SanitizerWord); i >= 0 {
		before, fault := line[:i], bytes.Contains(line[i:], faultWord)
		switch {
		case bytes.Contains(before, SummaryWord):
		case bytes.Contains(before, WarningWord) && bytes.Contains(line, threadWord):
			e.begin(rawHeadline, fault, false)
		case bytes.Contains(before, ErrorWord), bytes.Contains(before, WarningWord):
			e.begin(movedHeadline, fault, false)
		}
		return
	}
	if i := bytes.Index(line, RuntimeError); i >= 0 && !bytes.Contains(line[:i], goPanic) {
		e.begin(movedHeadline, false, true)
		return
	}
	e.noteOthers(line)
}

// noteOthers notes the headline that a line may be of others than sanitizers. Most of their words have a bracket in them.
func (e *emitter) noteOthers(line []byte) {
	if bytes.Contains(line, onShard) {
		e.begin(seastarHeadline, false, true)
	}
	if before, _, is := bytes.Cut(line, crashedWord); is && (bytes.Contains(before, threadStart) || len(bytes.TrimSpace(before)) == 0) {
		e.begin(appleHeadline, false, true)
	}
	if text := bytes.TrimRight(line, " \t\r\n"); bytes.HasSuffix(text, counterKey) {
		if before := text[:len(text)-len(counterKey)]; len(before) == 0 || scan.IsSpace(before[len(before)-1]) {
			e.begin(counterHeadline, false, true)
		}
	}
	for i := bytes.IndexByte(line, '['); i >= 0; i = nextByte(line, i, '[') {
		switch word := line[i:]; {
		case bytes.HasPrefix(word, inShard):
			e.begin(seastarHeadline, false, true)
		case bytes.HasPrefix(word, testRun), bytes.HasPrefix(word, testsRun):
			e.started = true
		}
	}
	for i := bytes.IndexByte(line, '('); i >= 0; i = nextByte(line, i, '(') {
		switch before, word := line[:i], line[i:]; {
		case bytes.HasPrefix(word, depthWord) && bytes.HasSuffix(before, callStack):
			e.begin(perFlowHeadline, false, true)
		case bytes.HasPrefix(word, dumpedWord):
			e.started = true
		case bytes.HasPrefix(word, framesKey) && bytes.HasSuffix(before, nativeFrames):
			e.native, e.inNative = true, false
		case bytes.HasPrefix(word, signalNumber):
			e.signaled = e.signaled || bytes.Contains(word[:min(len(word), maxSignal)], atPC)
		}
	}
}

// maxSignal bounds `(0xb) at pc=0x`, with the number of any signal or exception.
const maxSignal = 32

// nextByte returns the index of the next c after b[i], or -1.
func nextByte(b []byte, i int, c byte) int {
	if k := bytes.IndexByte(b[i+1:], c); k >= 0 {
		return i + 1 + k
	}
	return -1
}

// begin notes a headline.
func (e *emitter) begin(h headline, fault, once bool) {
	e.headline, e.fault, e.once, e.begun = h, fault, once, false
	e.headlines++
	e.top = nil
}

// topFrame is the address of the first frame below a headline, an absolute one or an offset in a module, and how it was adjusted.
type topFrame struct {
	addr   uint64
	module string
	rule   Rule
}

// summed returns the rule of an address in a line of the thread. The summary of a report has that of its first frame.
func (t *Thread) summed(line []byte, addr uint64, module []byte, rule Rule) Rule {
	e := &t.Emitter
	switch {
	case e.headline == noHeadline:
	case bytes.Contains(line[:min(len(line), maxHead)], SummaryWord):
		if e.top != nil && e.top.addr == addr && e.top.module == string(module) {
			return e.top.rule
		}
	case !e.begun && e.top == nil:
		e.top = &topFrame{addr, string(module), rule}
	}
	return rule
}

// Heads reports whether the next frame is the first one below a headline, which the summary of the report may be about.
func (t *Thread) Heads() bool {
	return t.Emitter.headline != noHeadline && !t.Emitter.begun && t.Emitter.top == nil
}

// maxHead is how far the word of a summary is from the beginning of its line at most, in bytes: a line may hold thousands of frames.
const maxHead = 1 << 10

// end notes that what the headline said holds no longer.
func (e *emitter) end() { e.headline, e.fault, e.once, e.begun = noHeadline, false, false, false }

// End notes the end of a report, if the line at hand is its summary.
func (e *emitter) End(line []byte) {
	if e.headline != noHeadline && bytes.Contains(line, SummaryWord) {
		e.end()
	}
}

// frame notes that a frame has come whose address was adjusted so. A frame that was not adjusted as the headline says is of another stack, and
// one whose code contradicts the headline is of another program.
func (e *emitter) frame(a *Answer) {
	if e.headline == noHeadline {
		return
	}
	e.begun = true
	switch mode := a.rule.mode(); {
	case mode == moving || mode == oneLess:
		if a.Back != 0 && a.Back != further {
			e.end()
		}
	case mode != exact && mode != oneLessExact && e.once && a.rule.evidence() != byHeader:
		e.end()
	}
}
