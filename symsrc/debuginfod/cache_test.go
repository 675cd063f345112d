package debuginfod

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

func write(t *testing.T, path string, b []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestCache: what others have left in the cache is used as far as it is good.
func TestCache(t *testing.T) {
	good12 := debugELF(testID)
	for _, c := range []struct {
		name    string
		content []byte
		mode    os.FileMode
		age     time.Duration
		miss    string // cache_miss_s
		outcome Outcome
		asked   int64
	}{
		{"good", good12, 0o400, 0, "", Found, 0},
		{"old", good12, 0o400, 1000 * time.Hour, "", Found, 0},
		{"another's", debugELF("\x99"), 0o400, 0, "", Found, 1},
		{"cut off", good12[:1000], 0o400, 0, "", Found, 1},
		{"a page", []byte("<html>"), 0o400, 0, "", Found, 1},
		{"missing", nil, 0o644, 0, "", Missing, 0},
		{"missing, old way", nil, 0, 0, "", Missing, 0},
		{"missing for long", nil, 0o644, 3599 * time.Second, "", Missing, 0},
		{"missing for too long", nil, 0o644, 3601 * time.Second, "", Found, 1},
		{"missing, old way, for too long", nil, 0, 3601 * time.Second, "", Found, 1},
		{"missing with the setting of elfutils", nil, 0o644, 601 * time.Second, "600", Missing, 0},
		{"missing for less than set", nil, 0o644, 601 * time.Second, "700\n", Missing, 0},
		{"missing for more than set", nil, 0o644, 6 * time.Second, "5", Found, 1},
		{"not remembered", nil, 0o644, 0, "0", Found, 1},
		{"setting is rubbish", nil, 0o644, 3599 * time.Second, "many", Missing, 0},
		{"missing in the future", nil, 0o644, -24 * time.Hour, "", Found, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, good)
			w := newWorld(t, Options{URLs: []string{s.URL}})
			path := filepath.Join(w.cache, testID.String(), "debuginfo")
			write(t, path, c.content, c.mode)
			if c.miss != "" {
				write(t, filepath.Join(w.cache, "cache_miss_s"), []byte(c.miss), 0o644)
			}
			then := w.clock.now().Add(-c.age)
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
			r := w.Fetch(context.Background(), testID, Debuginfo)
			if r.Outcome != c.outcome || s.asked.Load() != c.asked {
				t.Errorf("%+v after %d requests", r, s.asked.Load())
			}
			if r.Outcome == Found {
				if b, err := os.ReadFile(r.Path); err != nil || !bytes.Equal(b, good12) || r.Path != path {
					t.Errorf("%s: %d bytes, %v", r.Path, len(b), err)
				}
			} else if len(r.Tried) != 1 || !strings.Contains(r.Tried[0], "no server had it at") {
				t.Errorf("tried %q", r.Tried)
			}
		})
	}
}

// TestCacheEmptied: a file that is removed while the client runs is downloaded again.
func TestCacheEmptied(t *testing.T) {
	s := serve(t, good)
	w := newWorld(t, Options{URLs: []string{s.URL}})
	for n := range int64(2) {
		r := w.Fetch(context.Background(), testID, Debuginfo)
		if r.Outcome != Found || s.asked.Load() != n+1 {
			t.Fatalf("%+v after %d requests", r, s.asked.Load())
		}
		if err := os.RemoveAll(filepath.Dir(r.Path)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiskFull: what the disk does not take is asked for once only, and leaves nothing.
func TestDiskFull(t *testing.T) {
	s := serve(t, good)
	w := newWorld(t, Options{URLs: []string{s.URL}})
	k := key{testID, Debuginfo}
	for _, commit := range []bool{false, true} {
		store, err := w.Client.cache.open(k)
		if err != nil {
			t.Fatal(err)
		}
		if commit {
			if _, err := store.write(bytes.NewReader(debugELF(testID)), 0); err != nil {
				t.Fatal(err)
			}
		}
		store.temp.Close() // from here on it is not to be written
		if commit {
			err = store.commit()
		} else {
			_, err = store.write(bytes.NewReader(debugELF(testID)), 0)
		}
		if _, ok := errors.AsType[*writeError](err); !ok {
			t.Errorf("commit %v: %v", commit, err)
		}
		before := s.asked.Load()
		a := &attempt{c: w.Client, f: &fetch{key: k, news: make(chan struct{})}, server: w.servers[0]}
		a.run(context.Background(), store, make(chan struct{}, 1))
		if a.elf != nil || a.verdict != verdictTrouble || s.asked.Load() != before+1 || !strings.Contains(a.reason, "write to the cache") {
			t.Errorf("commit %v: %+v", commit, a)
		}
		store.close()
	}
	if text := w.warned(); !strings.Contains(text, "write to the cache") || leftovers(t, w.cache) != "" {
		t.Errorf("warned: %s; left: %s", text, leftovers(t, w.cache))
	}
}

// TestDiskNearlyFull leaves some of the disk free: what is known to be too much is not begun, and what turns out to be is ended.
func TestDiskNearlyFull(t *testing.T) {
	for _, c := range []struct {
		name        string
		free, comes int64 // bytes
		sent        int64 // at most
		why         string
	}{
		{"known", keptFree + 100<<20, 101 << 20, 0, "the file has 101.0 MiB, and "},
		{"not known", keptFree + 100<<20, 0, 128 << 20, "write to the cache: "},
		{"full already", keptFree - 1, 0, 0, "write to the cache: "},
	} {
		var moved, written int64
		w := newWorld(t, Options{URLs: []string{"http://127.0.0.1:1"}})
		w.Client.cache.free = func(string) (int64, bool) { return c.free - written, true }
		store, err := w.Client.cache.open(key{testID, Debuginfo})
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.write(readFunc(func(b []byte) (int, error) {
			moved += int64(len(b))
			written = moved
			return len(b), nil
		}), c.comes)
		if _, ok := errors.AsType[*writeError](err); !ok || moved > c.sent || !strings.Contains(err.Error(), c.why) ||
			!strings.Contains(err.Error(), w.cache) || !strings.Contains(err.Error(), "DEBUGINFOD_CACHE_PATH") {
			t.Errorf("%s: %v after %d bytes", c.name, err, moved)
		}
		if _, again := store.write(strings.NewReader("x"), 1); !errors.Is(again, err) {
			t.Errorf("%s: then %v", c.name, again)
		}
		store.close()
	}
}

// TestSaysLess ends a download that has far more than its server says.
func TestSaysLess(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-DEBUGINFOD-SIZE", "1000")
		_, _ = w.Write(debugELF(testID))
		for piece := make([]byte, 1<<20); r.Context().Err() == nil; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	w := newWorld(t, Options{URLs: []string{s.URL}})
	if r := w.Fetch(context.Background(), testID, Debuginfo); r.Outcome != Failed || !strings.Contains(r.Why, "more than twice the 1 KiB") || s.asked.Load() != 1 {
		t.Errorf("outcome %d (%s) after %d requests", r.Outcome, r.Why, s.asked.Load())
	}
}

// readFunc is a reader.
type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

func TestClean(t *testing.T) {
	if _, ok := diskcache.Used(stat(t, t.TempDir())); !ok {
		t.Skip("this system does not tell when a file was read")
	}
	now := time.Now()
	c := cache{dir: t.TempDir(), now: func() time.Time { return now }}
	const week = 7 * 24 * time.Hour
	files := map[string]time.Duration{ // since they were read
		"0a/debuginfo": week + time.Hour, "0a/executable": week - time.Hour, "0a/source##usr##a.c": week + time.Hour,
		"0a/notes": 100 * week, "0b/debuginfo": 2 * week, "0b/debuginfo.x1y2z3": 2 * week, "0c/executable": time.Hour,
		"0d/executable.123456": time.Hour, "OTHER/debuginfo": 2 * week, "debuginfo": 2 * week, "0e": 2 * week,
	}
	for name, age := range files {
		path := filepath.Join(c.dir, name)
		write(t, path, []byte("x"), 0o400)
		if err := os.Chtimes(path, now.Add(-age), now.Add(-100*week)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"0a", "0b", "0c"} {
		if err := os.Chtimes(filepath.Join(c.dir, dir), now, now.Add(-2*week)); err != nil {
			t.Fatal(err)
		}
	}
	list := func() string {
		var names []string
		err := filepath.WalkDir(c.dir, func(path string, d os.DirEntry, err error) error {
			if rel, _ := filepath.Rel(c.dir, path); err == nil && !strings.HasSuffix(rel, "_s") && rel != "." {
				names = append(names, rel)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, " ")
	}
	before := list()
	c.clean() // creates the control files: the first cleaning is due a day later
	if list() != before {
		t.Errorf("cleaned too early: %s", list())
	}
	for name, want := range map[string]string{"cache_clean_interval_s": "86400", "max_unused_age_s": "604800", "cache_miss_s": "600"} {
		if b, err := os.ReadFile(filepath.Join(c.dir, name)); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v", name, b, err)
		}
	}
	interval := filepath.Join(c.dir, "cache_clean_interval_s")
	if err := os.Chtimes(interval, now, now.Add(-25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	c.clean()
	want := strings.Fields("0a 0a/executable 0a/notes 0c 0c/executable 0d 0d/executable.123456 0e OTHER OTHER/debuginfo debuginfo")
	if got := strings.Fields(list()); !slices.Equal(got, want) {
		t.Errorf("left: %s", got)
	}
	if age := now.Sub(stat(t, interval).ModTime()); age > time.Hour {
		t.Errorf("the time of the cleaning is not noted: %v", age)
	}
	none := cache{dir: c.dir + "/none", now: c.now}
	if none.clean(); exists(none.dir) {
		t.Errorf("%s was made", none.dir)
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestVerify: no part of a file is taken for the file.
func TestVerify(t *testing.T) {
	b := makeELF(testID, ".debug_info", 50)
	for n := range len(b) + 1 {
		_, err := verify(bytes.NewReader(b[:n]), int64(n), key{testID, Debuginfo})
		if (err == nil) != (n == len(b)) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	for _, c := range []struct {
		id    symsrc.BuildID
		want  symsrc.BuildID
		name  string
		debug bool
		err   string
	}{
		{testID, testID, ".debug_info", true, ""},
		{testID, testID, ".zdebug_info", true, ""},
		{testID, testID, ".text", false, ""},
		{testID, testID[:4], ".text", false, "build ID 0123456789abcdef, want 01234567"},
		{testID + "\x01", testID, ".text", false, ", want "},
		{"", testID, ".text", false, "no build ID"},
		{symsrc.BuildID(strings.Repeat("\x07", 20)), symsrc.BuildID(strings.Repeat("\x07", 20)), ".debug_info", true, ""},
	} {
		b := makeELF(c.id, c.name, 50)
		info, err := verify(bytes.NewReader(b), int64(len(b)), key{c.want, Debuginfo})
		switch {
		case c.err == "" && (err != nil || info.debug != c.debug):
			t.Errorf("%+v: %+v, %v", c, info, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(makeELF(testID, ".debug_info", 50))
	f.Add(makeELF("", ".text", 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := verify(bytes.NewReader(b), int64(len(b)), key{testID, Debuginfo})
		if err == nil && (info == nil || !bytes.Contains(b, []byte(testID))) {
			t.Error("verified without a build ID")
		}
	})
}
