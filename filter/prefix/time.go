package prefix

import (
	"bytes"

	"qss-filter/filter/scan"
)

// isoDate reads what begins with `YYYY-MM-DD`: CRI, the syslog and journald formats with such a date, CI systems, and
// plain timestamps.
func isoDate(r *Reader, line []byte, i int) int {
	k := yearDay(line, i)
	if k < 0 || k >= len(line) || line[k] != 'T' && line[k] != ' ' {
		return -1
	}
	second := clock(line, k+1)
	if second < 0 {
		return -1
	}
	if line[k] == ' ' { // logcat's dates look the same
		if end := logcatTimed(r, line, i); end >= 0 {
			return end
		}
	}
	point := fraction(line, second)
	if point < 0 {
		return -1
	}
	k = zone(line, point)
	if k < 0 || k < len(line) && line[k] != ' ' && line[k] != '\t' {
		return -1
	}
	text := min(k+1, len(line))
	if line[i+10] == 'T' {
		if end := cri(r, line, text); end >= 0 {
			return end
		}
		if end := gitLab(r, line, text); end >= 0 {
			return end
		}
	}
	if end := r.origin(line, text, SyslogISO); end >= 0 {
		return end
	}
	r.p.Kind = Timestamp
	if point-second == len(".0000000") && at(line, point, 'Z') { // .NET's ticks: GitHub's and Azure's runners
		r.p.Kind = GitHubActions
	}
	return text
}

// unixTime reads seconds since 1970 with 6 digits after the point: journalctl -o short-unix and `ts %.s`.
func unixTime(r *Reader, line []byte, i int) int {
	k := digits(line, i, 9, 11)
	if k < 0 || !at(line, k, '.') {
		return -1
	}
	k = digits(line, k+1, 6, 6)
	if k < 0 || !at(line, k, ' ') {
		return -1
	}
	if end := r.origin(line, k+1, JournalUnix); end >= 0 {
		return end
	}
	r.p.Kind = Timestamp
	return k + 1
}

// clockTime reads `HH:MM:SS `, as `ts` and foreman write it, and mozharness's `15:58:12     INFO - `.
func clockTime(r *Reader, line []byte, i int) int {
	k := clock(line, i)
	if k < 0 {
		return -1
	}
	k = fraction(line, k)
	if k < 0 || !at(line, k, ' ') {
		return -1
	}
	level := nextWord(line, k)
	if dash := int(level.End); scan.Has(line, dash, " - ") && isLevel(level.Of(line)) {
		r.p.Kind = Mozharness
		return dash + len(" - ")
	}
	r.p.Kind = Timestamp
	return k + 1
}

// bracketSeconds reads what begins with seconds in brackets: printk, Fuchsia's loggers, journald's monotonic time.
//
//	[ 1362.000001] text     [    5.335600][  T123] text     [ 1362.000001] [C1] text
//	[01040.461] 01885.02639> text
//	[01394.269382][1][2][klog] INFO: text
func bracketSeconds(r *Reader, line []byte, i int) int {
	if !at(line, i, '[') {
		return -1
	}
	k := digits(line, spaces(line, i+1), 1, 12)
	if k < 0 {
		return -1
	}
	point := k
	k = fraction(line, k)
	if k < 0 {
		return -1
	}
	places := max(0, k-point-1)
	if scan.Has(line, k, " <") { // short-delta: the time since the line before
		k = digits(line, spaces(line, k+2), 1, 12)
		if k = fraction(line, max(k, 0)); k < 0 || !scan.Has(line, k, " >") {
			return -1
		}
		k += len(" >")
	}
	if !at(line, k, ']') {
		return -1
	}
	k++
	if end := fuchsia(r, line, k); end >= 0 {
		return end
	}
	if places != 3 && places != 6 && places != 9 || line[point] != '.' {
		return -1
	}
	caller, after := printkCaller(line, k)
	if after < len(line) && line[after] != ' ' {
		return -1
	}
	text := min(after+1, len(line))
	if caller.Empty() {
		if end := r.origin(line, text, JournalMonotonic); end >= 0 {
			return end
		}
	}
	r.p.Kind = Timestamp
	if places == 6 {
		r.p.Kind = Printk
		if !caller.Empty() && line[caller.Start] == 'T' {
			r.p.TID = span(int(caller.Start)+1, int(caller.End))
		}
	}
	return text
}

// printkCaller skips `[  T123]` or `[C1]`, which CONFIG_PRINTK_CALLER writes after the time, a space before it allowed.
func printkCaller(line []byte, k int) (caller Span, end int) {
	open := k
	if at(line, k, ' ') {
		open++
	}
	if !at(line, open, '[') {
		return caller, k
	}
	start := spaces(line, open+1)
	if c := at0(line, start); c != 'T' && c != 'C' {
		return caller, k
	}
	shut := digits(line, start+1, 1, 10)
	if shut < 0 || !at(line, shut, ']') {
		return caller, k
	}
	return span(start, shut), shut + 1
}

// kmsg reads /dev/kmsg: `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;text`.
func kmsg(r *Reader, line []byte, i int) int {
	for range 3 {
		i = digits(line, i, 1, 20)
		if i < 0 || !at(line, i, ',') {
			return -1
		}
		i++
	}
	if c := at0(line, i); c != '-' && c != 'c' && c != '+' || !at(line, i+1, ';') && !at(line, i+1, ',') {
		return -1
	}
	n := bytes.IndexByte(line[i:], ';')
	if n < 0 || n > 40 {
		return -1
	}
	r.p.Kind = Kmsg
	return i + n + 1
}

// dmesgDecoded reads `kern  :info  : ` before the time, as dmesg -x writes it.
func dmesgDecoded(r *Reader, line []byte, i int) int {
	const facility = "kern  :"
	if !scan.Has(line, i, facility) {
		return -1
	}
	level := nextWord(line, i+len(facility))
	k := int(level.Start)
	for k < len(line) && scan.IsLetter(line[k]) {
		k++
	}
	k = spaces(line, k)
	if k-i != len("kern  :info  :")-1 || !scan.Has(line, k, ": [") {
		return -1
	}
	return bracketSeconds(r, line, k+2)
}

// bracketDate reads a date in brackets: spdlog and Envoy (`[2020-07-03 19:23:29.984][12][critical][backtrace] `), dmesg -T
// (`[Fri Nov 20 15:58:12 2026] `), and the timestamps of Jenkins and others.
func bracketDate(r *Reader, line []byte, i int) int {
	k := weekdayName(line, i+1)
	if k >= 0 {
		k = syslogDate(line, k+1)
		if k < 0 || digits(line, k+1, 4, 4) != k+5 || !at(line, k+5, ']') {
			return -1
		}
		k += 5
	} else {
		k = clock(line, i+1)
		if k < 0 {
			k = yearDay(line, i+1)
			if k < 0 || !at(line, k, 'T') && !at(line, k, ' ') {
				return -1
			}
			if k = clock(line, k+1); k < 0 {
				return -1
			}
		}
		if k = fraction(line, k); k >= 0 {
			k = zone(line, k)
		}
	}
	if !at(line, k, ']') {
		return -1
	}
	kind := Timestamp
	for k++; at(line, k, '['); {
		n := bytes.IndexByte(line[k:min(len(line), k+maxHost)], ']')
		if n < 0 {
			return -1
		}
		kind = Spdlog
		k += n + 1
	}
	if k < len(line) && line[k] != ' ' {
		return -1
	}
	r.p.Kind = kind
	return min(k+1, len(line))
}

// isLevel reports whether a word is the name of a log level in capitals: `INFO`, `VERBOSE1`.
func isLevel(word []byte) bool {
	for _, c := range word {
		if (c < 'A' || c > 'Z') && !scan.IsDigit(c) {
			return false
		}
	}
	return len(word) > 2
}
