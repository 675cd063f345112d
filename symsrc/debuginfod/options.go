package debuginfod

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

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
