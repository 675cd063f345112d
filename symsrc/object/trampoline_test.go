package object

import (
	stdelf "debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"qss-filter/symsrc/elf"
)

// trampolineSource has a function, a signal trampoline, whose range begins one byte early as in glibc, and another function.
const trampolineSource = `
	.text
	.globl before, restorer, after
before:
	.cfi_startproc
	.zero 16, NOP
	.cfi_endproc
	.cfi_startproc
	.cfi_signal_frame
	.byte NOP
restorer:
	.zero 15, NOP
	.cfi_endproc
after:
	.cfi_startproc
	.zero 16, NOP
	.cfi_endproc
`

// assemble builds an assembler source for a target of clang, or with the gcc named by target.
func assemble(t *testing.T, source, target string, flags ...string) *File {
	t.Helper()
	compiler := target
	if !strings.HasSuffix(target, "gcc") {
		compiler, flags = clang, append(flags, "--target="+target, "-fuse-ld=lld")
	}
	need(t, compiler)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.s"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	in(t, dir, compiler, append(flags, "-nostdlib", "-Wl,-e,0", "a.s", "-o", "a.elf")...)
	return open(t, filepath.Join(dir, "a.elf"))
}

// TestSignalTrampoline checks every address of code with one signal trampoline.
func TestSignalTrampoline(t *testing.T) {
	debugFrame := "\t.cfi_sections .debug_frame\n"
	// Only the assembler of binutils supports signal frames in .debug_frame.
	for _, x := range []struct{ name, target, header, link string }{
		{"table", "x86_64-linux-gnu", "", "-Wl,--eh-frame-hdr"},
		{"no table", "x86_64-linux-gnu", "", "-Wl,--no-eh-frame-hdr"},
		{"32 bits", "i686-linux-gnu", "", "-Wl,--eh-frame-hdr"},
		{"32 bits, no table", "i686-linux-gnu", "", "-Wl,--no-eh-frame-hdr"},
		{"big-endian", "powerpc64-linux-gnu", "", "-Wl,--eh-frame-hdr"},
		{"debug_frame", "gcc", debugFrame, ""},
		{"debug_frame, 32 bits", "arm-linux-gnueabi-gcc", debugFrame, "-marm"},
		{"debug_frame, big-endian", "s390x-linux-gnu-gcc", debugFrame, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := assemble(t, x.header+strings.ReplaceAll(trampolineSource, "NOP", "0x90"), x.target, strings.Fields(x.link)...)
			start := findSymbol(t, f, "before")
			for i := range uint64(48) {
				a := start + i
				if f.elf.Machine == stdelf.EM_ARM {
					a &^= 1
				}
				if got, want := f.SignalTrampoline(a), a >= start+16 && a < start+32; got != want {
					t.Errorf("%+d: %v", int64(a-start)-17, got)
				}
			}
		})
	}
}

// TestSignalTrampolineWithoutSections removes the sections; the table is found by its segment.
func TestSignalTrampolineWithoutSections(t *testing.T) {
	need(t, "llvm-objcopy-22")
	for _, target := range []string{"x86_64-linux-gnu", "i686-linux-gnu", "powerpc64-linux-gnu"} {
		t.Run(target, func(t *testing.T) {
			full := assemble(t, strings.ReplaceAll(trampolineSource, "NOP", "0x90"), target, "-Wl,--eh-frame-hdr")
			start := findSymbol(t, full, "before")
			in(t, filepath.Dir(full.path), "llvm-objcopy-22", "--strip-sections", "a.elf", "b.elf")
			f := open(t, filepath.Join(filepath.Dir(full.path), "b.elf"))
			if len(f.elf.Sections) > 0 {
				t.Fatalf("%d sections", len(f.elf.Sections))
			}
			for i := range uint64(48) {
				if got, want := f.SignalTrampoline(start+i), i >= 16 && i < 32; got != want {
					t.Errorf("%+d: %v", int64(i)-17, got)
				}
			}
			if text, ok := f.Text(start, 100); !ok || len(text) != 48 || text[0] != 0x90 {
				t.Errorf("text: % x, %v", text, ok)
			}
		})
	}
}

// TestSigreturn checks unmarked trampolines, as in some C libraries, which are recognized by their code.
func TestSigreturn(t *testing.T) {
	for target, code := range map[string]string{
		"x86_64-linux-gnu":       "mov $15, %rax\nsyscall",
		"i686-linux-gnu":         "pop %eax\nmov $119, %eax\nint $0x80",
		"aarch64-linux-gnu":      "mov x8, #139\nsvc #0",
		"riscv64-linux-gnu":      ".option norvc\nli a7, 139\necall",
		"armv7a-linux-gnueabi":   ".arm\nmov r7, #173\nsvc 0",
		"thumbv7a-linux-gnueabi": ".thumb\nmovs r7, #119\nsvc 0",
	} {
		t.Run(target, func(t *testing.T) {
			f := assemble(t, ".globl before, restorer\nbefore:\n.zero 16\nrestorer:\n"+code+"\n.zero 16\n", target)
			at := findSymbol(t, f, "restorer")
			if !f.SignalTrampoline(at) || f.SignalTrampoline(at-4) || f.SignalTrampoline(at+4) {
				t.Errorf("%v before %v after %v", f.SignalTrampoline(at), f.SignalTrampoline(at-4), f.SignalTrampoline(at+4))
			}
		})
	}
}

var (
	frameAugmentation = regexp.MustCompile(`Augmentation: +"([^"]*)"`)
	frameRange        = regexp.MustCompile(`(?m)^([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) (CIE|FDE)(?: cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))?`)
)

// TestSignalTrampolineOfLibrary compares with readelf for the C library of this machine, at every address at which the call frame
// information of a function begins or ends.
func TestSignalTrampolineOfLibrary(t *testing.T) {
	const path = "/lib/x86_64-linux-gnu/libc.so.6"
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed", path)
	}
	need(t, "readelf")
	out, _ := exec.Command("readelf", "--debug-dump=frames", "--wide", path).Output() // it fails for mere warnings, too
	eh, _, _ := strings.Cut(string(out), "Contents of the .debug_frame")
	signal := make(map[string]bool) // by the CIE
	var want []elf.Span
	var edges []uint64
	for _, m := range frameRange.FindAllStringSubmatchIndex(eh, -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return eh[m[2*i]:m[2*i+1]]
		}
		if part(3) == "CIE" {
			a := frameAugmentation.FindStringSubmatch(eh[m[1]:])
			signal[part(1)] = a != nil && strings.Contains(a[1], "S")
			continue
		}
		lo, _ := strconv.ParseUint(part(5), 16, 64)
		hi, _ := strconv.ParseUint(part(6), 16, 64)
		edges = append(edges, lo, hi-1, hi)
		if signal[part(4)] || signal[strings.Repeat("0", 8)+part(4)] {
			want = append(want, elf.Span{Lo: lo, Hi: hi})
		}
	}
	f := open(t, path)
	found := 0
	for _, a := range edges {
		in := false
		for _, s := range want {
			in = in || s.Covers(a)
		}
		if got := f.SignalTrampoline(a); got != in {
			t.Errorf("%#x: %v", a, got)
		} else if got {
			found++
		}
	}
	t.Logf("%d addresses, %d trampolines, %d addresses in them", len(edges), len(want), found)
	if len(want) == 0 {
		t.Error("readelf found no trampoline")
	}
}
