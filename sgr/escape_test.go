package sgr

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestStrip(t *testing.T) {
	for _, c := range []struct {
		in, want string
		pos      []int32
	}{
		{"", "", []int32{0}},
		{"ab", "ab", []int32{0, 1, 2}},
		{"\x1b[31mab\x1b[0m", "ab", []int32{5, 6, 11}},
		{"a\x1b[1;38;5;208mb", "ab", []int32{0, 14, 15}},
		{"\x1b[m\x1b[K", "", []int32{6}},
		{"\x1b[?25la\x1b[1 qb", "ab", []int32{6, 12, 13}},
		{"a\x1b]0;title\x07b", "ab", []int32{0, 11, 12}},
		{"\x1b]8;;http://x\x1b\\a\x1b]8;;\x1b\\", "a", []int32{15, 23}},
		{"\x1bPq#0\x1b\\a\x1b_x\x07y\x1b\\b\x1b^z\x1b\\\x1bXz\x1b\\", "ab", nil},
		{"\x1b(Ba\x1bMb\x1b7c\x1b=", "abc", []int32{3, 6, 9, 12}},
		// Unfinished at the end, or with an invalid byte: text.
		{"a\x1b", "a\x1b", []int32{0, 1, 2}},
		{"a\x1b[31", "a\x1b[31", nil},
		{"a\x1b[1 ", "a\x1b[1 ", nil},
		{"a\x1b]0;title", "a\x1b]0;title", nil},
		{"a\x1bPx\x07y", "a\x1bPx\x07y", nil},
		{"a\x1b(", "a\x1b(", nil},
		{"\x1b[3\x01m\x1b\xc3\xa4\x1b\x7f", "\x1b[3\x01m\x1b\xc3\xa4\x1b\x7f", nil},
		// Interrupted by the next sequence: removed, as in terminals; the contents of a string are kept.
		{"\x1b\x1b[31ma", "a", nil},
		{"\x1b[3\x1b[31ma", "a", nil},
		{"\x1b[3 \x1b[31ma", "a", nil},
		{"\x1b]0;title\x1b[31ma", "0;titlea", nil},
		{"\x1bPtext\x1b[31ma", "texta", nil},
		{"\x1b]ab\x1b", "ab\x1b", nil},
		{"a\tb\r", "a\tb\r", []int32{0, 1, 2, 3, 4}},
		{"\xff\x9b31m\x00", "\xff\x9b31m\x00", nil},
	} {
		got, pos := Strip(nil, nil, []byte(c.in))
		if string(got) != c.want || c.pos != nil && !slices.Equal(pos, c.pos) {
			t.Errorf("%q: %q %v, want %q %v", c.in, got, pos, c.want, c.pos)
		}
		checkStripped(t, []byte(c.in), got, pos)
	}
}

func TestStripAppends(t *testing.T) {
	dst, pos := Strip([]byte("x"), []int32{7}, []byte("\x1b[1ma"))
	if string(dst) != "xa" || !slices.Equal(pos, []int32{7, 4, 5}) {
		t.Errorf("%q %v", dst, pos)
	}
}

// checkStripped checks the invariants of the result of Strip.
func checkStripped(t *testing.T, line, dst []byte, pos []int32) {
	t.Helper()
	if len(pos) != len(dst)+1 || int(pos[len(dst)]) != len(line) {
		t.Fatalf("%d offsets for %d bytes, the last one is %d, want %d", len(pos), len(dst), pos[len(pos)-1], len(line))
	}
	for i, c := range dst {
		if line[pos[i]] != c || pos[i] >= pos[i+1] {
			t.Fatalf("byte %d: %q, in the line %q at %d; the next at %d", i, c, line[pos[i]], pos[i], pos[i+1])
		}
	}
}

// FuzzStrip checks the offsets, and that the result contains no escape sequences.
func FuzzStrip(f *testing.F) {
	for _, s := range []string{"", "a\x1b[31mb", "\x1b]0;t\x07x\x1b\\", "\x1b\x1b[\x1b[3\x1b(\x1b(B\x1bP\x1b]a\x07b\x1b\\m"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		text, pos := Strip(nil, nil, line)
		checkStripped(t, line, text, pos)
		if again, _ := Strip(nil, nil, text); !bytes.Equal(again, text) {
			t.Errorf("%q becomes %q", text, again)
		}
		if !bytes.Contains(line, []byte{esc}) && !bytes.Equal(line, text) {
			t.Errorf("%q becomes %q", line, text)
		}
	})
}

// TestStripHostile checks that the time for long lines of unfinished sequences is linear; otherwise the test would not end.
func TestStripHostile(t *testing.T) {
	for _, unit := range []string{"\x1b", "\x1b[", "\x1b[1;", "\x1b]", "\x1bP", "\x1b]\x07", "\x1b(", "\x1b\x01", "\x1b[\x01"} {
		line := []byte(strings.Repeat(unit, 1<<20/len(unit)))
		text, pos := Strip(nil, nil, line)
		checkStripped(t, line, text, pos)
		new(State).Feed(line)
	}
}

func BenchmarkStrip(b *testing.B) {
	line := []byte("\x1b[1m\x1b[31m    #0 0x55aefc1432a3  (/home/crash+0x1182a3)\x1b[1m\x1b[0m")
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	var dst []byte
	var pos []int32
	for b.Loop() {
		dst, pos = Strip(dst[:0], pos[:0], line)
	}
}

func TestUncolored(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "plain", "\x1b[1mb\x1b[m\x1b[38;5;1mc": "bc", "\x1b]8;;u\x1b\\t\x1b[2K\x1b[0m": "\x1b]8;;u\x1b\\t\x1b[2K",
		"\x1b[31": "\x1b[31", "\x1b": "\x1b", "\x1b[3\x1b[31mx": "\x1b[3x",
	} {
		if got := string(Uncolored(nil, []byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "", "\x1b[1mb\x1b[mc": "\x1b[1m\x1b[m", "\x1b]8;;http://m/\x1b\\t\x1b]8;;\a!": "\x1b]8;;http://m/\x1b\\\x1b]8;;\a", "a\x1b[31": "",
		"\x1b[3\x1b[31mx": "\x1b[3\x1b[31m",
	} {
		if got := string(Escapes(nil, []byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
