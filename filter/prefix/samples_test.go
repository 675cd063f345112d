package prefix_test

import (
	"bytes"
	"os"
	"testing"

	"qss-filter/filter/match"
	"qss-filter/filter/prefix"
)

// TestSampleLines reads lines of real logs: `kind|key|crashed pid|line`. Most have no prefix at all, whatever they look
// like: numbered frames, times in sentences, brackets, colons.
func TestSampleLines(t *testing.T) {
	file, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	var stream prefix.Reader // one that has seen everything before
	for line := range bytes.Lines(file) {
		field := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte("|"), 4)
		kind, key, crashed, text := string(field[0]), string(field[1]), string(field[2]), field[3]
		var r prefix.Reader
		p := r.Read(text)
		if got := p.Kind.String(); got != kind {
			t.Errorf("%q is %s, want %s", text, got, kind)
		}
		if got := string(p.AppendKey(nil, text, prefix.ByAuto)); got != key {
			t.Errorf("%q has key %q, want %q", text, got, key)
		}
		if again := stream.Read(text); again.Kind != p.Kind || again.Start != p.Start || again.End != p.End {
			t.Errorf("%q after other lines is %v", text, again.Kind)
		}
		got := ""
		if pid, ok := prefix.Crashed(text, match.Look(text)); ok {
			got = string(pid.Of(text))
		}
		if got != crashed {
			t.Errorf("%q names the crashed process %q, want %q", text, got, crashed)
		}
	}
}

// TestNoPrefix holds lines that come close to a prefix.
func TestNoPrefix(t *testing.T) {
	for _, line := range []string{
		" 0: strcat + 0x12d (0xb74d57ad) [/lib/libc.so.6] + 0x747ad",
		"10: app_create + 0x2f (0xb458119f) [/opt/app] + 0x119f",
		"12: (0xb6be63cf) [/usr/lib/libcapi-appfw-application.so.0] + 0x13cf",
		"1000:     0x5593c2bb9e0a - std::backtrace",
		"12:    #0 0x55aefc1432a3  (/home/dev/crash+0x1182a3)", // grep -n
		"12:{{{reset}}}",
		"I/O error: device gone",
		"E/foo: bar",
		"E/foo: bar (12): x",
		"I/a sentence that goes on: x",
		"D(12) without a tag",
		"D(12) #0 0x55aefc1432a3  (/home/dev/crash+0x1182a3)",
		"a | b", "name-1 | value", "value  | other",
		"Fatal error: x", "Fri is the day",
		"[0] first", "[a/b] x", "[pod/a] x", "[1,2] x", "[1,0]<stdin>:x", "[12:34] x", "[1:2:3] x", "[x](y): z",
		"[core/foo] INFO: x",
		"<12345> x", "<null> <null> (crash+0xea857)", "<9>x",
		"--------- beginning of main", "--------- switch to system",
		"====", "=================================================================", "==12", "==x==", "==12===x",
		"--12--x", "**12**x", "-- 12 --", "** comment **",
		"    x_test.go: x", "\t/src/gopanic.go:8 +0x31", "   x_test.go:12: x",
		"I2026112 15:58:12.114867 22721 a.cc:6] x", "I20261120 15:58:12.114867 a.cc:6] x",
		"2026-13-20T15:58:12Z x", "2026-11-20T25:58:12Z x", "2026-11-20 x", "11-20 15:58:12 x", "11-20 15:58:12.000 x",
		"11-20 15:58:12.000 1 2 3 x: y", "11-20 15:58:12.000 12 x I TAG: y",
		"12:34 x", "3.14 x", "123456.7 x", "(12) x", "(deleted)", "(12:34:56)",
		"0x3c53042 0x3c52380", "#0 0x55 in f", "1,2,3;x", "1,2,3,x;y",
		"job\tstep\ttext", "\t\t2026-11-20T15:58:12.0000000Z x",
		"kern  :x", "GECKO(x) | y", "PID x | y", " 4:16.44 x", "E  x",
		"\x1b[32mtext\x1b[0m", "\xef\xbb\xbf", "\x1b[", "\x1b[1;2",
	} {
		var r prefix.Reader
		p := r.Read([]byte(line))
		if p.Kind != prefix.KindNone || p.Start != 0 || p.End != len(line) || len(p.AppendKey(nil, []byte(line), prefix.ByAuto)) > 0 {
			t.Errorf("%q is %v, text %d to %d", line, p.Kind, p.Start, p.End)
		}
	}
}

// TestLongHeld checks what the header of logcat -v long says of the lines below it.
func TestLongHeld(t *testing.T) {
	var r prefix.Reader
	for _, step := range []struct{ line, key, thread string }{
		{"{{{reset}}}", "", ""},
		{"[ 11-20 15:58:12.000 19531:19540 I/wrap.sh  ]", "#19531", "#19531@19540"},
		{"{{{reset}}}", "#19531", "#19531@19540"},
		{"==42==ERROR: x", "#42", "#42"},
		{"    #0 0x1", "#19531", "#19531@19540"},
		{"", "", ""},
		{"    #1 0x1", "", ""},
		{"\x1b[32m[ 11-20 15:58:12.000  1000:    7:    8 I/wrap.sh  ]", "#7", "#7@8"},
		{"    #1 0x1", "#7", "#7@8"},
		{"11-20 15:58:12.000  9 10 I TAG     : x", "#9", "#9@10"},
		{"    #1 0x1", "", ""},
	} {
		line := []byte(step.line)
		p := r.Read(line)
		if got := string(p.AppendKey(nil, line, prefix.ByAuto)); got != step.key {
			t.Errorf("%q has key %q, want %q", line, got, step.key)
		}
		if got := string(p.AppendThread(nil, line, prefix.ByAuto)); got != step.thread && p.Claimed.Empty() {
			t.Errorf("%q has thread %q, want %q", line, got, step.thread)
		}
	}
}

// TestLearned checks the two shapes that count only after a line that is certain.
func TestLearned(t *testing.T) {
	var r prefix.Reader
	for _, step := range []struct {
		line string
		kind prefix.Kind
	}{
		{"db     | x", prefix.KindNone},
		{"svc-1  | x", prefix.Compose},
		{"db     | x", prefix.Compose},
		{"db | x", prefix.KindNone},
		{"Nov 20 15:58:12 host prog: x", prefix.Timestamp},
		{"Nov 20 15:58:12 host prog[1]: x", prefix.SyslogBSD},
		{"Nov 20 15:58:12 host prog: x", prefix.SyslogBSD},
		{"Nov 20 15:58:12 other error: x", prefix.Timestamp},
		{"Nov 20 15:58:12 other kernel: x", prefix.SyslogBSD},
	} {
		if p := r.Read([]byte(step.line)); p.Kind != step.kind {
			t.Errorf("%q is %v, want %v", step.line, p.Kind, step.kind)
		}
	}
}

func TestPartial(t *testing.T) {
	var r prefix.Reader
	for line, want := range map[string]bool{
		"2026-11-20T15:58:12.000000000Z stderr P part":   true,
		"2026-11-20T15:58:12.000000000Z stderr P:x part": true,
		"2026-11-20T15:58:12.000000000Z stderr F part":   false,
	} {
		if p := r.Read([]byte(line)); p.Kind != prefix.CRI || p.Partial != want || line[p.Start:] != "part" {
			t.Errorf("%q: %+v", line, p)
		}
	}
}
