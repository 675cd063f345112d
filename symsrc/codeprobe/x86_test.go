package codeprobe

import (
	"bufio"
	stdelf "debug/elf"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestX86 compares the lengths of instructions, and what jumps and calls lead to, with what disassemblers say of whole libraries: those with
// code that was written by hand for each kind of processor, and those with what compilers make.
func TestX86(t *testing.T) {
	for _, c := range []struct{ tool, path string }{
		{"objdump", "/lib/x86_64-linux-gnu/libc.so.6"}, // which llvm-objdump skips
		{"objdump", "/lib/x86_64-linux-gnu/libm.so.6"},
		{"llvm-objdump-22", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"},
		{"llvm-objdump-22", "/usr/lib/x86_64-linux-gnu/libgmp.so.10"},
		{"llvm-objdump-22", "/usr/lib/x86_64-linux-gnu/libasan.so.8"},
		{"llvm-objdump-22", "/usr/lib/x86_64-linux-gnu/libdav1d.so.6"},
	} {
		t.Run(c.path, func(t *testing.T) {
			if _, err := exec.LookPath(c.tool); err != nil {
				t.Skipf("%s is not installed", c.tool)
			}
			if _, err := os.Stat(c.path); err != nil {
				t.Skipf("%s is not installed", c.path)
			}
			compareX86(t, c.tool, c.path)
		})
	}
}

// branch is a direct jump or call in a disassembly.
var branch = regexp.MustCompile(`^(?:[a-z0-9.]+,?[a-z]* )*(?:j[a-z]+|call[q]?|loop[a-z]*)(?:,p[nt])?\s+(?:0x)?([0-9a-f]+)(?: <.*)?$`)

// targetOf returns where an instruction leads to, if it is one.
func targetOf(text string) (to uint64, is bool) {
	m := branch.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	to, err := strconv.ParseUint(m[1], 16, 64)
	return to, err == nil
}

// compareX86 compares the instructions of all sections of a file with a disassembly.
func compareX86(t *testing.T, tool, path string) {
	t.Helper()
	f, err := stdelf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Machine != stdelf.EM_X86_64 {
		t.Skip("it is of another machine")
	}
	cmd := exec.Command(tool, "-d", "-z", "--no-show-raw-insn", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var code []byte
	var begin, last uint64
	text, instructions, jumps, bad := "", 0, 0, 0
	check := func(end uint64) {
		at := code[last-begin:]
		if at[0] == 0x9b && end-last > 1 { // objdump takes fwait with what follows
			at, last = at[1:], last+1
		}
		in, ok := decodeX86(at)
		instructions++
		switch {
		case !ok || uint64(in.size) != end-last:
			if bad++; bad < 10 {
				t.Errorf("%#x: % x has %d bytes, want %d of %q", last, at[:min(len(at), 15)], in.size, end-last, text)
			}
		default:
			to, is := in.leadsTo(at, last)
			want, says := targetOf(text)
			if is || says {
				jumps++
			}
			if is != says || to != want {
				if bad++; bad < 10 {
					t.Errorf("%#x: % x leads to %#x, %t, want %#x of %q", last, at[:in.size], to, is, want, text)
				}
			}
		}
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if name, found := strings.CutPrefix(line, "Disassembly of section "); found {
			s := f.Section(strings.TrimSuffix(name, ":"))
			if code, err = s.Data(); err != nil {
				t.Fatal(err)
			}
			begin, text = s.Addr, ""
			continue
		}
		addr, rest, found := strings.Cut(line, ":")
		n, err := strconv.ParseUint(strings.TrimSpace(addr), 16, 64)
		if !found || err != nil {
			continue
		}
		if text == "lock" { // of the next one, in llvm-objdump's view one by itself
			text = strings.TrimSpace(rest)
			continue
		}
		if text != "" && text != "(bad)" && text != "<unknown>" {
			check(n)
		}
		last, text = n, strings.TrimSpace(rest)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d instructions, %d of them jumps and calls, %d others than %s has", instructions, jumps, bad, tool)
	if instructions < 1000 || jumps < 100 {
		t.Error("there is nothing to compare with")
	}
}
