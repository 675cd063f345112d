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

	"qss-filter/symsrc"
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

// TestAfter holds that a file for which an answer did not wait is waited for at the end, and is said to have come; not if Close must
// hurry, and not for long if the server is silent.
func TestAfter(t *testing.T) {
	const module = "/lib/libfoo.so"
	const came = "symbols for libfoo.so came: run again for the 3 frames above"
	for _, c := range []struct {
		name         string
		answer       http.HandlerFunc
		hurry        bool
		answer1, end time.Duration // that the answer, and the end, wait
		warned       []string
	}{
		{"soon", after(40*time.Millisecond, good), false, 40 * time.Millisecond, 0, nil},
		{"late", after(2*time.Second, good), false, 50 * time.Millisecond, 1950 * time.Millisecond, []string{"has waited 50ms", came}},
		{"too late", after(time.Minute, good), false, 50 * time.Millisecond, 2950 * time.Millisecond, []string{"has waited 50ms", "1 of the requested files had not arrived at the end, after a wait of at most 10s"}},
		{"nowhere", after(time.Second, status(404)), false, 50 * time.Millisecond, 950 * time.Millisecond, []string{"has waited 50ms"}},
		{"in a hurry", after(3*time.Second, good), true, 50 * time.Millisecond, 0, []string{"has waited 50ms", "1 of the requested files"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Options{Wait: 50 * time.Millisecond, After: 10 * time.Second}, func(t *testing.T, b *bubbled) {
				begin := time.Now()
				files := Wrap(nowhere{}, b.Client).Find(context.Background(), symsrc.Module{Name: module, BuildID: testID})
				if pending := c.answer1 >= 50*time.Millisecond; (files.Came != nil) != pending || pending && files.Came() {
					t.Error("it is wrong about a file that has not come")
				}
				if files.Awaiting != nil {
					files.Awaiting.Add(3)
				}
				if waited := time.Since(begin); waited != c.answer1 {
					t.Errorf("the answer waited %v, want %v", waited, c.answer1)
				}
				if c.hurry {
					b.Hurry()
				}
				begin = time.Now()
				b.Client.Await()
				if waited := time.Since(begin); waited != c.end {
					t.Errorf("the end waited %v, want %v", waited, c.end)
				}
				if came := files.Came != nil && files.Came(); came != (c.name == "late") {
					t.Errorf("that it came is %v", came)
				}
				b.Client.Close()
				if waited := time.Since(begin); waited != c.end {
					t.Errorf("the end waited %v, want %v", waited, c.end)
				}
				warned := b.warned()
				for _, w := range c.warned {
					if !strings.Contains(warned, w) {
						t.Errorf("warned %q, not %q", warned, w)
					}
				}
				if n := len(b.warnings); n != len(c.warned) {
					t.Errorf("warned %q", warned)
				}
			}, c.answer)
		})
	}
	t.Run("while the log goes on", func(t *testing.T) {
		inBubble(t, Options{Wait: 50 * time.Millisecond, After: 10 * time.Second}, func(t *testing.T, b *bubbled) {
			f := Wrap(nowhere{}, b.Client)
			f.Find(context.Background(), symsrc.Module{Name: module, BuildID: testID}).Awaiting.Add(3)
			time.Sleep(time.Minute)
			synctest.Wait()
			if warned := b.warned(); !strings.Contains(warned, came) {
				t.Errorf("warned %q", warned)
			}
			if files := f.Find(context.Background(), symsrc.Module{Name: module, BuildID: testID}); files.DebugStatus != symsrc.OK {
				t.Errorf("%+v", files)
			}
		}, after(3*time.Second, good))
	})
}

// nowhere finds nothing.
type nowhere struct{}

func (nowhere) Find(context.Context, symsrc.Module) *symsrc.Files { return nil }
