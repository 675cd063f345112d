// Package debuginfod downloads debug information by build ID from debuginfod servers, into the cache directory that elfutils
// and gdb share.
//
// Each build ID is requested once, from all servers at the same time. All queries of a run together wait for a bounded time; after
// that, requests and downloads continue in the background, and a later query finds the results. A file with another
// build ID, or a truncated one, is not used.
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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// Kind is a kind of file as the path of a request has it: Debuginfo, or a Source.
type Kind string

// Debuginfo is a file with .debug_info: a separate one, or the program itself. Executable is the program.
const (
	Debuginfo  Kind = "debuginfo"
	Executable Kind = "executable"
)

// Limits of a Client.
const (
	maxFetches = 1 << 14 // remembered
	maxRunning = 64      // running
)

// key names one file.
type key struct {
	id   symsrc.BuildID
	kind Kind
}

// Client asks servers. It may be used by several goroutines at once. A nil Client has no servers.
type Client struct {
	opt      Options
	servers  []*server
	cache    cache
	header   http.Header // of requests to debuginfod servers
	plain    http.Header // of those to stores
	own      http.Header // of requests to hosts that the user has not named
	logins   map[string]login
	tokens   map[string]string // by the hosts of stores
	signer   *signer           // of requests to buckets of S3
	progress progress
	now      func() time.Time

	begin  sync.Once // makes http
	http   *http.Client
	ctx    context.Context
	cancel context.CancelCauseFunc
	jobs   sync.WaitGroup

	verifying sync.Mutex // one file at a time is verified

	mu        sync.Mutex
	waited    stopwatch // while any caller waits
	fetches   map[key]*fetch
	misses    misses
	running   int // fetches that are not done
	announced []symsrc.Module
	looking   bool // for those
	recalled  bool // what earlier runs remember of the servers
	ending    bool // it waits for downloads at the end
	hurried   bool // it does not
	warned    map[string]bool
}

// New returns a client for the options; fields that are not set are taken from the environment. It is nil if no server is named. No
// connection is made and no file is touched before the first query.
func New(o Options) (*Client, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if len(o.asked()) == 0 {
		return nil, nil
	}
	c := &Client{opt: o, now: time.Now, fetches: make(map[key]*fetch), warned: make(map[string]bool)}
	c.cache = cache{dir: o.CacheDir, now: func() time.Time { return c.now() }, free: diskcache.Free}
	c.progress.out = o.Progress
	seen := make(map[string]bool)
	for i, prefix := range o.asked() {
		u, err := parseURL(prefix)
		if err != nil {
			return nil, err
		}
		s := newServer(u)
		s.store.any = i < len(o.Stores)
		s.store.s3 = s.store.any && o.s3[i]
		if !seen[s.prefix] {
			seen[s.prefix] = true
			c.servers = append(c.servers, s)
		}
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c, nil
}

// CheckURL returns an error if text is not the URL of a server.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

// parseURL reads the URL of a server. Without a scheme it means http, as in curl and so in elfutils.
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

// Hurry makes Close not wait. It may be called at any time.
func (c *Client) Hurry() {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hurried = true
	}
}

// Await waits for downloads as Options.After says. Close does not wait after it.
func (c *Client) Await() {
	if c != nil {
		c.finish()
	}
}

// Close waits for downloads as Options.After says, unless Await has, cancels all others and removes their temporary files. The client must not be used
// after that, but for Hurry.
func (c *Client) Close() {
	if c == nil {
		return
	}
	c.finish()
	c.mu.Lock()
	n := c.running
	if c.awaitsNone(c.now()) {
		n = 0 // it was said
	}
	c.mu.Unlock()
	c.cancel(errClosed)
	c.jobs.Wait()
	c.saveMisses()
	if n > 0 {
		c.warnOf("unfinished", &symsrc.AvoidableError{Option: "debuginfod.Wait",
			Err: fmt.Errorf("%d of the requested files had not arrived at the end, after a wait of at most %v", n, c.opt.Wait)})
	}
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// warn reports something once per cause.
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

// Outcome is the outcome of a query.
type Outcome uint8

const (
	Found   Outcome = iota // the file is there
	Missing                // no server has it
	Failed                 // a server that may have it could not be asked, or sent something useless
	Pending                // the request is not finished
)

// Result is the answer to a query.
type Result struct {
	Outcome Outcome
	// Path is the path of the file, if it was found. Its build ID is verified.
	Path string
	// Debug reports whether it has .debug_info.
	Debug bool
	// Tried lists the places and what was found there, for messages.
	Tried []string
	// Why says why the file was not found.
	Why string
	// News reports whether another query may have another answer by now. It is cheap. It is nil if nothing will change.
	News func() bool
	// Came reports whether a file that is Pending has come by now. It is nil for others.
	Came func() bool
	// Awaiting is for symsrc.Files.
	Awaiting *atomic.Int64
}

// Fetch asks for one file. It waits until the file is there, ctx ends, or all callers together have waited for Options.Wait;
// then the answer is Pending. It does not wait for files that are in the cache.
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
		c.forget(k, f) // the cache has been cleaned
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

// Options are the servers and limits. A zero value means the variable of the environment (debuginfod-client-config(7)), or, if that
// is not set, the default given here.
type Options struct {
	// URLs are the URLs of servers; DEBUGINFOD_URLS.
	URLs []string
	// Off disables all servers of URLs, even those of the environment.
	Off bool
	// Stores are the URLs of servers that may have another layout.
	Stores []string
	// CacheDir is the cache directory; DEBUGINFOD_CACHE_PATH, or debuginfod_client in the user's cache directory.
	CacheDir string
	// Wait bounds how long all calls of Fetch together wait: 10 s. Negative: they do not wait.
	Wait time.Duration
	// After bounds how long Close waits for files that answers did not wait for: not at all. A later run has them.
	After time.Duration
	// Timeout bounds the time for 100 KiB: DEBUGINFOD_TIMEOUT, 90 s. Negative: no bound.
	Timeout time.Duration
	// MaxTime bounds the time of a whole download; DEBUGINFOD_MAXTIME, no bound.
	MaxTime time.Duration
	// MaxSize bounds a file, in bytes: DEBUGINFOD_MAXSIZE, 2 GiB. Negative, or 0 in the variable: no bound.
	MaxSize int64
	// Retries is how often a request is repeated after a bad answer: DEBUGINFOD_RETRY_LIMIT, 2. Negative: never.
	Retries int
	// HeadersFile has the headers of every request, one per line; DEBUGINFOD_HEADERS_FILE.
	HeadersFile string
	// Netrc is a file with the logins of stores: NETRC, ~/.netrc. Debuginfod servers have HeadersFile, as with other clients.
	Netrc string
	// Via names the server that asks others, so that one which asks itself notices; "" for none.
	Via string
	// Shunned is a file in which runs tell each other of servers that do not answer; "" for none.
	Shunned string
	// Missed is a file in which runs tell each other of files that servers do not have; "" for none.
	Missed string
	// MaxCache bounds the bytes of the files in the cache directory, of which those that were used the longest ago are removed; 0 is no bound.
	MaxCache int64
	// Programs also asks about programs that were found without a build ID to compare, by the one that they have.
	Programs bool
	// Progress, if not nil, is a terminal that shows what callers wait for; standard error if DEBUGINFOD_PROGRESS is set.
	Progress io.Writer
	// Warn, if not nil, is called once per cause with what prevents downloads.
	Warn func(err error)
	// Environ looks up a variable of the environment; nil is os.Getenv.
	Environ func(name string) string

	s3 []bool // which of Stores are buckets of S3
}

const (
	defaultWait    = 10 * time.Second
	defaultTimeout = 90 * time.Second
	defaultMaxSize = 2 << 30
	defaultRetries = 2
	maxRetries     = 100
)

// complete fills in the fields that are not set.
func (o *Options) complete() error {
	if o.Environ == nil {
		o.Environ = os.Getenv
	}
	if len(o.URLs) == 0 && !o.Off {
		o.URLs = o.environURLs()
	}
	o.Stores = o.buckets()
	if len(o.asked()) == 0 {
		return nil
	}
	o.Wait = cmp.Or(o.Wait, defaultWait)
	o.Timeout = cmp.Or(o.Timeout, o.seconds("DEBUGINFOD_TIMEOUT", defaultTimeout))
	o.MaxTime = cmp.Or(o.MaxTime, o.seconds("DEBUGINFOD_MAXTIME", -1))
	o.HeadersFile = cmp.Or(o.HeadersFile, o.Environ("DEBUGINFOD_HEADERS_FILE"))
	if home := o.Environ("HOME"); o.Netrc == "" {
		if o.Netrc = o.Environ("NETRC"); o.Netrc == "" && home != "" {
			o.Netrc = filepath.Join(home, ".netrc")
		}
	}
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

// asked returns the URLs that are asked, those of stores first.
func (o *Options) asked() []string {
	if o.Off {
		return o.Stores
	}
	return slices.Concat(o.Stores, o.URLs)
}

// buckets returns the stores with the addresses of those that are buckets.
func (o *Options) buckets() (stores []string) {
	o.s3 = nil
	for _, text := range o.Stores {
		o.s3 = append(o.s3, strings.HasPrefix(text, s3Scheme))
		stores = append(stores, bucketURL(text, o.Environ("AWS_ENDPOINT_URL_S3"), o.Environ("AWS_REGION")))
	}
	return stores
}

// environURLs returns the servers of the environment. The variable may have other words (elfutils 0.192: "ima:enforcing").
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

// number reads a number from a variable, and reports whether there is one.
func (o *Options) number(name string) (n int64, ok bool) {
	text := o.Environ(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		o.complain("%s=%s: want a number; using the default", name, text)
	}
	return n, err == nil
}

// seconds reads a time in seconds from a variable. A value of 0 or less means no limit, which is returned as -1.
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

// chooseCache chooses the cache directory as elfutils does: that of its first releases is used if it exists.
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

// Servers returns the URLs of the servers that are asked: those of URLs only if Off is not set.
func (o Options) Servers() []string {
	o.Warn = nil
	if o.Environ == nil {
		o.Environ = os.Getenv
	}
	if len(o.URLs) == 0 && !o.Off {
		o.URLs = o.environURLs()
	}
	o.Stores = o.buckets()
	return o.asked()
}

// Limits for servers that cannot be reached, or that are useless.
const (
	// patience bounds how long callers wait for a server in total before it accepts its first connection.
	patience = 700 * time.Millisecond
	// A server that cannot be reached, or that sent maxFailures useless files in a row, is not asked for firstBreak. The next break
	// is twice as long, and so on.
	firstBreak, maxBreak = 30 * time.Second, 10 * time.Minute
	maxFailures          = 4
	// perServer bounds the concurrent requests to one server.
	perServer = 8
)

// server is one server and what is known about it. Client.mu guards what changes.
type server struct {
	prefix string // without a slash at its end
	name   string // for messages: without a password
	slots  chan struct{}
	store  store

	reached  bool      // the last connection succeeded
	hope     time.Time // before the first connection: until when to wait for it; zero before the first try
	vain     stopwatch // while callers wait for it, since its last useful answer
	failures int       // failed requests since then
	trial    *attempt  // the only attempt that asks after too many failures
	broken   time.Time // when its break ends
	pause    time.Duration
	because  string // why it has a break
	shun     shun   // what other runs must know, or, if old is set, know
	old      bool   // an earlier run found it: callers do not wait
}

func newServer(u *url.URL) *server {
	return &server{
		prefix: strings.TrimRight(u.String(), "/"), name: strings.TrimRight(u.Redacted(), "/"),
		slots: make(chan struct{}, perServer),
	}
}

// urlPath returns the path of a file below a server's URL (debuginfod(8), WEBAPI).
func (k key) urlPath() string { return "/buildid/" + k.id.String() + "/" + k.kind.urlPath() }

// dial records that a connection is about to be made.
func (s *server) dial(now time.Time) {
	if s.hope.IsZero() {
		s.hope = now.Add(patience)
	}
}

// useful records a useful answer; that there is no such file is one.
func (s *server) useful(now time.Time) {
	s.vain.reset(now)
	s.failures, s.pause, s.broken = 0, 0, time.Time{}
}

// rest starts a break of the server.
func (s *server) rest(now time.Time, because string) {
	s.because = because
	if now.Before(s.broken) {
		return // it has a break already
	}
	s.pause = min(max(2*s.pause, firstBreak), maxBreak)
	s.broken = now.Add(s.pause)
}

// foreign reports whether a file belongs neither to this user, nor to root, nor to the owner of the directory. Its build ID does not
// prove who made the rest of it.
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

// Source returns the kind of a source file with that absolute path in the debug information.
func Source(path string) Kind { return Kind(sourceKind + path) }

const sourceKind = "source"

// symbolsKind and symExt are around the name of a module in the kind of its symbol file.
const symbolsKind, symExt = "breakpad/", ".sym"

// programKind is before the name of a module in the kind of its program.
const programKind = "program/"

// Symbols returns the kind of the symbol file of Breakpad for a module of that file name, "" if stores cannot have one of such a name.
func Symbols(name string) Kind {
	if name = storedName(name); name == "" {
		return ""
	}
	return Kind(symbolsKind + name + symExt)
}

// Program returns the kind of the program of that file name in stores that have programs by their names, "" if they cannot have one.
func Program(name string) Kind {
	if name = storedName(name); name == "" {
		return ""
	}
	return Kind(programKind + name)
}

// storedName returns the file name of a module, "" if stores cannot have files of such a name.
func storedName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if name == "" || name == "." || name == ".." || len(name) > maxName-len(symbolsKind+symExt) || strings.ContainsFunc(name, unicode.IsControl) {
		return ""
	}
	return name
}

// isProgram reports whether it is a program by its name.
func (k Kind) isProgram() bool { return strings.HasPrefix(string(k), programKind) }

// isSymbols reports whether it is a symbol file.
func (k Kind) isSymbols() bool { return strings.HasPrefix(string(k), symbolsKind) }

// symbolFile returns the name of a symbol file.
func (k Kind) symbolFile() string { return strings.TrimPrefix(string(k), symbolsKind) }

// maxSource bounds a source file, in bytes.
const maxSource = 16 << 20

// isSource reports whether it is a source file, which cannot be verified here, and not an ELF file.
func (k Kind) isSource() bool { return strings.HasPrefix(string(k), sourceKind) }

// urlPath returns the kind as in a URL (debuginfod(8), WEBAPI): a source's path is percent-encoded.
func (k Kind) urlPath() string {
	segments := strings.Split(string(k), "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.Join(segments, "/")
}

// maxName is the maximum length of a file name.
const maxName = 255 - len(".XXXXXXXXXX")

// fileName returns the name of the file in the cache, as elfutils has it: a source's path with ## for slashes and #_ for # (by
// observation of elfutils 0.188). A name that is too long is cut, with a hash of the whole name in front.
func (k Kind) fileName() string {
	name := strings.NewReplacer("/", "##", "#", "#_").Replace(string(k))
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := sourceKind + "-" + hex.EncodeToString(sum[:8]) + "-"
	return hash + name[len(name)-maxName+len(hash):]
}

// shown returns the kind for messages; the path of a source may have any bytes.
func (k Kind) shown() string {
	switch {
	case k.isSource():
		return sourceKind
	case k.isSymbols():
		return strings.TrimSuffix(symbolsKind, "/")
	case k.isProgram():
		return strings.TrimSuffix(programKind, "/")
	}
	return string(k)
}
