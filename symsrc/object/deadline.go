package object

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// Time limits of queries. A log waits for one module at most as long as for a download. A query that takes longer continues in
// the background: until it ends, frames of the module stay unsymbolized.
//
// A goroutine with a timeout opens a module, and answers the first queries about a large one and later queries that have to read
// a large unit. All other queries are answered directly, which is cheaper: a small file exceeds its budget before the timeout, and
// a large one has its tables by then.
const (
	maxWait = 10 * time.Second // total for one module
	// leastWait is the timeout of each query after maxWait.
	leastWait = 20 * time.Millisecond
	// quickSize is the total size of a module's open files, in bytes, up to which queries have no timeout. In modules with larger
	// files, the first firstQueries queries have one.
	quickSize    = 32 << 20
	firstQueries = 64
)

// deadline is the time limit of the queries about a module.
type deadline struct {
	mu        sync.Mutex
	spent     time.Duration // total time of waiting
	waiting   int           // number of waiting queries
	since     time.Time     // when the first of the waiting queries began
	late      chan struct{} // closed when a query that timed out ends; nil if none is running
	maybeLate atomic.Bool   // late may be set

	// quick is set while queries have no timeout. asked counts the queries that had one.
	quick atomic.Bool
	asked atomic.Int64
	large atomic.Bool // the files are larger than quickSize

	open         atomic.Bool  // the files are open, or it is known that there are none
	opened       atomic.Int64 // number of times that the files were opened
	finding      sync.Mutex
	found        *symsrc.Files // the result of find; outdated if the files were opened since
	openedBefore int64         // value of opened when found was set
	warned       bool          // see warnOnce
}

// pending returns the channel of a query that timed out and is still running, or nil.
func (p *deadline) pending() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late != nil {
		select {
		case <-p.late:
			p.late = nil
			p.maybeLate.Store(false)
		default:
		}
	}
	return p.late
}

// begin begins a wait and returns its timeout.
func (p *deadline) begin(limit time.Duration) (left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting++; p.waiting == 1 {
		p.since = time.Now()
	}
	return max(leastWait, limit-p.spent)
}

// end ends a wait. If it timed out, late is closed when the query ends; otherwise late is nil.
func (p *deadline) end(late chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting--; p.waiting == 0 {
		p.spent += time.Since(p.since)
	}
	p.setLate(late)
}

// setLate sets late unless it is nil. mu is locked.
func (p *deadline) setLate(late chan struct{}) {
	if late != nil {
		p.late = late
		p.maybeLate.Store(true)
	}
}

// endUncounted is end for a wait that does not count: one for a large unit, of which there may be any number.
func (p *deadline) endUncounted(late chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setLate(late)
}

// inTime is Source.with with a time limit. If that is exceeded, it returns false and files that say so. cold, if not nil, reports whether
// a query may take long although it is not one of the first. Both should be no closures: these would be in the heap, for every query.
func inTime[T any](ctx context.Context, s *Source, q symsrc.Addr, cold func(*File, symsrc.Addr) bool, ask func(*module, symsrc.Addr, *symsrc.Files) T) (got T, files *symsrc.Files, ok bool) {
	key := q.Module
	m := s.module(key)
	quick := m.deadline.quick.Load()
	slow := quick && (m.deadline.maybeLate.Load() || m.deadline.large.Load() && cold != nil && m.cold(q, cold))
	ended := ctx.Err() != nil
	if ended {
		if !m.mu.TryRLock() { // being opened, and no query waits for it any more
			return got, stillBeingRead(closed), false
		}
		m.mu.RUnlock()
	}
	if quick && !slow || ended {
		files, ok = s.with(ctx, key, func(m *module, files *symsrc.Files) { got = ask(m, q, files) })
		return got, files, ok
	}
	if late := m.deadline.pending(); late != nil {
		return got, stillBeingRead(late), false
	}
	s.find(ctx, m)
	if first := s.sharer(m); first != m {
		m = first // its deadline counts
		if late := m.deadline.pending(); late != nil {
			return got, stillBeingRead(late), false
		}
		m.deadline.asked.Add(1)
		slow = m.deadline.quick.Load() // many names of the same files must not use up its time
	}
	left, end := s.wait, m.deadline.endUncounted
	if !slow {
		left, end = m.deadline.begin(s.wait), m.deadline.end
	}
	type answer struct {
		got   T
		files *symsrc.Files
		ok    bool
	}
	answers, over := make(chan answer, 1), make(chan struct{})
	go func() {
		defer close(over)
		var a answer
		a.files, a.ok = s.with(ctx, key, func(m *module, files *symsrc.Files) { a.got = ask(m, q, files) })
		answers <- a
	}()
	timeout := s.after(left)
	defer timeout.Stop()
	select {
	case a := <-answers:
		end(nil)
		return a.got, a.files, a.ok
	case <-timeout.C:
		if m.deadline.warnOnce() && s.warn != nil {
			s.warn(fmt.Sprintf("%s is still being read after %v: its frames stay as they are until then", title(key), s.wait))
		}
	case <-ctx.Done():
	}
	end(over)
	return got, stillBeingRead(over), false
}

// warnOnce reports whether it is called for the first time, so that the module needs a warning.
func (p *deadline) warnOnce() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.warned
	p.warned = true
	return !before
}

// title returns the name of a module in messages.
func title(m symsrc.Module) string {
	if m.Name == "" {
		return "the module with build ID " + m.BuildID.String()
	}
	return m.Name
}

// find finds the files of a module that is not open, before the wait begins, because the finder has its own time limits.
func (s *Source) find(ctx context.Context, m *module) {
	p := &m.deadline
	p.finding.Lock()
	defer p.finding.Unlock()
	if p.asked.Add(1) == 1 && !p.open.Load() {
		p.openedBefore = p.opened.Load()
		p.found = s.finder.Find(ctx, m.key)
	}
}

// lastFound returns the result of find, or nil if there is none or it is outdated.
func (p *deadline) lastFound() *symsrc.Files {
	p.finding.Lock()
	defer p.finding.Unlock()
	if p.openedBefore != p.opened.Load() {
		p.found = nil
	}
	return p.found
}

// forgetFound removes the result of find.
func (p *deadline) forgetFound() {
	p.finding.Lock()
	defer p.finding.Unlock()
	p.found = nil
}

// updateQuick sets whether queries are answered without a timeout from now on. The module is locked.
func (m *module) updateQuick() {
	size := int64(0)
	for _, f := range m.opened {
		size += f.elf.Budget.Size()
	}
	m.deadline.large.Store(size > quickSize)
	m.deadline.quick.Store(m.loaded && (size <= quickSize || m.index().isUsed() || m.deadline.asked.Load() > firstQueries))
}

// cold returns the result of ask for the module's file, or false if it is not open.
func (m *module) cold(q symsrc.Addr, ask func(*File, symsrc.Addr) bool) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.file != nil && ask(m.file, q)
}

// cold reports whether the answer to a query may take long, because it has to read a large unit or scan all names.
func (f *File) cold(q symsrc.Addr) bool {
	switch {
	case q.Kind == symsrc.Named || q.Kind == symsrc.Global || q.Kind == symsrc.Locals:
		return true
	case q.Kind == symsrc.Data || q.Kind == symsrc.CallSite || q.Symbol != "" || f.dwarf.Info.Size == 0 || f.index.isUsed():
		return false
	}
	addr, ok := f.Linked(q.Offset, q.Space)
	if !ok {
		return false
	}
	f.guard(func() { addr = f.codeAddr(addr) })
	return f.dwarf.Cold(addr)
}

// closed is the channel of a query that does not run.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// stillBeingRead returns the Files of a module whose query timed out. A new search is worthwhile after late is closed.
func stillBeingRead(late chan struct{}) *symsrc.Files {
	const note = "still being read"
	return &symsrc.Files{ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.UnknownError, Note: note, Detail: note, Retry: func() bool {
		select {
		case <-late:
			return true
		default:
			return false
		}
	}}
}
