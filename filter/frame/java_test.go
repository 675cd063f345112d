package frame_test

import (
	"bytes"
	"strings"
	"testing"

	"qss-filter/filter/frame"
)

// javaLines are lines with frames and exceptions of Java, and such that only look like them.
var javaLines = []string{
	"\tat a.b.c(SourceFile:12)", "  at a.b.c (SourceFile:12)", "at a.b.c (d.java)", "at a.b.c (/d.js:1:2)", "at a.b.c (address at d.bundle:1:2)", "at a.b.c  (Unknown Source:3)", "  at app//a.b.<init>(Unknown Source:3) ~[app.jar:1.0]", "at loader/mod@9.0/a.b(:101)", "at a.b(:x@20.39.15 (0608-33):46)", "x at y at a.b(", "at a.b(c(d)",
	"Caused by: a.b.c: text", "Suppressed: a.b", "[CIRCULAR REFERENCE: a.b]", "[CIRCULAR REFERENCE:a.b: x", "Fatal Exception: a.b: x", "Exception a.b: x", "Caused by a.b: x", `Exception in thread "main" a.b.c: text`, `Exception in thread "a`, "a.b.c", "a.b.c: text", "12: text", "",
}

// FuzzJava holds that no line panics the readers of frames and exceptions of Java, and that what they find lies in the line and is complete.
func FuzzJava(f *testing.F) {
	for _, line := range javaLines {
		f.Add([]byte(line), 0)
	}
	f.Add([]byte("E/tag(7):at a.b(c:1)"), len("E/tag(7):"))
	f.Fuzz(func(t *testing.T, line []byte, from int) {
		if from < 0 || from > len(line) {
			return
		}
		var fr frame.Frame
		if frame.ReadJava(line, from, &fr) {
			whole, function, source := fr.Whole.Of(line), fr.Func.Of(line), fr.Source.Of(line)
			if strings.Replace(string(whole), strings.Repeat(" ", fr.Source.Start-1-fr.Func.End)+"(", "(", 1) != string(function)+"("+string(source)+")" || !bytes.HasPrefix(line[fr.Gap.Start:], []byte("at ")) || fr.Gap.Start < from {
				t.Errorf("%q: %q, %q, %q", line, whole, function, source)
			}
			class, method, file, number, numbered := frame.SplitJava(function, source)
			if len(class) == 0 || len(method) == 0 || !bytes.HasPrefix(source, file) || numbered && number < 0 {
				t.Errorf("%q: %q, %q, %q, %d", line, class, method, file, number)
			}
			if !frame.AnyJava(line, func(c, s []byte) bool { return bytes.Equal(c, class) && bytes.Equal(s, source) }) {
				t.Errorf("%q is passed over", line)
			}
		}
		if _, ok := frame.ReadThrown(line, from, &fr); ok && (fr.Whole.Empty() || fr.Whole.Start < from || bytes.ContainsAny(fr.Whole.Of(line), " :(")) {
			t.Errorf("%q: the exception %q", line, fr.Whole.Of(line))
		}
		frame.LastJavaName(line)
	})
}

// TestJavaSource holds how long the source of a frame may be, which bounds the search for its end, and that it may have parentheses.
func TestJavaSource(t *testing.T) {
	for line, want := range map[string]string{
		"at a.b(" + strings.Repeat("x", 1000) + ":1)": strings.Repeat("x", 1000) + ":1",
		"at a.b(" + strings.Repeat("x", 1100) + ":1)": "",
		"at a.b(:x (1-2):46) ~[y.jar(z):1]":           ":x (1-2):46",
		"at a.b(c at d.e(f:1) x":                      "f:1",
		"at a.b(c at d.e(f:1":                         "",
		`\tat a.b(c:1)`:                               "c:1",
		`x\tat a.b(c:1)`:                              "",
		"  at a.b (c.java:1)":                         "c.java:1",
		"  at a.b (Native Method)":                    "Native Method",
		"  at a.b (Unknown Source:3)":                 "Unknown Source:3",
		"  at a.b (c.js:1)":                           "", // V8's, cut short
		"  at a.b (/srv/c.js:1:2)":                    "", // V8's
		"  at a.b (address at c.bundle:1:2)":          "", // Hermes'
		"  at a.b (System.Int32 c) [0x0] in <d>:0":    "", // Mono's
		"  at a.b () [0x0] in <d>:0":                  "",
		"  at a.b (c)":                                "",
	} {
		var fr frame.Frame
		if ok := frame.ReadJava([]byte(line), 0, &fr); ok != (want != "") || ok && string(fr.Source.Of([]byte(line))) != want {
			t.Errorf("%.40q: %v, %q", line, ok, fr.Source.Of([]byte(line)))
		}
	}
}
