package filter_test

import (
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
)

// TestNextProgram holds that in a log without prefixes the mappings of one program do not name the stack of the next one, where a line
// says that there is a next one.
func TestNextProgram(t *testing.T) {
	const maps = "00400000-00410000 r-xp 00000000 fe:00 1234    /a\n"
	const stack = "    @     0x401101  (unknown)\n    @     0x401201  (unknown)\n"
	const next = "    @     0x402101  (unknown)\n    @     0x402201  (unknown)\n"
	for _, tc := range []struct {
		name, log string
		want      bool // the last stack has names
	}{
		{"one program", maps + stack + next, true},
		{"two stacks of one program", maps + stack + "text\n\nmore\n" + next, true},
		{"a program that is named", maps + "*** SIGSEGV (@0x0) received by PID 7 (TID 0x7f) from PID 0; stack trace: ***\n" + next, true},
		{"glog of another process", maps + "*** SIGSEGV (@0x0) received by PID 7 (TID 0x7f) from PID 0; stack trace: ***\n" + stack +
			"*** SIGSEGV (@0x0) received by PID 8 (TID 0x7f) from PID 0; stack trace: ***\n" + next, false},
		{"glog after a stack of no process", maps + stack + "*** SIGSEGV (@0x0) received by PID 8 (TID 0x7f) from PID 0; stack trace: ***\n" + next, false},
		{"glog twice of one process", maps + "*** SIGSEGV (@0x0) received by PID 8 (TID 0x7f) from PID 0; stack trace: ***\n" + stack +
			"*** SIGABRT (@0x0) received by PID 8 (TID 0x7f) from PID 0; stack trace: ***\n" + next, true},
		{"the first test", maps + "[ RUN      ] A.B\n" + next, true},
		{"the next test", maps + "[ RUN      ] A.B\n" + stack + "[ RUN      ] A.C\n" + next, false},
		{"the next test with mappings", maps + stack + "[ RUN      ] A.C\n" + maps + next, true},
		{"the next test with other mappings", maps + stack + "[ RUN      ] A.C\n" + strings.ReplaceAll(maps, "/a", "/b") + next, true},
		{"the next program", maps + stack + "[==========] Running 3 tests from 2 test suites.\n" + next, false},
		{"after a shell's words", maps + stack + "run: line 3:  4711 Segmentation fault      (core dumped) ./a\n" + next, false},
	} {
		out := filtertest.Run(t, filter.Options{Symbols: addresses{}}, tc.log)
		want := "@2100"
		if strings.Contains(tc.name, "other") {
			want = "/b@2100"
		}
		if got := strings.Contains(out, want); got != tc.want {
			t.Errorf("%s: the last stack has names: %v\n%s", tc.name, got, out)
		}
	}
}
