package debuginfod

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"qss-filter/symsrc"
)

func TestOptions(t *testing.T) {
	home := t.TempDir()
	for _, c := range []struct {
		name     string
		set      func(o *Options)
		env      string // NAME=value, separated by semicolons
		want     string // what of the client is wanted
		err      string
		warnings string
	}{
		{"nothing", nil, "", "none", "", ""},
		{"environment", nil, "DEBUGINFOD_URLS= http://a/ \t https://b:80/x ima:enforcing http://a", "http://a https://b:80/x", "", ""},
		{"no scheme", nil, "DEBUGINFOD_URLS=localhost:8002", "http://localhost:8002", "", ""},
		{"bad ones in the environment", nil, "DEBUGINFOD_URLS=ftp://a http:// http://b http://c?d=e", "http://b", "",
			"want http, https or file\nwant a host\nwant a host"},
		{"only bad ones", nil, "DEBUGINFOD_URLS=ftp://a", "none", "", "want http, https or file"},
		{"named before environment", func(o *Options) { o.URLs = []string{"http://f", "http://g"} }, "DEBUGINFOD_URLS=http://a", "http://f http://g", "", ""},
		{"bad name", func(o *Options) { o.URLs = []string{"ftp://f"} }, "", "", "want http, https or file", ""},
		{"off", func(o *Options) { o.Off, o.URLs = true, []string{"http://f"} }, "DEBUGINFOD_URLS=http://a", "none", "", ""},
		{"waits", func(o *Options) { o.Wait = time.Minute }, "DEBUGINFOD_URLS=http://a", "http://a wait=1m0s", "", ""},
		{"does not wait", func(o *Options) { o.Wait = -1 }, "DEBUGINFOD_URLS=http://a", "http://a wait=-1ns", "", ""},
		{"limits", nil, "DEBUGINFOD_URLS=http://a;DEBUGINFOD_TIMEOUT=5;DEBUGINFOD_MAXTIME=60;DEBUGINFOD_MAXSIZE=1000;DEBUGINFOD_RETRY_LIMIT=7",
			"http://a timeout=5s maxtime=1m0s size=1000 retries=7", "", ""},
		{"no limits", nil, "DEBUGINFOD_URLS=http://a;DEBUGINFOD_TIMEOUT=0;DEBUGINFOD_MAXTIME=-3;DEBUGINFOD_MAXSIZE=0;DEBUGINFOD_RETRY_LIMIT=0",
			"http://a timeout=-1ns size=-1 retries=0", "", ""},
		{"bad limits", nil, "DEBUGINFOD_URLS=http://a;DEBUGINFOD_TIMEOUT=soon", "http://a", "", "DEBUGINFOD_TIMEOUT=soon: want a number"},
		{"cache", nil, "DEBUGINFOD_URLS=http://a;DEBUGINFOD_CACHE_PATH=/c/d;XDG_CACHE_HOME=/x", "http://a cache=/c/d", "", ""},
		{"cache of the user", nil, "DEBUGINFOD_URLS=http://a;XDG_CACHE_HOME=/x;HOME=/h", "http://a cache=/x/debuginfod_client", "", ""},
		{"cache at home", nil, "DEBUGINFOD_URLS=http://a;HOME=/h", "http://a cache=/h/.cache/debuginfod_client", "", ""},
		{"cache of the first releases", nil, "DEBUGINFOD_URLS=http://a;XDG_CACHE_HOME=/x;HOME=" + home,
			"http://a cache=" + home + "/.debuginfod_client_cache", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.name, "first releases") {
				if err := os.Mkdir(filepath.Join(home, ".debuginfod_client_cache"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			var warnings []string
			o := Options{
				Warn: func(err error) { warnings = append(warnings, err.Error()) },
				Environ: func(name string) string {
					for pair := range strings.SplitSeq(c.env, ";") {
						if value, ok := strings.CutPrefix(pair, name+"="); ok {
							return value
						}
					}
					return ""
				},
			}
			if c.set != nil {
				c.set(&o)
			}
			client, err := New(o)
			if err != nil || c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || c.err == "" {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			defer client.Close()
			if got := describe(client); got != c.want && !strings.HasPrefix(got, c.want+" cache=") {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			wanted := strings.Split(c.warnings, "\n")
			if c.warnings == "" {
				wanted = nil
			}
			if len(warnings) != len(wanted) {
				t.Fatalf("warned %q", warnings)
			}
			for i, want := range wanted {
				if !strings.Contains(warnings[i], want) {
					t.Errorf("warned %q, want %q", warnings[i], want)
				}
			}
		})
	}
}

// describe returns what differs from the defaults.
func describe(c *Client) string {
	if c == nil {
		return "none"
	}
	var words []string
	for _, s := range c.servers {
		words = append(words, s.prefix)
	}
	add := func(name string, value, preset any) {
		if value != preset {
			words = append(words, fmt.Sprintf("%s=%v", name, value))
		}
	}
	add("wait", c.opt.Wait, 10*time.Second)
	add("timeout", c.opt.Timeout, 90*time.Second)
	add("maxtime", c.opt.MaxTime, time.Duration(-1))
	add("size", c.opt.MaxSize, int64(2<<30))
	add("retries", c.opt.Retries, 2)
	add("cache", c.opt.CacheDir, "")
	return strings.Join(words, " ")
}

// terminal is what is written to a terminal.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// TestProgress: a wait shows one line, which is gone when the wait is over.
func TestProgress(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, held(release))
	screen := new(terminal)
	w := newWorld(t, Options{URLs: []string{s.URL}, Progress: screen})
	done := make(chan Result)
	go func() { done <- w.Fetch(context.Background(), testID, Debuginfo) }()
	until(t, "a line", func() bool { return strings.Contains(screen.String(), "asking 127.0.0.1") })
	close(release)
	if r := <-done; r.Outcome != Found {
		t.Errorf("%+v", r)
	}
	text := screen.String()
	if !strings.HasPrefix(text, "\rdebuginfod: debuginfo 0123456789ab: asking 127") || !strings.HasSuffix(text, "\r\x1b[K") ||
		strings.Contains(text, "\n") {
		t.Errorf("%q", text)
	}
	w.Fetch(context.Background(), "\x02", Debuginfo) // too short to be shown
	w.progress.waiting = []*fetch{{
		key: key{symsrc.BuildID(testID), Debuginfo}, attempts: []*attempt{{server: w.servers[0], phase: receiving}},
	}, nil, nil}
	w.progress.waiting[0].attempts[0].moved.Store(3 << 20)
	w.progress.waiting[0].attempts[0].total.Store(5 << 30)
	want := "debuginfod: debuginfo 0123456789ab and 2 more: 3.0 MiB of 5.0 GiB from 127.0.0.1:"
	if got := w.progress.line(w.Client); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
