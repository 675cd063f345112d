package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// offsetKey is in each frame of MetricKit's reports, and uuidKey before it, often on the line before.
const (
	offsetKey = `"offsetIntoBinaryTextSegment"`
	uuidKey   = `"binaryUUID"`
)

var (
	metricMark = []byte(offsetKey)
	metricID   = []byte(uuidKey)
)

// maxMetricOffset is the end of the offsets in an image. MetricKit of iOS 14 wrote where the image begins in their place.
const maxMetricOffset = 1 << 31

// readMetricKit reads a frame of the call stack tree of MetricKit (MXCallStackTree.jsonRepresentation); the offset's key stands at line[at]:
//
//	{"binaryUUID":"4C4C447D-5555-3144-A10B-863C84E8F2C6","offsetIntoBinaryTextSegment":1039,"sampleCount":1,"subFrames":[…]}
//
// A frame holds those that called it, so that its object ends after theirs. The first address of a thread that crashed is exact, others are
// return addresses, but the trees of hangs begin with the outermost function. Programs that write a tree anew have the members in any order:
// those between the offset and the UUID may be numbers and strings.
func readMetricKit(s *Search, line []byte, at, from int, f *Frame) bool {
	if !s.spend(maxMetricID) {
		return false
	}
	m, ok := metricFrame(line, from, at)
	if !ok || m.offset >= maxMetricOffset || !endsMember(line, m.whole.End) {
		return false
	}
	end := m.whole.End
	*f = Frame{Shape: Member, Whole: m.whole, BuildID: m.id, Off: m.off, Offset: m.offset, Space: symsrc.InImage, Gap: span(end, end), Convention: Either}
	f.Done = scan.Has(line, end, metricAnswer)
	return true
}

// endsMember reports whether a member of an object may end at the place.
func endsMember(line []byte, at int) bool {
	at = scan.Spaces(line, at)
	return at >= len(line) || bytes.IndexByte([]byte(",}\r\n"), line[at]) >= 0
}

// metricAnswer begins the answer after a frame.
const metricAnswer = `,"` + AnswerKey + `":"`

// metricMembers is a frame of MetricKit: from the first to the last of its offset and its UUID.
type metricMembers struct {
	whole, id, off Span
	offset         uint64
}

// metricFrame returns the frame whose offset's key stands at line[at]. Its UUID stands before it, or else after it.
func metricFrame(line []byte, from, at int) (m metricMembers, ok bool) {
	if m.off, ok = metricOffset(line, at); !ok {
		return m, false
	}
	if m.offset, m.off.End, ok = scan.Decimal(line, m.off.Start); !ok {
		return m, false
	}
	low := max(from, at-maxMetricID)
	if i := bytes.LastIndex(line[low:at], metricID); i >= 0 {
		key := low + i
		if m.id, ok = metricValue(line[:at], key); ok && nextMembers(line[:at], m.id.End+1) == at {
			m.whole = span(key, m.off.End)
			return m, true
		}
	}
	limit := min(len(line), m.off.End+maxMetricID)
	if key := nextMembers(line[:limit], m.off.End); scan.Has(line, key, uuidKey) {
		m.id, ok = metricValue(line, key)
		m.whole = span(at, m.id.End+1)
		return m, ok
	}
	return m, false
}

// nextMembers goes from the end of a member over the members after it whose values are numbers and strings. It returns where the key of the
// UUID or the offset of the same frame begins, len(line) if the line ends before that, or -1.
func nextMembers(line []byte, at int) int {
	for {
		at = metricBlanks(line, at)
		if at >= len(line) || line[at] != ',' {
			return -1
		}
		at = metricBlanks(line, at+1)
		if at >= len(line) || scan.Has(line, at, uuidKey) || scan.Has(line, at, offsetKey) {
			return at
		}
		if line[at] != '"' {
			return -1
		}
		if at = metricBlanks(line, stringEnd(line, at+1)); at >= len(line) || line[at] != ':' {
			return -1
		}
		if at = metricBlanks(line, at+1); at < len(line) && line[at] == '"' {
			at = stringEnd(line, at+1)
			continue
		}
		for at < len(line) && (scan.IsDigit(line[at]) || scan.IsLetter(line[at]) || line[at] == '-' || line[at] == '.') {
			at++
		}
	}
}

// metricBlanks returns where something begins after blanks and the joint of two lines.
func metricBlanks(line []byte, at int) int {
	for at < len(line) && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r' || line[at] == '\n') {
		at++
	}
	return at
}

// metricKit returns where a frame of MetricKit begins and ends, with its answer, if the key at line[at] is that of its offset. Its object has
// others in it.
func metricKit(line []byte, at int) (frame Span, ok bool) {
	m, ok := metricFrame(line, 0, at)
	if !ok {
		return frame, false
	}
	return span(m.whole.Start, answerEnd(line, m.whole.End)), true
}

// answerEnd returns where the answer at line[end] ends, or end if there is none.
func answerEnd(line []byte, end int) int {
	if !scan.Has(line, end, metricAnswer) {
		return end
	}
	return stringEnd(line, end+len(metricAnswer))
}

// stringEnd returns where the string of JSON ends, with its quote, whose inside begins at the place.
func stringEnd(line []byte, at int) int {
	for ; at < len(line) && line[at] != '"'; at++ {
		if line[at] == '\\' {
			at++
		}
	}
	return min(at+1, len(line))
}

// metricOffset returns where the number begins that is the value of the key at line[at].
func metricOffset(line []byte, at int) (off Span, ok bool) {
	if !scan.Has(line, at, offsetKey) {
		return off, false
	}
	p := scan.Spaces(line, at+len(offsetKey))
	if p >= len(line) || line[p] != ':' {
		return off, false
	}
	p = scan.Spaces(line, p+1)
	return span(p, p), p < len(line) && scan.IsDigit(line[p])
}

// maxMetricID bounds what stands between the keys of a frame, in bytes.
const maxMetricID = 256

// metricValue returns the UUID that is the value of the key at line[at].
func metricValue(line []byte, at int) (id Span, ok bool) {
	p := scan.Spaces(line, at+len(metricID))
	if p >= len(line) || line[p] != ':' {
		return id, false
	}
	p = scan.Spaces(line, p+1)
	const digits = len("4C4C447D-5555-3144-A10B-863C84E8F2C6")
	if p >= len(line) || line[p] != '"' || p+1+digits >= len(line) || line[p+1+digits] != '"' {
		return id, false
	}
	id = span(p+1, p+1+digits)
	return id, isUUID(id.Of(line))
}

// opensMetric reports whether a line begins a frame of MetricKit whose offset stands on the next one.
func opensMetric(line []byte) bool { return bytes.HasPrefix(scan.TrimLeft(line), metricID) }

// metricOpening returns where it begins and ends.
func metricOpening(text []byte) (at Span, ok bool) {
	at = span(bytes.Index(text, metricID), len(text))
	id, ok := metricValue(text, at.Start)
	return at, ok && id.End+2 == at.End && text[id.End+1] == ','
}
