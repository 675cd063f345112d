package filter

import (
	"bytes"

	"qss-filter/markup"
)

// Dumpfile is what a `{{{dumpfile:type:name}}}` element announces.
type Dumpfile struct {
	// Type and Name are the element's fields as written: a log's words, not to be trusted.
	Type, Name string
	// Context is the process's address space as JSON, in the form of a context dump.
	Context []byte
}

// readDumpfile gives the fields of a dumpfile element; further ones are ignored. ok is false where one is missing.
func readDumpfile(e *markup.Element) (kind, name []byte, ok bool) {
	kind, rest, two := bytes.Cut(e.Body, []byte(":"))
	name, _, _ = bytes.Cut(rest, []byte(":"))
	return kind, name, two && len(kind) > 0
}

// dumpfile writes `[[[dumpfile sancov "sancov.8675"]]]` and tells whoever wants to know.
func (f *Filter) dumpfile(dst []byte, e *markup.Element) []byte {
	kind, name, _ := readDumpfile(e)
	dst = append(append(dst, "[[[dumpfile "...), kind...)
	dst = append(append(dst, ` "`...), name...)
	return append(dst, `"]]]`...)
}

// announce hands a dumpfile element to Options.OnDumpfile.
func (f *Filter) announce(p *process, e *markup.Element) {
	if f.opt.OnDumpfile == nil {
		return
	}
	kind, name, _ := readDumpfile(e)
	f.opt.OnDumpfile(Dumpfile{Type: string(kind), Name: string(name), Context: f.contextJSON("dumpfile", p)})
}
