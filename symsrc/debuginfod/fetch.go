package debuginfod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
)

// errClosed cancels requests when the client is closed, errBeaten when another server was faster.
var (
	errClosed = errors.New("closed")
	errBeaten = errors.New("another server had it")
)

// fetch is one file that is or was requested. Until done is closed, only its attempts and news change, under Client.mu.
type fetch struct {
	key
	late   string        // the module whose answer did not wait for it, under Client.mu
	again  bool          // servers have been asked before: callers do not wait again
	looked chan struct{} // closed when the cache on disk does not have the file
	done   chan struct{}

	awaiting atomic.Int64 // frames of that module

	attempts []*attempt
	leader   atomic.Pointer[leader] // nil while no attempt writes
	news     chan struct{}          // closed and replaced whenever an attempt makes progress

	// The outcome, valid after done is closed.
	outcome Outcome
	path    string
	elf     *elfInfo
	tried   []string
	why     string
	due     time.Time // when to ask again; zero for never
}

// fetch returns the fetch of a file, and starts one if it is due; nil if too many are running.
func (c *Client) fetch(k key) *fetch {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recall()
	old := c.fetches[k]
	if old != nil && !old.isDue(c.now()) {
		return old
	}
	if c.running >= maxRunning {
		return nil
	}
	if len(c.fetches) >= maxFetches {
		for k, f := range c.fetches {
			if f.over() {
				delete(c.fetches, k)
			}
		}
	}
	f := &fetch{key: k, again: old != nil, looked: make(chan struct{}), done: make(chan struct{}), news: make(chan struct{})}
	for _, s := range c.servers {
		a := &attempt{c: c, f: f, server: s}
		if old != nil {
			a.inherit(old, c.now())
		}
		f.attempts = append(f.attempts, a)
	}
	c.fetches[k] = f
	c.running++
	c.jobs.Add(1)
	go c.run(f)
	return f
}

// forget drops the fetch of a file.
func (c *Client) forget(k key, f *fetch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fetches[k] == f {
		delete(c.fetches, k)
	}
}

// over reports whether the fetch is finished.
func (f *fetch) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// isDue reports whether it is time to ask again.
func (f *fetch) isDue(now time.Time) bool {
	return f.over() && f.outcome != Found && !f.due.IsZero() && !now.Before(f.due)
}

// result returns the state as a Result.
func (f *fetch) result(c *Client) Result {
	if !f.over() {
		return Result{Outcome: Pending, Why: "still being asked for", News: f.over, Came: func() bool { return f.over() && f.outcome == Found }, Awaiting: &f.awaiting}
	}
	r := Result{Outcome: f.outcome, Path: f.path, Tried: f.tried, Why: f.why}
	switch {
	case f.outcome == Found:
		r.Debug = f.elf.debug
	case !f.due.IsZero():
		r.News = func() bool { return f.isDue(c.now()) }
	}
	return r
}

// run looks in the cache and asks the servers.
func (c *Client) run(f *fetch) {
	defer c.jobs.Done()
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	if c.opt.MaxTime > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, c.opt.MaxTime, fmt.Errorf("not complete after %v", c.opt.MaxTime))
		defer stop()
	}
	if !c.fromCache(f) {
		close(f.looked)
		c.fromServers(ctx, cancel, f)
	}
	c.mu.Lock()
	c.running--
	close(f.done)
	late := f.late
	c.mu.Unlock()
	c.sayCame(f, late)
	c.cache.clean()
	if c.opt.MaxCache > 0 && f.outcome == Found {
		c.verifying.Lock() // one at a time
		defer c.verifying.Unlock()
		c.cache.bound(c.opt.MaxCache)
	}
}

// fromCache finishes the fetch with the entry of the cache, if there is one.
func (c *Client) fromCache(f *fetch) bool {
	hit := c.cache.look(f.key)
	if hit.note != "" {
		f.tried = append(f.tried, hit.path+" ("+hit.note+")")
	}
	switch {
	case hit.elf != nil:
		f.outcome, f.path, f.elf = Found, hit.path, hit.elf
	case hit.missing && !c.hasStores(): // which may not have been asked then
		f.outcome, f.why, f.due = Missing, "no server had it", hit.until
	default:
		return false
	}
	return true
}

// fromServers asks all servers at the same time and takes the first good file.
func (c *Client) fromServers(ctx context.Context, cancel context.CancelCauseFunc, f *fetch) {
	store, err := c.cache.open(f.key)
	if err != nil {
		f.outcome, f.why, f.due = Failed, err.Error(), c.now().Add(retryFailed)
		c.warn("cache", err.Error()+"; DEBUGINFOD_CACHE_PATH names another directory")
		return
	}
	defer store.close()
	lead := make(chan struct{}, 1) // held by the attempt that writes
	ended := make(chan *attempt)
	for _, a := range f.attempts {
		go func() {
			a.run(ctx, store, lead)
			ended <- a
		}()
	}
	for range f.attempts {
		if a := <-ended; a.elf != nil && f.elf == nil {
			f.outcome, f.path, f.elf = Found, store.path, a.elf
			cancel(errBeaten)
		}
	}
	c.conclude(f, store)
}

// conclude sets the outcome after all servers have answered.
func (c *Client) conclude(f *fetch, store *entry) {
	missing, why := 0, ""
	for _, a := range f.attempts {
		f.tried = append(f.tried, a.String())
		if a.verdict == verdictMissing {
			missing++
		} else if why == "" {
			why = a.server.name + ": " + a.reason
		}
		if f.due.IsZero() || !a.again.IsZero() && a.again.Before(f.due) {
			f.due = a.again
		}
	}
	switch {
	case f.outcome == Found && f.elf != nil:
	case missing == len(f.attempts):
		f.outcome, f.why = Missing, "no server has it"
		if !c.onlyStores() && !f.kind.isSymbols() && !f.kind.isProgram() { // which other programs do not ask
			store.miss()
		}
	default:
		f.outcome, f.why = Failed, why
	}
}

// elfInfo is what is known about a verified file.
type elfInfo struct {
	debug bool // has .debug_info
}

// verifyFile is verify for a path.
func verifyFile(path string, k key) (*elfInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return verify(f, st.Size(), k)
}

// verify checks that a file is an ELF file of that build ID and not truncated: servers need not send its size. For a truncated file
// the error is locate.ErrCutOff. A symbol file says in its first line what it is of.
func verify(r io.ReaderAt, size int64, k key) (*elfInfo, error) {
	want := k.id
	if k.kind.isSymbols() {
		text := make([]byte, min(size, symsrc.SymbolFileHead))
		n, _ := r.ReadAt(text, 0)
		switch of, ok := symsrc.IdentifySymbols(text[:n]); {
		case !ok || of.Kind != symsrc.Breakpad:
			return nil, errors.New("no symbol file of Breakpad")
		case !of.Of(want):
			return nil, fmt.Errorf("a symbol file of build ID %s, want %s", of.ID, want)
		}
		return new(elfInfo), nil
	}
	head, err := locate.ReadHead(r, size)
	switch {
	case err != nil:
		return nil, fmt.Errorf("damaged ELF file: %w", err)
	case head.ID == "":
		return nil, fmt.Errorf("no build ID, want %s", want)
	case head.ID != want:
		return nil, fmt.Errorf("build ID %s, want %s", head.ID, want)
	}
	return &elfInfo{head.Debug}, nil
}

// stopwatch measures the time in which at least one caller waits. Client.mu guards it.
type stopwatch struct {
	waiting int // callers
	since   time.Time
	spent   time.Duration // before since
}

// start counts a caller that begins to wait.
func (w *stopwatch) start(now time.Time) {
	if w.waiting++; w.waiting == 1 {
		w.since = now
	}
}

// stop counts a caller that no longer waits.
func (w *stopwatch) stop(now time.Time) {
	if w.waiting--; w.waiting == 0 {
		w.spent += now.Sub(w.since)
	}
}

// shows returns the total time.
func (w *stopwatch) shows(now time.Time) time.Duration {
	if w.waiting == 0 {
		return w.spent
	}
	return w.spent + now.Sub(w.since)
}

// reset sets the time to 0.
func (w *stopwatch) reset(now time.Time) { w.since, w.spent = now, 0 }

// wait waits for the fetch: neither for servers that are not expected to answer, nor longer than all callers together may.
func (c *Client) wait(ctx context.Context, f *fetch) {
	select {
	case <-f.looked:
	case <-f.done:
	case <-ctx.Done():
		return
	}
	if f.over() || f.again {
		return
	}
	defer c.progress.show(c, f)()
	for !f.over() {
		news, patience, stop := c.begins(f)
		if patience <= 0 {
			stop()
			c.giveUp(f)
			return
		}
		look := time.NewTimer(patience)
		select {
		case <-f.done:
		case <-news:
		case <-look.C:
		case <-ctx.Done():
			look.Stop()
			stop()
			return
		}
		look.Stop()
		stop()
	}
}

// begins counts a caller that waits for the fetch, until stop is called. patience is how long to wait unless news is closed first.
func (c *Client) begins(f *fetch) (news <-chan struct{}, patience time.Duration, stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	running := []*stopwatch{&c.waited}
	for _, a := range f.attempts {
		if a.phase != over {
			patience = max(patience, a.patience(now))
			running = append(running, &a.server.vain)
		}
	}
	left := c.opt.Wait - c.waited.shows(now)
	if len(running) == 1 { // the outcome is being written down
		patience = left
	}
	for _, w := range running {
		w.start(now)
	}
	return f.news, min(patience, left), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		now := c.now()
		for _, w := range running {
			w.stop(now)
		}
	}
}

// endTime is how long the end of a run waits for a server that sends nothing useful. One that sends a file has all of Options.After.
const endTime = 3 * time.Second

// share returns how long callers wait for a server that sends nothing useful: one of several leaves time for the others.
func (c *Client) share() time.Duration {
	if c.ending {
		return min(endTime, c.opt.Wait)
	}
	if len(c.servers) > 1 {
		return c.opt.Wait / 2
	}
	return c.opt.Wait
}

// giveUp warns once about the servers that callers have waited for in vain.
func (c *Client) giveUp(f *fetch) {
	c.sayShunned(f)
	var silent []string
	var changed []*server
	c.mu.Lock()
	now := c.now()
	spent := c.waited.shows(now) >= c.opt.Wait
	for _, a := range f.attempts {
		if a.phase != over && (spent || a.server.vain.shows(now) >= c.share()) {
			silent = append(silent, a.server.name)
		}
		if why, vain := a.vain(now); vain && c.opt.Wait > 0 {
			changed = append(changed, a.server.avoid(now, why)...)
		}
	}
	c.mu.Unlock()
	c.remember(changed...)
	switch {
	case c.opt.Wait <= 0, c.ending: // Close says what is missing
	case spent:
		c.warnOf("waited", &symsrc.AvoidableError{Option: "debuginfod.Wait",
			Err: fmt.Errorf("the output has waited %v for servers, last for %s, and no longer waits; files that arrive later are used",
				c.opt.Wait, strings.Join(silent, " and "))})
	default:
		for _, name := range silent {
			c.warn(name+" silent", fmt.Sprintf("%s: no useful answer within %v; not waiting for it until there is one", name, c.share()))
		}
	}
}

// missed records that a module was answered for without waiting for its file to the end.
func (c *Client) missed(k key, module string) {
	c.mu.Lock()
	f := c.fetches[k]
	over := f == nil || f.over()
	if f != nil {
		f.late = cmp.Or(module, k.id.String())
	}
	c.mu.Unlock()
	if f != nil && over {
		c.sayCame(f, module)
	}
}

// sayCame says that a file is here for whose module there was an answer without it.
func (c *Client) sayCame(f *fetch, module string) {
	if module != "" && f.outcome == Found {
		c.warn("came "+f.id.String(), symsrc.CameLate(symsrc.Visible(module), f.awaiting.Load()))
	}
}

// finish waits for files that answers did not wait for, and then no longer than Options.After.
func (c *Client) finish() {
	var missing []*fetch
	c.mu.Lock()
	if c.opt.After > 0 && !c.hurried && !c.ending {
		for _, f := range c.fetches {
			if f.late != "" && !f.over() {
				f.again = false
				missing = append(missing, f)
			}
		}
	}
	if len(missing) > 0 {
		c.ending, c.opt.Wait, c.waited = true, c.opt.After, stopwatch{}
	}
	c.mu.Unlock()
	for _, f := range missing {
		c.wait(c.ctx, f)
	}
}
