package prefix

import (
	"bytes"

	"qss-filter/filter/scan"
)

// IsHeader reports whether a line is a header of logcat -v long, `[ MM-DD HH:MM:SS.mmm PID:TID P/TAG ]`, whose process is that of the
// lines below.
func IsHeader(line []byte) bool {
	n := len(line)
	if n == 0 || n > 2*prefixBuffer || line[0] != '[' && line[0] != 0x1b {
		return false
	}
	i := escapes(line, 0)
	if !scan.Has(line, i, "[ ") {
		return false
	}
	_, _, _, ok := longHeader(line, i)
	return ok
}

// logcatLongHeader reads a header line of logcat -v long. No text stands on it.
func logcatLongHeader(r *Reader, line []byte, i int) int {
	pid, tid, tag, ok := longHeader(line, i)
	if !ok {
		return -1
	}
	p := &r.p
	p.Kind, p.Tag = LogcatLong, tag
	p.setPID(pid, tid)
	return len(line)
}

func longHeader(line []byte, i int) (pid, tid, tag Span, ok bool) {
	shut := scan.BackSpaces(line, 0, len(line)) - 1
	if !scan.Has(line, i, "[ ") || shut < i+2 || line[shut] != ']' || line[shut-1] != ' ' {
		return pid, tid, tag, false
	}
	k := logcatTime(line, i+2)
	if k < 0 || !at(line, k, ' ') {
		return pid, tid, tag, false
	}
	k = spaces(line, k)
	slash := bytes.IndexByte(line[k:shut], '/')
	if slash < 2 {
		return pid, tid, tag, false
	}
	slash += k
	if !isPriority(line[slash-1]) || line[slash-2] != ' ' {
		return pid, tid, tag, false
	}
	pid, tid, ok = identity(line, k, scan.BackSpaces(line, 0, slash-1), false)
	tag = span(slash+1, max(slash+1, scan.BackSpaces(line, 0, shut)))
	return pid, tid, tag, ok && !tid.Empty()
}

// logcatTime skips a date and time, or seconds, as logcat writes them, with the zone.
func logcatTime(line []byte, i int) int {
	k := monthDay(line, i)
	if k < 0 {
		k = yearDay(line, i)
	}
	if k < 0 {
		k = seconds(line, i)
	} else if k = clock(line, k+1); k < 0 || !at(line, k, '.') {
		return -1
	} else {
		k = digits(line, k+1, 3, 9)
	}
	if k < 0 {
		return -1
	}
	return logcatZone(line, k)
}

// studio reads Android Studio's formats, in which user is the word after the time:
//
//	2019-11-08 07:46:16.317 PID-TID/PACKAGE P/TAG: text
//	2024-10-22 13:56:48.020  PID-TID  TAG                     PACKAGE                              P  text
func studio(r *Reader, line []byte, user Span) int {
	word := user.Of(line)
	dash := bytes.IndexByte(word, '-')
	if dash < 1 {
		return -1
	}
	end := len(word)
	slash := bytes.IndexByte(word, '/')
	if slash > dash {
		end = slash
	}
	pid := span(int(user.Start), int(user.Start)+dash)
	tid := span(int(user.Start)+dash+1, int(user.Start)+end)
	if !allDigits(line, pid) || !allDigits(line, tid) {
		return -1
	}
	k := spaces(line, int(user.End))
	var tag Span
	if slash > 0 {
		colon := bytes.Index(line[k:], []byte(": "))
		if colon < 2 || !isPriority(line[k]) || line[k+1] != '/' {
			return -1
		}
		tag, end = span(k+2, k+colon), k+colon+2
	} else if tag, end = studioColumns(line, k); end < 0 {
		return -1
	}
	p := &r.p
	p.Kind, p.Tag = AndroidStudio, tag
	p.setPID(pid, tid)
	return end
}

// studioColumns reads `TAG   PACKAGE   P  ` at line[k:].
func studioColumns(line []byte, k int) (tag Span, end int) {
	tag = nextWord(line, k)
	pkg := nextWord(line, int(tag.End))
	for i := int(pkg.End); i+2 < len(line); i++ {
		if line[i] == ' ' && isPriority(line[i+1]) && line[i+2] == ' ' && !pkg.Empty() {
			if at(line, i+3, ' ') {
				return tag, i + 4
			}
			return tag, i + 3
		}
	}
	return tag, -1
}

// nextWord returns the bytes from the next one that is no space up to the space after it.
func nextWord(line []byte, i int) Span {
	i = spaces(line, i)
	end := i
	for end < len(line) && line[end] != ' ' && line[end] != '\t' {
		end++
	}
	return span(i, end)
}

// allDigits reports whether a span holds a number of at most 20 digits.
func allDigits(line []byte, s Span) bool {
	if n := s.End - s.Start; n <= 0 || n > 20 {
		return false
	}
	for _, c := range s.Of(line) {
		if !scan.IsDigit(c) {
			return false
		}
	}
	return true
}

// isPriority reports whether c is the letter of one of logcat's priorities; Android Studio writes A for F.
func isPriority(c byte) bool {
	switch c {
	case 'V', 'D', 'I', 'W', 'E', 'F', 'S', 'A':
		return true
	}
	return false
}
