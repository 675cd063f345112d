package filter

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"qss-filter/filter/resolve"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// contextEvent is one line of a context dump: what was known of a process's address space when something happened.
type contextEvent struct {
	// Event is "reset", for what a {{{reset}}} is about to clear, "dumpfile", or "end".
	Event   string          `json:"event"`
	Line    int             `json:"line"`
	Process string          `json:"process"`
	Modules []contextModule `json:"modules"`
}

type contextModule struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	BuildID string `json:"build_id"`
	// File to DebugStatus are there once a frame of the module was looked up.
	File        string           `json:"file,omitempty"`
	DebugFile   string           `json:"debug_file,omitempty"`
	Status      string           `json:"status,omitempty"`
	DebugStatus string           `json:"debug_status,omitempty"`
	Mappings    []contextMapping `json:"mappings"`
}

// contextMapping has its numbers as 0x strings: JSON's own do not hold 64 bits.
type contextMapping struct {
	Start         string `json:"start"`
	Last          string `json:"last"`
	Mode          string `json:"mode"`
	ModuleAddress string `json:"module_address"`
}

// contextDump tells others of contexts: Options.DumpContext and Options.OnDumpfile.
type contextDump struct {
	out       io.Writer
	announced func(Dumpfile)
	resolver  *resolve.Resolver
	warn      func(cause, message string)
}

// json returns the context of a process as one line of JSON, without its end. Modules whose ID has another definition
// by now are there as long as they are mapped.
func (d *contextDump) json(event string, line int, p *resolve.Process) []byte {
	e := contextEvent{Event: event, Line: line, Process: p.Key, Modules: []contextModule{}}
	type identity struct {
		id            uint64
		name, buildID string
	}
	at := map[identity]int{}
	module := func(id uint64, name, buildID string) *contextModule {
		k := identity{id, name, buildID}
		i, ok := at[k]
		if !ok {
			i = len(e.Modules)
			at[k] = i
			m := contextModule{ID: id, Name: name, BuildID: hex.EncodeToString([]byte(buildID)), Mappings: []contextMapping{}}
			if files := d.resolver.Module([]byte(name), symsrc.BuildID(buildID)).Files; files != nil {
				m.File, m.DebugFile = files.ElfRange.Of(files.Elf), files.DebugRange.Of(files.Debug)
				m.Status, m.DebugStatus = files.ElfStatus.String(), files.DebugStatus.String()
			}
			e.Modules = append(e.Modules, m)
		}
		return &e.Modules[i]
	}
	for _, m := range p.Space.Modules() {
		module(m.ID, m.Name, m.BuildID)
	}
	for _, r := range p.Space.Mappings() {
		m := module(r.Module.ID, r.Module.Name, r.Module.BuildID)
		m.Mappings = append(m.Mappings, contextMapping{hexText(r.Start), hexText(r.Last), r.Mode, hexText(r.Rel)})
	}
	slices.SortStableFunc(e.Modules, func(a, b contextModule) int { return cmp.Compare(a.ID, b.ID) })
	out, err := json.Marshal(e)
	if err != nil { // nothing in it can fail
		return []byte("{}")
	}
	return symsrc.VisibleJSON(out)
}

func hexText(v uint64) string { return fmt.Sprintf("%#x", v) }

// write writes the context of a process to Options.DumpContext, if there is any. A failed write is told once.
func (d *contextDump) write(event string, line int, p *resolve.Process) {
	if d.out == nil || len(p.Space.Modules()) == 0 && len(p.Space.Mappings()) == 0 {
		return
	}
	if _, err := d.out.Write(append(d.json(event, line, p), '\n')); err != nil {
		d.warn("context dump", fmt.Sprintf("dump the context: %v", err))
	}
}

// announce hands a dumpfile element to Options.OnDumpfile.
func (d *contextDump) announce(line int, p *resolve.Process, e *markup.Element) {
	if d.announced == nil {
		return
	}
	kind, name, _ := e.Dumpfile()
	d.announced(Dumpfile{Type: string(kind), Name: string(name), Context: d.json("dumpfile", line, p)})
}

// End says that the log is over: the last contexts are dumped.
func (f *Filter) End() {
	for _, p := range f.resolver.Processes.All() {
		f.context.write("end", f.line, p)
	}
}

// Dumpfile is what a `{{{dumpfile:type:name}}}` element announces.
type Dumpfile struct {
	// Type and Name are the element's fields as written: a log's words, not to be trusted.
	Type, Name string
	// Context is the process's address space as JSON, in the form of a context dump.
	Context []byte
}
