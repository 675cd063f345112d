package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedTraces checks the place of each damage, and that what comes before it is printed.
func TestDamagedTraces(t *testing.T) {
	for _, c := range []struct {
		file   string
		offset int64
		says   string
		calls  int
	}{
		{"thread_0x1_truncated.bin", 781, "node 13 is cut off: 42 of 49 bytes", 12},
		{"thread_0x2_badtype.bin", 49, "node 1 has type 7", 0},
		{"thread_0x3_badindex.bin", 33, "first child at index 5, not 1", 0},
		{"thread_0x4_hugechildren.bin", 41, "node 0 has 1152921504606846976 children, and 781 bytes follow", 0},
		{"thread_0x5_empty.bin", 0, "empty", 0},
		{"thread_0x6_trailing.bin", 830, "8 bytes after the last of 14 nodes", 13},
		{"thread_0x7_unspecified.bin", 0, "node 0 has type -1", 0},
	} {
		text, err := lines(t, filepath.Join("testdata", "scaler", "bad", c.file), Options{})
		damage, ok := errors.AsType[*DamageError](err)
		if !ok || filepath.Base(damage.File) != c.file || damage.Offset != c.offset || !strings.Contains(damage.Problem, c.says) {
			t.Errorf("%s: %v", c.file, err)
		}
		if n := strings.Count(text, "start="); n != c.calls {
			t.Errorf("%s: %d calls, want %d:\n%s", c.file, n, c.calls, text)
		}
	}
	_, err := lines(t, filepath.Join("testdata", "scaler", "bad"), Options{})
	if n := len(Problems(fmt.Errorf("read: %w", err))); n != 7 {
		t.Errorf("the directory has %d problems: %v", n, err)
	}
}

func TestNoSuchThread(t *testing.T) {
	text, err := lines(t, "testdata/scaler", Options{Threads: []uint64{1}})
	if err == nil || text != "" || !strings.Contains(err.Error(), "no such thread: it has thread_0x") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestCutFiles cuts each binary file everywhere, and changes bytes of it: an error with an offset in the file, no panic,
// and no fewer lines than of a shorter piece.
func TestCutFiles(t *testing.T) {
	for _, name := range []string{"perflow/samples.pflw", "perflow/maps.1.libmap", "scaler/thread_0x7f029871c6c0.bin"} {
		whole, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), filepath.Base(name))
		if strings.HasPrefix(name, "scaler") {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), "symbol.json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := 0
		for n := 5; n <= len(whole); n++ {
			text, err := importBytes(t, path, whole[:n])
			damage, ok := errors.AsType[*DamageError](err)
			if n < len(whole) && (!ok || damage.Offset > int64(n)) || n == len(whole) && err != nil {
				t.Fatalf("%s cut to %d bytes: %v", name, n, err)
			}
			if now := strings.Count(text, "\n"); now < before && !strings.HasPrefix(name, "scaler") {
				t.Fatalf("%s cut to %d bytes has %d lines, one less has %d", name, n, now, before)
			} else {
				before = now
			}
		}
		for at := range whole {
			for _, flip := range []byte{0x01, 0x80, 0xff} {
				changed := []byte(string(whole))
				changed[at] ^= flip
				_, _ = importBytes(t, path, changed) // it may not panic, or read for ever
			}
		}
	}
}

func importBytes(t *testing.T, path string, b []byte) (string, error) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return lines(t, path, Options{})
}

// TestForeignText checks that text with hostile names stays one line each, and no markup of theirs has an effect.
func TestForeignText(t *testing.T) {
	for text, want := range map[string]string{
		"std::vector<int>": "std::vector<int>", "a\nb": `a\x0ab`, "x}}}{{{reset}}}": `x\x7d\x7d\x7d\x7b\x7b\x7breset\x7d\x7d\x7d`,
		"{}": "{}", "\x1b[1m": `\x1b[1m`, "é": "é", "\xff": "\xff",
	} {
		if got := plain(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestDetect(t *testing.T) {
	empty := t.TempDir()
	other := filepath.Join(empty, "other.txt")
	if err := os.WriteFile(other, []byte("nothing of the kind\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"testdata/scaler": "", "testdata/scaler/symbol.json": "", "testdata/perflow": "", "testdata/chopstix": "",
		"testdata/chopstix/chop-64k.db": "", "testdata/perflow/maps.1": "",
		"testdata/none": "no such file", empty: "no file of Scaler", other: "not a file of",
	} {
		_, err := Detect(path, Options{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for kind, want := range map[string]string{"chopstix": "byte 0: not an SQLite database", "perflow": "byte 0: neither", "scaler": "byte 0: node 0 has type 110"} {
		_, err := lines(t, other, Options{Kind: kind})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), empty) {
			t.Errorf("as %s: %v", kind, err)
		}
	}
}

// TestCloseEarly checks that an import ends when its reader goes.
func TestCloseEarly(t *testing.T) {
	r, err := Open(context.Background(), "testdata/perflow", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil { // it waits
		t.Error(err)
	}
}
