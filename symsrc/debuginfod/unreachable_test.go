package debuginfod

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// TestUnreachable: neither a refused connection nor one that does not come about holds up the caller for long, and the
// second file not at all. The client would wait for an hour.
func TestUnreachable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	t.Run("refused", func(t *testing.T) {
		w := newWorld(t, Options{URLs: []string{"http://" + closed.Addr().String()}})
		for _, id := range []symsrc.BuildID{"\x01", "\x02", "\x03"} {
			if r := w.Fetch(context.Background(), id, Debuginfo); r.Outcome != Failed || !strings.Contains(r.Why, "refused") {
				t.Errorf("%+v", r)
			}
		}
		if text := w.warned(); strings.Count(text, "\n") != 0 || !strings.Contains(text, "refused") {
			t.Errorf("warned: %s", text)
		}
		if leftovers(t, w.cache) != "" {
			t.Errorf("left in the cache: %s", leftovers(t, w.cache))
		}
	})
	t.Run("not resolved", func(t *testing.T) {
		w := newWorld(t, Options{URLs: []string{"http://nobody.invalid"}})
		w.dial(func(context.Context) error {
			return &net.DNSError{Err: "no such host", Name: "nobody.invalid", IsNotFound: true}
		})
		if r := w.Fetch(context.Background(), "\x01", Debuginfo); r.Outcome != Failed || !strings.Contains(r.Why, "no such host") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("no answer", func(t *testing.T) {
		w := newWorld(t, Options{URLs: []string{"http://nobody.invalid"}})
		w.now = time.Now
		dials := 0
		w.dial(func(ctx context.Context) error {
			dials++
			<-ctx.Done()
			return ctx.Err()
		})
		for range 2 {
			if r := w.Fetch(context.Background(), testID, Debuginfo); r.Outcome != Pending {
				t.Errorf("%+v", r)
			}
		}
		w.Close()
		if dials != 1 {
			t.Errorf("%d connections", dials)
		}
	})
}

// dial lets no connection come about.
func (w *world) dial(fail func(context.Context) error) {
	w.begin.Do(w.connect)
	w.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return nil, fail(ctx)
	}
}

// TestRefusedAgain: a server that is back is seen after the pause, and the pauses become longer.
func TestRefusedAgain(t *testing.T) {
	w := newWorld(t, Options{URLs: []string{"http://nobody.invalid"}})
	dials := 0
	w.dial(func(context.Context) error {
		dials++
		return errors.New("connection refused")
	})
	for i, pause := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, maxBreak, maxBreak} {
		r := w.Fetch(context.Background(), testID, Debuginfo)
		if r.Outcome == Pending {
			until(t, "an answer", r.News)
			r = w.Fetch(context.Background(), testID, Debuginfo)
		}
		if r.Outcome != Failed || dials != i+1 {
			t.Fatalf("%+v after %d connections, want %d", r, dials, i+1)
		}
		w.clock.advance(pause - time.Second)
		if r.News() {
			t.Errorf("news before %v", pause)
		}
		w.clock.advance(2 * time.Second)
	}
}
