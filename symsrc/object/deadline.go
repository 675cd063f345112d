package object

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// Limits of waiting. A log does not wait for one module any longer than for a download. What takes longer goes on in the background:
// until it is over, frames of the module stay as they are, and then they are answered.
//
// A module is opened, and the first questions of a large one are answered, in a goroutine with a timeout; so are later questions that
// have to read a large unit first. All other questions are answered directly, which costs less: a small file's budget is exceeded before
// the timeout, and a large one has its tables by then.
const (
	maxWait = 10 * time.Second // for one module in all
	// leastWait is for each question after that, of which there are few.
	leastWait = 20 * time.Millisecond
	// quickSize is the size of a module's files up to which questions are never waited for once they are open, and firstQuestions
	// is how many are waited for of one with larger files.
	quickSize      = 32 << 20
	firstQuestions = 64
)

// deadline is what is left of the time that questions wait for a module.
type deadline struct {
	mu        sync.Mutex
	spent     time.Duration
	waiting   int
	since     time.Time     // when the first of the questions that wait began to
	late      chan struct{} // closed when what took too long is over; nil where nothing did
	maybeLate atomic.Bool   // there may be something late

	// quick is set while questions are not waited for, and asked counts those that were.
	quick atomic.Bool
	asked atomic.Int64
	large atomic.Bool // the files are

	open         atomic.Bool  // there are files, or it is known that there are none
	opened       atomic.Int64 // how often they were
	finding      sync.Mutex
	found        *symsrc.Files // that are to be opened, if none were since
	openedBefore int64         // opened, when they were looked for
	warned       bool          // that it is late
}

// pending returns what is late by now; nil where nothing is.
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

// begin returns how long to wait.
func (p *deadline) begin(limit time.Duration) (left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting++; p.waiting == 1 {
		p.since = time.Now()
	}
	return max(leastWait, limit-p.spent)
}

// end notes that the wait is over. late, if not nil, is closed when what was waited for is.
func (p *deadline) end(late chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting--; p.waiting == 0 {
		p.spent += time.Since(p.since)
	}
	p.setLate(late)
}

// setLate notes what is late.
func (p *deadline) setLate(late chan struct{}) {
	if late != nil {
		p.late = late
		p.maybeLate.Store(true)
	}
}

// endUncounted notes that a wait is over which does not count: one for a large unit, of which there may be any number later.
func (p *deadline) endUncounted(late chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setLate(late)
}

// inTime calls ask as Source.with does, and waits for the answer no longer than for a download. Where it is late, files say so.
// cold, if not nil, reports whether the question takes long although it is not one of the first.
func inTime[T any](ctx context.Context, s *Source, key symsrc.Module, cold func(*File) bool, ask func(*module, *symsrc.Files) T) (got T, files *symsrc.Files, ok bool) {
	m := s.module(key)
	quick := m.deadline.quick.Load()
	slow := quick && m.deadline.large.Load() && (m.deadline.maybeLate.Load() || cold != nil && m.cold(cold))
	if quick && !slow || ctx.Err() != nil {
		files, ok = s.with(ctx, key, func(m *module, files *symsrc.Files) { got = ask(m, files) })
		return got, files, ok
	}
	if late := m.deadline.pending(); late != nil {
		return got, stillBeingRead(late), false
	}
	s.find(ctx, m)
	if first := s.sharer(m); first != m {
		m = first // it is the one that may be late
		if late := m.deadline.pending(); late != nil {
			return got, stillBeingRead(late), false
		}
		m.deadline.asked.Add(1)
		slow = m.deadline.quick.Load() // an endless number of names must not use up its time
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
		a.files, a.ok = s.with(ctx, key, func(m *module, files *symsrc.Files) { a.got = ask(m, files) })
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

// warnOnce reports whether a warning that the module is late is to be printed, which is once.
func (p *deadline) warnOnce() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	told := p.warned
	p.warned = true
	return !told
}

// title returns how a message names a module.
func title(m symsrc.Module) string {
	if m.Name == "" {
		return "the module with build ID " + m.BuildID.String()
	}
	return m.Name
}

// find looks for the files of a module that is not open. The finder has time limits of its own.
func (s *Source) find(ctx context.Context, m *module) {
	p := &m.deadline
	p.finding.Lock()
	defer p.finding.Unlock()
	if p.asked.Add(1) == 1 && !p.open.Load() {
		p.openedBefore = p.opened.Load()
		p.found = s.finder.Find(ctx, m.key)
	}
}

// takeFound returns the files that find has found; nil where it was not called, or they were opened.
func (p *deadline) takeFound() *symsrc.Files {
	p.finding.Lock()
	defer p.finding.Unlock()
	files := p.found
	p.found = nil
	if p.openedBefore != p.opened.Load() {
		return nil
	}
	return files
}

// updateQuick notes whether questions are answered without a timeout from now on. The module is locked.
func (m *module) updateQuick() {
	size := int64(0)
	for _, f := range m.opened {
		size += f.elf.Budget.Size()
	}
	m.deadline.large.Store(size > quickSize)
	m.deadline.quick.Store(m.loaded && (size <= quickSize || m.deadline.asked.Load() > firstQuestions))
}

// cold reports what ask reports of the module's file.
func (m *module) cold(ask func(*File) bool) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.file != nil && ask(m.file)
}

// cold reports whether to answer a question takes long: a large unit is to be read, or it is not known whether that is one.
func (f *File) cold(q symsrc.Addr) bool {
	switch {
	case q.Kind == symsrc.Named:
		return true
	case q.Kind == symsrc.Data || q.Kind == symsrc.CallSite || q.Symbol != "" || f.dwarf.Info.Size == 0:
		return false
	}
	addr, ok := f.Linked(q.Offset, q.Space)
	if !ok {
		return false
	}
	f.guard(func() { addr = f.codeAddr(addr) })
	return f.dwarf.Cold(addr)
}

// stillBeingRead returns the files of a module that is late.
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
