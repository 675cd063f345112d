package frame

import (
	"bytes"
	"slices"

	"qss-filter/filter/match"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Frames that are objects of JSON. They get a member with the answer:
//
//	{"b":"561F00000000","o":"BFF3","s":"_ZN5mongo4mainEv"}                                             MongoDB
//	{"frame":1,"function":null,"module":"libc.so.6","module_offset":"0x00000000000240b3", …}           minidump-stackwalk --json
//	{ "kind": "returnAddress", "address": "0x00007f8000026f0a" }                                        Swift, SWIFT_BACKTRACE=format=json
//	{"address":140228936373381,"build_id":"1f1b…","build_id_offset":4400,"file_name":"/usr/lib64/libc.so.6"}   ABRT's core_backtrace
//	{"ip":"0x63a7273b319b","build_id":"a7ba…","path":"/usr/bin/a","relative_address":"0x000000000008f19b"}     Datadog's crashtracker
//
// MongoDB prints what libunwind or backtrace() returns, less where the object is mapped (appendJsonBacktrace in its
// src/mongo/util/stacktrace_posix.cpp): return addresses. minidump-stackwalk moves callers into their calls (its json-schema.md). Swift says
// which of both an address is (jsonBody in its Runtime module). Datadog writes an address of the ELF file (StackFrame::normalize_ip in
// libdatadog's crash_info/stacktrace.rs): where a signal interrupted, and then return addresses.

// AnswerKey is the key of the member with the answer.
const AnswerKey = "in"

// The marks of objects, which each has one of.
var (
	mongoMark  = []byte(`"o":"`)
	swiftMark  = []byte(`"address": "0x`)
	moduleMark = []byte(`"module_offset":`)
	satyrMark  = []byte(`"build_id_offset":`)
	datadogKey = "relative_address"
)

// objectMarks are the marks of all objects that are frames.
var objectMarks = []string{`"` + datadogKey + `":`, string(mongoMark), string(swiftMark), string(moduleMark), string(satyrMark), string(imageMark), string(bugsnagMark),
	locationKey, sentryColumn, protocolColumn, nativeMethod, engineScript}

// ObjectWords are in lines of JSON with frames that are objects, or parts of some.
var ObjectWords = match.Subscribe(slices.Concat([]string{crashKey, offsetKey}, startKeys[:], objectMarks)...)

// IsObject reports whether a text is an object that is a frame.
func IsObject(text []byte) bool {
	if !slices.ContainsFunc(objectMarks, func(mark string) bool { return bytes.Contains(text, []byte(mark)) }) {
		return false
	}
	o := scan.Object{Nests: bytes.Contains(text, []byte(sentryColumn))}
	var f Frame
	return isLocation(text) || o.Read(text, 0) && (ofMongo(text, &o, &f) || ofSwift(text, &o, &f) || ofStackwalk(text, &o, &f) || ofSatyr(text, &o, &f) || ofDatadog(text, &o, &f) || ofIPS(text, &o, &f) || ofBugsnag(text, &o, &f) || ofScript(text, &o, &f))
}

// readObject reads the object around line[at] if of says that it is a frame.
func (s *Search) readObject(line []byte, at, from int, f *Frame, of func(line []byte, o *scan.Object, f *Frame) bool) bool {
	low := max(from, at-maxModule)
	open, o := low+s.lastIndexByte(line[low:at], '{'), &s.object
	if open < low || !o.Read(line, open) || !s.spend(o.Whole.End-open) || !of(line, o, f) {
		return false
	}
	members := o.Members()
	last := members[len(members)-1]
	end := last.Value.End
	if last.Quoted {
		end++
	}
	f.Shape, f.Whole, f.Gap, f.Done = Member, o.Whole, span(end, end), f.Done || o.Get(line, AnswerKey) != nil
	return true
}

func readMongo(s *Search, line []byte, at, from int, f *Frame) bool {
	return s.readObject(line, at, from, f, ofMongo)
}

func readSwift(s *Search, line []byte, at, from int, f *Frame) bool {
	return s.readObject(line, at, from, f, ofSwift)
}

func readSatyr(s *Search, line []byte, at, from int, f *Frame) bool {
	return s.readObject(line, at, from, f, ofSatyr) || readSatyrLine(line, at, from, f)
}

// readSatyrLine reads the offset of such a frame as satyr itself writes it, a member on a line; `"build_id_offset":` stands at line[at]:
//
//	[ {   "address": 140598631418400
//	  ,   "build_id": "fbac2849c88def5897d3d3c1cd5adab0bcc1aec2"
//	  ,   "build_id_offset": 850464
//	  ,   "function_name": "__nanosleep"
//
// (sr_core_frame_to_json in its lib/core_frame.c.) What stands above is noted as a Part.
func readSatyrLine(line []byte, at, from int, f *Frame) bool {
	const lead = ",   "
	number := at + len(satyrMark) + len(" ")
	v, end, ok := scan.Decimal(line, number)
	start := at - len(lead)
	if !ok || start < from || line[number-1] != ' ' || !scan.Has(line, start, lead) || !scan.WordStart(line, from, start) {
		return false
	}
	*f = Frame{Shape: Member, Whole: span(at, end), Off: span(number, end), Offset: v, Gap: span(end, end), Space: symsrc.InImage,
		Convention: RawButFirst, Above: true, Done: scan.Has(line, end, `,"`+AnswerKey+`":"`)}
	return f.Done || scan.LineEnd(line, end)
}

// What satyr writes above an offset: where a frame begins, and its build ID.
const satyrAddress, satyrID = `{   "address": `, `,   "build_id": "`

// SatyrWords returns the texts, one of which is in each line that is a Part.
func SatyrWords() []string { return []string{satyrAddress, satyrID} }

// Part is what a line says of a frame whose offset stands below: that one begins, the first one of its stack or not, or its build ID.
type Part struct {
	Begins, First bool
	BuildID       Span
}

// PartOf reads a line that is a Part, and reports whether it is one.
func PartOf(line []byte) (p Part, ok bool) {
	if i := bytes.Index(line, []byte(satyrAddress)); i >= 0 && endsAddress(line, i) {
		return Part{Begins: true, First: scan.EndsWith(line, 0, i, "[ ")}, true
	}
	i := bytes.Index(line, []byte(satyrID))
	if i < 0 || !endsID(line, i) {
		return p, false
	}
	i += len(satyrID)
	return Part{BuildID: span(i, scan.HexEnd(line, i))}, true
}

// endsAddress reports whether a line ends with an address, whose key begins at the place.
func endsAddress(line []byte, at int) bool {
	_, end, ok := scan.Decimal(line, at+len(satyrAddress))
	return ok && scan.LineEnd(line, end)
}

// endsID reports whether a line ends with a build ID, whose key begins at the place.
func endsID(line []byte, at int) bool {
	end := scan.HexEnd(line, at+len(satyrID))
	return scan.Has(line, end, `"`) && scan.LineEnd(line, end+1)
}

func readStackwalkObject(s *Search, line []byte, at, from int, f *Frame) bool {
	return s.readObject(line, at, from, f, ofStackwalk)
}

// ofMongo reads MongoDB's frame: the base of an object, the offset in it, and from version 4.4 on the address, "a".
func ofMongo(line []byte, o *scan.Object, f *Frame) bool {
	base, off := o.Text(line, "b"), o.Text(line, "o")
	b, okBase := scan.Number(base.Of(line), 16)
	v, okOff := scan.Number(off.Of(line), 16)
	if !okBase || !okOff || b == 0 {
		return false
	}
	for _, m := range o.Members() {
		switch string(m.Key.Of(line)) {
		case "a", "b", "o", "s", "s+", "C", AnswerKey:
		default:
			return false
		}
	}
	*f = Frame{Off: off, Offset: v, ImageBase: b, Space: symsrc.InImage, Hint: o.Text(line, "s"), Convention: Raw, Run: Adjacent}
	return true
}

// ofSwift reads a frame of Swift without a source: an inlined one has none of its own.
func ofSwift(line []byte, o *scan.Object, f *Frame) bool {
	addr := o.Text(line, "address")
	v, end, ok := scan.Address(line, addr.Start)
	if !ok || end != addr.End || o.Get(line, "inlined") != nil {
		return false
	}
	*f = Frame{Addr: addr, Off: addr, Offset: v, Base: Absolute, Convention: Raw, Run: Adjacent}
	switch string(o.Text(line, "kind").Of(line)) {
	case "programCounter":
		f.Convention = Exact
	case "returnAddress":
	default:
		return false
	}
	return true
}

// ofStackwalk reads a frame of minidump-stackwalk, which has a source if it has symbols.
func ofStackwalk(line []byte, o *scan.Object, f *Frame) bool {
	module, off := o.Text(line, "module"), o.Text(line, "module_offset")
	v, end, ok := scan.Address(line, off.Start)
	number := o.Get(line, "frame")
	if !ok || end != off.End || module.Empty() || number == nil {
		return false
	}
	*f = Frame{Module: module, Off: off, Offset: v, Space: symsrc.InImage, Hint: o.Text(line, "function"), Convention: Moved}
	f.Number, _, _ = scan.Decimal(line, number.Value.Start)
	m := o.Get(line, "line")
	f.Done = m != nil && string(m.Value.Of(line)) != "null"
	return true
}

func readDatadog(s *Search, line []byte, at, from int, f *Frame) bool {
	return s.readObject(line, at, from, f, ofDatadog)
}

// ofDatadog reads a frame of Datadog's crash reports, which may have its source.
func ofDatadog(line []byte, o *scan.Object, f *Frame) bool {
	id, off := o.Text(line, "build_id"), o.Text(line, datadogKey)
	v, end, ok := scan.Address(line, off.Start)
	if !ok || end != off.End || id.Empty() || !scan.IsHexField(id.Of(line)) || string(o.Text(line, "file_type").Of(line)) != "ELF" {
		return false
	}
	*f = Frame{BuildID: id, Module: o.Text(line, "path"), Off: off, Offset: v, Addr: o.Text(line, "ip"), Hint: o.Text(line, "function"),
		Convention: RawButFirst, Run: Adjacent, Done: o.Get(line, "line") != nil}
	return true
}

// ofSatyr reads a frame of ABRT's library satyr, if its object is on one line: the offset counts from where the module begins, and all but the
// first address are return addresses.
func ofSatyr(line []byte, o *scan.Object, f *Frame) bool {
	id, off := o.Text(line, "build_id"), o.Get(line, "build_id_offset")
	if off == nil || off.Quoted || id.Empty() || !scan.IsHexField(id.Of(line)) {
		return false
	}
	v, end, ok := scan.Decimal(line, off.Value.Start)
	if !ok || end != off.Value.End {
		return false
	}
	*f = Frame{BuildID: id, Module: o.Text(line, "file_name"), Off: off.Value, Offset: v, Space: symsrc.InImage, Hint: o.Text(line, "function_name"),
		Convention: RawButFirst, Run: Adjacent}
	return true
}
