package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// crashed runs a command that says where its code lies, and returns what the maps have at these places, after its end: the names of files, in the
// order of the names that it says. A place that two maps have differently is "?".
func crashed(t *testing.T, m *Maps, argv ...string) (at []string) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	errs, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	if _, err := Run(context.Background(), Options{Argv: argv, New: newStream, Stdin: errs, Stdout: out, Stderr: errs, Maps: m}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var name string
		var addr uint64
		if _, err := fmt.Sscanf(line, "%s 0x%x", &name, &addr); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		at = append(at, name+" "+fileAt(t, m.All(), addr))
	}
	slices.Sort(at)
	return at
}

// fileAt returns the file that snapshots have at an address.
func fileAt(t *testing.T, all []Snapshot, addr uint64) (file string) {
	t.Helper()
	for _, s := range all {
		for line := range strings.Lines(string(s.Text)) {
			var start, last, offset, size uint64
			var mode, path string
			if _, err := fmt.Sscanf(line, "%x-%x %s %x %x %s", &start, &last, &mode, &offset, &size, &path); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if path = strings.TrimRight(filepath.Base(path), "-.0123456789"); addr < start || addr > last || path == file {
				continue
			}
			if file != "" {
				return "?"
			}
			file = path
		}
	}
	return file
}

// rounds is how often a program crashes in one test.
const rounds = 20

// TestCrashAtOnce runs programs that crash in their first moments: all of their code is known, and none that lies elsewhere.
func TestCrashAtOnce(t *testing.T) {
	if random, err := randomized("/proc/self"); err != nil || !random {
		t.Skip("places are not random here")
	}
	r, err := record()
	if err != nil {
		t.Skipf("the kernel does not record: %v", err)
	}
	r.close()
	pie, fixed := compiledAs(t, "crash", "-fpie", "-pie"), compiledAs(t, "crash", "-fno-pie", "-no-pie")
	all := []string{"early libearly.so", "main crash", "puts libc.so"}
	for _, c := range []struct {
		name string
		argv []string
		want []string
	}{
		{"at once", []string{pie + "/crash"}, all},
		{"in a thread", []string{pie + "/crash", "thread"}, all},
		{"in a fork", []string{pie + "/crash", "fork"}, all},
		{"in another program", []string{pie + "/crash", "exec"}, all},
		{"below a shell", []string{"sh", "-c", pie + "/crash; true"}, all},
		{"far below", []string{"sh", "-c", "(sh -c '(" + pie + "/crash fork; true); true'); true"}, all},
		{"with a late library", []string{pie + "/crash", "late", pie + "/late.so"}, []string{"early libearly.so", "late late.so", "main crash", "puts libc.so"}},
		{"with another in its place", []string{pie + "/crash", "instead", pie + "/late.so", pie + "/other.so"}, []string{"early libearly.so", "late ", "main crash", "puts libc.so"}},
		{"at a fixed address", []string{fixed + "/crash"}, []string{"early libearly.so", "main ", "puts libc.so"}},
		{"nothing is random", []string{"setarch", "-R", pie + "/crash"}, []string{"early ", "main ", "puts "}},
		{"nothing is random, with a large stack", []string{"sh", "-c", "ulimit -s 1000000; setarch -R " + pie + "/crash; true"}, []string{"early ", "main ", "puts "}},
		{"nothing is random, with a stack without a limit", []string{"sh", "-c", "ulimit -s unlimited; setarch -R " + pie + "/crash; true"}, []string{"early ", "main ", "puts "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(strings.Join(c.argv, " "), "setarch") && exec.Command("setarch", "-R", "true").Run() != nil {
				t.Skip("setarch does not run here")
			}
			for range rounds {
				if got := crashed(t, NewMaps(), c.argv...); !slices.Equal(got, c.want) {
					t.Fatalf("%v, want %v", got, c.want)
				}
			}
		})
	}
}

// TestCrashTraced does so where the kernel does not record, but the command may be traced.
func TestCrashTraced(t *testing.T) {
	if random, err := randomized("/proc/self"); err != nil || !random {
		t.Skip("places are not random here")
	}
	dir := compiledAs(t, "crash", "-fpie", "-pie")
	if m := (&Maps{files: files{}, unrecorded: true}); len(crashed(t, m, dir+"/crash")) == 0 || len(m.All()) == 0 {
		t.Skip("a command cannot be traced here")
	}
	for range rounds {
		m := NewMaps()
		m.unrecorded = true
		if got, want := crashed(t, m, dir+"/crash"), []string{"early libearly.so", "main crash", "puts libc.so"}; !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
