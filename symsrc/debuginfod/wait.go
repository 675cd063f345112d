package debuginfod

import (
	"context"
	"fmt"
	"strings"
	"time"

	"qss-filter/symsrc"
)

// stopwatch adds up the time in which at least one caller waits. Its zero value shows 0. It is used under Client.mu.
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

// stop counts a caller that ends to wait.
func (w *stopwatch) stop(now time.Time) {
	if w.waiting--; w.waiting == 0 {
		w.spent += now.Sub(w.since)
	}
}

// shows returns the time added up.
func (w *stopwatch) shows(now time.Time) time.Duration {
	if w.waiting == 0 {
		return w.spent
	}
	return w.spent + now.Sub(w.since)
}

// reset sets the time to 0.
func (w *stopwatch) reset(now time.Time) { w.since, w.spent = now, 0 }

// wait waits for the fetch, but not for servers that are not worth it, nor for longer than all callers together may.
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

// begins counts a caller that waits for the fetch, until stop is called. patience is how long that is worth it, at least while
// nothing new is heard, which closes news.
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

// share is how long callers wait for a server that sends nothing of use: one of several leaves time for the others.
func (c *Client) share() time.Duration {
	if len(c.servers) > 1 {
		return c.opt.Wait / 2
	}
	return c.opt.Wait
}

// giveUp says, once, which servers callers have waited for in vain.
func (c *Client) giveUp(f *fetch) {
	var silent []string
	c.mu.Lock()
	now := c.now()
	spent := c.waited.shows(now) >= c.opt.Wait
	for _, a := range f.attempts {
		if a.phase != over && (spent || a.server.vain.shows(now) >= c.share()) {
			silent = append(silent, a.server.name)
		}
	}
	c.mu.Unlock()
	switch {
	case c.opt.Wait <= 0:
	case spent:
		c.warnOf("waited", &symsrc.AvoidableError{Option: "debuginfod.Wait",
			Err: fmt.Errorf("the output has waited %v for servers and waits no more, last for %s; what they send is used once it is there",
				c.opt.Wait, strings.Join(silent, " and "))})
	default:
		for _, name := range silent {
			c.warn(name+" silent", fmt.Sprintf("%s: no answer of use within %v; nothing waits for it until there is one", name, c.share()))
		}
	}
}
