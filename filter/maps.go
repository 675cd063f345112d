package filter

import (
	"bytes"
	"errors"
	"hash/maphash"

	"qss-filter/ctxstate"
	"qss-filter/filter/mappings"
	"qss-filter/filter/record"
)

// readContext takes what a line of a process's own words says of its address space.
func (f *Filter) readContext(t *thread, text []byte) {
	if f.window > 0 {
		f.window--
	}
	f.readBuildID(t, text)
	window := mappings.Announces(text)
	if readMapping(t.space, text, f.line) {
		f.recorder.listed(t.process)
		window = mappings.Window
		f.mapped = true
	}
	f.window = max(f.window, window)
}

// readMapping lets a line of a list of mappings take effect. It reports false for any other line.
func readMapping(space *ctxstate.Process, text []byte, line int) bool {
	m, ok := mappings.Parse(text)
	if ok {
		space.AddListed(&m, line)
	}
	return ok
}

// maxBuildIDs bounds the build IDs remembered of all processes; beyond it all are forgotten.
const maxBuildIDs = 1 << 15

// readBuildID takes a build ID that stands elsewhere than at a frame.
func (f *Filter) readBuildID(t *thread, text []byte) {
	name, id, ok := mappings.BuildID(text)
	if !ok {
		return
	}
	file := string(name)
	if name == nil {
		file, t.dart = string(dartLibrary), id
	} else {
		f.origins.addBuildID(t.process, file, id)
	}
	f.recorder.note(t.process, record.Context{Type: record.BuildID, Name: file, BuildID: id})
}

// standIn returns the process whose mappings count for one that has stated none: those named on the command line, those of the
// running processes that write the log, or those of lines without a prefix, where no other process of the log could have
// stated them.
func (f *Filter) standIn(p *process, addr uint64) *process {
	o := f.origins
	switch {
	case f.preload != nil:
		return f.preload
	case !o.nobody.space.Empty() && o.nobody.anonymous && len(o.processes) == 2:
		return o.nobody.process
	case f.opt.Maps != nil:
		if live := f.running(addr); live != nil {
			return live
		}
	}
	return p
}

// running returns the mappings of a running process that cover an address. Where several processes map different things there,
// the log does not tell which of them is meant, and there is none.
func (f *Filter) running(addr uint64) *process {
	var at *ctxstate.Mapping
	var found *process
	for _, list := range f.opt.Maps() {
		p := f.read(list)
		m, ok := p.space.Resolve(addr)
		switch {
		case !ok:
		case at == nil:
			at, found = m, p
		case at.Module.Name != m.Module.Name || at.ModuleAddr(addr) != m.ModuleAddr(addr):
			return nil
		}
	}
	return found
}

// maxLive bounds the lists of running processes that are remembered.
const maxLive = 64

// read returns the process of a list, which is likely to be one that was read before.
func (f *Filter) read(list []byte) *process {
	key := maphash.Bytes(seed, list)
	p := f.live[key]
	if p == nil {
		if f.live == nil || len(f.live) >= maxLive {
			f.live = map[uint64]*process{}
		}
		p = newPreload(list)
		f.live[key] = p
	}
	return p
}

var seed = maphash.MakeSeed()

// watching reports whether every line must be looked at, whatever it holds.
func (f *Filter) watching() bool { return f.dump.open || f.window > 0 || f.ahead.holding() }

// ErrNoMappings is a file that was named as a list of mappings and is none.
var ErrNoMappings = errors.New("no mappings in it: want lines as in /proc/PID/maps")

// Preload takes a list of mappings for the processes of the log that state none themselves.
func (f *Filter) Preload(list []byte) error {
	p := newPreload(list)
	if !p.space.Listed() {
		return ErrNoMappings
	}
	f.preloaded(p)
	return nil
}

// preloaded takes mappings for the processes of the log that state none themselves.
func (f *Filter) preloaded(p *process) {
	f.preload, f.mapped = p, true
	f.rescan()
}

// newPreload reads a list of mappings.
func newPreload(list []byte) *process {
	p := &process{space: ctxstate.New().Process("")}
	n := 0
	for line := range bytes.Lines(list) {
		n++
		body, _ := cutEnd(line)
		readMapping(p.space, body, n)
	}
	return p
}
