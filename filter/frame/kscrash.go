package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// crashKey is in each frame of a report of KSCrash in JSON.
const crashKey = `"instruction_addr"`

// readKSCrash reads an address of a report of KSCrash or of an event of Sentry in JSON, whose images stand above or below all stacks; the key
// stands at line[at]:
//
//	"object_name": "Crash-Tester",
//	"instruction_addr": 940935
//
//	"instruction_addr":"0x10e5327c5"
//
// (Recording/KSCrashReportC.c writes each member on a line of its own.) Addresses are those of the thread's state and return addresses.
func readKSCrash(s *Search, line []byte, at, from int, f *Frame) bool {
	number, v, end, ok := crashAddress(line, at)
	if !ok || at < from || at > 0 && !scan.WordStart(line, from, at) && line[at-1] != '{' && line[at-1] != ',' {
		return false
	}
	if v < darwinPage || !endsMember(line, end) {
		return false
	}
	*f = Frame{Shape: Member, Whole: span(at, end), Off: number, Offset: v, Base: Absolute, Space: symsrc.Fixed, Gap: span(end, end), Convention: Either,
		Later: true, Done: scan.Has(line, end, metricAnswer)}
	return true
}

// crashAddress returns the number that is the value of the key at line[at], or hexadecimal digits in quotes, and where the value ends.
func crashAddress(line []byte, at int) (number Span, v uint64, end int, ok bool) {
	return memberAddress(line, at, crashKey)
}

// memberAddress is crashAddress for any key.
func memberAddress(line []byte, at int, key string) (number Span, v uint64, end int, ok bool) {
	if !scan.Has(line, at, key) {
		return number, 0, 0, false
	}
	p := scan.Spaces(line, at+len(key))
	if p >= len(line) || line[p] != ':' {
		return number, 0, 0, false
	}
	if p = scan.Spaces(line, p+1); p < len(line) && line[p] == '"' {
		v, end, ok = scan.Address(line, p+1)
		return span(p+1, end), v, end + 1, ok && end < len(line) && line[end] == '"'
	}
	v, end, ok = scan.Decimal(line, p)
	return span(p, end), v, end, ok
}

// startKeys are the keys in events of Sentry and of Datadog whose values say where a function or an image begins or ends: such an address is
// no frame.
var startKeys = [...]string{`"symbol_addr"`, `"image_addr"`, `"image_vmaddr"`, `"load_address"`, `"max_address"`}

// InObject returns where a frame begins and ends, with its answer, that is a part of an object of JSON, if the key at line[at] is that of its
// offset or address. It returns a member that only seems to be one, too.
func InObject(line []byte, at int) (frame Span, ok bool) {
	if _, _, end, isAddress := crashAddress(line, at); isAddress {
		return span(at, answerEnd(line, end)), true
	}
	for _, key := range startKeys {
		if _, _, end, isStart := memberAddress(line, at, key); isStart {
			return span(at, end), true
		}
	}
	return metricKit(line, at)
}
