// Package ctxstate keeps, for each process of a log, which modules there are and which addresses they are mapped at; and it answers
// which module an address belongs to and where in it the address lies. It keeps state only: packages markup and mappings read what a log
// says.
//
// state.go holds the processes and their limits, process.go the modules and mappings of one, ranges.go its mappings by address,
// list.go the lists of mappings that replace each other, cut.go addresses that have lost their upper half.
package ctxstate

// limits bound the memory that a log can take.
type limits struct {
	// processes are kept; beyond it the one that was used least recently is evicted.
	processes int
	// total bounds the weight of all processes together; beyond it processes are evicted too.
	total int
	// mappings and modules are weights of one process. Beyond them the older half is evicted: its addresses are not
	// resolved any more, which is no wrong answer.
	mappings, modules int
}

// weight is what a module counts, or a mapping of it: 1, which is about 100 bytes, and more where its name is long.
func (m *Module) weight() int { return 1 + (len(m.Name)+len(m.BuildID))>>7 }

// State holds the processes of one stream. It serves one goroutine.
type State struct {
	limits    limits
	processes map[string]*Process
	// used is the sentinel of a ring in order of use: next is the latest, prev the oldest.
	used   Process
	weight int // of all processes
	// generation numbers the changes of all processes, so that one which is evicted and begun again does not count again
	// from the start.
	generation uint64
}

// New returns a State without processes.
func New() *State {
	s := &State{
		limits:    limits{processes: 4096, total: 1 << 20, mappings: 1 << 18, modules: 1 << 16},
		processes: make(map[string]*Process),
	}
	s.used.next, s.used.prev = &s.used, &s.used
	return s
}

// Process returns the process of a key, which is created on first use. At most 4096 are kept; one that has been
// evicted begins again.
func (s *State) Process(key string) *Process {
	p := s.used.next
	if p != &s.used && p.key == key {
		return p
	}
	if p = s.processes[key]; p == nil {
		p = &Process{state: s, key: key}
		p.changed()
	}
	p.touch()
	return p
}

// Processes returns the keys of the processes that have any context, the one used last first.
func (s *State) Processes() []string {
	var keys []string
	for p := s.used.next; p != &s.used; p = p.next {
		if !p.empty() {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// evict clears a process and removes it. A caller that still holds it may use it on: then it is kept again.
func (s *State) evict(p *Process) {
	p.Reset()
	p.before, p.slab, p.list, p.mapped = nil, nil, nil, ranges{}
	p.weigh()
	p.unlink()
	delete(s.processes, p.key)
}

// shrink evicts the processes that were used least recently, but not keep, until all together are within the limit.
func (s *State) shrink(keep *Process) {
	for p := s.used.prev; s.weight > s.limits.total && p != &s.used; {
		older := p
		p = p.prev
		if older != keep {
			s.evict(older)
		}
	}
}

// touch makes p the process used last.
func (p *Process) touch() {
	s := p.state
	if s.used.next == p {
		return
	}
	if p.next != nil {
		p.unlink()
	} else {
		if other := s.processes[p.key]; other != nil {
			s.evict(other)
		} else if len(s.processes) == s.limits.processes {
			s.evict(s.used.prev)
		}
		s.processes[p.key] = p
	}
	p.next, p.prev = s.used.next, &s.used
	p.next.prev, p.prev.next = p, p
}

func (p *Process) unlink() {
	p.next.prev, p.prev.next = p.prev, p.next
	p.next, p.prev = nil, nil
}

// Weight returns how many modules and mappings are kept, of all processes, where those with long names count more.
func (s *State) Weight() int { return s.weight }
