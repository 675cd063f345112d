package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// crashKey is in each frame of a report of KSCrash in JSON.
const crashKey = `"instruction_addr"`

// readKSCrash reads an address of a report of KSCrash in JSON, whose images stand above or below all stacks; the key stands at line[at]:
//
//	"object_name": "Crash-Tester",
//	"instruction_addr": 940935
//
// (Recording/KSCrashReportC.c writes each member on a line of its own.) Addresses are those of the thread's state and return addresses. Reports
// of others, in which this is a text, are left.
func readKSCrash(s *Search, line []byte, at, from int, f *Frame) bool {
	number, ok := crashAddress(line, at)
	if !ok || at < from || at > 0 && !scan.WordStart(line, from, at) && line[at-1] != '{' && line[at-1] != ',' {
		return false
	}
	v, end, ok := scan.Decimal(line, number)
	if !ok || v < darwinPage || !endsMember(line, end) {
		return false
	}
	*f = Frame{Shape: Member, Whole: span(at, end), Off: span(number, end), Offset: v, Base: Absolute, Space: symsrc.Fixed, Gap: span(end, end), Convention: Either,
		Later: true, Done: scan.Has(line, end, metricAnswer)}
	return true
}

// crashAddress returns where the number begins that is the value of the key at line[at].
func crashAddress(line []byte, at int) (number int, ok bool) {
	if !scan.Has(line, at, crashKey) {
		return 0, false
	}
	p := scan.Spaces(line, at+len(crashKey))
	if p >= len(line) || line[p] != ':' {
		return 0, false
	}
	p = scan.Spaces(line, p+1)
	return p, p < len(line) && scan.IsDigit(line[p])
}

// InObject returns where a frame begins and ends, with its answer, that is a part of an object of JSON, if the key at line[at] is that of its
// offset or address.
func InObject(line []byte, at int) (frame Span, ok bool) {
	if number, isAddress := crashAddress(line, at); isAddress {
		_, end, ok := scan.Decimal(line, number)
		return span(at, answerEnd(line, end)), ok
	}
	return metricKit(line, at)
}
