package object

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// libraries are C libraries, which contain everything that compilers and assemblers generate: that of this machine, and those of
// Debian's cross compilers. calls matches the call instructions in the output of llvm-objdump-22. missed and wrong are the allowed
// errors per million calls and per million instruction boundaries.
var libraries = []struct {
	path          string
	calls         string
	missed, wrong int
}{
	{"/lib/x86_64-linux-gnu/libc.so.6", `^callq?\b`, 0, 800},
	{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", `^callq?\b`, 0, 800},
	{"/usr/aarch64-linux-gnu/lib/libc.so.6", `^blr?[a-z]*\b`, 0, 0},
	// It has no mapping symbols, so llvm-objdump disassembles some data as calls.
	{"/usr/arm-linux-gnueabi/lib/libc.so.6", `^blx?(eq|ne|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?\b`, 2000, 100},
	{"/usr/riscv64-linux-gnu/lib/libc.so.6", `^(jal|jalr)\b`, 0, 0},
	{"/usr/powerpc64-linux-gnu/lib/libc.so.6", `^(bl|bctrl|bclrl|blrl)\b`, 0, 0},
	{"/usr/powerpc64le-linux-gnu/lib/libc.so.6", `^(bl|bctrl|bclrl|blrl)\b`, 0, 0},
	{"/usr/s390x-linux-gnu/lib/libc.so.6", `^(brasl|bras|basr|bas)\b`, 0, 0},
	{"/usr/mips-linux-gnu/lib/libc.so.6", `^(jal|jalr|bal|balc|jialc|b[a-z]+zal)\b`, 0, 0},
}

// TestCallSites checks at every instruction boundary, according to llvm-objdump-22, whether a call ends there.
func TestCallSites(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.path, func(t *testing.T) {
			if _, err := os.Stat(l.path); err != nil {
				t.Skipf("%s is not installed", l.path)
			}
			checkCallSites(t, l.path, regexp.MustCompile(l.calls), l.missed, l.wrong)
		})
	}
}

// TestThumbCallSites is TestCallSites for a file with code of both Arm instruction sets, which mapping symbols distinguish.
func TestThumbCallSites(t *testing.T) {
	b := build{compiler: clang, flags: "--target=armv7a-linux-gnueabihf -mthumb -g -O1" + lld}
	path := filepath.Join(t.TempDir(), "thumb")
	b.run(t, path)
	checkCallSites(t, path, regexp.MustCompile(`^blx?\b`), 0, 0)
}

// instruction is one line of a disassembly.
type instruction struct {
	addr, end uint64
	text      string
}

func checkCallSites(t *testing.T, path string, calls *regexp.Regexp, missed, wrong int) {
	t.Helper()
	f := open(t, path)
	insns := disassemble(t, path)
	slot := uint64(0)
	if strings.Contains(path, "mips") {
		slot = 4 // a call returns after the delay slot
	}
	returns := make(map[uint64]string)
	for i, x := range insns {
		if i > 0 && insns[i-1].text == "mov\tlr, pc" || calls.MatchString(x.text) && !readsPC(&x) {
			returns[x.end+slot] = x.text
		}
	}
	bad, extra := 0, 0
	for _, x := range insns {
		text, want := returns[x.end]
		got := f.CallEndsAt(x.end)
		switch {
		case got && !want:
			if extra++; extra <= 5 {
				t.Logf("%#x: no call ends after %q", x.end, x.text)
			}
		case got && !(f.Probe(x.end-f.elf.CallDistance(), symsrc.Linked).Calls && f.Probe(x.end-1, symsrc.Linked).Calls):
			t.Errorf("%#x or %#x is not in the call that ends at %#x", x.end-f.elf.CallDistance(), x.end-1, x.end)
		case want && !got:
			if bad++; bad <= 5 {
				t.Logf("%#x: missed the end of %q", x.end, text)
			}
		}
	}
	t.Logf("%d boundaries, %d calls, %d missed, %d wrong", len(insns), len(returns), bad, extra)
	if bad > len(returns)*missed/1e6 || extra > len(insns)*wrong/1e6 {
		t.Errorf("only %d and %d per million are allowed", missed, wrong)
	}
}

// readsPC reports whether an instruction looks like a call but only reads the program counter: a call of the next instruction, or one
// that does not jump; or whether it writes the return address to a register that no return instruction uses.
func readsPC(x *instruction) bool {
	fields := strings.Fields(x.text)
	last := fields[len(fields)-1]
	if to, err := strconv.ParseUint(strings.TrimPrefix(last, "0x"), 16, 64); err == nil && (to == x.end || to == x.end+4 && fields[0] == "bal") {
		return true
	}
	return fields[0] == "jalr" && len(fields) > 2 && fields[1] == "t1," || fields[0] == "basr" && last == "0"
}

// disassemble returns the instructions of a file, without the last one of each section, whose end is unknown.
func disassemble(t *testing.T, path string) (all []instruction) {
	t.Helper()
	tool := "llvm-objdump-22"
	if strings.HasPrefix(path, "/lib/") || strings.HasPrefix(path, "/usr/lib/") {
		tool = "objdump" // llvm-objdump skips most of Debian's libc
	}
	need(t, tool)
	out, err := exec.Command(tool, "-d", "-z", "--no-show-raw-insn", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		addr, text, ok := strings.Cut(sc.Text(), ":")
		a, err := strconv.ParseUint(strings.TrimSpace(addr), 16, 64)
		if !ok || err != nil {
			if strings.HasPrefix(sc.Text(), "Disassembly of section") {
				last = -1
			}
			continue
		}
		if last >= 0 {
			all[last].end = a
		}
		last = len(all)
		all = append(all, instruction{addr: a, text: strings.TrimSpace(strings.Split(text, "<")[0])})
	}
	if len(all) == 0 {
		t.Fatalf("no instructions in %s", path)
	}
	return slices.DeleteFunc(all, func(x instruction) bool { return x.end == 0 })
}
