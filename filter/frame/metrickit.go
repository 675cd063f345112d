package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// offsetKey is in each frame of MetricKit's reports, and metricID before it, often on the line before.
const offsetKey = `"offsetIntoBinaryTextSegment"`

var (
	metricMark = []byte(offsetKey)
	metricID   = []byte(`"binaryUUID"`)
)

// maxMetricOffset is the end of the offsets in an image. MetricKit of iOS 14 wrote where the image begins in their place.
const maxMetricOffset = 1 << 31

// readMetricKit reads a frame of the call stack tree of MetricKit (MXCallStackTree.jsonRepresentation); the offset's key stands at line[at]:
//
//	{"binaryUUID":"4C4C447D-5555-3144-A10B-863C84E8F2C6","offsetIntoBinaryTextSegment":1039,"sampleCount":1,"subFrames":[…]}
//
// A frame holds those that called it, so that its object ends after theirs. The first address of a thread that crashed is exact, others are
// return addresses, but the trees of hangs begin with the outermost function.
func readMetricKit(s *Search, line []byte, at, from int, f *Frame) bool {
	key, id, ok := metricKeyBefore(line, from, at)
	off, isNumber := metricOffset(line, at)
	if !s.spend(maxMetricID) || !ok || !isNumber {
		return false
	}
	v, end, ok := scan.Decimal(line, off.Start)
	if off.End = end; !ok || v >= maxMetricOffset || !endsMember(line, end) {
		return false
	}
	*f = Frame{Shape: Member, Whole: span(key, end), BuildID: id, Off: off, Offset: v, Space: symsrc.InImage, Gap: span(end, end), Convention: Either}
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

// metricKeyBefore returns where the key of the UUID begins that belongs to the offset whose key stands at line[at], and the UUID.
func metricKeyBefore(line []byte, from, at int) (key int, id Span, ok bool) {
	low := max(from, at-maxMetricID)
	i := bytes.LastIndex(line[low:at], metricID)
	if i < 0 {
		return 0, id, false
	}
	key = low + i
	if id, ok = metricValue(line[:at], key); !ok || id.End+1 >= at || line[id.End+1] != ',' {
		return 0, id, false
	}
	return key, id, len(bytes.TrimLeft(line[id.End+2:at], " \r\n")) == 0
}

// metricKit returns where a frame of MetricKit begins and ends, with its answer, if the key at line[at] is that of its offset. Its object has
// others in it.
func metricKit(line []byte, at int) (frame Span, ok bool) {
	off, isNumber := metricOffset(line, at)
	if !isNumber {
		return frame, false
	}
	key, _, ok := metricKeyBefore(line, 0, at)
	if _, off.End, isNumber = scan.Decimal(line, off.Start); !ok || !isNumber {
		return frame, false
	}
	return span(key, answerEnd(line, off.End)), true
}

// answerEnd returns where the answer at line[end] ends, or end if there is none.
func answerEnd(line []byte, end int) int {
	if !scan.Has(line, end, metricAnswer) {
		return end
	}
	for end += len(metricAnswer); end < len(line) && line[end] != '"'; end++ {
		if line[end] == '\\' {
			end++
		}
	}
	return min(end+1, len(line))
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
const maxMetricID = 128

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
func opensMetric(line []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), metricID) }

// metricOpening returns where it begins and ends.
func metricOpening(text []byte) (at Span, ok bool) {
	at = span(bytes.Index(text, metricID), len(text))
	id, ok := metricValue(text, at.Start)
	return at, ok && id.End+2 == at.End && text[id.End+1] == ','
}
