package debuginfod

import (
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"
)

const (
	progressAfter = 300 * time.Millisecond // a shorter wait is not shown
	progressEvery = 100 * time.Millisecond
	progressWidth = 78 // columns; on a narrower terminal a part of the line stays
)

// progress shows on a terminal what callers wait for, in one line that is erased before they continue.
type progress struct {
	out io.Writer // nil: nothing is shown

	mu      sync.Mutex
	waiting []*fetch
	stop    chan struct{} // closed to end the goroutine that draws
	shown   string        // the line on the screen
}

// show shows a fetch until hide is called.
func (p *progress) show(c *Client, f *fetch) (hide func()) {
	if p.out == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting = append(p.waiting, f); len(p.waiting) == 1 {
		p.stop = make(chan struct{})
		go p.draw(c, p.stop)
	}
	return func() { p.hide(f) }
}

// hide stops showing a fetch. After the last one, the line is erased.
func (p *progress) hide(f *fetch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, g := range p.waiting {
		if g == f {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			break
		}
	}
	if len(p.waiting) > 0 {
		return
	}
	close(p.stop)
	if p.shown != "" {
		io.WriteString(p.out, "\r\x1b[K")
		p.shown = ""
	}
}

// draw writes the line periodically until stop is closed.
func (p *progress) draw(c *Client, stop chan struct{}) {
	for next := progressAfter; ; next = progressEvery {
		timer := time.NewTimer(next)
		select {
		case <-stop:
			timer.Stop()
			return
		case <-timer.C:
		}
		p.mu.Lock()
		select {
		case <-stop: // meanwhile
		default:
			if line := p.line(c); line != p.shown {
				fmt.Fprintf(p.out, "\r%.*s\x1b[K", progressWidth, line)
				p.shown = line
			}
		}
		p.mu.Unlock()
	}
}

// line describes what callers wait for: the first fetch, and the number of others.
func (p *progress) line(c *Client) string {
	f := p.waiting[0]
	text := fmt.Sprintf("debuginfod: %s %.12s", f.kind.shown(), f.id)
	if more := len(p.waiting) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range f.attempts {
		if moved := a.moved.Load(); a.phase == receiving && moved > 0 {
			text += ": " + bytesText(moved)
			if total := a.total.Load(); total > 0 {
				text += " of " + bytesText(total)
			}
			return text + " from " + host(a.server)
		}
	}
	for _, a := range f.attempts {
		if a.phase != over {
			return text + ": asking " + host(a.server)
		}
	}
	return text
}

// host returns a server's host name.
func host(s *server) string {
	if u, err := url.Parse(s.prefix); err == nil && u.Host != "" {
		return u.Host
	}
	return s.name
}
