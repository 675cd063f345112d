// Package debuginfod gets debug information by build ID from debuginfod servers, into the cache directory that elfutils
// and gdb use too.
//
// A question goes to all servers at once, once for each build ID. All questions of a run together wait for a bounded time; then
// requests and downloads go on by themselves, and a later question finds what they brought. Nothing is used that does not have
// the wanted build ID, or was cut off.
//
//   - debuginfod.go: Client; options.go and servers.go: its options and servers; wrap.go: a Finder that asks servers last
//   - fetch.go: one file that is asked for; attempt.go: one server's part in it; transfer.go: requests and downloads
//   - server.go: what is known of a server; wait.go: how long callers wait; progress.go: what they wait for, on a terminal
//   - cache.go, clean.go: the cache directory; trust.go, verify.go: which files in it are used; source.go: source files
package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// Kind is what a server is asked for, as its path has it: Debuginfo, or a Source.
type Kind string

// Debuginfo is a file with .debug_info, be it a separate one or the program itself.
const Debuginfo Kind = "debuginfo"

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

	verifying sync.Mutex // one file at a time is read

	mu        sync.Mutex
	waited    stopwatch // while callers wait, be it for whatever
	fetches   map[key]*fetch
	running   int // fetches that are not done
	announced []symsrc.Module
	looking   bool // for those
	warned    map[string]bool
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
	c.cache = cache{dir: o.CacheDir, now: func() time.Time { return c.now() }, free: diskcache.Free}
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

// CheckURL fails where text is no prefix of a server.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
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
		c.warnOf("unfinished", &symsrc.AvoidableError{Option: "debuginfod.Wait",
			Err: fmt.Errorf("%d of the files asked for had not come by the end, after a wait of %v at most", n, c.opt.Wait)})
	}
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// warn says something once per cause.
func (c *Client) warn(about, text string) { c.warnOf(about, errors.New(text)) }

func (c *Client) warnOf(about string, err error) {
	c.mu.Lock()
	done := c.warned[about]
	c.warned[about] = true
	c.mu.Unlock()
	if !done && c.opt.Warn != nil {
		c.opt.Warn(fmt.Errorf("debuginfod: %w", err))
	}
}

// Outcome is what became of a question.
type Outcome uint8

const (
	Found   Outcome = iota // the file is there
	Missing                // no server has it
	Failed                 // a server that may have it could not be asked, or what it sent is of no use
	Pending                // it is still being asked for
)

// Result is the answer to a question.
type Result struct {
	Outcome Outcome
	// Path is where the file is, if it is found. Its build ID has been verified.
	Path string
	// Debug reports whether it has .debug_info.
	Debug bool
	// Tried lists what was looked at and what came of it, for a person to read.
	Tried []string
	// Why says in words why it is not found.
	Why string
	// News reports whether asking again may bring another answer by now. It is cheap; nil where nothing will change.
	News func() bool
}

// Fetch asks for one file. It waits until the file is there, ctx ends, or callers have waited in all for as long as the options
// say; then the answer is Pending. What the cache on disk has is not waited for.
func (c *Client) Fetch(ctx context.Context, id symsrc.BuildID, kind Kind) (r Result) {
	if c == nil || id == "" {
		return Result{Outcome: Missing}
	}
	k := key{id, kind}
	for range 2 {
		f := c.fetch(k)
		if f == nil {
			return Result{Outcome: Failed, Why: "too many downloads at once", News: c.idle}
		}
		c.wait(ctx, f)
		if r = f.result(c); r.Outcome != Found || exists(r.Path) {
			return r
		}
		c.forget(k, f) // the cache was cleaned meanwhile
	}
	return Result{Outcome: Failed, Why: "the file vanished from the cache"}
}

// idle reports whether there is room for another download.
func (c *Client) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running < maxRunning
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
