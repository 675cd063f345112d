package sgr

import (
	"strings"
	"testing"
)

// after returns the shortest sequence for the state after s.
func after(s string) string {
	var state State
	state.Feed([]byte(s))
	return string(state.Append(nil))
}

func TestFeed(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"text [31m", ""},
		{"\x1b[31m", "\x1b[31m"},
		{"a\x1b[1mb\x1b[31mc", "\x1b[1;31m"},
		{"\x1b[1;31mx\x1b[0m", ""},
		{"\x1b[1;31mx\x1b[m", ""},
		{"\x1b[1;31mx\x1b[;m", ""},
		{"\x1b[1;31mx\x1b[0;32m", "\x1b[32m"},
		{"\x1b[31;;1m", "\x1b[1m"},
		{"\x1b[01;031m", "\x1b[1;31m"},
		// Each attribute, and the code that turns it off.
		{"\x1b[1;2;3;4;5;7;8;9;53m", "\x1b[1;2;3;5;7;8;9;53;4m"},
		{"\x1b[1;2;3m\x1b[22m", "\x1b[3m"},
		{"\x1b[1;3m\x1b[23m", "\x1b[1m"},
		{"\x1b[4;1m\x1b[24m", "\x1b[1m"},
		{"\x1b[5m\x1b[25m\x1b[6m", "\x1b[5m"},
		{"\x1b[7;27;8;28;9;29;53;55m", ""},
		{"\x1b[21m", "\x1b[21m"},
		{"\x1b[4:3m", "\x1b[4:3m"},
		{"\x1b[4:2m", "\x1b[21m"},
		{"\x1b[4:3m\x1b[4:0m", ""},
		{"\x1b[4:9m\x1b[4:m", ""},
		// Colors.
		{"\x1b[30;40m\x1b[37;47m", "\x1b[37;47m"},
		{"\x1b[90;107m", "\x1b[90;107m"},
		{"\x1b[31;41m\x1b[39m", "\x1b[41m"},
		{"\x1b[31;41m\x1b[49m", "\x1b[31m"},
		{"\x1b[38;5;1m", "\x1b[38;5;1m"},
		{"\x1b[38;5;208;1m", "\x1b[1;38;5;208m"},
		{"\x1b[48;5;0;38;2;1;2;255m", "\x1b[38;2;1;2;255;48;5;0m"},
		{"\x1b[38:5:208m", "\x1b[38;5;208m"},
		{"\x1b[38:2:1:2:3m", "\x1b[38;2;1;2;3m"},
		{"\x1b[38:2::1:2:3m", "\x1b[38;2;1;2;3m"},
		{"\x1b[48:2:0:1:2:3:4:5:6m", "\x1b[48;2;1;2;3m"},
		{"\x1b[58:5:9;1m", "\x1b[1;58:5:9m"},
		{"\x1b[58;2;1;2;3m", "\x1b[58:2::1:2:3m"},
		{"\x1b[58:5:9m\x1b[59m", ""},
		{"\x1b[38;2;1;2;3m\x1b[31m", "\x1b[31m"},
		// Malformed parameters are ignored, but not those after them.
		{"\x1b[38;5m\x1b[38;2;1;2m\x1b[38m", ""},
		{"\x1b[38;5;256m\x1b[38;2;1;2;256m\x1b[38;5;65574m", ""},
		{"\x1b[38;5;256;1m", "\x1b[1m"},
		{"\x1b[38;7;1m", "\x1b[1m"},
		{"\x1b[38:5m\x1b[38:m\x1b[38:2:1:2m\x1b[38:9:1m\x1b[31:1m", ""},
		{"\x1b[10;19;26;50;54;56;60;73;98;99;108;999;65536;65537;4294967297m", ""},
		{"\x1b[99999999999999999999999999;1m", "\x1b[1m"},
		{"\x1b[" + strings.Repeat("0;", 1000) + "31m", "\x1b[31m"},
		// Other sequences, and unfinished ones.
		{"\x1b[31K\x1b[?1m\x1b[>4;1m\x1b[1 m\x1b[1", ""},
		{"\x1b[31\x1b[1m", "\x1b[1m"},
		{"\x1b\x1b[1m", "\x1b[1m"},
		{"\x1b[31\x01m\x1b[1m", "\x1b[1m"},
		{"\x1b]0;title \x07\x1b[1m", "\x1b[1m"},
		{"\x1b]8;;http://x/[31m\x1b\\\x1b[1mlink\x1b]8;;\x1b\\", "\x1b[1m"},
		{"\x1b(B\x1b[m\x1b[32m\x1bM", "\x1b[32m"},
		// LLVM and the sanitizers.
		{"\x1b[1m\x1b[31m==1==ERROR\x1b[1m\x1b[0m\x1b[1m\x1b[34m", "\x1b[1;34m"},
		{"\x1b[0;1;34m", "\x1b[1;34m"},
	} {
		if got := after(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestStateIsKeptFromLineToLine(t *testing.T) {
	var s State
	for _, step := range []struct{ in, want string }{
		{"\x1b[31m", "x\x1b[31m"}, {"text", "x\x1b[31m"}, {"\x1b[1m", "x\x1b[1;31m"}, {"\x1b[m", "x"},
	} {
		s.Feed([]byte(step.in))
		if got := string(s.Append([]byte("x"))); got != step.want || s.Plain() != (got == "x") {
			t.Errorf("after %q: %q, plain %v", step.in, got, s.Plain())
		}
	}
}

func TestNoAllocation(t *testing.T) {
	line := []byte("a\x1b[1;4:3;38;5;208mb\x1b]0;t\x07\x1b[48:2::1:2:3mc\x1b[58:5:1m")
	dst, pos, buf := make([]byte, 0, 99), make([]int32, 0, 99), make([]byte, 0, 99)
	if n := testing.AllocsPerRun(100, func() {
		var s State
		s.Feed(line)
		buf = s.Append(buf[:0])
		dst, pos = Strip(dst[:0], pos[:0], line)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzFeed checks that the sequence of any state restores it, and that text without escape sequences does not change the state.
func FuzzFeed(f *testing.F) {
	f.Add([]byte("\x1b[1;2;3;4;5;7;8;9;53;21;38;5;1;48;2;1;2;3;58:5:9m"))
	f.Add([]byte("\x1b[4:3;38:2::1:2:3;48:5:1m\x1b[91;105m"))
	f.Add([]byte("\x1b[31\x1b]0;\x1b[m\x07\x1b(B\x1b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again, split State
		s.Feed(b)
		sequence := s.Append(nil)
		again.Feed(sequence)
		if again != s {
			t.Errorf("%+v becomes %+v by %q", s, again, sequence)
		}
		if s.Plain() != (len(sequence) == 0) || s.Plain() != (s == State{}) {
			t.Errorf("%+v: %q", s, sequence)
		}
		// Text does not change the state.
		if text, _ := Strip(nil, nil, b); len(b) < 1<<12 {
			if split.Feed(text); !split.Plain() {
				t.Errorf("text %q leads to %+v", text, split)
			}
		}
	})
}

func BenchmarkFeed(b *testing.B) {
	for name, line := range map[string]string{
		"plain": strings.Repeat("nothing of interest ", 5), "colored": "\x1b[1m\x1b[31m==1==ERROR: AddressSanitizer\x1b[1m\x1b[0m",
	} {
		b.Run(name, func(b *testing.B) {
			var s State
			bytes := []byte(line)
			b.SetBytes(int64(len(bytes)))
			b.ReportAllocs()
			for b.Loop() {
				s.Feed(bytes)
			}
		})
	}
}
