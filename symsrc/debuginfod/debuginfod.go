// Package debuginfod gets debug information by build ID from debuginfod servers, into the cache directory that elfutils
// and gdb use too.
//
// A question goes to all servers at once, once for each build ID. All questions of a run together wait for a bounded time; then
// requests and downloads go on by themselves, and a later question finds what they brought. Nothing is used that does not have
// the wanted build ID, or was cut off.
//
//   - debuginfod.go: Client, its options and servers, source files; wrap.go: a Finder that asks servers last
//   - fetch.go: one file that is requested, how long callers wait for it, and whether it is the right one
//   - attempt.go: one server's part in it; transfer.go: requests and downloads; progress.go: what a terminal shows meanwhile
//   - cache.go: the cache directory, and its cleaning
package debuginfod

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
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

// Options say who is asked and within what limits. Zero values mean what the environment says (debuginfod-client-config(7)),
// and where that says nothing the defaults given here.
type Options struct {
	// URLs are the prefixes of servers; DEBUGINFOD_URLS.
	URLs []string
	// Off asks no server whatever the environment says.
	Off bool
	// CacheDir is where files are kept; DEBUGINFOD_CACHE_PATH, or debuginfod_client in the user's cache directory.
	CacheDir string
	// Wait bounds how long Fetch holds up its callers in all: 10 s. Negative: it never does.
	Wait time.Duration
	// Timeout is how long a server may take for 100 KiB: DEBUGINFOD_TIMEOUT, 90 s. Negative: as long as it likes.
	Timeout time.Duration
	// MaxTime bounds a whole download; DEBUGINFOD_MAXTIME, no bound.
	MaxTime time.Duration
	// MaxSize bounds a file, in bytes: DEBUGINFOD_MAXSIZE, 2 GiB. Negative, and a 0 there: no bound.
	MaxSize int64
	// Retries is how often a server is asked again that has answered, but badly: DEBUGINFOD_RETRY_LIMIT, 2. Negative: never.
	Retries int
	// HeadersFile has a header per line for every request; DEBUGINFOD_HEADERS_FILE.
	HeadersFile string
	// Progress, if not nil, is a terminal that shows what is being waited for; with DEBUGINFOD_PROGRESS standard error.
	Progress io.Writer
	// Warn, if not nil, is told once per cause of what hinders downloads.
	Warn func(err error)
	// Environ looks up a variable of the environment; nil is os.Getenv.
	Environ func(name string) string
}

const (
	defaultWait    = 10 * time.Second
	defaultTimeout = 90 * time.Second
	defaultMaxSize = 2 << 30
	defaultRetries = 2
	maxRetries     = 100
)

// complete fills in what is not set.
func (o *Options) complete() error {
	if o.Environ == nil {
		o.Environ = os.Getenv
	}
	if len(o.URLs) == 0 && !o.Off {
		o.URLs = o.environURLs()
	}
	if o.Off || len(o.URLs) == 0 {
		return nil
	}
	o.Wait = cmp.Or(o.Wait, defaultWait)
	o.Timeout = cmp.Or(o.Timeout, o.seconds("DEBUGINFOD_TIMEOUT", defaultTimeout))
	o.MaxTime = cmp.Or(o.MaxTime, o.seconds("DEBUGINFOD_MAXTIME", -1))
	o.HeadersFile = cmp.Or(o.HeadersFile, o.Environ("DEBUGINFOD_HEADERS_FILE"))
	if n, ok := o.number("DEBUGINFOD_MAXSIZE"); ok && o.MaxSize == 0 {
		o.MaxSize = cmp.Or(n, -1)
	}
	o.MaxSize = cmp.Or(o.MaxSize, defaultMaxSize)
	if n, ok := o.number("DEBUGINFOD_RETRY_LIMIT"); ok && o.Retries == 0 {
		o.Retries = int(cmp.Or(max(min(n, maxRetries), -1), -1))
	}
	o.Retries = max(cmp.Or(o.Retries, defaultRetries), 0)
	if o.Progress == nil && o.Environ("DEBUGINFOD_PROGRESS") != "" {
		o.Progress = os.Stderr
	}
	return o.chooseCache()
}

// environURLs returns the servers that the environment names. Other words may stand there, too (elfutils 0.192:
// "ima:enforcing").
func (o *Options) environURLs() (urls []string) {
	for _, word := range strings.Fields(o.Environ("DEBUGINFOD_URLS")) {
		if strings.HasPrefix(word, "ima:") {
			continue
		}
		if _, err := parseURL(word); err != nil {
			o.complain("DEBUGINFOD_URLS: %v", err)
			continue
		}
		urls = append(urls, word)
	}
	return urls
}

func (o *Options) complain(format string, args ...any) {
	if o.Warn != nil {
		o.Warn(fmt.Errorf("debuginfod: "+format, args...))
	}
}

// number reads a variable that holds a number; false where it does not.
func (o *Options) number(name string) (n int64, ok bool) {
	text := o.Environ(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		o.complain("%s=%s: want a number; the default counts", name, text)
	}
	return n, err == nil
}

// seconds reads a variable that holds a time in seconds; -1 is for none, which it says as 0 or less.
func (o *Options) seconds(name string, unset time.Duration) time.Duration {
	n, ok := o.number(name)
	switch {
	case !ok:
		return unset
	case n <= 0 || n > math.MaxInt64/int64(time.Second):
		return -1
	}
	return time.Duration(n) * time.Second
}

// chooseCache settles where the cache is, as elfutils does: a directory of its first releases is used where it exists.
func (o *Options) chooseCache() error {
	if o.CacheDir = cmp.Or(o.CacheDir, o.Environ("DEBUGINFOD_CACHE_PATH")); o.CacheDir != "" {
		dir, err := filepath.Abs(o.CacheDir)
		if err != nil {
			return fmt.Errorf("debuginfod cache %s: %w", o.CacheDir, err)
		}
		o.CacheDir = dir
		return nil
	}
	home := cmp.Or(o.Environ("HOME"), string(filepath.Separator))
	if o.CacheDir = filepath.Join(home, ".debuginfod_client_cache"); exists(o.CacheDir) {
		return nil
	}
	o.CacheDir = filepath.Join(cmp.Or(o.Environ("XDG_CACHE_HOME"), filepath.Join(home, ".cache")), "debuginfod_client")
	return nil
}

// Servers returns the URLs of the servers that are asked, none where Off is set.
func (o Options) Servers() []string {
	switch {
	case o.Off:
		return nil
	case len(o.URLs) > 0:
		return o.URLs
	}
	o.Warn = nil
	if o.Environ == nil {
		o.Environ = os.Getenv
	}
	return o.environURLs()
}

// How servers that cannot be reached, or are of no use, are treated.
const (
	// patience is how long a server may hold up a caller in all before it accepts a connection for the first time.
	patience = 700 * time.Millisecond
	// A server that cannot be reached, or of which maxFailures files in a row were of no use, is not asked for firstBreak, then
	// for twice as long as the time before.
	firstBreak, maxBreak = 30 * time.Second, 10 * time.Minute
	maxFailures          = 4
	// perServer bounds the requests to one server at a time.
	perServer = 8
)

// server is one server and what is known of it. What changes does so under Client.mu.
type server struct {
	prefix string // without a slash at its end
	name   string // for a person to read: no password
	slots  chan struct{}

	reached  bool      // the last try to connect to it was successful
	hope     time.Time // where it was not reached yet: until when it is worth to wait for it; zero before the first try
	vain     stopwatch // while callers wait for it, since its last answer of use
	failures int       // files asked for in vain since then
	trial    *attempt  // that asks nevertheless, where these are too many
	broken   time.Time // it is not asked before then
	pause    time.Duration
	because  string // why it is broken
}

func newServer(u *url.URL) *server {
	return &server{
		prefix: strings.TrimRight(u.String(), "/"), name: strings.TrimRight(u.Redacted(), "/"),
		slots: make(chan struct{}, perServer),
	}
}

// urlPath is a file's path below a server's prefix (debuginfod(8), WEBAPI).
func (k key) urlPath() string { return "/buildid/" + k.id.String() + "/" + k.kind.urlPath() }

// dial notes that a connection is going to be made.
func (s *server) dial(now time.Time) {
	if s.hope.IsZero() {
		s.hope = now.Add(patience)
	}
}

// useful notes an answer of use, be it that there is no such file.
func (s *server) useful(now time.Time) {
	s.vain.reset(now)
	s.failures, s.pause, s.broken = 0, 0, time.Time{}
}

// rest leaves the server alone for a while.
func (s *server) rest(now time.Time, because string) {
	s.because = because
	if now.Before(s.broken) {
		return // it has been noted already
	}
	s.pause = min(max(2*s.pause, firstBreak), maxBreak)
	s.broken = now.Add(s.pause)
}

// foreign reports whether a file belongs neither to this user, nor to root, nor to the owner of the directory: its build ID says
// nothing of who made the rest of it.
func (c *cache) foreign(st fs.FileInfo) bool {
	uid, ok := diskcache.Owner(st)
	if !ok || uid == 0 || uid == os.Geteuid() {
		return false
	}
	dir, err := os.Stat(c.dir)
	if err != nil {
		return true
	}
	keeper, _ := diskcache.Owner(dir)
	return uid != keeper
}

// Source is the kind of a source file, by its absolute path in the debug information.
func Source(path string) Kind { return Kind(sourceKind + path) }

const sourceKind = "source"

// maxSource bounds a source file, in bytes.
const maxSource = 16 << 20

// isSource tells a source file, of which nothing can be verified here, from ELF files.
func (k Kind) isSource() bool { return strings.HasPrefix(string(k), sourceKind) }

// urlPath is the kind as servers want it (debuginfod(8), WEBAPI): a source's path is percent-encoded.
func (k Kind) urlPath() string {
	segments := strings.Split(string(k), "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.Join(segments, "/")
}

// maxName is how long the name of a file may be.
const maxName = 255 - len(".XXXXXXXXXX")

// fileName is the kind as elfutils names its file in the cache: a source's path with ## for slashes and #_ for # (by observation
// of elfutils 0.188). A name that no directory takes is cut, with a hash of it all in front.
func (k Kind) fileName() string {
	name := strings.NewReplacer("/", "##", "#", "#_").Replace(string(k))
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := sourceKind + "-" + hex.EncodeToString(sum[:8]) + "-"
	return hash + name[len(name)-maxName+len(hash):]
}

// shown is the kind for a person to read; the path of a source could be anything.
func (k Kind) shown() string {
	if k.isSource() {
		return sourceKind
	}
	return string(k)
}
