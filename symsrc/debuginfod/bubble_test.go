package debuginfod

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a network within the test, whose time can be that of a bubble: it passes only while all wait.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// bubbled is a client whose time is that of a bubble, with its servers, which note what they are asked for.
type bubbled struct {
	*world
	servers []*http.Server

	mu    sync.Mutex
	asked []string
}

// inBubble runs a test with a client of servers that answer so. It must be the test's last statement.
func inBubble(t *testing.T, o Options, test func(t *testing.T, b *bubbled), answers ...http.HandlerFunc) {
	t.Helper()
	o.CacheDir = filepath.Join(t.TempDir(), "cache")
	synctest.Test(t, func(t *testing.T) {
		b := &bubbled{}
		nets := make(map[string]pipes)
		for i, answer := range answers {
			name := string(rune('a' + i))
			o.URLs = append(o.URLs, "http://"+name)
			nets[name+":80"] = make(pipes)
			s := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b.mu.Lock()
				b.asked = append(b.asked, name+r.URL.Path)
				b.mu.Unlock()
				answer(w, r)
			})}
			b.servers = append(b.servers, s)
			go s.Serve(nets[name+":80"])
		}
		b.world = newWorld(t, o)
		b.now = time.Now
		b.begin.Do(b.connect)
		b.http.Transport.(*http.Transport).DialContext = func(_ context.Context, _, addr string) (net.Conn, error) {
			here, there := net.Pipe()
			nets[addr] <- there
			return here, nil
		}
		test(t, b)
		b.Client.Close()
		for _, s := range b.servers {
			s.Close()
		}
	})
}

// requests returns what was asked for so far, sorted.
func (b *bubbled) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(slices.Values(b.asked))
}

// after answers as another handler, a while later.
func after(d time.Duration, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(d):
			answer(w, r)
		}
	}
}
