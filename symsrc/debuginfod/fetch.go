package debuginfod

import (
	"context"
	"errors"
	"fmt"
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
	started time.Time // waiting counts from then
	done    chan struct{}

	attempts []*attempt
	news     chan struct{} // closed and made anew whenever an attempt gets on

	// The outcome, once done is closed.
	outcome Outcome
	path    string
	elf     *elfInfo
	tried   []string
	why     string
	again   time.Time // when asking anew makes sense; zero for never
}

// fetch gives the memory of a file, and starts asking for it where that is due. nil: too much is under way. Waiting counts
// from since, or from now where that is zero; it is not begun anew when servers are asked again.
func (c *Client) fetch(k key, since time.Time) *fetch {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.fetches[k]
	if old != nil && !old.due(c.now()) {
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
	switch {
	case old != nil:
		since = old.started
	case since.IsZero():
		since = c.now()
	}
	f := &fetch{key: k, started: since, done: make(chan struct{}), news: make(chan struct{})}
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

// over tells whether the outcome is there.
func (f *fetch) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// due tells whether it is time to ask anew.
func (f *fetch) due(now time.Time) bool {
	return f.over() && f.outcome != Found && !f.again.IsZero() && !now.Before(f.again)
}

// result puts the state in the caller's terms.
func (f *fetch) result(c *Client) Result {
	if !f.over() {
		return Result{Outcome: Pending, Why: "still being downloaded", News: f.over}
	}
	r := Result{Outcome: f.outcome, Path: f.path, Tried: f.tried, Why: f.why}
	switch {
	case f.outcome == Found:
		r.Debug = f.elf.debug
	case !f.again.IsZero():
		r.News = func() bool { return f.due(c.now()) }
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
		f.outcome, f.why, f.again = Missing, "no server had it", hit.until
	}
	return hit.elf != nil || hit.missing
}

// fromServers asks all servers at once and takes the first good file.
func (c *Client) fromServers(ctx context.Context, cancel context.CancelCauseFunc, f *fetch) {
	store, err := c.cache.open(f.key)
	if err != nil {
		f.outcome, f.why, f.again = Failed, err.Error(), c.now().Add(retryFailed)
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
		if f.again.IsZero() || !a.again.IsZero() && a.again.Before(f.again) {
			f.again = a.again
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

// wait waits for the fetch, but not for servers that are not worth it.
func (c *Client) wait(ctx context.Context, f *fetch) {
	left := c.opt.Wait - c.now().Sub(f.started)
	if left <= 0 || f.over() {
		return
	}
	defer c.progress.show(c, f)()
	deadline := time.NewTimer(left)
	defer deadline.Stop()
	for !f.over() {
		news, patience := c.hope(f)
		if patience <= 0 {
			return
		}
		look := time.NewTimer(patience)
		select {
		case <-f.done:
		case <-ctx.Done():
		case <-deadline.C:
			c.giveUp(f)
		case <-news:
			look.Stop()
			continue
		case <-look.C:
			continue
		}
		look.Stop()
		return
	}
}

// hope tells how long it is worth to wait before looking again, at least while nothing new is heard, which closes news.
func (c *Client) hope(f *fetch) (news <-chan struct{}, patience time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := false
	for _, a := range f.attempts {
		open = open || a.phase != over
		patience = max(patience, a.patience(c.now()))
	}
	if !open {
		patience = c.opt.Wait // the outcome is being written down
	}
	return f.news, patience
}

// giveUp notes which servers have let a caller wait in vain.
func (c *Client) giveUp(f *fetch) {
	var stalled []*server
	c.mu.Lock()
	for _, a := range f.attempts {
		if a.phase == connecting || a.phase == asked {
			a.server.stalled = true
			stalled = append(stalled, a.server)
		}
	}
	c.mu.Unlock()
	for _, s := range stalled {
		c.warn(s.prefix+" stalled", fmt.Sprintf("%s: no answer within %v; nothing waits for it until it gives one", s.name,
			c.opt.Wait))
	}
}
