package resolve

import (
	"bytes"
	"errors"

	"qss-filter/ctxstate"
	"qss-filter/filter/mappings"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// ReadMapping applies a line of a list of mappings. It returns false for any other line.
func ReadMapping(space *ctxstate.Process, text []byte, line int) bool {
	m, ok := mappings.Parse(text)
	if ok {
		addListed(space, &m, line)
	}
	return ok
}

// ReadImage applies a line of a list of images, which counts for the frames above it. It returns false for any other line.
func ReadImage(space *ctxstate.Process, text []byte, line int) bool {
	m, ok := mappings.Image(text)
	if !ok {
		m, ok = mappings.AppleImage(text)
	}
	if ok {
		addListed(space, &m, line)
	}
	return ok
}

// AddImages applies the images of a list, which count for the frames around it.
func AddImages(space *ctxstate.Process, list []mappings.Mapping, line int) {
	for i := range list {
		addListed(space, &list[i], line)
	}
}

// addListed applies a mapping of a list.
func addListed(space *ctxstate.Process, m *mappings.Mapping, line int) {
	space.AddListed(&ctxstate.Listed{List: uint8(m.Format), Start: m.Start, Last: m.Last, Space: m.Space, Offset: m.Offset, Mode: m.Mode,
		Module: m.Names(), Path: m.Path, Written: m.Written, BuildID: m.BuildID}, line)
}

// ErrNoMappings is the error for text that is not a list of mappings.
var ErrNoMappings = errors.New("no mappings in it: want lines as in /proc/PID/maps")

// CheckMappings returns ErrNoMappings for text that is not a list of mappings.
func CheckMappings(list []byte) error {
	if !readList(list).Space.Listed() {
		return ErrNoMappings
	}
	return nil
}

// readList returns a process with a list of mappings. What else stands in the text does not divide the list.
func readList(list []byte) *Process {
	p := &Process{Space: ctxstate.New().Process("")}
	n := 0
	for line := range bytes.Lines(list) {
		if body, _ := scan.CutEnd(line); ReadMapping(p.Space, body, n+1) {
			n++
		}
	}
	return p
}

// lists finds the mappings that count for processes that have stated none.
type lists struct {
	processes *Processes
	// running is Options.Maps, and read the processes of its lists, which do not change, by where these begin.
	running func() [][]byte
	// fixed is Options.Fixed.
	fixed func() [][]byte
	// named and listing are those of Options.
	named   func(name string) (path string, id symsrc.BuildID)
	listing string
	// known are the answers of named for the piece of input at hand.
	known map[string]symsrc.Module
	piece uint64
	read  map[*byte]*Process
	// preload is what Preload has read. It may be nil.
	preload *Process
}

// of returns the process whose mappings count for an address of p. If p has stated none, these are those of Preload, those of lines
// without a prefix if no other process of the log could have stated them, or those of the running processes that write the log.
func (s *lists) of(p *Process, addr uint64) *Process {
	if !p.Space.Empty() {
		return p
	}
	o := s.processes
	switch {
	case s.preload != nil:
		return s.preload
	case !o.Unnamed.Space.Empty() && o.Unnamed.anonymous && len(o.byKey) == 2:
		return o.Unnamed.Process
	case s.running != nil:
		if live := s.covering(s.running(), addr); live != nil {
			live.running = true
			return live
		}
		if s.fixed != nil {
			if live := s.covering(s.fixed(), addr); live != nil {
				live.fixed = true
				return live
			}
		}
	}
	return p
}

// loadedAs returns the module that running programs have loaded from the file that a frame names, in a piece of input. ok is false if they have none, or several.
func (s *lists) loadedAs(name []byte, piece uint64) (m symsrc.Module, ok bool) {
	if s.named == nil {
		return m, false
	}
	if s.piece != piece || s.known == nil {
		s.known, s.piece = map[string]symsrc.Module{}, piece
	}
	m, known := s.known[string(name)]
	if !known {
		m.Name, m.BuildID = s.named(string(name))
		s.known[string(name)] = m
	}
	return m, m.Name != ""
}

// unlisted returns why no mapping covers an address of p, if those of running processes were looked at, or "".
func (s *lists) unlisted(p *Process) string {
	if s.running == nil || !p.Space.Empty() {
		return ""
	}
	if s.listing == "" {
		return notLasting
	}
	return notLasting + "; " + s.listing
}

// notLasting is the reason for an address that the mappings of running processes do not prove.
const notLasting = "no lasting mapping of the command at a random place covers the address"

// covering returns a running process whose mappings cover an address. It is nil if several processes map different modules there:
// the log does not say which of them is meant.
func (s *lists) covering(running [][]byte, addr uint64) *Process {
	var at *ctxstate.Mapping
	var found *Process
	s.forget(running)
	for _, list := range running {
		if len(list) == 0 {
			continue
		}
		p := s.process(list)
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

// moreThanRunning is how many lists are remembered that are of no running process any more.
const moreThanRunning = 64

// forget forgets the lists that are not among those of the running processes, if there are many.
func (s *lists) forget(running [][]byte) {
	if len(s.read) <= len(running)+moreThanRunning {
		return
	}
	read := s.read
	s.read = make(map[*byte]*Process, len(running))
	for _, list := range running {
		if len(list) > 0 && read[&list[0]] != nil {
			s.read[&list[0]] = read[&list[0]]
		}
	}
}

// process returns the process of a list. Lists that were read before are remembered.
func (s *lists) process(list []byte) *Process {
	p := s.read[&list[0]]
	if p == nil {
		if s.read == nil {
			s.read = map[*byte]*Process{}
		}
		p = readList(list)
		s.read[&list[0]] = p
	}
	return p
}
