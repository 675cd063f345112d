package prefix

import (
	"bytes"

	"qss-filter/filter/scan"
)

// Formats of Android's liblog (logprint.cpp, android_log_formatLogLine) and of Tizen's dlog, which descends from it. TAG
// is padded to 8 bytes, process and thread IDs to 5. The modifier uid writes a user before the process ID: `UID:` of 5
// bytes and more, or a space for the colon in threadtime.
//
//	brief       P/TAG(PID): text            tag     P/TAG: text
//	process     P(PID) text  (TAG)          thread  P(PID:TID) text
//	time        MM-DD HH:MM:SS.mmm P/TAG(PID): text
//	threadtime  MM-DD HH:MM:SS.mmm PID TID P TAG: text
//	long        [ MM-DD HH:MM:SS.mmm PID:TID P/TAG ]    on a line of its own
//
// The date may have a year, the second 3, 6 or 9 digits after the point, and a zone may follow: ` +0900`, glued to the
// time in Tizen. The modifiers epoch and monotonic write seconds, padded to 19 and 6 bytes, instead of the date.

// prefixBuffer is how many bytes of a prefix logcat writes: a long tag is cut there, and loses the colon after it.
const prefixBuffer = 127

// logcatTimed reads the formats that begin with a time: time, threadtime, Android Studio's.
func logcatTimed(r *Reader, line []byte, i int) int {
	k := logcatTime(line, i)
	if k < 0 {
		return -1
	}
	return logcatBody(r, line, i, k)
}

// seconds skips the time that the modifiers epoch and monotonic write.
func seconds(line []byte, i int) int {
	k := digits(line, spaces(line, i), 1, 19)
	if k < 0 || !at(line, k, '.') {
		return -1
	}
	if n := k - i; n != 19 && n != 6 && (n < 6 || line[i] == ' ') {
		return -1
	}
	return digits(line, k+1, 3, 9)
}

// logcatBody reads what stands after the time, which ends at line[k]; the prefix began at line[begin].
func logcatBody(r *Reader, line []byte, begin, k int) int {
	if !at(line, k, ' ') {
		return -1
	}
	k = spaces(line, k)
	if at(line, k+1, '/') {
		return slashTag(r, line, begin, k, LogcatTime)
	}
	if pid, tid, level := quickIDs(line, k); level > 0 {
		return threadtime(r, line, begin, pid, tid, level)
	}
	user := nextWord(line, k)
	pid := user
	if end := studio(r, line, user); end >= 0 {
		return end
	}
	tid := nextWord(line, int(pid.End))
	level := nextWord(line, int(tid.End))
	if !level.Empty() && scan.IsDigit(line[level.Start]) { // with the modifier uid
		pid, tid, level = tid, level, nextWord(line, int(level.End))
	}
	if !allDigits(line, pid) || !allDigits(line, tid) || level.End-level.Start != 1 ||
		!isPriority(line[level.Start]) || !at(line, int(level.End), ' ') {
		return -1
	}
	return threadtime(r, line, begin, pid, tid, int(level.Start))
}

// quickIDs reads the usual `PID TID P ` at line[k:]; level is the offset of the priority, 0 where something else stands
// there.
func quickIDs(line []byte, k int) (pid, tid Span, level int) {
	end := digits(line, k, 1, 10)
	if !at(line, end, ' ') {
		return pid, tid, 0
	}
	pid = span(k, end)
	k = spaces(line, end)
	end = digits(line, k, 1, 10)
	if !at(line, end, ' ') {
		return pid, tid, 0
	}
	tid = span(k, end)
	k = spaces(line, end)
	if !isPriority(at0(line, k)) || !at(line, k+1, ' ') {
		return pid, tid, 0
	}
	return pid, tid, k
}

// threadtime reads the tag after the priority at line[level].
func threadtime(r *Reader, line []byte, begin int, pid, tid Span, level int) int {
	tag, end := tagEnd(line, begin, level+2)
	if end < 0 {
		return -1
	}
	p := &r.p
	p.Kind, p.Tag = LogcatThreadtime, span(level+2, tag)
	p.setPID(pid, tid)
	return end
}

// logcatZone skips ` +0900` or `+0900`; nothing at all is a zone too.
func logcatZone(line []byte, k int) int {
	sign := k
	if at(line, k, ' ') {
		sign = k + 1
	}
	if c := at0(line, sign); c != '+' && c != '-' {
		return k
	}
	return zone(line, sign)
}

// tagEnd returns the end of the tag at line[k:] and the offset of the text after its `: `. The prefix began at
// line[begin]; where logcat has cut it, the text follows without a colon.
func tagEnd(line []byte, begin, k int) (tag, end int) {
	cut := trimEscape(line, begin) + prefixBuffer // the color stands in the same buffer
	limit := min(cut, len(line))
	for i := k; i < limit; i++ {
		n := bytes.IndexByte(line[i:limit], ':')
		if n < 0 {
			break
		}
		i += n
		if i+1 == len(line) || line[i+1] == ' ' {
			return max(k, scan.BackSpaces(line, 0, i)), min(i+2, limit)
		}
	}
	if len(line) < cut || k > cut {
		return 0, -1
	}
	return max(k, scan.BackSpaces(line, 0, cut)), cut
}

// logcatBrief reads the formats that begin with the priority: brief, tag, process, thread.
func logcatBrief(r *Reader, line []byte, i int) int {
	switch at0(line, i+1) {
	case '/':
		return slashTag(r, line, i, i, LogcatBrief)
	case '(':
		return parenthesis(r, line, i)
	}
	return -1
}

// slashTag reads `P/TAG(PID): ` and `P/TAG: ` at line[k:]; the prefix began at line[begin]. After a time the shape is
// certain: there other loggers leave the process out, and where logcat has cut the prefix, the text follows at once.
func slashTag(r *Reader, line []byte, begin, k int, kind Kind) int {
	if !isPriority(line[k]) {
		return -1
	}
	start := k + 2
	cut := trimEscape(line, begin) + prefixBuffer
	limit := min(len(line), cut)
	first := 0 // the first colon that may end the tag
	for i := start; i < limit; i++ {
		n := bytes.IndexByte(line[i:limit], ':')
		if n < 0 {
			break
		}
		i += n
		if i+1 < len(line) && line[i+1] != ' ' {
			continue
		}
		if k := digits(line, spaces(line, i+1), 1, 10); scan.Has(line, k, "):") {
			i = k // the colon was the one after a user
			continue
		}
		if line[i-1] == ')' {
			if open := start + bytes.LastIndexByte(line[start:i], '('); open >= start {
				if pid, tid, ok := identity(line, open+1, i-1, true); ok {
					r.p.Kind, r.p.Tag = kind, span(start, max(start, scan.BackSpaces(line, 0, open)))
					r.p.setPID(pid, tid)
					return min(i+2, len(line))
				}
			}
		}
		if first == 0 {
			first = i
		}
		if kind == LogcatBrief {
			break
		}
	}
	switch {
	case first > 0 && (kind == LogcatTime || tagAlone(line[start:first])):
		if kind == LogcatBrief {
			kind = LogcatTag
		}
		r.p.Kind, r.p.Tag = kind, span(start, max(start, scan.BackSpaces(line, 0, first)))
		return min(first+2, limit)
	case first == 0 && kind == LogcatTime && len(line) >= cut:
		r.p.Kind, r.p.Tag = kind, span(start, max(start, scan.BackSpaces(line, 0, cut)))
		return cut
	}
	return -1
}

// tagAlone reports whether text may be the tag of logcat -v tag: padded to 8 bytes, and without what sentences hold.
func tagAlone(text []byte) bool {
	return len(text) >= 8 && bytes.IndexByte(text[:scan.BackSpaces(text, 0, len(text))], ' ') < 0 && bytes.IndexByte(text, '/') < 0
}

// parenthesis reads `P(PID:TID) ` and, where the tag stands after the text, `P(PID) `.
func parenthesis(r *Reader, line []byte, i int) int {
	n := bytes.IndexByte(line[i:min(len(line), i+40)], ')')
	if n < 0 || i+n+1 < len(line) && line[i+n+1] != ' ' {
		return -1
	}
	shut := i + n
	end := min(shut+2, len(line))
	open, tagShut := suffixTag(r.whole, end)
	noThread := open >= 0 && bytes.IndexByte(r.whole[open+2:], ' ') < 0
	pid, tid, ok := identity(line, i+2, shut, noThread)
	if !ok || open < 0 && tid.Empty() {
		return -1
	}
	p := &r.p
	p.setPID(pid, tid)
	if !tid.Empty() {
		p.Kind = LogcatThread
		return end
	}
	p.Kind, p.End = LogcatProcess, open
	p.Tag = span(open+len("  ("), tagShut)
	if reset := "\x1b[0m"; open-len(reset) >= end && scan.Has(r.whole, open-len(reset), reset) {
		p.End -= len(reset)
	}
	return end
}

// suffixTag finds the `  (TAG)` that logcat -v process writes after the text: the offsets of its first space and of its
// closing parenthesis. A module with an offset, as sanitizers write it in the same place, is no tag.
func suffixTag(line []byte, from int) (open, shut int) {
	shut = len(line) - 1
	if shut < from || line[shut] != ')' {
		return -1, -1
	}
	tail := line[max(from, shut-prefixBuffer):shut]
	n := bytes.LastIndex(tail, []byte("  ("))
	if n < 0 || bytes.Contains(tail[n:], []byte("+0x")) {
		return -1, -1
	}
	return shut - len(tail) + n, shut
}

// identity reads what stands between the parentheses of a prefix, line[from:to]: `PID`, `UID:PID`, `PID:TID`,
// `UID:PID:TID`, or Tizen's `PPID, TTID`. Of two numbers the first is the user's in the formats that write no thread.
func identity(line []byte, from, to int, noThread bool) (pid, tid Span, ok bool) {
	if from >= to {
		return pid, tid, false
	}
	var parts [3]Span
	n, k := 0, from
	for ; n < len(parts) && k < to; n++ {
		if line[k] == 'P' && n == 0 && from+1 < to && (line[k+1] == ' ' || scan.IsDigit(line[k+1])) || scan.Has(line, k, " T") {
			k++
			if line[k] == 'T' {
				k++
			}
			noThread = false
		}
		k = spaces(line[:to], k)
		end := k
		for end < to && line[end] != ':' && line[end] != ',' {
			end++
		}
		parts[n] = span(k, end)
		k = end + 1
	}
	if k <= to {
		return pid, tid, false
	}
	switch {
	case n == 1:
		pid = parts[0]
	case n == 2 && (noThread || !allDigits(line, parts[0])):
		pid = parts[1]
	case n == 2:
		pid, tid = parts[0], parts[1]
	case n == 3:
		pid, tid = parts[1], parts[2]
	}
	return pid, tid, allDigits(line, pid) && (tid.Empty() || allDigits(line, tid))
}
