package ctxstate

import "bytes"

// Space tells what Mapping.ModuleAddr counts from.
type Space uint8

const (
	// Linked is the module's own address space, comparable with p_vaddr: what mmap elements of markup state.
	Linked Space = iota
	// InFile is a byte offset in the module's file: what /proc/PID/maps states.
	InFile
	// InImage counts from the start of the module's lowest mapping: all that a list without offsets tells.
	InImage
	// InText counts from the start of the module's executable mapping.
	InText
)

// snapshot is what is known of the list of mappings that a process printed last. A list is a snapshot: the next one replaces it.
type snapshot struct {
	form  form
	line  int
	start uint64
	// base is the lowest address of each module, for lists without offsets.
	base    map[string]uint64
	modules map[string]*Module
	weight  int    // of modules
	last    uint64 // the last address of any
	first   uint64 // the first one
}

// maxGap is how many lines may stand between two mappings of one list.
const maxGap = 64

// ReadDump takes a line of a list of mappings, as programs and crash reporters print them: /proc/PID/maps and hs_err's
// "Dynamic libraries", Android's "memory map", Tizen's "Maps Information", the sanitizers' "Process memory map", and gdb's
// "info proc mappings". text is a line of the process's own words, line its number in the log. It is false for any other line.
func (p *Process) ReadDump(text []byte, line int) bool {
	m, ok := parseMapping(text)
	if !ok {
		return false
	}
	p.touch()
	d := p.dump
	if d == nil || d.form != m.form || m.start <= d.start || line-d.line > maxGap || line < d.line {
		p.forgetDump()
		d = &snapshot{form: m.form, first: m.start, base: map[string]uint64{}, modules: map[string]*Module{}}
		p.dump = d
	}
	d.line, d.start, d.last = line, m.start, max(d.last, m.last)
	if len(m.path) == 0 || m.path[0] == '[' || bytes.HasPrefix(m.path, []byte("anon_inode:")) {
		return true
	}
	p.addDumped(d, &m)
	return true
}

// addDumped puts a mapping of the list into force.
func (p *Process) addDumped(d *snapshot, m *listed) {
	name := string(m.path)
	module := d.modules[name]
	if module == nil {
		if d.weight >= p.state.limits.modules {
			return
		}
		p.age++
		module = &Module{ID: uint64(len(d.modules)), Name: name, Written: string(m.written), BuildID: m.buildID, age: p.age}
		d.modules[name], d.base[name] = module, m.start
		d.weight += module.weight()
	}
	p.age++
	added := &Mapping{Start: m.start, Last: m.last, Module: module, Mode: m.mode, age: p.age, dumped: true}
	switch m.form {
	case procMaps, tombstone, gdbMappings:
		added.Space, added.Rel = InFile, m.offset
	case tizenMaps:
		added.Space = InText
	default:
		added.Space, added.Rel = InImage, m.start-d.base[name]
	}
	p.update(func() { p.mapped.add(added) })
	p.limit()
}

// LastListed returns the mapping that the last line of a list has stated, nil where it stated none of a file.
func (p *Process) LastListed() *Mapping {
	if p.dump == nil {
		return nil
	}
	if at := p.mapped.find(p.dump.start); at != nil && at.dumped && at.Start == p.dump.start {
		return at
	}
	return nil
}

// Dumped reports whether the process has printed a list of its mappings.
func (p *Process) Dumped() bool { return p.dump != nil }

// forgetDump takes the last list's mappings out.
func (p *Process) forgetDump() {
	if p.dump == nil {
		return
	}
	first, last := p.dump.first, p.dump.last
	p.dump = nil
	p.update(func() { p.mapped.dropDumped(first, last) })
}
