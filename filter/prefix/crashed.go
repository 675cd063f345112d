package prefix

import (
	"bytes"

	"qss-filter/filter/match"
	"qss-filter/filter/scan"
)

// headline is a text before the process ID of a crashed process, the texts that may stand after the ID, and one that
// must stand elsewhere on the line.
type headline struct {
	before string
	after  [2]string
	with   string
}

// crashedWords are in the headlines, and in front of a process ID that is marked.
var crashedWords = match.Subscribe("==", "pid: ", "pid=", "PID", "Process ")

// headlines lists what crash reporters write of the process that crashed; most are processes of their own.
var headlines = [...]headline{
	{"pid: ", [2]string{", tid: "}, ""},                  // debuggerd: `pid: 7, tid: 8, name: x  >>> y <<<`
	{", pid=", [2]string{", tid="}, " at pc="},           // hs_err: `SIGSEGV (0xb) at pc=0x7f…, pid=7, tid=8`
	{"(pid=", [2]string{")"}, "ThreadSanitizer: "},       // `WARNING: ThreadSanitizer: data race (pid=7)`
	{"Callstack Information (PID:", [2]string{")"}, ""},  // Tizen's crash report
	{"Call stack for PID ", [2]string{":", " "}, ""},     // Tizen's crash-stack
	{" received by PID ", [2]string{" (TID ", ";"}, "*"}, // glog: `*** SIGSEGV (@0x0) received by PID 7 (TID 0x7f…)`
	{"PID ", [2]string{" - core", " - process"}, ""},     // eu-stack
	{"Process ", [2]string{" ("}, "dumped core"},         // systemd-coredump: `Process 7 (prog) of user 0 dumped core.`
}

// Crashed finds the process that a headline of a crash report names in a program's text: debuggerd, Tizen's crash-manager,
// Java's hs_err, glog, ThreadSanitizer, systemd-coredump and eu-stack, and `==PID==` of the sanitizers and valgrind where no prefix before it was recognized. The
// frames below belong to that process, whichever process has written them. The span counts from text[0]; no more than
// 512 bytes are looked at. words are those that the text, or one around it, holds.
func Crashed(text []byte, words match.Words) (pid Span, ok bool) {
	if !words.Any(crashedWords) {
		return pid, false
	}
	if len(text) > maxRead {
		text = text[:maxRead]
	}
	if i := bytes.Index(text, []byte("==")); i >= 0 {
		if pid, ok := marked(text, i); ok {
			return pid, true
		}
	}
	for i := range headlines {
		h := &headlines[i]
		for from := 0; ; {
			i := bytes.Index(text[from:], []byte(h.before))
			if i < 0 {
				break
			}
			start := from + i + len(h.before)
			if pid, ok := h.read(text, start); ok {
				return pid, true
			}
			from = start
		}
	}
	return Span{}, false
}

// read reads the process ID at text[start:].
func (h *headline) read(text []byte, start int) (pid Span, ok bool) {
	end := digits(text, start, 1, 10)
	if end < 0 {
		return pid, false
	}
	if before := start - len(h.before) - 1; before >= 0 && h.before[0] == 'p' && (scan.IsLetter(text[before]) || text[before] == '_') {
		return pid, false
	}
	if h.with != "" && !bytes.Contains(text, []byte(h.with)) {
		return pid, false
	}
	for _, after := range h.after {
		if after != "" && scan.Has(text, end, after) {
			return span(start, end), true
		}
	}
	return pid, false
}

// marked reads `==PID==` at the first equals signs of a text, text[i:], if they follow no other sign.
func marked(text []byte, i int) (pid Span, ok bool) {
	if i > 0 && trimEscape(text, i) == i && (scan.IsLetter(text[i-1]) || scan.IsDigit(text[i-1])) {
		return pid, false
	}
	end := digits(text, i+2, 1, 10)
	if !scan.Has(text, end, "==") || at(text, end+2, '=') {
		return pid, false
	}
	return span(i+2, end), true
}
