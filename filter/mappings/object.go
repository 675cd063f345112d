package mappings

import (
	"bytes"
	"slices"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Object is a module that an object of JSON states.
type Object struct {
	// Name is its file, which may be empty, and BuildID that file's, which is cut to 16 bytes if nothing but a debug identifier is stated.
	Name    []byte
	BuildID symsrc.BuildID
	// Base is where it is mapped, and Last the last address of its code, 0 if that is not stated.
	Base, Last uint64
	// Only is set if frames name the module themselves.
	Only bool
}

// minBuildID is the length of the shortest build ID that linkers make.
const minBuildID = 8

// keys are parts of the keys that objects of modules have.
var keys = [...][]byte{[]byte(`"buildId"`), []byte(`"base_addr"`)}

// HoldsObjects reports whether a text may state modules in objects of JSON, whose quotes may be escaped.
func HoldsObjects(text []byte) bool {
	return slices.ContainsFunc(keys[:], func(key []byte) bool { return bytes.Contains(text, bytes.Trim(key, `"`)) })
}

// Objects calls use for each module that a text states in objects of JSON:
//
//	{"b":"561F00000000","path":"/usr/bin/mongod","elfType":3,"buildId":"E53651…"}                                    MongoDB, the somap
//	{ "name": "crash", "buildId": "e53651…", "path": "/bin/crash", "baseAddress": "0x…", "endOfText": "0x…" }        Swift
//	{"base_addr":"0x…","end_addr":"0x…","code_id":"e53651…","debug_id":"1B5136…0","filename":"libc.so.6", …}         minidump-stackwalk
func Objects(text []byte, use func(m *Object)) {
	if !bytes.Contains(text, keys[0]) && !bytes.Contains(text, keys[1]) {
		return
	}
	var o scan.Object
	for open := bytes.IndexByte(text, '{'); open >= 0; {
		next := bytes.IndexByte(text[open+1:], '{')
		if o.Read(text, open) {
			if m, ok := object(text, &o); ok {
				use(&m)
			}
		}
		if next < 0 {
			return
		}
		open += 1 + next
	}
}

// object reads the module that an object states.
func object(text []byte, o *scan.Object) (m Object, ok bool) {
	m.BuildID = symsrc.ReadBuildID(o.Text(text, "buildId").Of(text))
	m.Name = o.Text(text, "path").Of(text)
	if base := o.Text(text, "b"); !base.Empty() {
		m.Base, ok = scan.Number(base.Of(text), 16)
		return m, ok && m.Base > 0 && m.BuildID != ""
	}
	if base := o.Text(text, "baseAddress"); !base.Empty() {
		end := uint64(0)
		m.Base, _, ok = scan.Address(text, base.Start)
		end, _, _ = scan.Address(text, o.Text(text, "endOfText").Start)
		m.Last = end - 1
		return m, ok && end > m.Base && len(m.Name) > 0
	}
	m.Name, m.Only = o.Text(text, "filename").Of(text), true
	if m.BuildID, _ = symsrc.ParseBuildID(o.Text(text, "code_id").Of(text)); len(m.BuildID) < minBuildID { // a PE file's time and size
		m.BuildID, _ = symsrc.ParseDebugID(o.Text(text, "debug_id").Of(text))
	}
	return m, o.Get(text, "base_addr") != nil && len(m.Name) > 0 && len(m.Name) <= maxFileName && m.BuildID != ""
}
