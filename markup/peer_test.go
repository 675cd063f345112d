package markup

import (
	"encoding/hex"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
)

// TestFieldsAgainstLLVM compares the accepted values of fields, and their meaning, with llvm's filter.
func TestFieldsAgainstLLVM(t *testing.T) {
	const peer = "llvm-symbolizer-22"
	if _, err := exec.LookPath(peer); err != nil {
		t.Skip(peer + " is not installed")
	}
	numbers := strings.Fields(`0 00 000 1 7 08 010 0177 8 10 0x 0x0 0X0 0x1f 0x1G 0X1F 0x00000000000000000000001 0b 0b1 0b2 0B1 0B
		0o 0o7 0o8 0O7 00x1 0b0x1 ab 0xab -1 +1 1_0 0x1_0 1. 18446744073709551615 18446744073709551616 0xffffffffffffffff
		0x10000000000000000 01777777777777777777777 02000000000000000000000 0b1`)
	numbers = append(numbers, "", " 1", "1 ", "0 ")
	modes := append(strings.Fields("r w x rw rx wx rwx R W X Rw rX RWX wr xr xw rr rwxp r-x -r rwxx"), "", " r")
	builds := append(strings.Fields("0 a ab abc ABC 0x1 0b1 xy 00 1234567890abcdef1234567890abcdef12345678 a_b -1"), "", " ab")
	var lines []string
	for format, values := range map[string][]string{
		"module:%s:n:elf:ab": numbers, "module:1:n:elf:%s": builds, "mmap:%s:0x10:load:1:r:0x0": numbers,
		"mmap:0x1000:%s:load:1:r:0x0": numbers, "mmap:0x1000:16:load:%s:r:0x0": numbers,
		"mmap:0x1000:16:load:1:%s:0x0": modes, "mmap:0x1000:16:load:1:r:%s": numbers,
	} {
		for _, v := range values {
			id, _ := Integer([]byte(v))
			if id == math.MaxUint64 && (strings.Contains(format, "load:%s") || strings.HasPrefix(format, "module:%s")) {
				continue // a sentinel of llvm's DenseMap: llvm 22.1.8 refuses to define a module with this ID, and crashes if it is used
			}
			lines = append(lines, "{{{"+fmt.Sprintf(format, v)+"}}}")
		}
	}
	var input strings.Builder
	for _, line := range lines {
		input.WriteString("{{{reset}}}\n")
		if strings.HasPrefix(line, "{{{mmap") {
			input.WriteString("{{{module:1:n:elf:ab}}}\n")
		}
		input.WriteString(line + "\n=====\n")
	}
	cmd := exec.Command(peer, "--filter-markup", "--no-debuginfod", "--color=never")
	cmd.Stdin = strings.NewReader(input.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(string(out), "=====\n")
	if len(answers) != len(lines)+1 {
		t.Fatalf("%d answers for %d lines", len(answers), len(lines))
	}
	for i, line := range lines {
		answer := strings.TrimPrefix(answers[i], "[[[reset]]]\n")
		if got := asLLVM(one(t, line)); got != answer {
			t.Errorf("%s\n ours %q\n llvm %q", line, got, answer)
		}
	}
}

// asLLVM returns what llvm prints for a context element.
func asLLVM(e *Element) string {
	if e.Tag == Module {
		m, err := ParseModule(e)
		if err != nil {
			return ""
		}
		return fmt.Sprintf("[[[ELF module #%#x %q; BuildID=%s]]]\n", m.ID, m.Name, hex.EncodeToString([]byte(m.BuildID)))
	}
	m, err := ParseMMap(e)
	if err != nil || m.ModuleID != 1 {
		return "[[[ELF module #0x1 \"n\"; BuildID=ab]]]\n"
	}
	return fmt.Sprintf("[[[ELF module #0x1 \"n\"; BuildID=ab [%#x-%#x](%s)]]]\n", m.Start, m.Start+m.Size-1, m.Mode)
}
