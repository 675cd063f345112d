package filter

import (
	"qss-filter/filter/resolve"
	"qss-filter/markup"
)

// Dumpfile is what a `{{{dumpfile:type:name}}}` element announces.
type Dumpfile struct {
	// Type and Name are the element's fields as written: a log's words, not to be trusted.
	Type, Name string
	// Context is the process's address space as JSON, in the form of a context dump.
	Context []byte
}

// announce hands a dumpfile element to Options.OnDumpfile.
func (f *Filter) announce(p *resolve.Process, e *markup.Element) {
	if f.opt.OnDumpfile == nil {
		return
	}
	kind, name, _ := e.Dumpfile()
	f.opt.OnDumpfile(Dumpfile{Type: string(kind), Name: string(name), Context: f.contextJSON("dumpfile", p)})
}
