package live_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"qss-filter/filter"
)

// freeBSDKernel has a few functions of FreeBSD's kernel by name, at the addresses where that is linked to.
const freeBSDKernel = `__attribute__((noinline)) int kdb_backtrace(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) int vpanic(int x) { int r = kdb_backtrace(x); __asm__ volatile("" ::: "memory"); return r * 2; }
__attribute__((noinline)) int panic(int x) { int r = vpanic(x); __asm__ volatile("" ::: "memory"); return r + 3; }
int _start(void) { return panic(4) + 1; }
`

// TestFreeBSDKernel compares frames of FreeBSD's kernel with llvm-symbolizer. One in a module of the kernel stays as it is, and so do all if
// the file is of another build.
func TestFreeBSDKernel(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is one of x86-64")
	}
	needTool(t, "gcc", "gcc")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k.c"), []byte(freeBSDKernel), 0o600); err != nil {
		t.Fatal(err)
	}
	for build, flag := range map[string]string{"same/kernel.debug": "-O1", "other/kernel": "-O0"} {
		path := filepath.Join(dir, build)
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("gcc", "-g", flag, "-fno-pic", "-mcmodel=kernel", "-ffreestanding", "-nostdlib", "-static", "-no-pie",
			"-Wl,-Ttext-segment=0xffffffff80200000", "-o", path, filepath.Join(dir, "k.c"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	kernel := filepath.Join(dir, "same/kernel.debug")
	log, want := "panic: test\nKDB: stack backtrace:\n", "panic: test\nKDB: stack backtrace:\n"
	for i, call := range [...][2]string{{"vpanic", "kdb_backtrace"}, {"panic", "vpanic"}, {"_start", "panic"}} {
		at := returnsTo(t, kernel, call[0], call[1])
		frame := fmt.Sprintf("#%d %#x at %s+%#x", i, at, call[0], at-symbolAt(t, kernel, call[0]))
		out, err := exec.Command("llvm-symbolizer-22", "--obj="+kernel, fmt.Sprintf("%#x", at-1)).Output()
		if err != nil {
			t.Fatal(err)
		}
		log += frame + "\n"
		want += frame + " in " + strings.Join(strings.Fields(string(out)), " ") + "\n"
	}
	const module = "#3 0xffffffff82000010 at zfs_open+0x10\n"
	log, want = log+module, want+module
	for build, want := range map[string]string{"same": want, "other": log} {
		var got strings.Builder
		f := filter.New(filter.Options{Symbols: sourceOf(t, filepath.Join(dir, build))})
		if err := f.Run(context.Background(), strings.NewReader(log), &got); err != nil {
			t.Fatal(err)
		}
		if got.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", build, got.String(), want)
		}
	}
}
