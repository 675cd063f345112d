package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// errClosed ends what is under way when the client is closed, errBeaten when another server was faster.
var (
	errClosed = errors.New("closed")
	errBeaten = errors.New("another server had it")
)

// fetch is one file that is asked for, or was. Until done is closed only its attempts and news change, under Client.mu.
type fetch struct {
	key
	again  bool          // servers have been asked before: no caller waits once more
	looked chan struct{} // closed once the cache on disk is known not to have it
	done   chan struct{}

	attempts []*attempt
	leader   atomic.Pointer[leader] // nil while no attempt writes
	news     chan struct{}          // closed and replaced whenever an attempt gets on

	// The outcome, once done is closed.
	outcome Outcome
	path    string
	elf     *elfInfo
	tried   []string
	why     string
	due     time.Time // when asking again makes sense; zero for never
}

// fetch returns what is known of a file, and starts asking for it where that is due; nil where too much is under way.
func (c *Client) fetch(k key) *fetch {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// forget drops what is remembered of a file.
func (c *Client) forget(k key, f *fetch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fetches[k] == f {
		delete(c.fetches, k)
	}
}

// over reports whether the outcome is there.
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

// result puts the state in the caller's terms.
func (f *fetch) result(c *Client) Result {
	if !f.over() {
		return Result{Outcome: Pending, Why: "still being asked for", News: f.over}
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
	c.mu.Unlock()
	c.cache.clean()
}

// fromCache ends the fetch with what the cache says, if it does.
func (c *Client) fromCache(f *fetch) bool {
	hit := c.cache.look(f.key)
	if hit.note != "" {
		f.tried = append(f.tried, hit.path+" ("+hit.note+")")
	}
	switch {
	case hit.elf != nil:
		f.outcome, f.path, f.elf = Found, hit.path, hit.elf
	case hit.missing:
		f.outcome, f.why, f.due = Missing, "no server had it", hit.until
	}
	return hit.elf != nil || hit.missing
}

// fromServers asks all servers at once and takes the first good file.
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

// conclude sums up what the servers said, once all have.
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
		store.miss()
	default:
		f.outcome, f.why = Failed, why
	}
}
