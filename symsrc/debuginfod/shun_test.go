package debuginfod

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestShunned holds that a server for which one run has waited in vain costs the next ones no time, until it gives a useful answer or
// its time is over. The time of each run begins anew: runs begin at the same moment.
func TestShunned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache", "servers")
	of := func(t *testing.T) shun {
		t.Helper()
		all := readShuns(path)
		if len(all) > 1 {
			t.Errorf("the file has %v", all)
		}
		return all["http://a"]
	}
	ids := modules(3)
	run := func(name string, pause time.Duration, waits time.Duration, warning string, answer http.HandlerFunc, more func(t *testing.T, b *bubbled)) {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{Wait: 10 * time.Second, Shunned: path}, func(t *testing.T, b *bubbled) {
				time.Sleep(pause)
				begin := time.Now()
				for _, id := range ids {
					b.Fetch(context.Background(), id, Debuginfo)
				}
				if waited := time.Since(begin); waited != waits {
					t.Errorf("waited %v, want %v", waited, waits)
				}
				synctest.Wait()
				if len(b.requests()) == 0 {
					t.Error("it is not asked")
				}
				if warned := b.warned(); (warning == "") != (warned == "") || !strings.Contains(warned, warning) {
					t.Errorf("warned: %q", warned)
				}
				more(t, b)
			}, answer)
		})
	}
	const said = "http://a: no useful answer in an earlier run; not waiting for it until "
	lasts := func(want time.Duration) func(*testing.T, *bubbled) {
		return func(t *testing.T, _ *bubbled) {
			if s := of(t); s.Pause != want || s.Why != "no useful answer" {
				t.Errorf("it remembers %+v", s)
			}
		}
	}
	run("the first", 0, 10*time.Second, "has waited 10s", hang, lasts(firstShun))
	run("the next", 0, 0, said, hang, lasts(firstShun))
	run("after its time", firstShun+time.Minute, 10*time.Second, "has waited 10s", hang, lasts(2*firstShun))
	run("again", firstShun+time.Minute, 0, said, trickles, lasts(2*firstShun))
	run("it is back", 0, 0, said, after(time.Second, good), func(t *testing.T, b *bubbled) {
		time.Sleep(time.Minute)
		synctest.Wait()
		if r := b.Fetch(context.Background(), ids[0], Debuginfo); r.Outcome != Found {
			t.Errorf("%+v", r)
		}
		if s := of(t); s != (shun{}) {
			t.Errorf("it remembers %+v", s)
		}
	})
	run("as before", 0, 3*time.Second, "", after(time.Second, good), func(*testing.T, *bubbled) {})
	ids = modules(20)
	run("more than there is time for", 0, 10*time.Second, "has waited 10s", after(time.Second, good), func(t *testing.T, _ *bubbled) {
		if s := of(t); s != (shun{}) {
			t.Errorf("it remembers %+v of a server that answers", s)
		}
	})
	ids = modules(3)
	for _, damage := range []string{"", "{", `{"http://a": 3}`, `{"http://a":{"until":"9999-01-01T00:00:00Z","pause":9e18}}`, strings.Repeat("[", 2*maxShuns)} {
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		run("damage", 0, 3*time.Second, "", after(time.Second, good), func(*testing.T, *bubbled) {})
	}
}

// TestShunGrows holds that the time doubles up to a day, and that a server that sends a large file slowly is not shunned.
func TestShunGrows(t *testing.T) {
	now := time.Now()
	s := &server{}
	for range 20 {
		before := s.shun.Pause
		if s.avoid(now, "why") == nil || s.avoid(now, "why") != nil {
			t.Fatal("shunned twice, or not at all")
		}
		if want := min(max(2*before, firstShun), maxShun); s.shun.Pause != want || !s.shun.holds(now.Add(want-1)) || s.shun.holds(now.Add(want)) {
			t.Fatalf("%+v after %v", s.shun, before)
		}
		now = s.shun.Until
	}
	if s.shun.Pause != maxShun {
		t.Errorf("at last %v", s.shun.Pause)
	}
	a := &attempt{server: &server{reached: true}, phase: receiving}
	a.server.vain.spent = time.Hour
	if _, vain := a.vain(now); !vain {
		t.Error("nothing came")
	}
	a.moved.Store(aliveBytes)
	if _, vain := a.vain(now); vain {
		t.Error("it sends")
	}
}
