package prefix

import (
	"bytes"

	"qss-filter/filter/scan"
)

// fuchsia reads what Fuchsia's loggers write after the time in brackets, which ends before line[k]: the kernel's log
// (`] 01885.02639> `, process and thread), and the system log, whose brackets hold process, thread and tags, or without
// IDs the component, before the level (`[1][2][klog] INFO: `, `[core/feedback] WARN: `). Lines that are relayed from the
// kernel's log name the relaying process: resets alone tell those apart.
func fuchsia(r *Reader, line []byte, k int) int {
	if at(line, k, '[') {
		return fuchsiaSyslog(r, line, k)
	}
	if !at(line, k, ' ') {
		return -1
	}
	pid := span(k+1, digits(line, k+1, 1, 20))
	if pid.End < 0 || !at(line, int(pid.End), '.') && !at(line, int(pid.End), ':') {
		return -1
	}
	start := int(pid.End) + 1
	end := digits(line, start, 1, 20)
	if end < 0 || !at(line, end, '>') {
		return -1
	}
	p := &r.p
	p.Kind = FuchsiaKlog
	p.setPID(pid, span(start, end))
	if end++; at(line, end, ' ') {
		end++
	}
	return end
}

func fuchsiaSyslog(r *Reader, line []byte, k int) int {
	var group [4]Span
	n := 0
	for at(line, k, '[') {
		shut := bytes.IndexByte(line[k:min(len(line), k+256)], ']')
		if shut < 0 {
			return -1
		}
		if n < len(group) {
			group[n] = span(k+1, k+shut)
			n++
		}
		k += shut + 1
	}
	level := nextWord(line, k)
	word := level.Of(line)
	if int(level.Start) != k+1 || len(word) < 2 || word[len(word)-1] != ':' || !fuchsiaLevel(word[:len(word)-1]) {
		return -1
	}
	p := &r.p
	p.Kind = FuchsiaSyslog
	switch {
	case n >= 2 && allDigits(line, group[0]) && allDigits(line, group[1]):
		p.setPID(group[0], group[1])
		p.Tag = group[2]
	case allDigits(line, group[0]):
		p.setPID(group[0], Span{})
	default:
		p.addUnit(group[0])
		p.Tag = group[1]
	}
	end := int(level.End)
	if at(line, end, ' ') {
		end++
	}
	return end
}

// fuchsiaLevel reports whether a word is one of Fuchsia's severities, `VLOG(2)` among them.
func fuchsiaLevel(word []byte) bool {
	switch string(word) {
	case "TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "UNKNOWN":
		return true
	}
	return scan.Has(word, 0, "VLOG(") && word[len(word)-1] == ')'
}
