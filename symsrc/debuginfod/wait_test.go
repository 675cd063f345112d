package debuginfod

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"qss-filter/symsrc"
)

// until waits for something that comes about by itself.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		select {
		case <-t.Context().Done():
			t.Fatalf("in vain: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

// held answers as well as good, but only once the channel is closed.
func held(release <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
			good(w, r)
		case <-r.Context().Done():
		}
	}
}

func TestPending(t *testing.T) {
	inBubble(t, Options{Wait: time.Second}, func(t *testing.T, b *bubbled) {
		r := b.Fetch(context.Background(), testID, Debuginfo)
		if r.Outcome != Pending || r.News == nil || r.News() || r.Why != "still being asked for" {
			t.Fatalf("%+v", r)
		}
		if again := b.Fetch(context.Background(), testID, Debuginfo); again.Outcome != Pending || len(b.requests()) != 1 {
			t.Errorf("outcome %d after %q", again.Outcome, b.requests())
		}
		if !strings.Contains(b.warned(), "the output has waited 1s for servers, last for http://a, and no longer waits;") {
			t.Errorf("warned: %s", b.warned())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !r.News() {
			t.Error("no news")
		}
		if r = b.Fetch(context.Background(), testID, Debuginfo); r.Outcome != Found || r.News != nil || len(b.requests()) != 1 {
			t.Errorf("%+v after %q", r, b.requests())
		}
	}, after(2*time.Second, good))
}

// TestKeptIsNotWaitedFor holds that what the cache on disk has is found when there is no more time to wait.
func TestKeptIsNotWaitedFor(t *testing.T) {
	s := serve(t, good)
	w := newWorld(t, Options{URLs: []string{s.URL}})
	for _, id := range modules(20) {
		w.Fetch(context.Background(), id, Debuginfo)
	}
	w = newWorld(t, Options{URLs: []string{s.URL}, CacheDir: w.cache, Wait: -1})
	for _, id := range modules(20) {
		if r := w.Fetch(context.Background(), id, Debuginfo); r.Outcome != Found {
			t.Errorf("%+v", r)
		}
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	s := serve(t, hang)
	w := newWorld(t, Options{URLs: []string{s.URL}})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if r := w.Fetch(ctx, testID, Debuginfo); r.Outcome != Pending {
		t.Errorf("%+v", r)
	}
	w.Close()
	if left := leftovers(t, w.cache); left != "" {
		t.Errorf("left in the cache: %s", left)
	}
	if !strings.Contains(w.warned(), "1 of the requested files had not arrived") {
		t.Errorf("warned: %s", w.warned())
	}
}

// TestAskedAgain: after trouble the same server is asked again once its time has come, in the background.
func TestAskedAgain(t *testing.T) {
	s := serve(t, first(status(500), status(404), good))
	w := newWorld(t, Options{URLs: []string{s.URL}, Retries: -1})
	steps := []struct {
		outcome Outcome
		pause   time.Duration // until the next one
	}{
		{Failed, retryFailed},
		{Missing, time.Hour + time.Second},
		{Found, 0},
	}
	for i, step := range steps {
		r := w.Fetch(context.Background(), testID, Debuginfo)
		if r.Outcome != step.outcome || s.asked.Load() != int64(i+1) {
			t.Fatalf("step %d: %+v after %d requests", i, r, s.asked.Load())
		}
		if step.pause == 0 {
			break
		}
		if r.News() {
			t.Errorf("step %d: news too early", i)
		}
		w.clock.advance(step.pause)
		if !r.News() {
			t.Errorf("step %d: no news", i)
		}
		r = w.Fetch(context.Background(), testID, Debuginfo) // has waited long enough
		if r.Outcome == Pending {
			until(t, "another answer", r.News)
		}
	}
}

// TestSlowServer: one that brings less than 100 KiB within the timeout is given up, with what it brought.
func TestSlowServer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(debugELF(testID)[:1000])
		w.(http.Flusher).Flush()
		hang(w, r)
	})
	w := newWorld(t, Options{URLs: []string{s.URL}, Timeout: 50 * time.Millisecond, Retries: -1})
	r := w.Fetch(context.Background(), testID, Debuginfo)
	if r.Outcome != Failed || !strings.Contains(r.Why, "less than 100 KiB within 50ms") {
		t.Errorf("%+v", r)
	}
	w = newWorld(t, Options{URLs: []string{s.URL}, MaxTime: 50 * time.Millisecond})
	if r := w.Fetch(context.Background(), testID, Debuginfo); r.Outcome != Failed || !strings.Contains(r.Why, "not complete after 50ms") {
		t.Errorf("%+v", r)
	}
}

// TestManyAtOnce: callers at once cause one request, and too many downloads are refused until there is room.
func TestManyAtOnce(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, held(release))
	w := newWorld(t, Options{URLs: []string{s.URL}})
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			if r := w.Fetch(context.Background(), testID, Debuginfo); r.Outcome != Found {
				t.Errorf("%+v", r)
			}
		})
	}
	until(t, "a request", func() bool { return s.asked.Load() == 1 })
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for i := range maxRunning - 1 {
		w.Fetch(done, symsrc.BuildID("\x02"+string(rune(' '+i))), Debuginfo)
	}
	r := w.Fetch(context.Background(), "\x03", Debuginfo)
	if r.Outcome != Failed || r.News() {
		t.Errorf("%+v", r)
	}
	close(release)
	callers.Wait()
	until(t, "room", r.News)
	if r := w.Fetch(context.Background(), "\x03", Debuginfo); r.Outcome != Found {
		t.Errorf("%+v", r)
	}
	until(t, "the other downloads", func() bool { return s.asked.Load() == maxRunning+1 })
}

// TestTwoClients: two processes on one cache do not disturb each other, and leave whole files only.
func TestTwoClients(t *testing.T) {
	s := serve(t, good)
	dir := filepath.Join(t.TempDir(), "a", "b")
	var worlds []*world
	for range 4 {
		worlds = append(worlds, newWorld(t, Options{URLs: []string{s.URL}, CacheDir: dir}))
	}
	var all sync.WaitGroup
	for _, w := range worlds {
		for i := range 10 {
			all.Go(func() {
				id := symsrc.BuildID("\x0a" + string(rune('0'+i)))
				r := w.Fetch(context.Background(), id, Debuginfo)
				if _, err := verifyFile(r.Path, key{id, Debuginfo}); r.Outcome != Found || err != nil {
					t.Errorf("%+v %v", r, err)
				}
			})
		}
	}
	all.Wait()
	for _, w := range worlds {
		w.Close()
	}
	if left, want := leftovers(t, dir), strings.TrimSpace(strings.Repeat("debuginfo ", 10)); left != want {
		t.Errorf("left in the cache: %s", left)
	}
}

func TestCacheCannotBeWritten(t *testing.T) {
	dir := t.TempDir() + "/file"
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, good)
	w := newWorld(t, Options{URLs: []string{s.URL}, CacheDir: dir})
	for range 2 {
		if r := w.Fetch(context.Background(), testID, Debuginfo); r.Outcome != Failed || !strings.Contains(r.Why, "cache") {
			t.Errorf("%+v", r)
		}
	}
	if text := w.warned(); s.asked.Load() != 0 || strings.Count(text, "\n") != 0 || !strings.Contains(text, "DEBUGINFOD_CACHE_PATH") {
		t.Errorf("%d requests, warned: %s", s.asked.Load(), text)
	}
}
