package object

import (
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// leavingSource has functions that are left in all the ways there are, each between two labels: its name, and that with _end.
const leavingSource = `
	.text
FUNCTION(returns)
	push %rbp
	mov %rsp, %rbp
	call shared@PLT
	pop %rbp
	ret
END(returns)
FUNCTION(jumps)
	endbr64
	push %rbp
	mov %rsp, %rbp
	test %edi, %edi
	je returns
	pop %rbp
	jmp shared@PLT
END(jumps)
FUNCTION(within)
	sub $8, %rsp
1:	dec %edi
	jne 1b
	loop 1b
	add $8, %rsp
	ret
END(within)
FUNCTION(switches)
	lea table(%rip), %rax
	notrack jmp *(%rax,%rdi,8)
END(switches)
FUNCTION(by_pointer)
	jmp *%rdi
END(by_pointer)
FUNCTION(by_slot)
	jmp *shared@GOTPCREL(%rip)
END(by_slot)
FUNCTION(falls)
	mov $1, %eax
END(falls)
FUNCTION(padded)
	call shared@PLT
	nopw 0(%rax,%rax)
	int3
END(padded)
FUNCTION(stops)
	ud2
END(stops)
FUNCTION(no_code)
	.byte 0x06
	ret
END(no_code)
FUNCTION(returns_elsewhere)
	call 1f
1:	pop %rax
	ret
END(returns_elsewhere)
	.section .data.rel.ro,"aw"
table:
	.quad returns
`

// TestCallAt holds what the beginnings of functions say of the ways out of them, and of their frame pointers.
func TestCallAt(t *testing.T) {
	var b strings.Builder
	for line := range strings.Lines(leavingSource) {
		switch name := strings.TrimSuffix(line[strings.IndexByte(line, '(')+1:], ")\n"); {
		case strings.HasPrefix(line, "FUNCTION"):
			b.WriteString("\t.p2align 4\n\t.globl " + name + "\n\t.type " + name + ", @function\n" + name + ":\n\t.cfi_startproc\n")
		case strings.HasPrefix(line, "END"):
			b.WriteString("\t.cfi_endproc\n\t.size " + name + ", .-" + name + "\n")
		default:
			b.WriteString(line)
		}
	}
	f := assemble(t, b.String(), "x86_64-linux-gnu", "-shared", "-fPIC")
	for _, c := range []struct {
		function       string
		jumps          []string
		sealed, framed bool
	}{
		{"returns", nil, true, true},
		{"jumps", []string{"returns", "shared"}, true, true},
		{"within", nil, true, false},
		{"switches", nil, true, false},
		{"by_pointer", nil, false, false},
		{"by_slot", []string{"shared"}, true, false},
		{"falls", nil, false, false},
		{"padded", nil, true, false},
		{"stops", nil, true, false},
		{"no_code", nil, false, false},
		{"returns_elsewhere", nil, false, false},
	} {
		begin := findSymbol(t, f, c.function)
		call := f.Call(symsrc.Addr{Offset: begin})
		if call == nil || call.Start != begin {
			t.Fatalf("%s: %+v", c.function, call)
		}
		var jumps []string
		for _, to := range call.Jumps {
			if name := to.Symbol; name != "" {
				jumps = append(jumps, name)
			} else if to.Addr == findSymbol(t, f, "returns") {
				jumps = append(jumps, "returns")
			} else {
				t.Errorf("%s jumps to %#x", c.function, to.Addr)
			}
		}
		if slices.Sort(jumps); !slices.Equal(jumps, c.jumps) || call.Sealed != c.sealed {
			t.Errorf("%s: jumps to %v, sealed %t, want %v, %t", c.function, jumps, call.Sealed, c.jumps, c.sealed)
		}
		// At a place within it: the frame pointer is set up by then.
		if at := f.Call(symsrc.Addr{Offset: begin + 10}); c.function != "stops" && (at == nil || at.Start != begin && c.framed || at.Start == begin && at.Framed != c.framed) {
			t.Errorf("%s: within %+v, want framed %t", c.function, at, c.framed)
		}
		if call.Framed {
			t.Errorf("%s: the frame pointer is set up before the first instruction", c.function)
		}
	}
}
