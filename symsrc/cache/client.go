//go:build linux || darwin

package cache

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// How long a filter waits for the cache. Beyond that its own engine answers.
const (
	openTime  = 100 * time.Millisecond // once, while a process is started that has answers
	stuckTime = 5 * time.Second        // without a reply: it does not live
	keepTime  = 2 * time.Second        // for the reply that answers are kept
)

// client asks the cache process.
type client struct {
	opt  *Options
	dir  string
	warn func(cause string)

	off    atomic.Bool // for good
	told   sync.Once   // why it is off
	behind atomic.Int64
	since  atomic.Int64 // when the oldest reply that is awaited was asked for, in Unix nanoseconds
	nextID atomic.Uint32

	mu      sync.Mutex
	link    *link         // nil: none
	ready   chan struct{} // closed when the attempt to connect that is under way has ended
	waited  bool          // for the process to start
	cold    bool          // nothing was there before it was started
	closed  bool
	waiting map[uint32]chan []byte
}

// ask sends a message and waits for its reply.
func (c *client) ask(kind byte, body []byte, within time.Duration) ([]byte, outcome) {
	l, got := c.connected(true)
	if l == nil {
		return nil, got
	}
	if kind != putMsg && c.behind.Load() > 0 {
		if time.Since(time.Unix(0, c.since.Load())) > stuckTime {
			c.give(errTimeout)
			return nil, without
		}
		return nil, late
	}
	id := c.nextID.Add(1)
	reply := make(chan []byte, 1)
	c.mu.Lock()
	if c.link != l {
		c.mu.Unlock()
		return nil, late
	}
	c.waiting[id] = reply
	c.mu.Unlock()
	sent := time.Now()
	if err := l.send(kind, id, body, within); err != nil {
		c.lost(l)
		return nil, late
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case b, ok := <-reply:
		if !ok {
			return nil, late
		}
		return b, answered
	case <-timer.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case b, ok := <-reply: // just now
		if ok {
			return b, answered
		}
	default:
		c.waiting[id] = nil
		if c.behind.Add(1) == 1 {
			c.since.Store(sent.UnixNano())
		}
	}
	return nil, late
}

// connected gives the connection. Where there is none it has one made, for which it waits if wait is set and the cache may
// know something, once.
func (c *client) connected(wait bool) (*link, outcome) {
	if c.off.Load() {
		return nil, without
	}
	c.mu.Lock()
	if c.link != nil || c.closed {
		defer c.mu.Unlock()
		return c.link, without
	}
	if !c.waited {
		c.cold = !hasAnswers(c.dir)
	}
	got := late
	if c.cold {
		got = cold
	}
	wait = wait && !c.waited && !c.cold
	c.waited = true
	ready := c.connect()
	c.mu.Unlock()
	if !wait {
		return nil, got
	}
	timer := time.NewTimer(openTime)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link, got
}

// connect begins to connect, unless that is under way. c is locked.
func (c *client) connect() <-chan struct{} {
	if c.ready != nil {
		return c.ready
	}
	ready := make(chan struct{})
	c.ready = ready
	go func() {
		l, note, err := reach(c.opt, c.dir)
		if note != "" {
			c.warn(note + ": " + c.dir)
		}
		if err != nil {
			c.give(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		defer close(ready)
		c.ready = nil
		switch {
		case err != nil:
		case c.closed:
			l.conn.Close()
		default:
			c.link, c.cold, c.waiting = l, false, make(map[uint32]chan []byte)
			c.behind.Store(0)
			go c.receive(l)
		}
	}()
	return ready
}

// receive hands replies to those who wait for them.
func (c *client) receive(l *link) {
	for {
		m, err := l.receive()
		if err != nil {
			c.lost(l)
			return
		}
		c.mu.Lock()
		reply, ok := c.waiting[m.id]
		delete(c.waiting, m.id)
		if reply != nil {
			reply <- append([]byte(nil), m.body...)
		} else if ok {
			c.behind.Add(-1)
		}
		c.mu.Unlock()
	}
}

// lost gives up a connection; the next question makes another one.
func (c *client) lost(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.conn.Close()
	if c.link != l {
		return
	}
	c.link = nil
	for _, reply := range c.waiting {
		if reply != nil {
			close(reply)
		}
	}
	c.waiting = nil
}

// give gives the cache up, and says why.
func (c *client) give(err error) {
	c.told.Do(func() { // before anybody goes on without: the process may end then
		c.warn(fmt.Sprintf("none is used in %s: %v (--cache-dir takes another directory, --no-cache none)", c.dir, err))
		c.off.Store(true)
	})
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l != nil {
		c.lost(l)
	}
}

// settle waits until a question may be asked that came too early, or too much for the moment. It is false where none may.
func (c *client) settle(until time.Time) bool {
	for !c.off.Load() && time.Now().Before(until) {
		c.mu.Lock()
		ready, linked := c.ready, c.link != nil
		c.mu.Unlock()
		switch {
		case ready != nil:
			timer := time.NewTimer(time.Until(until))
			select {
			case <-ready:
			case <-timer.C:
			}
			timer.Stop()
		case !linked:
			if c.connected(false); c.off.Load() {
				return false
			}
		case c.behind.Load() > 0:
			time.Sleep(time.Millisecond)
		default:
			return true
		}
	}
	return false
}

// keep has the cache keep keys and values, blobs in turn. It is false where they are to be sent again later.
func (c *client) keep(pairs []byte, until time.Time) bool {
	if !c.settle(until) {
		return c.off.Load()
	}
	reply, got := c.ask(putMsg, pairs, min(keepTime, time.Until(until)))
	if got == answered && len(reply) > 0 {
		c.warn(fmt.Sprintf("answers are not kept in %s: %s", c.dir, reply))
	}
	return got == answered || got == without
}

// tell sends what has no reply.
func (c *client) tell(kind byte, body []byte) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l != nil {
		_ = l.send(kind, 0, body, askTime) // it only informs
	}
}

// close ends the connection.
func (c *client) close() {
	c.mu.Lock()
	c.closed = true
	l := c.link
	c.mu.Unlock()
	if l != nil {
		c.lost(l)
	}
}

func newClient(o *Options, dir string, warn func(cause string)) *client {
	return &client{opt: o, dir: dir, warn: warn}
}
