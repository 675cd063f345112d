package prefix

import (
	"bytes"

	"qss-filter/filter/scan"
)

// Syslog in the old form (RFC 3164), in the new one (RFC 5424), and as journalctl -o short and its relatives write it:
//
//	Nov 20 15:58:12 host prog[PID]: text            RFC 3164, short; short-precise has 6 digits more
//	2026-11-20T15:58:12+0100 host prog[PID]: text   short-iso, rsyslog's file format
//	Fri 2026-11-20 15:58:12 CET host unit[PID]: t   short-full, with-unit
//	[ 1362.609594] host prog[PID]: text             short-monotonic
//	1795190292.114867 host prog[PID]: text          short-unix
//	<14>1 2026-11-20T15:58:12Z host app PID ID - t  RFC 5424

// origin reads `host prog[PID]:` or `prog[PID]:` at line[i:] and returns the offset of the text after it. Without a
// process ID the shape is that of many sentences: then it counts only for the kernel and for a host that is known from
// a line with one.
func (r *Reader) origin(line []byte, i int, kind Kind) int {
	host := nextWord(line, i)
	if host.Empty() || int(host.Start) != i {
		return -1
	}
	tag, pid, ok := program(line, host)
	if ok && !pid.Empty() {
		host = span(i, i)
	} else {
		if !hostName(host.Of(line)) {
			return -1
		}
		word := nextWord(line, int(host.End))
		if int(word.Start) != int(host.End)+1 {
			return -1
		}
		tag, pid, ok = program(line, word)
		if !ok {
			return -1
		}
		if pid.Empty() && string(tag.Of(line)) != "kernel" && !r.knownHost(host.Of(line)) {
			return -1
		}
	}
	end := int(tag.End)
	if !pid.Empty() {
		end = int(pid.End) + 1
		r.learnHost(host.Of(line))
	}
	end++ // the colon
	if at(line, end, ' ') {
		end++
	}
	p := &r.p
	p.Kind, p.Tag = kind, tag
	p.setHost(host)
	p.setPID(pid, Span{})
	return end
}

// program reads a word `prog[PID]:` or `prog:`.
func program(line []byte, word Span) (tag, pid Span, ok bool) {
	text := word.Of(line)
	n := len(text) - 1
	if n < 1 || text[n] != ':' {
		return tag, pid, false
	}
	start := int(word.Start)
	if text[n-1] != ']' {
		return span(start, start+n), pid, bytes.IndexByte(text[:n], ':') < 0
	}
	open := bytes.LastIndexByte(text[:n], '[')
	if open < 1 {
		return tag, pid, false
	}
	pid = span(start+open+1, start+n-1)
	return span(start, start+open), pid, allDigits(line, pid)
}

func hostName(text []byte) bool {
	for _, c := range text {
		if !nameByte(c) && c != ':' {
			return false
		}
	}
	return len(text) > 0 && text[len(text)-1] != ':'
}

func (r *Reader) learnHost(host []byte) {
	if len(host) > 0 && len(host) <= len(r.host) {
		r.hostLen = uint8(copy(r.host[:], host))
	}
}

func (r *Reader) knownHost(host []byte) bool {
	return r.hostLen > 0 && bytes.Equal(host, r.host[:r.hostLen])
}

// monthDate reads RFC 3164 without its priority, and the time that `ts` writes.
func monthDate(r *Reader, line []byte, i int) int {
	k := syslogDate(line, i)
	if k < 0 || !at(line, k, ' ') {
		return -1
	}
	if end := r.origin(line, k+1, SyslogBSD); end >= 0 {
		return end
	}
	r.p.Kind = Timestamp
	return k + 1
}

// weekday reads journalctl -o short-full and with-unit.
func weekday(r *Reader, line []byte, i int) int {
	k := weekdayName(line, i)
	if k < 0 || !at(line, k, ' ') {
		return -1
	}
	if monthName(line, k+1) >= 0 {
		return mpiDate(r, line, k+1)
	}
	k = yearDay(line, k+1)
	if k < 0 || !at(line, k, ' ') {
		return -1
	}
	k = clock(line, k+1)
	if k < 0 {
		return -1
	}
	k = fraction(line, k)
	zone := nextWord(line, k+1)
	if k < 0 || !at(line, k, ' ') || zone.Empty() || zone.End-zone.Start > 5 {
		return -1
	}
	if !at(line, int(zone.End), ' ') {
		return -1
	}
	return r.origin(line, int(zone.End)+1, JournalFull)
}

// priority reads what begins with a syslog priority: RFC 5424, RFC 3164, and the kernel's level before its time.
func priority(r *Reader, line []byte, i int) int {
	k := digits(line, i+1, 1, 3)
	if k < 0 || !at(line, k, '>') {
		return -1
	}
	short := k == i+2
	k++
	if scan.Has(line, k, "1 ") {
		if end := ietf(r, line, k+2); end >= 0 {
			return end
		}
	}
	for _, read := range [...]layer{monthDate, isoDate, bracketSeconds} {
		if end := read(r, line, k); end >= 0 {
			return end
		}
	}
	if !short || line[i+1] > '7' {
		return -1
	}
	r.p.Kind = PrintkLevel
	return k
}

// ietf reads RFC 5424 §6 after the version: TIMESTAMP HOSTNAME APP-NAME PROCID MSGID STRUCTURED-DATA, `-` for what is
// unknown.
func ietf(r *Reader, line []byte, i int) int {
	var field [5]Span
	for n := range field {
		field[n] = nextWord(line, i)
		if field[n].Empty() || int(field[n].Start) != i || !at(line, int(field[n].End), ' ') {
			return -1
		}
		i = int(field[n].End) + 1
	}
	if !scan.Has(line, int(field[0].Start), "-") && yearDay(line, int(field[0].Start)) < 0 {
		return -1
	}
	k := structuredData(line, i)
	if k < 0 || k < len(line) && line[k] != ' ' {
		return -1
	}
	k = min(k+1, len(line))
	if scan.Has(line, k, byteOrderMark) {
		k += len(byteOrderMark)
	}
	p := &r.p
	p.Kind, p.Tag = SyslogIETF, known(line, field[2])
	p.setHost(known(line, field[1]))
	if allDigits(line, field[3]) {
		p.setPID(field[3], Span{})
	}
	return k
}

// known returns the span of a field, an empty one for `-`.
func known(line []byte, s Span) Span {
	if s.End == s.Start+1 && line[s.Start] == '-' {
		s.End = s.Start
	}
	return s
}

// structuredData skips `-` or `[id name="value" …]…`, in which `\` stands before `"`, `\` and `]` (RFC 5424 §6.3).
func structuredData(line []byte, i int) int {
	if at(line, i, '-') {
		return i + 1
	}
	if !at(line, i, '[') {
		return -1
	}
	quoted := false
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted && !at(line, i+1, '['):
			return i + 1
		}
	}
	return -1
}
