package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// bugsnagKey stands in each frame of Bugsnag's events of Darwin whose image is known.
const bugsnagKey = `"machoUUID"`

var bugsnagMark = []byte(bugsnagKey)

func readBugsnag(s *Search, line []byte, at, from int, f *Frame) bool {
	return s.readObject(line, at, from, f, ofBugsnag)
}

// ofBugsnag reads a frame of Bugsnag's events of Darwin, and of those that were made of it:
//
//	{"frameAddress":"0x104f8c40f","machoFile":"demo","machoLoadAddress":"0x104f8c000","machoUUID":"4C4C447D-…","machoVMAddress":"0x100000000"}
//
// (toDictionary in bugsnag-cocoa's BugsnagStackframe.m, which writes members in any order.) Unity's have decimal addresses. The one that is
// marked was in the register of the program, and others may be of threads that stood there or be return addresses.
func ofBugsnag(line []byte, o *scan.Object, f *Frame) bool {
	id, addr, image := o.Text(line, "machoUUID"), o.Text(line, "frameAddress"), o.Text(line, "machoLoadAddress")
	v, okAddr := bugsnagAddress(line, addr)
	base, okBase := bugsnagAddress(line, image)
	if !isUUID(id.Of(line)) || !okAddr || !okBase || base < darwinPage || v < base || v-base >= maxMetricOffset {
		return false
	}
	*f = Frame{BuildID: id, Off: addr, Offset: v - base, Space: symsrc.InImage, Convention: Either, Done: o.Get(line, "lineNumber") != nil}
	if pc := o.Get(line, "isPC"); pc != nil && string(pc.Value.Of(line)) == "true" {
		f.Convention = Exact
	}
	return true
}

// bugsnagAddress returns the address that a text is.
func bugsnagAddress(line []byte, text Span) (v uint64, ok bool) {
	v, end, ok := scan.Address(line, text.Start)
	if !ok {
		v, end, ok = scan.Decimal(line, text.Start)
	}
	return v, ok && end == text.End
}

// statesBugsnag reports whether a line with a UUID has an address, too.
func statesBugsnag(line []byte, _ int) bool { return bytes.Contains(line, bugsnagAddressKey) }

var bugsnagAddressKey = []byte(`"frameAddress"`)
