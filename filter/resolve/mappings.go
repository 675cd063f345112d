package resolve

import (
	"bytes"
	"errors"
	"hash/maphash"

	"qss-filter/ctxstate"
	"qss-filter/filter/mappings"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// ApplyListed applies a line of a list of mappings, or one that states a build ID. mapping is set for the former. file and id are
// set for the latter.
func (r *Resolver) ApplyListed(t *Thread, text []byte, line int) (mapping bool, file string, id symsrc.BuildID) {
	t.renew()
	if name, stated, ok := mappings.BuildID(text); ok {
		if id, file = stated, string(name); name == nil {
			file, t.dart = string(dartLibrary), id
		} else {
			r.Processes.addBuildID(t.Process, file, id)
		}
	}
	if mapping = ReadMapping(t.Space, text, line); mapping {
		r.Mapped = true
	}
	return mapping, file, id
}

// ReadMapping applies a line of a list of mappings. It returns false for any other line.
func ReadMapping(space *ctxstate.Process, text []byte, line int) bool {
	m, ok := mappings.Parse(text)
	if ok {
		space.AddListed(&ctxstate.Listed{List: uint8(m.Format), Start: m.Start, Last: m.Last, Space: m.Space, Offset: m.Offset, Mode: m.Mode,
			Module: m.Names(), Path: m.Path, Written: m.Written, BuildID: m.BuildID}, line)
	}
	return ok
}

var seed = maphash.MakeSeed()

// ErrNoMappings is the error of Preload for text that is not a list of mappings.
var ErrNoMappings = errors.New("no mappings in it: want lines as in /proc/PID/maps")

// Preload reads a list of mappings for the processes of the log that state none themselves.
func (r *Resolver) Preload(list []byte) error {
	p := newPreload(list)
	if !p.Space.Listed() {
		return ErrNoMappings
	}
	r.preload, r.Mapped = p, true
	return nil
}

// newPreload returns a process with a list of mappings.
func newPreload(list []byte) *Process {
	p := &Process{Space: ctxstate.New().Process("")}
	n := 0
	for line := range bytes.Lines(list) {
		n++
		body, _ := scan.CutEnd(line)
		ReadMapping(p.Space, body, n)
	}
	return p
}

// LacksMappings reports whether no mappings of t's process are known.
func (r *Resolver) LacksMappings(t *Thread) bool { return t.Space.Empty() && r.preload == nil }

// substitute returns the process whose mappings count for one that has stated none: those of Preload, those of lines without a
// prefix if no other process of the log could have stated them, or those of the running processes that write the log.
func (r *Resolver) substitute(p *Process, addr uint64) *Process {
	o := r.Processes
	switch {
	case r.preload != nil:
		return r.preload
	case !o.Unnamed.Space.Empty() && o.Unnamed.anonymous && len(o.byKey) == 2:
		return o.Unnamed.Process
	case r.opt.Maps != nil:
		if live := r.running(addr); live != nil {
			return live
		}
	}
	return p
}

// running returns a running process whose mappings cover an address. It is nil if several processes map different modules there:
// the log does not say which of them is meant.
func (r *Resolver) running(addr uint64) *Process {
	var at *ctxstate.Mapping
	var found *Process
	for _, list := range r.opt.Maps() {
		p := r.read(list)
		m, ok := p.Space.Resolve(addr)
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

// maxLive is how many lists of running processes are remembered at most.
const maxLive = 64

// read returns the process of a list. Lists that were read before are remembered.
func (r *Resolver) read(list []byte) *Process {
	key := maphash.Bytes(seed, list)
	p := r.live[key]
	if p == nil {
		if r.live == nil || len(r.live) >= maxLive {
			r.live = map[uint64]*Process{}
		}
		p = newPreload(list)
		r.live[key] = p
	}
	return p
}
