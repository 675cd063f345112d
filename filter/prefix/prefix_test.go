package prefix

import (
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	const frame = "{{{bt:0:0x1}}}"
	for _, tc := range []struct {
		before string
		is     bool
	}{
		{"", true},
		{"    ", true},
		{"\t", true},
		{"04-11 01:15:21.682  4677  4677 F DEBUG   :       ", true},
		{"[01040.461] 01885.02639> ", true},
		{"[ 1362.000001] ", true},
		{"Nov 20 15:58:12 host prog[99]: ", true},
		{"svc-1  | ", true},
		{"\x1b[31m  \x1b[1;38:5:4m", true},
		{"\x1b[34mI/TAG(9): \x1b[0m", true},
		{"2026-11-20T15:58:12.0000000Z ", true},
		{"2026-11-20T15:58:12.123456789+01:00 stdout F ", true},
		{"Nov 20 15:58:12 ", true},
		{"E   ", true},
		{"T ", true},
		{"took 12 ", false},
		{"version 1.2-3 ", false},
		{"SUMMARY: AddressSanitizer: heap-use-after-free ", false},
		{"signal 11 at ", false},
		{"mm", false},
		{"[1m", false},
		{"\x1b[m x", false},
	} {
		line := []byte(tc.before + frame)
		at := strings.Index(string(line), frame)
		end, is := Split(line, at)
		if is != tc.is || end > at {
			t.Errorf("%q: %d, %v", tc.before, end, is)
		}
		if rest := line[end:at]; is && strings.Trim(string(rest), " \t\x1b[0123456789;:m") != "" {
			t.Errorf("%q: the prefix ends before %q", tc.before, rest)
		}
	}
}
