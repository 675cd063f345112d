//go:build linux || darwin

package cache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDamage damages each of Badger's files, in each way. The answers are the same, there is at most one warning, and the next filter
// gets the answers that are stored afterwards.
func TestDamage(t *testing.T) {
	clean := tempDir(t)
	warm(t, clean, many)
	files, err := filepath.Glob(filepath.Join(clean, databaseDir, "*"))
	if err != nil || len(files) < 4 {
		t.Fatalf("the database has only %v", files)
	}
	random := func(b []byte) []byte {
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		return b
	}
	ways := map[string]func(path string, b []byte) []byte{
		"removed":   func(string, []byte) []byte { return nil },
		"empty":     func(string, []byte) []byte { return []byte{} },
		"truncated": func(_ string, b []byte) []byte { return b[:max(len(b)-100, len(b)/2)] },
		"halved":    func(_ string, b []byte) []byte { return b[:len(b)/2] },
		"random":    func(_ string, b []byte) []byte { return random(bytes.Clone(b)) },
		"footer": func(_ string, b []byte) []byte {
			b = bytes.Clone(b)
			random(b[max(len(b)-40, 0):])
			return b
		},
		"header": func(_ string, b []byte) []byte {
			b = bytes.Clone(b)
			random(b[:min(len(b), 40)])
			return b
		},
		"spots": func(_ string, b []byte) []byte {
			b = bytes.Clone(b)
			for range len(b)/2000 + 3 {
				if len(b) > 0 {
					b[rand.IntN(len(b))] ^= 1 << rand.IntN(8)
				}
			}
			return b
		},
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		if name == "LOCK" {
			continue
		}
		for how, damage := range ways {
			t.Run(name+"/"+how, func(t *testing.T) {
				dir := tempDir(t)
				if err := os.CopyFS(dir, os.DirFS(clean)); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, databaseDir, name)
				b := damage(path, content)
				if b == nil {
					err = os.Remove(path)
				} else {
					err = os.WriteFile(path, b, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				damaged(t, dir)
			})
		}
	}
}

// damaged runs filters with a damaged cache. Damage in the middle of a table may affect only the second one, which then works without
// the cache. The process has the time to take what the filter leaves, and to answer: a busy machine is another matter.
func damaged(t *testing.T, dir string) {
	unhurried(t)
	for range 3 {
		s, w := source(t, dir, &engine{})
		connect(t, s)
		if ask(s, 0, many) != expected(0, many) {
			t.Error("the answers differ")
		}
		s.Close()
		if len(w.lines) > 1 {
			t.Errorf("it said %q", w.lines)
		}
		eventually(t, "what was left is taken, or there is no process", func() bool { return len(spooled(dir)) == 0 || figures(dir) == nil })
		stop(t, dir)
		s, _ = source(t, dir, &engine{gone: true})
		connect(t, s)
		healed := ask(s, 0, many) == expected(0, many)
		s.Close()
		if healed {
			return
		}
		stop(t, dir)
	}
	t.Error("no later filter has answers")
}

// TestOtherVersion starts with the files of another version, or with files that are no database.
func TestOtherVersion(t *testing.T) {
	for i, prepare := range []func(dir string) error{
		func(dir string) error {
			return os.WriteFile(filepath.Join(dir, versionName), []byte("qss-filter cache 99\n"), 0o600)
		},
		func(dir string) error { return os.Remove(filepath.Join(dir, versionName)) },
		func(dir string) error {
			if err := os.RemoveAll(filepath.Join(dir, databaseDir)); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, databaseDir), []byte("a file"), 0o600)
		},
		func(dir string) error { return os.Mkdir(filepath.Join(dir, deathsName), 0o700) },
		func(dir string) error { return os.WriteFile(filepath.Join(dir, socketName), nil, 0o600) },
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir := tempDir(t)
			warm(t, dir, many)
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			damaged(t, dir)
		})
	}
}

// TestUnusable uses directories that cannot be used. There is one warning.
func TestUnusable(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(dir string) error
		said    string
	}{
		"a file":             {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "not a directory"},
		"writable by others": {func(dir string) error { return mkdir(dir, 0o777) }, "others may write"},
		"a file above":       {func(dir string) error { return os.WriteFile(filepath.Dir(dir)+"/c", nil, 0o600) }, "not a directory"},
		"lock": {func(dir string) error {
			if err := mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Mkdir(filepath.Join(dir, lockName), 0o700)
		}, "its files cannot be written"},
		"socket": {func(dir string) error {
			if err := mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.MkdirAll(filepath.Join(dir, socketName, "x"), 0o700)
		}, "its socket cannot be made"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			if err := c.prepare(dir); err != nil {
				t.Fatal(err)
			}
			s, w := source(t, dir, &engine{})
			for range 3 {
				if ask(s, 0, 50) != expected(0, 50) {
					t.Error("the answers differ")
				}
			}
			eventually(t, "the cache is given up", s.client.off.Load)
			s.Close()
			w.check(t, c.said)
		})
	}
}

// mkdir creates a directory with that mode, regardless of the umask.
func mkdir(dir string, mode os.FileMode) error {
	if err := os.Mkdir(dir, mode); err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}

func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "relative")
	w := &warnings{}
	s := Wrap(&engine{}, Options{Warn: w.add})
	if ask(s, 0, 50) != expected(0, 50) {
		t.Error("the answers differ")
	}
	s.Close()
	w.check(t, "$HOME")
}

// TestNoProgram cannot start the process.
func TestNoProgram(t *testing.T) {
	defer func(before time.Duration) { startTime = before }(startTime)
	startTime = 100 * time.Millisecond
	for said, argv := range map[string][]string{
		"no such file": {"/nonexistent/program"}, "it does not answer": {"/bin/sleep", "0.01", "--"},
	} {
		dir := tempDir(t)
		w := &warnings{}
		s := Wrap(&engine{}, Options{Dir: dir, Warn: w.add, Program: func(string, int64) []string { return argv }})
		if ask(s, 0, 50) != expected(0, 50) {
			t.Error("the answers differ")
		}
		eventually(t, "the cache is given up", s.client.off.Load)
		s.Close()
		w.check(t, said)
	}
}
