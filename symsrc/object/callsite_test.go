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

// libraries are C libraries, whose code has all that compilers and assemblers write: that of this machine, and those that
// come with the cross compilers of Debian. calls are what llvm-objdump-22 calls the instructions that call. missed and
// wrong are allowed parts per million of the calls and of the boundaries of instructions.
var libraries = []struct {
	path          string
	calls         string
	missed, wrong int
}{
	{"/lib/x86_64-linux-gnu/libc.so.6", `^callq?\b`, 0, 800},
	{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", `^callq?\b`, 0, 800},
	{"/usr/aarch64-linux-gnu/lib/libc.so.6", `^blr?[a-z]*\b`, 0, 0},
	// Its symbols do not tell which words are data: llvm-objdump takes some of them for calls of where nothing is.
	{"/usr/arm-linux-gnueabi/lib/libc.so.6", `^blx?(eq|ne|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?\b`, 2000, 100},
	{"/usr/riscv64-linux-gnu/lib/libc.so.6", `^(jal|jalr)\b`, 0, 0},
	{"/usr/powerpc64-linux-gnu/lib/libc.so.6", `^(bl|bctrl|bclrl|blrl)\b`, 0, 0},
	{"/usr/powerpc64le-linux-gnu/lib/libc.so.6", `^(bl|bctrl|bclrl|blrl)\b`, 0, 0},
	{"/usr/s390x-linux-gnu/lib/libc.so.6", `^(brasl|bras|basr|bas)\b`, 0, 0},
	{"/usr/mips-linux-gnu/lib/libc.so.6", `^(jal|jalr|bal|balc|jialc|b[a-z]+zal)\b`, 0, 0},
}

// TestCallSites asks at every boundary of instructions, as llvm-objdump-22 finds them, whether a call ends there.
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

// TestThumbCallSites is the same for code of both Arm instruction sets in one file, which mapping symbols tell apart.
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
		slot = 4 // a call returns after the instruction after it
	}
	returns := make(map[uint64]string)
	for i, x := range insns {
		if i > 0 && insns[i-1].text == "mov\tlr, pc" || calls.MatchString(x.text) && !asksWhere(&x) {
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
				t.Logf("%#x: no call ends behind %q", x.end, x.text)
			}
		case got && !(f.Probe(x.end-f.elf.CallDistance(), symsrc.Linked).Calls && f.Probe(x.end-1, symsrc.Linked).Calls):
			t.Errorf("%#x or %#x does not lie in the call that ends at %#x", x.end-f.elf.CallDistance(), x.end-1, x.end)
		case want && !got:
			if bad++; bad <= 5 {
				t.Logf("%#x: missed the end of %q", x.end, text)
			}
		}
	}
	t.Logf("%d boundaries, %d calls, %d missed, %d wrong", len(insns), len(returns), bad, extra)
	if bad > len(returns)*missed/1e6 || extra > len(insns)*wrong/1e6 {
		t.Errorf("allowed are %d and %d in a million", missed, wrong)
	}
}

// asksWhere tells what looks like a call but asks for its own address: calls of the very next instruction, and those that
// jump nowhere; and jumps that link to a register which no return uses.
func asksWhere(x *instruction) bool {
	fields := strings.Fields(x.text)
	last := fields[len(fields)-1]
	if to, err := strconv.ParseUint(strings.TrimPrefix(last, "0x"), 16, 64); err == nil && (to == x.end || to == x.end+4 && fields[0] == "bal") {
		return true
	}
	return fields[0] == "jalr" && len(fields) > 2 && fields[1] == "t1," || fields[0] == "basr" && last == "0"
}

// disassemble lists the instructions of a file; the last one of a section has no end.
func disassemble(t *testing.T, path string) (all []instruction) {
	t.Helper()
	tool := "llvm-objdump-22"
	if strings.HasPrefix(path, "/lib/") || strings.HasPrefix(path, "/usr/lib/") {
		tool = "objdump" // llvm-objdump passes over most of Debian's libc
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
