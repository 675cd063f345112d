//go:build linux || darwin

package cache

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"qss-filter/symsrc"
)

// Time limits of a filter that waits for the cache. After these, its own engine answers.
const (
	openTime  = 100 * time.Millisecond // once, while a process is started that has answers
	stuckTime = 30 * time.Second       // without a reply, after which the process is taken to hang; a busy disk takes ten at times
)

// client asks the cache process.
type client struct {
	opt  *Options
	dir  string
	warn func(error)

	off    atomic.Bool // permanently
	told   sync.Once   // why it is off
	behind atomic.Int64
	since  atomic.Int64 // when the oldest unanswered request was sent, in Unix nanoseconds
	nextID atomic.Uint32

	mu      sync.Mutex
	link    *link         // nil: none
	ready   chan struct{} // closed when the current attempt to connect ends; nil if there is none
	waited  bool          // for the process to start
	closed  bool
	waiting map[uint32]chan []byte
}

// ask sends a message and returns its reply.
func (c *client) ask(kind byte, body []byte, within time.Duration) ([]byte, outcome) {
	l, got := c.connected(true)
	if l == nil {
		return nil, got
	}
	if c.behind.Load() > 0 {
		if time.Since(time.Unix(0, c.since.Load())) > stuckTime {
			c.disable(errTimeout)
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
	case b, ok := <-reply: // it arrived after the timeout
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

// connected returns the connection. If there is none, it starts to connect, and waits for that once if wait is set.
func (c *client) connected(wait bool) (*link, outcome) {
	if c.off.Load() {
		return nil, without
	}
	c.mu.Lock()
	if c.link != nil || c.closed {
		defer c.mu.Unlock()
		return c.link, without
	}
	wait = wait && !c.waited
	c.waited = c.waited || wait
	ready := c.connect()
	c.mu.Unlock()
	if !wait {
		return nil, late
	}
	timer := time.NewTimer(openTime)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link, late
}

// connect starts to connect, unless an attempt is in progress. It returns a channel that is closed when the attempt ends. c is locked.
func (c *client) connect() <-chan struct{} {
	if c.ready != nil {
		return c.ready
	}
	ready := make(chan struct{})
	c.ready = ready
	go func() {
		l, note, err := reach(c.opt, c.dir)
		if note != "" {
			c.warn(errors.New(note + ": " + c.dir))
		}
		if err != nil {
			c.disable(err)
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
			c.link, c.waiting = l, make(map[uint32]chan []byte)
			c.behind.Store(0)
			go c.receive(l)
		}
	}()
	return ready
}

// receive passes replies to the callers that wait for them.
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

// lost drops a connection; the next query makes a new one.
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

// disable disables the cache, and warns why.
func (c *client) disable(err error) {
	c.told.Do(func() { // before any caller continues without the cache, since the program may end then
		c.warn(&symsrc.AvoidableError{Option: "cache.Dir", Err: fmt.Errorf("not used in %s: %w", c.dir, err)})
		c.off.Store(true)
	})
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l != nil {
		c.lost(l)
	}
}

// settle waits until a query can be sent that came before the connection, or while the process was busy. It reports whether one can.
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

// news tells the cache process, if there is one, that there are new spool files. If soon is set, it starts a process if there is none.
func (c *client) news(soon bool) {
	if soon {
		c.connected(false)
	}
	c.tell(newsMsg, nil)
}

// finish tells the cache process at the end of the filter that there are new spool files. If there is no process, it starts one if worth
// is set or if the spool has many files. It does not wait.
func (c *client) finish(worth bool) {
	c.mu.Lock()
	l, connecting := c.link, c.ready != nil
	c.mu.Unlock()
	switch {
	case l != nil:
		c.tell(newsMsg, nil)
	case connecting || c.off.Load() || !worth && len(spooled(c.dir)) < manySpooled:
	case holder(c.dir) != 0:
		if conn, err := dial(c.dir); err == nil {
			l = &link{conn: conn}
			_ = l.send(newsMsg, 0, nil, askTime) // if it fails, the next process reads the file
			conn.Close()
		}
	case mayStart(c.dir):
		if _, err := start(c.opt, c.dir); err != nil {
			c.disable(err)
		}
	}
}

// fail warns that answers cannot be written to the spool. If the directory cannot be used, the cache is not used any more.
func (c *client) fail(err error) {
	if errors.Is(err, errReserve) || errors.Is(err, syscall.ENOSPC) {
		c.warn(fmt.Errorf("answers are not kept in %s: %w", c.dir, errReserve))
		return
	}
	c.disable(err)
}

// tell sends a message without a reply.
func (c *client) tell(kind byte, body []byte) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l != nil {
		_ = l.send(kind, 0, body, askTime) // it is only a hint
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

func newClient(o *Options, dir string, warn func(error)) *client {
	return &client{opt: o, dir: dir, warn: warn}
}
