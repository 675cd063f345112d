package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// locationKey is in each location of a profile of OpenTelemetry in JSON that is in a file.
const locationKey = `"mappingIndex"`

var locationMark = []byte(locationKey)

// Bounds of a location: members, and bytes.
const (
	maxLocationMembers = 12
	maxLocation        = 1 << 10
)

// location is a location of a profile: an address, in the mapping of a number.
type location struct {
	// whole runs from the first member that is known of it, or its brace, to the end of the last one, or its brace. end is where that member ends.
	whole   Span
	end     int
	mapping uint64
	address Span
	value   uint64
	// named is set if it has functions already, and done if it has this filter's answer.
	named, done bool
	// has are the keys that it has: locationKey and that of the address.
	hasMapping, hasAddress bool
}

// readOpenTelemetry reads a location of a profile of OpenTelemetry in JSON; its key stands at line[at]. Its members are on one line, or stand
// on two, which come as one text with the joint of two lines (OpensHostFrame):
//
//	{"mappingIndex":1,"address":"1402278","attributeIndices":[2]}
//
//	"mappingIndex": 1,
//	"address": "1402278",
//
// (Location in opentelemetry-proto's profiles.proto.) The address is in the mapping of that number, which stands elsewhere in the profile. It lies
// in the call already: open-telemetry's ebpf-profiler takes 1 from return addresses (convertFrame in its processmanager/manager.go), and so
// does what writes pprof's profiles. A location with lines has names.
func readOpenTelemetry(s *Search, line []byte, at, from int, f *Frame) bool {
	low := max(from, at-maxLocation)
	var l location
	if open := low + s.lastIndexByte(line[low:at], '{'); open >= low {
		whole := l.object(line, open)
		if !s.spend(max(l.end, at)-open) || !whole || l.whole.End <= at {
			return false
		}
	} else if !l.read(line[:min(len(line), at+maxLocation)], at) || !endsMember(line, l.end) {
		return false
	}
	return l.frame(f)
}

// frame makes it a frame. It reports false if there is nothing to ask.
func (l *location) frame(f *Frame) bool {
	if !l.hasMapping || !l.hasAddress || l.named || l.value == 0 || l.mapping >= maxImages {
		return false
	}
	*f = Frame{Shape: Member, Whole: l.whole, Off: l.address, Offset: l.value, Base: InMapping, ImageIndex: l.mapping + 1,
		Gap: span(l.end, l.end), Convention: Moved, Run: Adjacent, Done: l.done}
	return true
}

// isLocation reports whether an object of JSON is a location that is a frame.
func isLocation(text []byte) bool {
	var l location
	var f Frame
	return bytes.Contains(text, locationMark) && l.object(text, 0) && l.frame(&f)
}

// object reads the location that is the object at line[open].
func (l *location) object(line []byte, open int) bool {
	line = line[:min(len(line), open+maxLocation)]
	if !l.members(line, scan.Spaces(line, open+1)) {
		return false
	}
	close := scan.Spaces(line, l.end)
	l.whole = span(open, close+1)
	return close < len(line) && line[close] == '}'
}

// read reads the location whose first member on a line stands at line[at], and the next one on another line.
func (l *location) read(line []byte, at int) bool {
	return l.members(line, at) && l.hasAddress
}

// members reads members from a key on, to the last one that is whole.
func (l *location) members(line []byte, at int) bool {
	l.whole.Start = at
	for n := 0; n < maxLocationMembers; n++ {
		if at >= len(line) || line[at] != '"' {
			return false
		}
		key := span(at+1, stringEnd(line, at+1)-1)
		p := scan.Spaces(line, key.End+1)
		if p >= len(line) || line[p] != ':' {
			return false
		}
		value := span(scan.Spaces(line, p+1), 0)
		value.End = valueEnd(line, value.Start)
		if value.End < 0 || !l.member(line, key, value) {
			return false
		}
		l.end, l.whole.End = value.End, value.End
		comma := metricBlanks(line, value.End)
		if comma >= len(line) || line[comma] != ',' {
			return true
		}
		next := metricBlanks(line, comma+1)
		if next >= len(line) || line[next] != '"' { // the next one stands on another line
			return next >= len(line)
		}
		at = next
	}
	return false
}

// member notes a member.
func (l *location) member(line []byte, key, value Span) (ok bool) {
	switch string(key.Of(line)) {
	case "mappingIndex":
		l.mapping, _, l.hasMapping = decimalMember(line, value)
		return l.hasMapping
	case "address":
		l.value, l.address, l.hasAddress = decimalMember(line, value)
		return l.hasAddress
	case "lines", "line":
		l.named = value.End-value.Start > len("[]")
	case AnswerKey:
		l.done = true
	}
	return true
}

// decimalMember returns the decimal number that a value is, in quotes as 64 bits have it in JSON of protobuf, or without.
func decimalMember(line []byte, value Span) (v uint64, digits Span, ok bool) {
	if line[value.Start] == '"' {
		value = span(value.Start+1, value.End-1)
	}
	v, end, ok := scan.Decimal(line, value.Start)
	return v, value, ok && end == value.End
}

// valueEnd returns where a value ends that is no object: a string, a word or number, or an array of these. It returns -1 for others.
func valueEnd(line []byte, at int) int {
	start := at
	switch {
	case at >= len(line):
		return -1
	case line[at] == '"':
		if at = stringEnd(line, at+1); at > len(line) || line[at-1] != '"' {
			return -1
		}
		return at
	case line[at] == '[':
		close := bytes.IndexByte(line[at:], ']')
		if close < 0 || bytes.ContainsAny(line[at+1:at+close], `[{"`) {
			return -1
		}
		return at + close + 1
	}
	for at < len(line) && (scan.IsLetter(line[at]) || scan.IsDigit(line[at]) || line[at] == '-' || line[at] == '+' || line[at] == '.') {
		at++
	}
	if at == start {
		return -1
	}
	return at
}

// opensLocation reports whether a line is the first one of a location that has a line for each member.
func opensLocation(line []byte) bool { return bytes.HasPrefix(scan.TrimLeft(line), locationMark) }

// locationOpening returns where it begins and ends.
func locationOpening(text []byte) (at Span, ok bool) {
	at = span(scan.Spaces(text, 0), len(text))
	var l location
	return at, at.End > 0 && text[at.End-1] == ',' && l.members(text, at.Start) && l.hasMapping && !l.hasAddress
}

// addressKey stands on the second line of such a location.
var addressKey = []byte(`"address":`)

// statesLocation reports whether the key of a mapping is one of a location: its object has an address, or it has the line for itself.
func statesLocation(line []byte, at int) bool {
	if bytes.IndexByte(line[:at], '{') >= 0 || bytes.IndexByte(line[at:], '}') >= 0 {
		return bytes.Contains(line, addressKey[:len(addressKey)-1])
	}
	return len(scan.TrimLeft(line[:at])) == 0
}
