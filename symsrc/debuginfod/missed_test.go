package debuginfod

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// TestMissed remembers between runs what a server does not have: for an hour, or, if it was missing over a week ago, for a day. Trouble is not
// remembered so.
func TestMissed(t *testing.T) {
	dir := t.TempDir()
	answer := status(http.StatusNotFound)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r) })
	for name, o := range map[string]Options{"debuginfod": {URLs: []string{s.URL + "/d"}}, "store": {Stores: []string{s.URL + "/s"}, Off: true}} {
		now := time.Now()
		run := func(after time.Duration, asked bool, want Outcome) {
			t.Helper()
			o.Missed, o.Retries, o.CacheDir = filepath.Join(dir, "qss", name), -1, t.TempDir() // what elfutils remembers is not looked at
			w := newWorld(t, o)
			now = now.Add(after)
			w.clock.ns.Store(now.UnixNano())
			before := s.asked.Load()
			r := w.Fetch(context.Background(), testID, Debuginfo)
			if got := s.asked.Load() > before; got != asked || r.Outcome != want {
				t.Errorf("%s: asked %v, want %v: %+v", name, got, asked, r)
			}
			if !asked && !strings.Contains(strings.Join(r.Tried, ""), "it had no such file at ") {
				t.Errorf("%s: %q", name, r.Tried)
			}
			w.Close()
		}
		run(0, true, Missing)
		run(59*time.Minute, false, Missing)
		run(2*time.Minute, true, Missing)
		run(8*24*time.Hour, true, Missing)
		run(23*time.Hour, false, Missing)
		answer = status(http.StatusInternalServerError)
		run(2*time.Hour, true, Failed)
		answer = good
		run(2*time.Minute, true, Found)
		answer = status(http.StatusNotFound)
		run(time.Minute, true, Missing)
		run(59*time.Minute, false, Missing)
		run(2*time.Minute, true, Missing)
		if err := os.WriteFile(o.Missed, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		run(time.Minute, true, Missing)
	}
}

// TestMissedSaysNothingOfTheServer waits for a server that answered another run, as before.
func TestMissedSaysNothingOfTheServer(t *testing.T) {
	o := Options{URLs: []string{"http://127.0.0.1:1"}, Missed: filepath.Join(t.TempDir(), "qss", "missed")}
	w := newWorld(t, o)
	w.noteMiss(w.servers[0], key{testID, Debuginfo})
	w.servers[0].shun = shun{Until: w.now().Add(time.Hour), Why: "no useful answer"}
	if r := w.Fetch(context.Background(), testID, Debuginfo); r.Outcome != Missing || w.servers[0].shun == (shun{}) {
		t.Errorf("%+v: the server counts as useful", r)
	}
	w.Close()
	if all := readMisses(o.Missed); len(all) != 1 {
		t.Errorf("%v", all)
	}
}

// TestMissedBounded keeps the newest.
func TestMissedBounded(t *testing.T) {
	o := Options{URLs: []string{"http://127.0.0.1:1"}, Missed: filepath.Join(t.TempDir(), "qss", "missed")}
	w := newWorld(t, o)
	for i := range maxMisses + 10 {
		w.clock.advance(time.Millisecond)
		w.noteMiss(w.servers[0], key{symsrc.BuildID([]byte{byte(i >> 8), byte(i)}), Debuginfo})
	}
	w.Close()
	all := readMisses(o.Missed)
	if _, first := all[w.servers[0].missKey(key{"\x00\x00", Debuginfo})]; len(all) != maxMisses || first {
		t.Errorf("%d are kept, the first %v", len(all), first)
	}
}
