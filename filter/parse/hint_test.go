package parse_test

import (
	"testing"

	"qss-filter/filter/parse"
)

// TestSplitHint holds what of a hint is a function's name: not the placeholders that emitters write for one that they do not know.
func TestSplitHint(t *testing.T) {
	for _, tc := range []struct {
		hint, name string
		offset     uint64
		has        bool
	}{
		{"f(int)+0x17", "f(int)", 0x17, true},
		{" in f", "f", 0, false},
		{"start + 23", "start", 23, true},
		{"JavaMain(void*)+0x8  (java.c:3)", "JavaMain(void*)", 8, true},
		{"-[NSArray objectAtIndex:] + 4", "-[NSArray objectAtIndex:]", 4, true},
		{"+[NSArray array] + 4", "+[NSArray array]", 4, true},
		{"<core::fmt::Arguments as core::fmt::Display>::fmt", "<core::fmt::Arguments as core::fmt::Display>::fmt", 0, false},
		{"??0Widget@@QEAA@XZ+0x1f", "??0Widget@@QEAA@XZ", 0x1f, true},
		{"(anonymous namespace)::f()", "(anonymous namespace)::f()", 0, false},
		{"größe", "größe", 0, false},
		{"operator+", "operator+", 0, false},
		// Swift, macOS with and without the image's address, gdb, addr2line, valgrind, eu-stack
		{"<unavailable> + 32258898", "", 32258898, true},
		{"0x0 + 4866466759", "", 4866466759, true},
		{"0x104f38000 + 16384", "", 16384, true},
		{", in ?? ()", "", 0, false},
		{"in ??", "", 0, false},
		{"???", "", 0, false},
		// Rust, TSan, glog, glibc, perf, systemd-coredump, iOS, Xcode, lldb
		{"<unknown>", "", 0, false},
		{" in <null>", "", 0, false},
		{"(unknown)", "", 0, false},
		{"(nil)", "", 0, false},
		{"(null)+0x4", "", 4, true},
		{"[unknown]", "", 0, false},
		{"n/a", "", 0, false},
		{"<redacted> + 40", "", 40, true},
		{"<deduplicated_symbol> + 12", "", 12, true},
		{"___lldb_unnamed_symbol2371$$libc.so + 66", "", 66, true},
		// what stands there are modules
		{" in [vdso]", "", 0, false},
		{"/usr/lib/libx.so", "", 0, false},
		{"", "", 0, false},
		{"+0x1234", "", 0, false},
	} {
		name, offset, has := parse.SplitHint([]byte(tc.hint))
		if name != tc.name || offset != tc.offset || has != tc.has {
			t.Errorf("%q: %q, %#x, %t, want %q, %#x, %t", tc.hint, name, offset, has, tc.name, tc.offset, tc.has)
		}
	}
}
