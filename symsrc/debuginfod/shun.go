package debuginfod

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"qss-filter/symsrc/diskcache"
)

// A server for which callers have waited in vain, or which has failed again and again, is not waited for by the runs of the next
// firstShun; after the next time for twice as long, and so on. They ask it nevertheless, and wait for it again once it has given a useful
// answer. One that refuses connections costs no time, and needs no such rule.
const (
	firstShun, maxShun = 5 * time.Minute, 24 * time.Hour
	forgetShun         = 2 * maxShun // after its end
	// A server has been waited for in vain if it sent less than aliveBytes of a file, and callers have waited for vainTime, or if no
	// connection to it was made in time.
	vainTime   = time.Second
	aliveBytes = 16 << 10
	maxShuns   = 1 << 20 // bytes of the file
)

// shun is what runs remember of a server. The zero shun is of a server that is waited for.
type shun struct {
	Until time.Time     `json:"until"`
	Pause time.Duration `json:"pause"` // nanoseconds
	Why   string        `json:"why"`
}

// holds reports whether the server is not waited for. A clock may have been set back.
func (s *shun) holds(now time.Time) bool {
	return now.Before(s.Until) && s.Until.Sub(now) <= maxShun
}

// longer returns the shun after this one.
func (s *shun) longer(now time.Time, why string) shun {
	pause := min(max(2*s.Pause, firstShun), maxShun)
	return shun{Until: now.Add(pause), Pause: pause, Why: why}
}

// avoid shuns the server, unless it is shunned already. It returns the server if later runs must be told. Client.mu is held.
func (s *server) avoid(now time.Time, why string) []*server {
	if s.shun.holds(now) {
		return nil
	}
	s.shun, s.old = s.shun.longer(now, why), false
	return []*server{s}
}

// readShuns returns what the file has, by the names of servers; nothing if it is damaged.
func readShuns(path string) map[string]shun {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxShuns))
	all := make(map[string]shun)
	if err != nil || json.Unmarshal(b, &all) != nil {
		return nil
	}
	return all
}

// recall takes over what earlier runs remember of the servers, once. c.mu is held.
func (c *Client) recall() {
	if c.recalled || c.opt.Shunned == "" {
		return
	}
	c.recalled = true
	all := readShuns(c.opt.Shunned)
	for _, s := range c.servers {
		s.shun, s.old = all[s.name], true
	}
}

// vain reports whether callers have waited for the attempt's server in vain, and why. c.mu is held.
func (a *attempt) vain(now time.Time) (why string, vain bool) {
	s := a.server
	switch {
	case a.phase == over || a.moved.Load() >= aliveBytes:
		return "", false
	case a.phase == connecting && !s.reached && !s.hope.IsZero() && !now.Before(s.hope):
		return "no connection", true
	case s.vain.shows(now) >= vainTime:
		return "no useful answer", true
	}
	return "", false
}

// awaitsNone reports whether an earlier run found that no server answers. c.mu is held.
func (c *Client) awaitsNone(now time.Time) bool {
	return !slices.ContainsFunc(c.servers, func(s *server) bool { return !s.old || !s.shun.holds(now) })
}

// remember tells later runs that servers are shunned, or no longer are. Without a file each run finds out for itself.
func (c *Client) remember(changed ...*server) {
	if c.opt.Shunned == "" || len(changed) == 0 {
		return
	}
	now := c.now()
	all := readShuns(c.opt.Shunned)
	if all == nil {
		all = make(map[string]shun)
	}
	maps.DeleteFunc(all, func(_ string, s shun) bool { return now.Sub(s.Until) > forgetShun })
	c.mu.Lock()
	for _, s := range changed {
		if delete(all, s.name); s.shun != (shun{}) {
			all[s.name] = s.shun
		}
	}
	c.mu.Unlock()
	if b, err := json.Marshal(all); err == nil && diskcache.MakeRoot(filepath.Dir(c.opt.Shunned)) == nil {
		_ = diskcache.WriteFile(c.opt.Shunned, b) // otherwise the next run waits
	}
}

// State is what is known of a server.
type State struct {
	Server string `json:"server"` // its URL, without a password
	State  string `json:"state"`
	OK     bool   `json:"ok"` // it is asked and waited for
}

// States returns what is known of the servers, in their order, from earlier runs and from this one.
func (c *Client) States() (all []State) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recall()
	now := c.now()
	for _, s := range c.servers {
		at := State{Server: s.name, OK: true}
		switch {
		case s.shun.holds(now):
			at.OK = false
			at.State = fmt.Sprintf("not waited for until %s (%s)", s.shun.Until.Local().Format("Jan 2 15:04"), s.shun.Why)
		case now.Before(s.broken):
			at.OK = false
			at.State = "failed: " + s.because
		case s.reached:
			at.State = "answers"
		case !s.hope.IsZero():
			at.OK = false
			at.State = "no connection yet"
		default:
			at.State = "not asked"
		}
		all = append(all, at)
	}
	return all
}

// sayShunned says of the servers of a fetch that are not waited for why that is so.
func (c *Client) sayShunned(f *fetch) {
	var said []string
	c.mu.Lock()
	now := c.now()
	for _, a := range f.attempts {
		if s := a.server; a.phase != over && s.old && s.shun.holds(now) {
			said = append(said, fmt.Sprintf("%s: %s in an earlier run; not waiting for it until %s, unless it answers before",
				s.name, s.shun.Why, s.shun.Until.Local().Format("Jan 2 15:04")))
		}
	}
	c.mu.Unlock()
	for _, text := range said {
		c.warn(text, text)
	}
}
