package debuginfod

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"qss-filter/symsrc/diskcache"
)

// That a server has no file is remembered for as long as cache.missAge says, an hour. A file that was missing more than a week ago and still
// is will hardly come: that is remembered for a day.
const (
	oldMiss    = 7 * 24 * time.Hour
	oldMissAge = 24 * time.Hour
	forgetMiss = 30 * 24 * time.Hour // after the last time
	maxMisses  = 1 << 13             // that are remembered between runs
	maxMissed  = 4 << 20             // bytes of the file
)

// miss is when a server was found not to have a file: the first and the last time.
type miss struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// misses are what runs tell each other of files that servers do not have, by server and file. Client.mu guards them.
type misses struct {
	all     map[string]miss
	changed map[string]bool
}

// missKey names a file of a server.
func (s *server) missKey(k key) string {
	return s.prefix + "/" + k.id.String() + "/" + k.kind.urlPath()
}

// readMisses returns what the file has; nothing if it is damaged.
func readMisses(path string) map[string]miss {
	all := make(map[string]miss)
	f, err := os.Open(path)
	if err != nil {
		return all
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxMissed))
	if err != nil || json.Unmarshal(b, &all) != nil {
		clear(all)
	}
	return all
}

// lacks reports whether the server was found not to have the file, by this run or an earlier one, and until when that counts. c.mu is held.
func (c *Client) lacks(s *server, k key) (m miss, until time.Time, ok bool) {
	c.recallMisses()
	m, ok = c.misses.all[s.missKey(k)]
	until = m.Last.Add(c.missAge(m))
	now := c.now()
	return m, until, ok && now.Before(until) && !m.Last.After(now) // a clock may have been set back
}

// missAge returns how long a miss is remembered.
func (c *Client) missAge(m miss) time.Duration {
	age, preset := c.cache.missAge()
	if preset && m.Last.Sub(m.First) > oldMiss {
		return oldMissAge
	}
	return age
}

// recallMisses takes over what earlier runs remember, once. c.mu is held.
func (c *Client) recallMisses() {
	if c.misses.all == nil {
		c.misses = misses{all: make(map[string]miss), changed: make(map[string]bool)}
		if c.opt.Missed != "" {
			c.misses.all = readMisses(c.opt.Missed)
		}
	}
}

// noteMiss records that the server does not have the file, and returns until when that counts.
func (c *Client) noteMiss(s *server, k key) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recallMisses()
	name, now := s.missKey(k), c.now()
	m, ok := c.misses.all[name]
	if !ok || m.First.After(now) {
		m.First = now
	}
	if m.Last = now; len(c.misses.all) >= 4*maxMisses {
		clear(c.misses.all)
		clear(c.misses.changed)
	}
	c.misses.all[name], c.misses.changed[name] = m, true
	return now.Add(c.missAge(m))
}

// noteHit records that the server has the file.
func (c *Client) noteHit(s *server, k key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name := s.missKey(k); c.misses.all != nil {
		if _, ok := c.misses.all[name]; ok {
			delete(c.misses.all, name)
			c.misses.changed[name] = true
		}
	}
}

// saveMisses tells later runs what was found. Without a file each run finds out for itself.
func (c *Client) saveMisses() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opt.Missed == "" || len(c.misses.changed) == 0 {
		return
	}
	all := readMisses(c.opt.Missed)
	for name := range c.misses.changed {
		delete(all, name)
		if m, ok := c.misses.all[name]; ok {
			all[name] = m
		}
	}
	clear(c.misses.changed)
	now := c.now()
	maps.DeleteFunc(all, func(_ string, m miss) bool { return now.Sub(m.Last) > forgetMiss })
	if len(all) > maxMisses {
		names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(all[a].Last.Compare(all[b].Last), cmp.Compare(a, b)) })
		for _, name := range names[:len(all)-maxMisses] {
			delete(all, name)
		}
	}
	if b, err := json.Marshal(all); err == nil && len(b) <= maxMissed && diskcache.MakeRoot(filepath.Dir(c.opt.Missed)) == nil {
		_ = diskcache.WriteFile(c.opt.Missed, b)
	}
}
