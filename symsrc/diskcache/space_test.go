package diskcache_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc/diskcache"
)

// TestFree asks about a disk that is there, and one that is not.
func TestFree(t *testing.T) {
	dir := t.TempDir()
	n, ok := diskcache.Free(dir)
	if known := runtime.GOOS == "linux" || runtime.GOOS == "darwin"; ok != known || ok && n <= 0 {
		t.Errorf("%d bytes, %v", n, ok)
	}
	if ok && (!diskcache.HasRoom(dir, 1, 0) || diskcache.HasRoom(dir, 1, 1<<60) || diskcache.HasRoom(dir, 1<<60, 0)) {
		t.Errorf("room for one byte, and none for 2^60, of %d", n)
	}
	// Where nothing is known a cache that refused to write would be off for good; the disk says itself that it is full.
	if none := filepath.Join(dir, "none"); !diskcache.HasRoom(none, 1<<40, 1<<40) {
		t.Error("there is no room where nothing is known")
	}
}

// put writes a file that was used some hours ago, and written long before.
func put(t *testing.T, path string, size int, hours int) {
	t.Helper()
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	// What was written last was used the longest ago.
	if err := os.Chtimes(path, now.Add(-time.Duration(hours)*time.Hour), now.Add(time.Duration(hours-1000)*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, ok := diskcache.Used(stat(t, path)); !ok {
		t.Skip("this system does not say when a file was used")
	}
}

// TestEvict removes what was used the longest ago, be it written last: a file that is only read is in use.
func TestEvict(t *testing.T) {
	for _, c := range []struct {
		files int
		bytes int64
		want  string // that are left, of a to e, which have 10 bytes each; a was used last
		ok    bool
	}{
		{math.MaxInt, math.MaxInt64, "a b c d e", true},
		{5, 50, "a b c d e", true},
		{4, 50, "a b c d", true},
		{5, 49, "a b c d", true},
		{2, 49, "a b", true},
		{4, 9, "", true},
		{4, 10, "a", true},
		{0, 50, "", true},
		{5, -1, "", false}, // more than all is to be removed
	} {
		dir := t.TempDir()
		for i, name := range []string{"a", "b", "c", "d", "e"} {
			put(t, filepath.Join(dir, name+".x"), 10, i+1)
		}
		put(t, filepath.Join(dir, "lock"), 1000, 100) // not the cache's own
		if err := os.Mkdir(filepath.Join(dir, "dir.x"), 0o700); err != nil {
			t.Fatal(err)
		}
		ok := diskcache.Evict(dir, func(name string) bool { return filepath.Ext(name) == ".x" }, c.files, c.bytes)
		want := append(strings.Fields(strings.ReplaceAll(c.want+" ", " ", ".x ")), "dir.x", "lock")
		if c.want == "" {
			want = []string{"dir.x", "lock"}
		}
		slices.Sort(want)
		if got := names(t, dir); !slices.Equal(got, want) || ok != c.ok {
			t.Errorf("%d files, %d bytes: %q %v, want %q %v", c.files, c.bytes, got, ok, want, c.ok)
		}
	}
	if diskcache.Evict(filepath.Join(t.TempDir(), "none"), func(string) bool { return true }, 1, 1) {
		t.Error("a directory that is not there is within its bounds")
	}
}

// TestTemporary removes what a process left that died, which no bound counts and which would stay for ever, and not what a process
// is writing.
func TestTemporary(t *testing.T) {
	dir := t.TempDir()
	left := func(name string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Now().Add(-age), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	left(diskcache.TempPrefix+"1", 2*diskcache.Abandoned)
	left(diskcache.TempPrefix+"2", diskcache.Abandoned/2)
	left("other", 2*diskcache.Abandoned)
	if !diskcache.Evict(dir, func(string) bool { return true }, 1, 100) {
		t.Error("a file that is being written is counted")
	}
	if got := names(t, dir); !slices.Equal(got, []string{diskcache.TempPrefix + "2", "other"}) {
		t.Errorf("left: %q", got)
	}
	diskcache.RemoveTemporary(dir, 0)
	if got := names(t, dir); !slices.Equal(got, []string{"other"}) {
		t.Errorf("left under a lock: %q", got)
	}
}

// TestTouch marks a file as used, and leaves the time of its content.
func TestTouch(t *testing.T) {
	for _, ago := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
		path := filepath.Join(t.TempDir(), "file")
		written, used := time.Unix(1_000_000_000, 0), time.Now().Add(-ago)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, used, written); err != nil {
			t.Fatal(err)
		}
		diskcache.Touch(path, stat(t, path))
		fi := stat(t, path)
		now, ok := diskcache.Used(fi)
		if !ok {
			t.Skip("this system does not say when a file was used")
		}
		if since := time.Since(now); !fi.ModTime().Equal(written) || since < -time.Minute || since > time.Minute {
			t.Errorf("%v ago: %v, and written %v", ago, since, fi.ModTime())
		}
	}
}

func ExampleEvict() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	const most = 1 << 20
	answer := make([]byte, 1000)
	isAnswer := func(name string) bool { return filepath.Ext(name) == ".answer" }
	if diskcache.Evict(dir, isAnswer, math.MaxInt, most-int64(len(answer))) && diskcache.HasRoom(dir, int64(len(answer)), 0) {
		err = diskcache.WriteFile(filepath.Join(dir, "one.answer"), answer)
	}
	fmt.Println(err)
	// Output: <nil>
}
