package child

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHeld deletes and replaces files while a program has them mapped, and asks for them after its end: it is the mapped file that is found by its
// build ID, and what lies at its path is known as another one.
func TestHeld(t *testing.T) {
	if random, err := randomized("/proc/self"); err != nil || !random {
		t.Skip("places are not random here")
	}
	for _, unrecorded := range []bool{false, true} {
		for _, c := range []struct {
			name, file, change string
			at                 string // main
			held, replaced     bool
		}{
			{"nothing happens", "said", "true", "said", false, false},
			{"the program is deleted", "said", "rm said", "said", true, false},
			{"the program is replaced", "said", "mv other said", "said", true, true},
			{"the program is touched", "said", "touch said", "", false, false}, // as if it was written
			{"a library is deleted", "libearly.so", "rm libearly.so*", "said", true, false},
			{"a library is replaced", "libearly.so", "mv late.so libearly.so", "said", true, true},
		} {
			t.Run(fmt.Sprintf("%s unrecorded %t", c.name, unrecorded), func(t *testing.T) {
				t.Parallel()
				if c.file != "said" && !followsMapped() {
					t.Skip("the files of /proc/PID/map_files may not be read")
				}
				dir := compiled(t, "-fpie", "-pie")
				file, err := filepath.EvalSymlinks(filepath.Join(dir, c.file))
				if err != nil {
					t.Fatal(err)
				}
				if build := exec.Command("gcc", "-o", "other", "-x", "c", "-"); true {
					build.Dir, build.Stdin = dir, strings.NewReader("int main(void) { return 7; }")
					if out, err := build.CombinedOutput(); err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				id := idOf(t, file)
				m := NewMaps()
				m.unrecorded = unrecorded
				said := ran(t, m, dir, c.change)
				if got := fileAt(t, m.All(), said["main"]); got != c.at {
					t.Errorf("%q is at main", got)
				}
				if got := m.Replaced(file); got != c.replaced {
					t.Errorf("replaced %t", got)
				}
				path := m.Held(file, id)
				if (path != "") != c.held {
					t.Fatalf("held at %q, %t is wanted", path, c.held)
				}
				if got, err := os.ReadFile(path); c.held && (err != nil || !bytes.Equal(got, want)) {
					t.Errorf("another file is held, %v", err)
				}
				if m.Held(file, id[1:]+"0") != "" || m.Held(file+"x", id) != "" || m.Held(file, "") != "" {
					t.Error("another file is held")
				}
			})
		}
	}
}

// TestMade has commands make a program, run it and delete it, as runners of tests do, which pass its output on when it is gone. A program that was there
// before the command is not opened while it has its name.
func TestMade(t *testing.T) {
	r, err := record()
	if err != nil {
		t.Skipf("the kernel does not record: %v", err)
	}
	r.close()
	if mountOf(unix.AT_FDCWD, t.TempDir()) != mountOf(unix.AT_FDCWD, "/") || mountOf(unix.AT_FDCWD, "/") == 0 {
		t.Skip("temporary files are on another mount, or the kernel does not say")
	}
	dir := compiled(t, "-fpie", "-pie")
	if err := os.WriteFile(dir+"/x.c", []byte("#include <unistd.h>\nint main(void) { usleep(100000); return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, c := range []struct {
		name, script string
		held         bool
	}{
		{"made and deleted", "gcc -Wl,--build-id -o x x.c && ./x; rm x; echo", true},
		{"made at a fixed address and deleted", "gcc -no-pie -fno-pie -Wl,--build-id -o x x.c && ./x; rm x; echo", true},
		{"made", "gcc -Wl,--build-id -o x x.c && ./x; echo", false},
		{"there before", "sleep 0.1; ./x; rm x; echo", false},
	} {
		m := NewMaps()
		if _, err := Run(context.Background(), Options{Argv: []string{"sh", "-c", "cd " + dir + "; " + c.script}, New: newStream, Stdin: out, Stdout: out, Stderr: out, Maps: m}); err != nil {
			t.Fatal(err)
		}
		path, id := m.Named("x")
		if held := id != ""; held != c.held || held && (path != dir+"/x" || m.Held(path, id) == "") {
			t.Errorf("%s: at %q, with ID %q", c.name, path, id)
		}
	}
}

// ran runs a program that says where its code lies, has a shell change its directory, and lets it end.
func ran(t *testing.T, m *Maps, dir, change string) (said map[string]uint64) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	nothing, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer nothing.Close()
	// The program is looked at when it has written; a FIFO lets it end.
	script := "cd " + dir + `; mkfifo go; ./said <go & exec 3>go; sleep 0.3; ` + change + `; sleep 0.3; echo x; sleep 0.3; exec 3>&-; wait`
	if _, err := Run(context.Background(), Options{Argv: []string{"sh", "-c", script}, New: newStream, Stdin: nothing, Stdout: out, Stderr: nothing, Maps: m}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	said = map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		var name string
		var addr uint64
		if _, err := fmt.Sscanf(line, "%s 0x%x", &name, &addr); err == nil {
			said[name] = addr
		}
	}
	if len(said) == 0 {
		t.Skipf("the program does not run here: %s", text)
	}
	return said
}

// idOf returns the build ID of a file.
func idOf(t *testing.T, path string) string {
	t.Helper()
	var is unix.Stat_t
	if err := unix.Stat(path, &is); err != nil {
		t.Fatal(err)
	}
	b := readBinary(mapping{inode: is.Ino, path: path})
	if b == nil || b.id == "" {
		t.Skip("the compiler writes no build IDs")
	}
	return b.id
}

// followsMapped reports whether what /proc/PID/map_files leads to may be read.
func followsMapped() bool {
	raw, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return false
	}
	for _, m := range readMappings(raw) {
		if file, err := os.Open(fmt.Sprintf("/proc/self/map_files/%x-%x", m.start, m.end)); err == nil {
			file.Close()
			return true
		}
	}
	return false
}

// TestHeldBounds holds more files than are kept open: the oldest are closed.
func TestHeldBounds(t *testing.T) {
	dir := t.TempDir()
	f := files{}
	var all []*binary
	for i := range mostHeld() + 10 {
		m := mapping{path: filepath.Join(dir, fmt.Sprint(i))}
		m.inode = writeELF(t, m.path, 3)
		file := openAs(m.path, m, true)
		if file == nil || !f.holdOpen(file, m) {
			t.Fatal("it is not held")
		}
		if openAs(m.path, m, false) != nil {
			t.Error("a file with a name is opened")
		}
		b := f[mappedFile{m.inode, m.path}]
		b.since = time.Unix(int64(i), 0)
		all = append(all, b)
	}
	for i, b := range all {
		_, err := b.held.Seek(0, io.SeekStart)
		if got, want := err == nil, i >= 10; got != want {
			t.Errorf("file %d: open %t", i, got)
		}
	}
	if len(f) != mostHeld() {
		t.Errorf("%d are known", len(f))
	}
}

// TestHeldOnlyELF opens neither devices, FIFOs and directories, nor files of other inodes.
func TestHeldOnlyELF(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/text", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for path, change := range map[string]uint64{dir: 0, dir + "/fifo": 0, dir + "/text": 0, os.DevNull: 0, program: 1, dir + "/none": 0} {
		var is unix.Stat_t
		_ = unix.Stat(path, &is)
		m := mapping{inode: is.Ino + change, path: path}
		if file := openAs(path, m, true); file != nil && (files{}).holdOpen(file, m) {
			t.Errorf("%s is held", path)
		}
	}
}

// TestHeldLocal opens a file as one that is mapped, and one of a file system that is none of those on which that does no harm: /proc.
func TestHeldLocal(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{own: true, "/proc/version": false} {
		var is unix.Stat_t
		if err := unix.Stat(path, &is); err != nil {
			t.Fatal(err)
		}
		file := openAs(path, mapping{inode: is.Ino, path: path}, true)
		if (file != nil) != want {
			t.Errorf("%s: opened: %v", path, file != nil)
		}
		file.Close()
	}
}
