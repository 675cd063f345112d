package diskcache_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"qss-filter/symsrc/diskcache"
)

// names lists a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// ways are all ways to begin a file.
var ways = map[string]func(path string) (*diskcache.File, error){
	"Create":      diskcache.Create,
	"CreateNamed": func(path string) (*diskcache.File, error) { return diskcache.CreateNamed(path, "file.") },
	"Output":      diskcache.Output,
	"OutputIn": func(path string) (*diskcache.File, error) {
		root, err := os.OpenRoot(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		return diskcache.OutputIn(root, filepath.Base(path))
	},
}

// TestFile holds that readers see the old file or the whole new one, and that nothing else is left.
func TestFile(t *testing.T) {
	for name, create := range ways {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			for _, before := range []string{"", "new"} { // what readers see while it is written
				f, err := create(path)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(f, "new"); err != nil {
					t.Fatal(err)
				}
				if b, _ := os.ReadFile(path); string(b) != before {
					t.Errorf("before it is committed it is %q", b)
				}
				if fi, err := f.Stat(); err != nil || runtime.GOOS != "windows" && fi.Mode() != 0o600 {
					t.Errorf("others may use it before it is committed: %v, %v", fi.Mode(), err)
				}
				if err := f.Commit(); err != nil {
					t.Fatal(err)
				}
				f.Abort() // does nothing
				if got := content(t, path); got != "new" {
					t.Errorf("it is %q", got)
				}
			}
			f, err := create(path)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(f, "not to be")
			f.Abort()
			f.Abort()
			if got := names(t, dir); len(got) != 1 || content(t, path) != "new" {
				t.Errorf("left after it was given up: %q", got)
			}
			if f, err = create(path); err != nil {
				t.Fatal(err)
			}
			f.Close()
			if err := f.Commit(); err == nil {
				t.Error("what cannot be closed is committed")
			}
			f.Abort()
			if got := names(t, dir); len(got) != 1 || content(t, path) != "new" {
				t.Errorf("left after a failure: %q", got)
			}
			if _, err := create(filepath.Join(dir, "none", "file")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("in no directory: %v", err)
			}
		})
	}
}

// TestWriteFile replaces a file, and leaves nothing where it fails.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"one", "", "two"} {
		if err := diskcache.WriteFile(path, []byte(text)); err != nil || content(t, path) != text {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := diskcache.WriteFile(filepath.Join(dir, "dir"), nil); err == nil {
		t.Error("a directory is replaced")
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("left: %q", got)
	}
}

// TestOutputDevice holds that a device is written to, and not replaced by a file: /dev/null would be gone for everything else.
func TestOutputDevice(t *testing.T) {
	if info, err := os.Stat("/dev/null"); err != nil || !diskcache.IsSpecial(info) {
		t.Skip("there is no /dev/null")
	}
	link := filepath.Join(t.TempDir(), "null") // what is replaced by mistake is the link
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(*diskcache.File) error{(*diskcache.File).Commit, func(f *diskcache.File) error { f.Abort(); return nil }} {
		f, err := diskcache.Output(link)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, "text"); err != nil {
			t.Error(err)
		}
		if err := end(f); err != nil {
			t.Error(err)
		}
		if to, err := os.Readlink(link); to != "/dev/null" {
			t.Errorf("the device has become %q, %v", to, err)
		}
	}
}

// TestOutputMode holds that an output has the permissions of any file that the user makes, with their umask: a program that set
// them itself would show to others what is the user's own.
func TestOutputMode(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "any")
	if err := os.WriteFile(other, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat(other)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Output", "OutputIn"} {
		path := filepath.Join(dir, name)
		f, err := ways[name](path)
		if err == nil {
			err = f.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.Stat(path); err != nil || got.Mode() != want.Mode() {
			t.Errorf("%s: %v, %v, want %v", name, got.Mode(), err, want.Mode())
		}
	}
}

// TestOutputIn writes nothing outside of its directory.
func TestOutputIn(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	for _, d := range []string{in, out} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "file"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Symlink(out, filepath.Join(in, "away")) != nil || os.Symlink(filepath.Join(out, "file"), filepath.Join(in, "link")) != nil {
		t.Skip("there are no links")
	}
	root, err := os.OpenRoot(in)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, path := range []string{"away/file", "../out/file"} {
		if f, err := diskcache.OutputIn(root, filepath.FromSlash(path)); err == nil {
			t.Errorf("%s is begun", path)
			f.Abort()
		}
	}
	f, err := diskcache.OutputIn(root, "link")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(f, "ours")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Lstat(filepath.Join(in, "link")); err != nil || !fi.Mode().IsRegular() || content(t, filepath.Join(out, "file")) != "theirs" {
		t.Errorf("the link is %v, %v, and its target %q", fi, err, content(t, filepath.Join(out, "file")))
	}
	if got := names(t, out); len(got) != 1 {
		t.Errorf("outside there is %q", got)
	}
}
