package filter_test

import (
	"testing"

	"qss-filter/filter"
)

// TestNamedTrampoline holds that the frame behind one that the log calls a signal trampoline is taken as it is, whether
// the trampoline's own file is at hand or not, and only that one.
func TestNamedTrampoline(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     uint64
	}{
		{"systemd", "#3  0x00007fd2dab67050 __restore_rt (/missing.so + 0x50)\n#4  0x00007fd2dab67100 n/a (m + 0x100)\n", 0x100},
		{"LLVM", " #1 0x00007fd2dab67050 __restore_rt (/missing.so+0x50)\n #2 0x00007fd2dab67100 (/m+0x100)\n", 0x100},
		{"with an offset", "3: __restore_rt + 0x0 (0xb74d57ad) [/missing.so] + 0x50\n4: (0xb6be63cf) [/m] + 0x100\n", 0x100},
		{"by its symbol", "/missing.so(__restore_rt+0x0)[0x7f2350]\n/m(+0x100)[0x7f100]\n", 0x100},
		{"known by source", "#3 0x7f50 in __restore_rt libc_sigaction.c:0 (/missing.so+0x50)\n#4 0x7f100 f (/m+0x100)\n", 0x100},
		{"in the vDSO", "#3 0x7f50 __kernel_rt_sigreturn (linux-vdso.so.1+0x50)\n#4 0x7f100 f (/m+0x100)\n", 0x100},
		{"another name", "#3 0x7f50 __restore_rt_stub (/missing.so+0x50)\n#4 0x7f100 f (/m+0x100)\n", 0xff},
		{"one frame between", "#3 0x7f50 __restore_rt (/missing.so+0x50)\n#4 0x7f60 in f a.c:1 (/missing.so+0x60)\n#5 0x7f100 g (/m+0x100)\n", 0xff},
		{"gdb", "7f0000-7f1000 r-xp 00000000 00:00 0 /m\n#1  <signal handler called>\n#2  0x00000000007f0100 in ?? ()\n", 0x100},
		{"gdb without", "7f0000-7f1000 r-xp 00000000 00:00 0 /m\n#2  0x00000000007f0100 in ?? ()\n", 0xff},
	} {
		s := &symbols{}
		feed(filter.Options{Symbols: s, Explain: true}, tc.in)
		if last := len(s.Asked) - 1; last < 0 || s.Asked[last].Offset != tc.want {
			t.Errorf("%s: asked for %+v, want offset %#x at the end", tc.name, s.Asked, tc.want)
		}
	}
}
