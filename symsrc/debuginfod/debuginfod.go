// Package debuginfod gets debug information by build ID from debuginfod servers, into the cache directory that elfutils
// and gdb use too.
//
// A question goes to all servers at once. It is waited for up to a deadline; then the download goes on by itself, and a
// later question finds what it brought. Nothing is used that does not have the wanted build ID, or was cut off.
package debuginfod

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"qss-filter/symsrc"
)

// Kind is what a server is asked for, as its path has it: one of these, or a Source.
type Kind string

const (
	Debuginfo  Kind = "debuginfo"  // a file with .debug_info, be it a separate one or the program itself
	Executable Kind = "executable" // the file that was run
)

// Limits of what a Client keeps and does at once.
const (
	maxFetches = 1 << 14 // that are remembered
	maxRunning = 64      // that are under way
)

// key names one file.
type key struct {
	id   symsrc.BuildID
	kind Kind
}

// Client asks servers. It may be used by several goroutines at once; nil is one without servers.
type Client struct {
	opt      Options
	servers  []*server
	cache    cache
	header   http.Header
	progress progress
	now      func() time.Time

	begin  sync.Once // makes http
	http   *http.Client
	ctx    context.Context
	cancel context.CancelCauseFunc
	jobs   sync.WaitGroup

	mu      sync.Mutex
	fetches map[key]*fetch
	running int // fetches that are not done
	warned  map[string]bool
}

// New makes a client of the options and of the environment where they say nothing. It is nil where no server is named. No
// connection is made and no file touched before the first question.
func New(o Options) (*Client, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if o.Off || len(o.URLs) == 0 {
		return nil, nil
	}
	c := &Client{opt: o, now: time.Now, fetches: make(map[key]*fetch), warned: make(map[string]bool)}
	c.cache = cache{dir: o.CacheDir, now: func() time.Time { return c.now() }}
	c.progress.out = o.Progress
	seen := make(map[string]bool)
	for _, prefix := range o.URLs {
		u, err := parseURL(prefix)
		if err != nil {
			return nil, err
		}
		if s := newServer(u); !seen[s.prefix] {
			seen[s.prefix] = true
			c.servers = append(c.servers, s)
		}
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c, nil
}

// parseURL reads the prefix of a server; curl, and so elfutils, takes one without a scheme for http.
func parseURL(prefix string) (*url.URL, error) {
	text := prefix
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("debuginfod server %q: %w", prefix, cause(err))
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "file":
		return nil, fmt.Errorf("debuginfod server %q: want http, https or file", prefix)
	case u.Host == "" && u.Scheme != "file" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("debuginfod server %q: want a host, and perhaps a path", prefix)
	}
	return u, nil
}

// Close ends all downloads and removes what they left. The client is not to be asked any more.
func (c *Client) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	n := c.running
	c.mu.Unlock()
	c.cancel(errClosed)
	c.jobs.Wait()
	if n > 0 {
		c.warn("unfinished", fmt.Sprintf("%d of the files asked for had not come by the end; --debuginfod-timeout waits for "+
			"them longer than %v", n, c.opt.Wait))
	}
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// warn says something once per cause.
func (c *Client) warn(about, text string) {
	c.mu.Lock()
	done := c.warned[about]
	c.warned[about] = true
	c.mu.Unlock()
	if !done && c.opt.Warn != nil {
		c.opt.Warn("debuginfod: " + text)
	}
}

// Outcome tells what became of a question.
type Outcome uint8

const (
	Found   Outcome = iota // the file is there
	Missing                // no server has it
	Failed                 // a server that may have it could not be asked, or what it gave is of no use
	Pending                // it is still being asked for
)

// Result is the answer to a question.
type Result struct {
	Outcome Outcome
	// Path is where the file is, if it is found. Its build ID has been verified.
	Path string
	// Debug tells whether it has .debug_info.
	Debug bool
	// Tried lists what was looked at and what came of it, for a person to read.
	Tried []string
	// Why says in words why it is not found.
	Why string
	// News tells whether asking again may give another answer by now. It is cheap; nil where nothing will change.
	News func() bool
}

// Fetch asks for one file. It waits until the file is there, ctx ends, or it has waited for this file as long as the
// options say since the first time it was asked for; then the answer is Pending.
func (c *Client) Fetch(ctx context.Context, id symsrc.BuildID, kind Kind) Result {
	if c == nil || id == "" {
		return Result{Outcome: Missing}
	}
	r, _ := c.find(ctx, key{id, kind}, time.Time{})
	return r
}

// find is Fetch with the time that waiting counts from, which is now where it is zero; it gives that time as well.
func (c *Client) find(ctx context.Context, k key, since time.Time) (r Result, started time.Time) {
	for range 2 {
		f := c.fetch(k, since)
		if f == nil {
			return Result{Outcome: Failed, Why: "too many downloads at once", News: c.idle}, since
		}
		c.wait(ctx, f)
		r, started = f.result(c), f.started
		if r.Outcome != Found || exists(r.Path) {
			break
		}
		c.forget(k, f) // somebody has cleaned the cache
		r = Result{Outcome: Failed, Why: "the file vanished from the cache"}
	}
	return r, started
}

// idle tells whether there is room for another download.
func (c *Client) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running < maxRunning
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
