package triage

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

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

// marks are in all lines that are a headline, or say what the stack below is.
var marks = [...]string{"Sanitizer", "SIG", "signal ", " of size ", "llocated by ", "llocated from", "freed by ", "created by ", "runtime error:",
	"panic", "leak of ", "Check failed", "CHECK failed", "KASAN", "terminate called", "Assertion", "fatal error: ", "stored to memory", "created by an allocation",
	"uninitialised ", "Invalid free()", "Mismatched free()", "Block was alloc'd", "Exception", "java.lang.", "kernel BUG", "general protection fault", "Unable to handle"}

// forms are the lines of reports, the first that fits counts. The first group of an expression is Text, or what completes it.
var forms = sync.OnceValue(func() []form {
	f := func(expression, prefix, kind string, more bool) form {
		return form{regexp.MustCompile(expression), prefix, kind, more}
	}
	return []form{
		f(`(?:ERROR|WARNING): \w*Sanitizer:? (?:attempting )?([\w-]+(?: [\w-]+)*?)(?: on (?:unknown address|address|0x)| in | at | from |:| \(|$)`, "", Fault, false),
		f(`((?:Direct|Indirect) leak) of \d+ byte`, "", "allocated by", false),
		f(`\b(?i:freed|deallocated) by (?:thread|main)`, "", "freed by", false),
		f(`(?i:previously |potentially )?allocated (?:by |from:|here)`, "", "allocated by", false),
		f(`\bThread T?\d+.* created by `, "", "created by", false),
		f(`Uninitialized value was (stored|created)`, "", "", false),
		f(`Previous (?:atomic )?(?:write|read) of size `, "", "previous access", false),
		f(`==\d+== *(Invalid (?:read|write) of size \d+|(?:Invalid|Mismatched) free\(\).*|(?:Conditional jump|Use of|Syscall param) .*uninitialised .*)`, "", Fault, false),
		f(` a block of size [\d,]+ free'd`, "", "freed by", false),
		f(` a block of size [\d,]+ alloc'd|Block was alloc'd at`, "", "allocated by", false),
		f(`(?i)\b((?:read|write) of size \d+)`, "", "", true),
		f(`runtime error: (.+)`, "", Fault, false),
		f(`(?:KASAN|KMSAN|KCSAN): ([\w-]+(?: [\w-]+)*?)(?: in | on | at |$)`, "", Fault, false),
		f(`\b(SIG(?:SEGV|ABRT|BUS|FPE|ILL|TRAP|SYS|QUIT))\b`, "", Fault, false),
		f(`deadly signal`, "deadly signal", Fault, false),
		f(`^(?:\S+ +)*?panic: (.+)`, "panic: ", Fault, false),
		f(`panicked at (.+)`, "panic at ", Fault, false),
		f(`(?:^|[\s:])(?:Exception in thread "[^"]*" )?((?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)(?:: .+)?)$`, "", Fault, false),
		f(`\bfatal error: (.+)`, "fatal error: ", Fault, false),
		f(`(?:Check|CHECK) failed: (.+)`, "check failed: ", Fault, false),
		f("Assertion [`'\"]?(.+?)['\"]? failed", "assertion failed: ", Fault, false),
		f(`terminate called (.+)`, "terminate called ", Fault, false),
		f(`(kernel BUG at \S+|general protection fault|Unable to handle kernel [\w ]+)`, "", Fault, false),
	}
})

// form is one form of such lines.
type form struct {
	expression *regexp.Regexp
	prefix     string
	kind       string
	more       bool // the line completes the headline above
}

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
	var at []int
	for _, mark := range marks {
		for i := 0; ; {
			n := bytes.Index(lines[i:], []byte(mark))
			if n < 0 {
				break
			}
			at = append(at, bytes.LastIndexByte(lines[:i+n], '\n')+1)
			end := bytes.IndexByte(lines[i+n:], '\n')
			if end < 0 {
				break
			}
			i += n + end + 1
		}
	}
	slices.Sort(at)
	counted, number := 0, first
	for _, begin := range slices.Compact(at) {
		number += bytes.Count(lines[counted:begin], []byte{'\n'})
		counted = begin
		line, rest, _ := bytes.Cut(lines[begin:], []byte{'\n'})
		line = bytes.TrimRight(line, "\r")
		if bytes.HasSuffix(line, []byte{':'}) && bytes.Contains(line, []byte("panicked at ")) { // what Rust says stands below the place
			if said, _, _ := bytes.Cut(rest, []byte{'\n'}); len(said) <= maxHeadline {
				line = append(append(bytes.Clone(line), ' '), bytes.TrimRight(said, "\r")...)
			}
		}
		if len(line) <= maxHeadline {
			h.read(number, string(line))
		}
	}
}

// read notes what a line says.
func (h *Headlines) read(number int, line string) {
	for _, f := range forms() {
		found := f.expression.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		text := f.prefix
		if len(found) > 1 {
			text += found[1]
		}
		n := note{line: number, Headline: Headline{Kind: f.kind}}
		switch {
		case f.more:
			n.more = access(text)
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
