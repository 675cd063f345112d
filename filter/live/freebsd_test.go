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

// TestBSDKernels compares frames of the kernels of the BSDs, of their debuggers, and of bcc's tools with llvm-symbolizer. One in a module of the kernel stays
// as it is, and so do all if the file is of another build.
func TestBSDKernels(t *testing.T) {
	for _, c := range []struct{ file, format, module string }{
		{"kernel.debug", "#%[1]d %#[2]x at %[3]s+%#[4]x", "#3 0xffffffff82000010 at zfs_open+0x10"},
		{"kernel", "%[3]s() at %[3]s+%#[4]x/frame 0xfffffe0012345678", "zfs_open() at zfs_open+0x10/frame 0xfffffe0012345678"},
		{"netbsd.gdb", "%[3]s(ffffdd0011f5caa0) at netbsd:%[3]s+%#[4]x", "zfs_open() at zfs:zfs_open+0x10"},
		{"a.out", "\t%[1]d [<%016[2]x>] %[3]s+%#[4]x [a.out]", "\t3 [<00007f0594212d90>] [/usr/lib/libc.so.6]"},
		{"bsd.gdb", "%[3]s(ffffdd0011f5caa0,0) at %[3]s+%#[4]x", "zfs_open() at zfs_open+0x10"},
	} {
		t.Run(c.file, func(t *testing.T) { compareKernel(t, c.file, c.format, c.module) })
	}
}

// compareKernel compares frames of a kernel, whose format gets the number, the address, the function and the distance from it, with
// llvm-symbolizer. One of a module is below them.
func compareKernel(t *testing.T, file, format, module string) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is one of x86-64")
	}
	needTool(t, "gcc", "gcc")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k.c"), []byte(freeBSDKernel), 0o600); err != nil {
		t.Fatal(err)
	}
	for build, flag := range map[string]string{"same": "-O1", "other": "-O0"} {
		path := filepath.Join(dir, build, file)
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("gcc", "-g", flag, "-fno-pic", "-mcmodel=kernel", "-ffreestanding", "-nostdlib", "-static", "-no-pie",
			"-Wl,-Ttext-segment=0xffffffff80200000", "-o", path, filepath.Join(dir, "k.c"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	kernel := filepath.Join(dir, "same", file)
	log, want := "panic: test\nKDB: stack backtrace:\n", "panic: test\nKDB: stack backtrace:\n"
	for i, call := range [...][2]string{{"vpanic", "kdb_backtrace"}, {"panic", "vpanic"}, {"_start", "panic"}} {
		at := returnsTo(t, kernel, call[0], call[1])
		frame := fmt.Sprintf(format, i, at, call[0], at-symbolAt(t, kernel, call[0]))
		out, err := exec.Command("llvm-symbolizer-22", "--obj="+kernel, fmt.Sprintf("%#x", at-1)).Output()
		if err != nil {
			t.Fatal(err)
		}
		log += frame + "\n"
		want += frame + " in " + strings.Join(strings.Fields(string(out)), " ") + "\n"
	}
	log, want = log+module+"\n", want+module+"\n"
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
