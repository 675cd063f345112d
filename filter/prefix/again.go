package prefix

import (
	"bytes"

	"qss-filter/filter/scan"
)

// Head is a logger's prefix that comes again and again at other times: nothing but the time differs in the lines of one thread. Comparing
// costs less than reading.
type Head struct {
	// Prefix is what was read of it. End is that of the line at hand.
	Prefix Prefix
	text   []byte
	// time is where the time ends, and endOfTime finds that.
	time      int
	endOfTime func(line []byte) int
}

// MaxHead is how long a Head is at most, in bytes.
const MaxHead = 128

// Learn makes it the prefix of a line, which was read last. ok is false for prefixes that more than their own bytes decide on.
func (h *Head) Learn(line []byte, p *Prefix) (ok bool) {
	if p.Start == 0 || p.Start > MaxHead || int(p.Part) != p.Start || p.Kind != p.Outer || p.Partial || p.size > 0 || p.held.known || !p.Claimed.Empty() ||
		p.End != len(line) || line[p.Start-1] != ' ' {
		return false
	}
	switch p.Kind {
	case LogcatThreadtime:
		h.endOfTime = func(line []byte) int { return logcatTime(line, 0) }
	case SyslogBSD:
		if p.PID.Empty() { // the lines before say whether it is one
			return false
		}
		h.endOfTime = func(line []byte) int { return syslogDate(line, 0) }
	case SyslogISO, CRI, Timestamp, GitHubActions:
		if p.Kind == SyslogISO && p.PID.Empty() {
			return false
		}
		h.endOfTime = endOfISO
	default:
		return false
	}
	h.Prefix, h.text, h.time = *p, append(h.text[:0], line[:p.Start]...), h.endOfTime(line)
	return h.time > 0 && h.time < len(h.text)
}

// endOfISO returns where a time ends that begins with `YYYY-MM-DD`, -1 if there is none.
func endOfISO(line []byte) int {
	k := yearDay(line, 0)
	if k < 0 {
		return -1
	}
	if k = clock(line, min(k+1, len(line))); k < 0 {
		return -1
	}
	if k = fraction(line, k); k < 0 {
		return -1
	}
	return zone(line, k)
}

// Again reports whether a line begins with the prefix at another time, so that Read would return h.Prefix of it. The line has its end, and what
// follows begins with a number sign, after blanks or none: no logger's prefix does.
func (r *Reader) Again(h *Head, line []byte) bool {
	n := len(h.text)
	if len(line) <= n || !bytes.Equal(line[h.time:n], h.text[h.time:]) || !sameShape(line, h.text[:h.time]) || h.endOfTime(line[:n]) != h.time {
		return false
	}
	if !h.Prefix.Host.Empty() {
		r.learnHost(h.Prefix.Host.Of(line))
	}
	return true
}

// sameShape reports whether a line begins with a text but for its digits.
func sameShape(line, text []byte) bool {
	for i, c := range text {
		if other := line[i]; c != other && !(scan.IsDigit(c) && scan.IsDigit(other)) {
			return false
		}
	}
	return true
}
