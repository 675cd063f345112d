package ctxstate

import "qss-filter/symsrc"

// Listed is what a line of a list of mappings says.
type Listed struct {
	// List tells layouts of lists apart.
	List uint8
	// Start and Last are the first and the last address, both inclusive.
	Start, Last uint64
	// Space says what the module's addresses in the mapping count from; Offset is that of Start, if the list has one.
	Space  symsrc.Space
	Offset uint64
	Mode   string
	// Module is set if a file is mapped. Path is its name, and Written that as the log has it, if it differs.
	Module        bool
	Path, Written []byte
	// BuildID is raw bytes.
	BuildID string
}

// snapshot is what is known of the list of mappings that a process printed last. A list is a snapshot: the next one replaces it.
type snapshot struct {
	layout uint8
	line   int
	start  uint64
	// base is the lowest address of each module, for lists without offsets.
	base    map[string]uint64
	modules map[string]*Module
	weight  int    // of modules
	last    uint64 // the last address of any
	first   uint64 // the first one
}

// maxGap is how many lines may stand between two mappings of one list.
const maxGap = 64

// AddListed takes what a line of a list of mappings says. line is its number in the log: a mapping far below the last one, at a
// lower address, or of another layout, begins another list.
func (p *Process) AddListed(m *Listed, line int) {
	p.touch()
	l := p.list
	if l == nil || l.layout != m.List || m.Start <= l.start || line-l.line > maxGap || line < l.line {
		p.dropList()
		l = &snapshot{layout: m.List, first: m.Start, base: map[string]uint64{}, modules: map[string]*Module{}}
		p.list = l
	}
	l.line, l.start, l.last = line, m.Start, max(l.last, m.Last)
	if m.Module {
		p.mapListed(l, m)
	}
}

// mapListed puts a mapping of the list into force.
func (p *Process) mapListed(l *snapshot, m *Listed) {
	name := string(m.Path)
	module := l.modules[name]
	if module == nil {
		if l.weight >= p.state.limits.modules {
			return
		}
		p.age++
		module = &Module{ID: uint64(len(l.modules)), Name: name, Written: string(m.Written), BuildID: m.BuildID, age: p.age}
		l.modules[name], l.base[name] = module, m.Start
		l.weight += module.weight()
	}
	p.age++
	added := &Mapping{Start: m.Start, Last: m.Last, Module: module, Mode: m.Mode, Rel: m.Offset, Space: m.Space, age: p.age, listed: true}
	if m.Space == symsrc.InImage {
		added.Rel = m.Start - l.base[name]
	}
	p.update(func() { p.mapped.add(added) })
	p.limit()
}

// LastListed returns the mapping that the last line of a list has stated, or nil where it stated none of a file.
func (p *Process) LastListed() *Mapping {
	if p.list == nil {
		return nil
	}
	if at := p.mapped.find(p.list.start); at != nil && at.listed && at.Start == p.list.start {
		return at
	}
	return nil
}

// Listed reports whether the process has printed a list of its mappings.
func (p *Process) Listed() bool { return p.list != nil }

// dropList removes the mappings of the last list.
func (p *Process) dropList() {
	if p.list == nil {
		return
	}
	first, last := p.list.first, p.list.last
	p.list = nil
	p.update(func() { p.mapped.dropListed(first, last) })
}
