package triage

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"qss-filter/filter/match"
	"qss-filter/symsrc"
)

// Headline is what a report says of a stack.
type Headline struct {
	// Text is what happened: `heap-use-after-free READ 4`, `SIGSEGV`. It is "" if the log does not say it.
	Text string
	// Kind is what the stack is: `fault`, `freed by`, `allocated by`, `created by`, or "".
	Kind string
}

// Fault is the kind of the stack in which something happened.
const Fault = "fault"

// note is a line of a report.
type note struct {
	line int
	Headline
	more string // completes Text of the note before
}

// maxNotes bounds the notes of a log in memory: the oldest are dropped.
const maxNotes = 1 << 10

// Headlines collects the headlines of a log.
type Headlines struct {
	notes []note
	// last is the headline that the stacks below belong to. used is set once a stack has begun after it.
	last Headline
	used bool
	// said is the line of the last note, near which the stacks stand.
	said int
}

// form is one form of the lines of reports.
type form struct {
	marks      []string // one of them is in all such lines
	expression func() *regexp.Regexp
	prefix     string
	kind       string // completes for a line that completes the headline above
}

// forms are the lines of reports, the first that fits counts. The first group of an expression is Text, or what completes it.
var forms = sync.OnceValue(func() []form {
	f := func(expression, prefix, kind string, marks ...string) form {
		return form{marks: marks, prefix: prefix, kind: kind,
			expression: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
	}
	return []form{
		f(`(?:ERROR|WARNING): \w*Sanitizer:? (?:attempting )?([\w-]+(?: [\w-]+)*?)(?: on (?:unknown address|address|0x)| in | at | from |:| \(|$)`, "", Fault, "Sanitizer"),
		f(`((?:Direct|Indirect) leak) of \d+ byte`, "", "allocated by", " leak of "),
		f(`\b(?i:freed|deallocated) by (?:thread|main)`, "", "freed by", "reed by ", "llocated by "),
		f(`(?i:previously |potentially )?allocated (?:by |from:|here)`, "", "allocated by", "llocated by ", "llocated from:"),
		f(`\bThread T?\d+.* created by `, "", "created by", " created by "),
		f(`Uninitialized value was (stored|created)`, "", "", "ninitialized value was "),
		f(`Previous (?:atomic )?(?:write|read) of size `, "", "previous access", " of size "),
		f(`==\d+== *(Invalid (?:read|write) of size \d+|(?:Invalid|Mismatched) free\(\).*|(?:Conditional jump|Use of|Syscall param) .*uninitialised .*)`, "", Fault,
			" of size ", "nvalid free()", "ismatched free()", "uninitialised "),
		f(` a block of size [\d,]+ free'd`, "", "freed by", " of size "),
		f(` a block of size [\d,]+ alloc'd|Block was alloc'd at`, "", "allocated by", " of size ", "Block was alloc'd"),
		f(`(?i)\b((?:read|write) of size \d+)`, "", completes, " of size "),
		f(`runtime error: (.+)`, "", Fault, "runtime error: "),
		f(`(?:KASAN|KMSAN|KCSAN): ([\w-]+(?: [\w-]+)*?)(?: in | on | at |$)`, "", Fault, "KASAN: ", "KMSAN: ", "KCSAN: "),
		f(`\b(SIG(?:SEGV|ABRT|BUS|FPE|ILL|TRAP|SYS|QUIT))\b`, "", Fault, "SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS", "SIGQUIT"),
		f(`deadly signal`, "deadly signal", Fault, "deadly signal"),
		f(`^(?:\S+ +)*?panic: (.+)`, "panic: ", Fault, "panic: "),
		f(`panicked at (.+)`, "panic at ", Fault, panicked),
		f(`(?:^|[\s:])(?:Exception in thread "[^"]*" )?((?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)(?:: .+)?)$`, "", Fault, "Exception", "java.lang."),
		f(`\bfatal error: (.+)`, "fatal error: ", Fault, "fatal error: "),
		f(`(?:Check|CHECK) failed: (.+)`, "check failed: ", Fault, "Check failed: ", "CHECK failed: "),
		f("Assertion [`'\"]?(.+?)['\"]? failed", "assertion failed: ", Fault, "Assertion "),
		f(`terminate called (.+)`, "terminate called ", Fault, "terminate called "),
		f(`(kernel BUG at \S+|general protection fault|Unable to handle kernel [\w ]+)`, "", Fault, "kernel BUG at ", "general protection fault", "Unable to handle kernel "),
	}
})

const (
	completes = "completes"
	panicked  = "panicked at " // as Rust says
)

// marked finds the lines that hold a mark of a form.
var marked = sync.OnceValue(func() *match.Lines {
	var marks [][]string
	for _, f := range forms() {
		marks = append(marks, f.marks)
	}
	return match.NewLines(maxHeadline, marks...)
})

// maxText bounds the text of a headline in characters, and maxHeadline the line that it is searched in.
const (
	maxText     = 120
	maxHeadline = 4 << 10
)

// maxAway bounds the distance in lines of a stack from what is said of it.
const maxAway = 100

// Read reads complete lines of the log, the first of which has that number. Lines must be read in order, and before the frames
// below them are asked for.
func (h *Headlines) Read(first int, lines []byte) {
	for line := range marked().In(first, lines) {
		text := line.Text
		if bytes.HasSuffix(text, []byte{':'}) && bytes.Contains(text, []byte(panicked)) { // what Rust says stands below the place
			_, below, _ := bytes.Cut(lines[line.Begin:], []byte{'\n'})
			if said, _, _ := bytes.Cut(below, []byte{'\n'}); len(said) <= maxHeadline {
				text = append(append(bytes.Clone(text), ' '), bytes.TrimRight(said, "\r")...)
			}
		}
		if len(text) <= maxHeadline {
			h.read(line.Number, text)
		}
	}
}

// read notes what a line says.
func (h *Headlines) read(number int, line []byte) {
	marks := marked().Look(line)
	for i, f := range forms() {
		if !marks.Any(1 << i) {
			continue
		}
		found := f.expression().FindSubmatch(line)
		if found == nil {
			continue
		}
		text := f.prefix
		if len(found) > 1 {
			text += string(found[1])
		}
		n := note{line: number}
		switch n.Kind = f.kind; {
		case f.kind == completes:
			n.Kind, n.more = "", access(text)
		case f.kind == "":
			n.Kind = "value " + text
		case f.prefix != "" || len(found) > 1:
			n.Text = cut(text)
		}
		if len(h.notes) == maxNotes {
			h.notes = slices.Delete(h.notes, 0, maxNotes/2)
		}
		h.notes = append(h.notes, n)
		return
	}
}

// access returns `READ 4` for `READ of size 4`.
func access(text string) string {
	return strings.Replace(strings.ToUpper(text), " OF SIZE ", " ", 1)
}

// cut returns a text that can be shown in one line.
func cut(text string) string {
	text = symsrc.Visible(strings.TrimSpace(text))
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return text
}

// GiveBack lets the next stack have the headline of the last one, of which nothing is known: gdb shows frame 0 alone, and then all of them.
func (h *Headlines) GiveBack() { h.used = false }

// Between reports whether the log says something of a stack after one line and before another, so that those are of two stacks.
func (h *Headlines) Between(after, before int) bool {
	for i := range h.notes {
		if line := h.notes[i].line; line > after {
			return line < before
		}
	}
	return false
}

// Above returns the headline of a stack that begins on a line. Several stacks may belong to one headline, if the log says what each is.
func (h *Headlines) Above(line int) Headline {
	kind := ""
	for len(h.notes) > 0 && h.notes[0].line <= line {
		n := &h.notes[0]
		h.said = n.line
		switch {
		case n.more != "":
			if h.last.Text != "" && !h.used && !strings.Contains(h.last.Text, n.more) {
				h.last.Text += " " + n.more
			}
		case n.Text != "" && n.Kind == Fault && h.last.Text != "" && !h.used:
			// A report may say in a second line what its first one has said already: the first one has the name of the fault.
		case n.Text != "":
			h.last, h.used, kind = n.Headline, false, n.Kind
		default:
			kind = n.Kind
		}
		h.notes = h.notes[1:]
	}
	switch {
	case kind == "" && h.used, line-h.said > maxAway:
		return Headline{}
	case kind == "":
		kind = h.last.Kind
	}
	h.used = true
	return Headline{h.last.Text, kind}
}
