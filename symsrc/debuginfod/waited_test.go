package debuginfod

import (
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// modules are build IDs of a log.
func modules(n int) (ids []symsrc.BuildID) {
	for i := range n {
		ids = append(ids, symsrc.BuildID(fmt.Sprintf("\x01\x02%03d", i)))
	}
	return ids
}

// trickles sends the beginning of a file, and then a byte now and then.
func trickles(w http.ResponseWriter, r *http.Request) {
	w.Write([]byte("\x7fELF\x02\x01\x01"))
	for r.Context().Err() == nil {
		w.(http.Flusher).Flush()
		after(5*time.Second, content([]byte{0}))(w, r)
	}
}

// dies sends the first half of a file.
func dies(w http.ResponseWriter, r *http.Request) {
	b := debugELF(testID)
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	w.Write(b[:len(b)/2])
	w.(http.Flusher).Flush()
	after(time.Second, cut)(w, r)
}

// bomb sends a megabyte of zeros as often as asked for, packed.
func bomb(megabytes int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write([]byte("\x7fELF\x02\x01\x01"))
		for range megabytes {
			z.Write(make([]byte, 1<<20))
		}
		z.Close()
	}
}

// TestWaitedInAll asks each kind of server for 200 modules, one after the other. However it fails, callers are held up for 10 s in
// all, and a module that is missing costs one request.
func TestWaitedInAll(t *testing.T) {
	circle := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }
	for _, c := range []struct {
		name     string
		answer   http.HandlerFunc
		waited   time.Duration // exactly
		requests int           // at most, until all that is of use has come
		outcome  Outcome       // of the last module
		later    Outcome       // of all in the end
	}{
		{"missing", status(404), 0, 200, Missing, Missing},
		{"missing, slowly", after(3*time.Second, status(404)), 10 * time.Second, 200, Failed, Missing},
		{"hangs", hang, 10 * time.Second, 40, Failed, Failed},
		{"trickles", trickles, 10 * time.Second, 40, Failed, Failed},
		{"cuts", cut, 2400 * time.Millisecond, 3*maxFailures + 3, Failed, Failed},
		{"cuts, slowly", after(time.Second, cut), 10 * time.Second, 40, Failed, Failed},
		{"dies on the way", dies, 10 * time.Second, 40, Failed, Failed},
		{"error", status(500), 2400 * time.Millisecond, 3*maxFailures + 3, Failed, Failed},
		{"error, slowly", after(3*time.Second, status(500)), 10 * time.Second, 40, Failed, Failed},
		{"moved in circles", circle, 0, (maxFailures + 1) * maxRedirects, Failed, Failed},
		// All slots fail at once, and each but the last of those that count can be taken again before the server is left alone.
		{"moved in circles, slowly", after(time.Second, circle), 10 * time.Second, (perServer + maxFailures - 1) * maxRedirects, Failed, Failed},
		{"no ELF file", content([]byte("<html>please log in</html>")), 0, maxFailures + 1, Failed, Failed},
		{"of another build", content(debugELF("\x66")), 0, maxFailures + 1, Failed, Failed},
		{"bomb", bomb(8), 0, maxFailures + 1, Failed, Failed},
		{"good", good, 0, 200, Found, Found},
		{"good, slowly", after(3*time.Second, good), 10 * time.Second, 200, Failed, Found},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Options{Wait: defaultWait, Timeout: defaultTimeout, MaxSize: 4 << 20}, func(t *testing.T, b *bubbled) {
				begin := time.Now()
				var last Result
				ids := modules(200)
				for _, id := range ids {
					last = b.Fetch(context.Background(), id, Debuginfo)
				}
				if waited := time.Since(begin); waited != c.waited || last.Outcome != c.outcome {
					t.Errorf("waited %v, want %v; the last one: %+v", waited, c.waited, last)
				}
				if len(strings.Split(b.warned(), "\n")) > 2 {
					t.Errorf("warned: %s", b.warned())
				}
				for range 10 {
					time.Sleep(30 * time.Second) // what is under way ends
					left := 0
					for _, id := range ids {
						if last = b.Fetch(context.Background(), id, Debuginfo); last.Outcome != c.later {
							left++
						}
					}
					if left == 0 || c.later == Failed {
						break
					}
				}
				if waited := b.waited.shows(time.Now()); waited != c.waited {
					t.Errorf("waited %v in the end", waited)
				}
				if c.later == Failed && last.Outcome == Pending {
					last.Outcome = Failed
				}
				if got := b.requests(); len(got) > c.requests || last.Outcome != c.later {
					t.Errorf("%d requests, in the end %+v", len(got), last)
				}
			}, c.answer)
		})
	}
}

// TestOneRequest holds that a missing module is asked for once, as often as it is seen and by whatever name.
func TestOneRequest(t *testing.T) {
	inBubble(t, Options{Wait: defaultWait}, func(t *testing.T, b *bubbled) {
		none := &symsrc.Files{Elf: "/bin/a", ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: "elf not found"}
		f := Wrap(finderFunc(func(symsrc.Module) *symsrc.Files { return none }), b.Client)
		for i := range 50 {
			f.Find(context.Background(), symsrc.Module{Name: fmt.Sprint("/bin/", i%5), BuildID: testID})
		}
		want := []string{"a/buildid/" + testID.String() + "/debuginfo", "b/buildid/" + testID.String() + "/debuginfo"}
		if got := b.requests(); !slices.Equal(got, want) {
			t.Errorf("asked for %q", got)
		}
	}, status(404), status(404))
}

// TestWaitedTogether holds that callers at once spend the time at once.
func TestWaitedTogether(t *testing.T) {
	inBubble(t, Options{Wait: defaultWait}, func(t *testing.T, b *bubbled) {
		begin := time.Now()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				for _, id := range modules(80)[10*i:][:10] {
					b.Fetch(context.Background(), id, Debuginfo)
				}
			})
		}
		all.Wait()
		if waited := time.Since(begin); waited != defaultWait || b.waited.shows(time.Now()) != defaultWait {
			t.Errorf("waited %v, counted %v", waited, b.waited.shows(time.Now()))
		}
	}, hang)
}

// TestBesideSilent holds that a server which sends nothing leaves half of the time to the others, and that it is waited for again
// once it has been of use.
func TestBesideSilent(t *testing.T) {
	var helpful sync.Map
	inBubble(t, Options{Wait: defaultWait, Timeout: -1}, func(t *testing.T, b *bubbled) {
		begin := time.Now()
		ids := modules(30)
		for _, id := range ids[:20] {
			if r := b.Fetch(context.Background(), id, Debuginfo); r.Outcome != Pending {
				t.Fatalf("%+v", r)
			}
		}
		if waited := time.Since(begin); waited != defaultWait/2 || !strings.Contains(b.warned(), "http://a: no useful answer within 5s") {
			t.Errorf("waited %v, warned: %s", waited, b.warned())
		}
		helpful.Store("a", true)
		time.Sleep(time.Minute)
		if r := b.Fetch(context.Background(), ids[0], Debuginfo); r.Outcome != Found {
			t.Errorf("%+v", r)
		}
		begin = time.Now()
		for _, id := range ids[20:] {
			b.Fetch(context.Background(), id, Debuginfo)
		}
		if waited := time.Since(begin); waited != defaultWait/2 {
			t.Errorf("waited %v more", waited)
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, ok := helpful.Load("a"); ok {
				after(time.Second, good)(w, r)
				return
			}
			time.Sleep(time.Second)
		}
	}, status(404))
}

// TestTired holds that a server of no use is asked again after a while, for one module, and for all once it is of use.
func TestTired(t *testing.T) {
	var healthy sync.Map
	inBubble(t, Options{Wait: defaultWait}, func(t *testing.T, b *bubbled) {
		ids := modules(100)
		ask := func(ids []symsrc.BuildID) (found int) {
			for _, id := range ids {
				if r := b.Fetch(context.Background(), id, Debuginfo); r.Outcome == Found {
					found++
				}
			}
			return found
		}
		ask(ids)
		if n := len(b.requests()); n != 3*maxFailures || !strings.Contains(b.warned(), "HTTP 500 Internal Server Error; not asking it again for 30s") {
			t.Errorf("%d requests, warned: %s", n, b.warned())
		}
		time.Sleep(firstBreak)
		ask(ids[50:51])
		time.Sleep(time.Second) // in the background
		ask(ids)
		if n := len(b.requests()); n != 3*maxFailures+3 {
			t.Errorf("%d requests after the first pause", n)
		}
		healthy.Store("a", true)
		time.Sleep(2 * firstBreak)
		ask(ids)
		time.Sleep(time.Minute)
		for range 3 {
			ask(ids)
			time.Sleep(time.Minute)
		}
		if found := ask(ids); found != len(ids) {
			t.Errorf("%d found in the end", found)
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := healthy.Load("a"); ok {
			good(w, r)
			return
		}
		status(500)(w, r)
	})
}

// TestAnnounce holds that modules which are going to be looked for are asked for at once, several at a time, and only those of
// which there is too little here.
func TestAnnounce(t *testing.T) {
	inBubble(t, Options{Wait: defaultWait}, func(t *testing.T, b *bubbled) {
		none := &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
		f := Wrap(finderFunc(func(m symsrc.Module) *symsrc.Files {
			if m.Name == "here" {
				return &symsrc.Files{Elf: "/bin/a"}
			}
			return none
		}), b.Client)
		var ms []symsrc.Module
		for i, id := range modules(48) {
			ms = append(ms, symsrc.Module{Name: map[bool]string{true: "here"}[i%2 == 0], BuildID: id}, symsrc.Module{Name: "no build ID"})
		}
		begin := time.Now()
		f.(Announcer).Announce(ms)
		f.(Announcer).Announce(ms)
		for _, m := range ms {
			if files := f.Find(context.Background(), m); m.BuildID != "" && files.DebugStatus != symsrc.OK {
				t.Errorf("%+v", files)
			}
		}
		if waited := time.Since(begin); waited != 24/perServer*time.Second {
			t.Errorf("waited %v", waited)
		}
		if n := len(b.requests()); n != 24 {
			t.Errorf("%d requests", n)
		}
	}, after(time.Second, good))
}

// TestBesideTrickle holds that a server which has begun to send, and does not go on, gives way to one that has the whole file.
func TestBesideTrickle(t *testing.T) {
	inBubble(t, Options{Wait: defaultWait, Timeout: defaultTimeout}, func(t *testing.T, b *bubbled) {
		for _, id := range modules(3) {
			if r := b.Fetch(context.Background(), id, Debuginfo); r.Outcome != Found {
				t.Errorf("%+v", r)
			}
		}
		if waited := b.waited.shows(time.Now()); waited > 3*(time.Second/2+2*trickleTime) {
			t.Errorf("waited %v", waited)
		}
	}, trickles, after(time.Second/2, good))
}
