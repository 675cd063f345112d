package live_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"qss-filter/filter"
)

// ended is a program that prints its stack as glog, Rust and glibc do for code of which they know no name, and crashes.
const ended = `#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void inner(void) {
	void *pcs[16];
	int n = backtrace(pcs, 16);
	printf("*** SIGABRT (@0x3e8) received by PID 7 (TID 0x7f) from PID 0; stack trace: ***\n");
	for (int i = 0; i < n; i++) printf("    @ %18p (unknown)\n", pcs[i]);
	printf("stack backtrace:\n");
	for (int i = 0; i < n; i++) printf("%4d: %#18lx - <unknown>\n", i, (unsigned long)pcs[i]);
	printf("glibc:\n");
	for (int i = 0; i < n; i++) printf("[%p]\n", pcs[i]);
	fflush(stdout);
	abort();
}
__attribute__((noinline)) void outer(void) { inner(); __asm__ volatile(""); }
int value = VALUE + 1; // of another build
int main(void) { outer(); return value; }
`

// crashed builds that program and runs it. It returns its path, its output, and its core file.
func crashed(t *testing.T) (exe, log, core string) {
	dir := t.TempDir()
	exe = filepath.Join(dir, "ended")
	build(t, exe, 0)
	cmd := exec.Command("sh", "-c", "ulimit -c unlimited; exec ./ended")
	cmd.Dir = dir
	out, _ := cmd.Output()
	found, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(found) == 0 { // the machine keeps them elsewhere
		cmd = exec.Command("gdb", "-nx", "-batch", "-ex", "run >log", "-ex", "generate-core-file core", exe)
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		out, _ = os.ReadFile(filepath.Join(dir, "log"))
		if found, _ = filepath.Glob(filepath.Join(dir, "core*")); len(found) == 0 {
			t.Skipf("no core file: %v %s", err, said)
		}
	}
	return exe, string(out), found[0]
}

// build builds the program, with a value in its data.
func build(t *testing.T, exe string, value int) {
	source := filepath.Join(filepath.Dir(exe), "ended.c")
	if err := os.WriteFile(source, []byte(ended), 0o600); err != nil {
		t.Fatal(err)
	}
	compiled(t, "-g", "-O1", "-Wl,--build-id", fmt.Sprintf("-DVALUE=%d", value), "-o", exe, source)
}

// packers compress files as systemd-coredump and users do.
var packers = map[string]func(w io.Writer) io.WriteCloser{
	".gz":  func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	".lz4": func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) },
	".zst": func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		if err != nil {
			panic(err)
		}
		return z
	},
	".xz": func(w io.Writer) io.WriteCloser {
		z, err := xz.NewWriter(w)
		if err != nil {
			panic(err)
		}
		return z
	},
}

// packed writes a file again, compressed, and returns the path of that.
func packed(t *testing.T, path, suffix string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := packers[suffix](&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+suffix, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path + suffix
}

// withMaps filters a log with the mappings of a file.
func withMaps(t *testing.T, maps, log string) string {
	t.Helper()
	f, end, err := (&filter.Extras{Maps: maps}).Open(filter.Options{Symbols: assumedFiles(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	var out strings.Builder
	if err := f.Run(t.Context(), strings.NewReader(log), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestEnded names the frames of a process that has ended by its core file, and none of them once the program is another one.
func TestEnded(t *testing.T) {
	exe, log, core := crashed(t)
	maps := []string{core}
	for suffix := range packers {
		maps = append(maps, packed(t, core, suffix))
	}
	for _, path := range maps {
		out := withMaps(t, path, log)
		for _, name := range []string{"inner", "outer", "main"} {
			if n := strings.Count(out, " in "+name+" "); n != 3 {
				t.Errorf("%s: %s is named %d times in 3 stacks:\n%s", filepath.Ext(path), name, n, out)
			}
		}
	}
	build(t, exe, 1)
	if out := withMaps(t, core, log); strings.Contains(out, " in main ") || strings.Contains(out, " in inner ") {
		t.Errorf("named by another build:\n%s", out)
	}
}
