package retrace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc/retrace"
)

// shown returns what a frame was, as `Class.method(File:line)`, with > between functions that are inlined and | between candidates.
func shown(r retrace.Result) string {
	if r.Dropped {
		return "dropped"
	}
	var all []string
	for _, chain := range r.Candidates {
		var one []string
		for _, fr := range chain {
			text := fr.Class + "." + fr.Method + "(" + fr.File
			if fr.HasLine {
				text += fmt.Sprintf(":%d", fr.Line)
			}
			one = append(one, text+")")
		}
		all = append(all, strings.Join(one, " > "))
	}
	text := strings.Join(all, " | ")
	if !r.Fits {
		text += " misfit"
	}
	if !r.Known {
		text += " unknown"
	}
	return strings.TrimSpace(text)
}

// frame reads `Class.method(File:line)`.
func frame(text string) (f retrace.Frame) {
	name, source, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	dot := strings.LastIndexByte(name, '.')
	f.Class, f.Method = name[:dot], name[dot+1:]
	if _, err := fmt.Sscanf(source[strings.LastIndexByte(source, ':')+1:], "%d", &f.Line); err == nil && strings.Contains(source, ":") {
		f.HasLine, source = true, source[:strings.LastIndexByte(source, ':')]
	}
	f.File = source
	return f
}

// TestBehaviors holds what frames become, as R8's documentation of its retrace says. A line of a trace with a ! before it is an exception.
func TestBehaviors(t *testing.T) {
	for _, c := range []struct{ name, text, trace, want string }{
		{"a class that is not there", "x.Y -> a:", "b.c(S:1)", "misfit unknown"},
		{"one line", "x.Y -> a:\n 1:1:void m():7:7 -> b", "a.b(S:1)", "x.Y.m(Y.java:7)"},
		{"a range of as many lines", "x.Y -> a:\n 1:5:void m():10:14 -> b", "a.b(S:3)", "x.Y.m(Y.java:12)"},
		{"a range of one line of source", "x.Y -> a:\n 1:5:void m():10 -> b", "a.b(S:3)", "x.Y.m(Y.java:10)"},
		{"a range without lines of source", "x.Y -> a:\n 1:5:void m() -> b", "a.b(S:3)", "x.Y.m(Y.java:3)"},
		{"a method without a range", "x.Y -> a:\n void m() -> b", "a.b(S:3)", "x.Y.m(Y.java:3)"},
		{"a method without a range, of one line", "x.Y -> a:\n void m():33 -> b", "a.b(S)", "x.Y.m(Y.java:33)"},
		{"all lines are one", "x.Y -> a:\n 0:65535:void m():33:33 -> b", "a.b(S:3)\na.b(Unknown Source)", "x.Y.m(Y.java:33)\nx.Y.m(Y.java:33)"},
		{"inlined functions", "x.Y -> a:\n 1:1:void z.In.n():3:3 -> b\n 1:1:void m():7 -> b", "a.b(S:1)", "z.In.n(In.java:3) > x.Y.m(Y.java:7)"},
		{"inlined functions, and no line", "x.Y -> a:\n 1:1:void z.In.n():3:3 -> b\n 1:1:void m():7 -> b", "a.b(S)", "x.Y.m(Y.java)"},
		{"several methods, and no line", "x.Y -> a:\n void m() -> b\n void n() -> b\n void n(int) -> b", "a.b(S)", "x.Y.m(Y.java) | x.Y.n(Y.java)"},
		{"a line in no range", "x.Y -> a:\n 1:5:void m():10:14 -> b", "a.b(S:9)", "x.Y.b(Y.java:9) misfit"},
		{"one line of several of source, inlined", "x.Y -> a:\n 1:1:void n():42:43 -> b\n 1:1:void m():32 -> b", "a.b(S:1)",
			"x.Y.n(Y.java:42) > x.Y.m(Y.java:32) | x.Y.n(Y.java:43) > x.Y.m(Y.java:32)"},
		{"a method without a range, of several lines", "x.Y -> a:\n void m():42:44 -> b", "a.b(S:1)", "x.Y.m(Y.java:42) | x.Y.m(Y.java:43) | x.Y.m(Y.java:44)"},
		{"a range of source that ends before it begins", "x.Y -> a:\n 2:5:void m():5:2 -> b", "a.b(S:3)", "x.Y.m(Y.java:3)"},
		{"line 0 of source", "x.Y -> a:\n void m():0:0 -> b\n void n():0 -> c", "a.b(S:8)\na.c(S:7)", "x.Y.m(Y.java)\nx.Y.n(Y.java)"},
		{"line 0 of the log is none", "x.YKt -> a:\n 1:1:void m():122:122 -> b\n 2:2:void m():124:124 -> b", "a.b(S)\na.b(S:0)\na.b(S:2)",
			"x.YKt.m(Y.kt)\nx.YKt.m(Y.kt)\nx.YKt.m(Y.kt:124)"},
		{"code without a line", "x.Y -> a:\n 0:0:void n():42:42 -> b\n 0:0:void m():28 -> b\n 1:1:void m():153 -> b\n 0:0:void o():42:44 -> c\n 0:0:void p():29 -> c",
			"a.b(S)\na.c(S)", "x.Y.n(Y.java:42) > x.Y.m(Y.java:28)\nx.Y.o(Y.java) > x.Y.p(Y.java)"},
		{"several methods without a range, of one line each", "x.Y -> a:\n void m():7 -> b\n void n(int):11 -> b\n void o():7 -> c\n void o(int):11 -> c", "a.b(S)\na.c(S)",
			"x.Y.m(Y.java) | x.Y.n(Y.java)\nx.Y.o(Y.java)"},
		{"a method that is not there", "x.Y -> a:\n void m() -> b", "a.onCreate(S:9)", "x.Y.onCreate(Y.java:9) misfit"},
		{"a range that ends before it begins", "x.Y -> a:\n 5:3:void m():1:1 -> b\n 6:6:void n():2:2 -> b", "a.b(S:6)", "x.Y.n(Y.java:2)"},
		{"the file that the map names", "x.Y -> a:\n# {\"id\":\"sourceFile\",\"fileName\":\"Z.kt\"}\n 1:1:void m():7:7 -> b", "a.b(S:1)", "x.Y.m(Z.kt:7)"},
		{"the file of another class", "x.Y -> a:\n 1:1:void z.In.n():3:3 -> b\n 1:1:void m():7 -> b\nz.In -> c:\n  # {\"id\":\"sourceFile\",\"fileName\":\"Out.kt\"}",
			"a.b(S:1)", "z.In.n(Out.kt:3) > x.Y.m(Y.java:7)"},
		{"an inner class", "x.Y$In$1 -> a:\n void m() -> b", "a.b(S:1)", "x.Y$In$1.m(Y.java:1)"},
		{"Kotlin's functions without a class", "x.FileKt -> a:\n void m() -> b", "a.b(S:1)\na.b(S.kt:1)", "x.FileKt.m(File.kt:1)\nx.FileKt.m(File.kt:1)"},
		{"a constructor", "x.Y -> a:\n 1:1:void <init>():7:7 -> <init>", "a.<init>(S:1)", "x.Y.<init>(Y.java:7)"},
		{"a function that the compiler has made", "x.Y -> a:\n 1:1:void z.L.s():3:3 -> b\n 1:1:void m():7 -> b\n # {\"id\":\"com.android.tools.r8.synthesized\"}\n 2:2:void m():8 -> b", "a.b(S:1)\na.b(S:2)",
			"z.L.s(L.java:3)\ndropped"},
		{"an outline", "x.Y -> a:\n 1:2:int out():0 -> o\n # {\"id\":\"com.android.tools.r8.outline\"}\n 4:4:void m():11:11 -> b\n 5:5:void n():12:12 -> b\n" +
			" 27:27:void m():0:0 -> b\n # {\"id\":\"com.android.tools.r8.outlineCallsite\",\"positions\":{\"1\":4,\"2\":5},\"outline\":\"La;o()I\"}",
			"a.o(S:2)\na.b(S:27)\na.b(S:4)", "dropped\nx.Y.n(Y.java:12)\nx.Y.m(Y.java:11)"},
		{"an outline, of which one range says that it is one", "x.O -> o:\n 1:2:int out():0:0 -> o\n # {\"id\":\"com.android.tools.r8.outline\"}\n 3:5:int out():1:1 -> o\nx.Y -> a:\n 5:5:void n():12:12 -> b\n" +
			" 27:27:void m():0:0 -> b\n # {\"id\":\"com.android.tools.r8.outlineCallsite\",\"positions\":{\"4\":5},\"outline\":\"Lo;o()I\"}",
			"o.o(S:4)\na.b(S:27)", "dropped\nx.Y.n(Y.java:12)"},
		{"a call of another outline", "x.O -> o:\n 1:2:int out():0:0 -> o\n # {\"id\":\"com.android.tools.r8.outline\"}\nx.Y -> a:\n 5:5:void n():12:12 -> b\n" +
			" 27:27:void m():0:0 -> b\n # {\"id\":\"com.android.tools.r8.outlineCallsite\",\"positions\":{\"1\":5},\"outline\":\"Lo;p()I\"}",
			"o.o(S:1)\na.b(S:27)", "dropped\nx.Y.m(Y.java)"},
		{"a place in an outline that the call does not have", "x.O -> o:\n 1:2:int out():0:0 -> o\n # {\"id\":\"com.android.tools.r8.outline\"}\nx.Y -> a:\n 2:2:void n():12:12 -> b\n" +
			" 27:27:void m():0:0 -> b\n # {\"id\":\"com.android.tools.r8.outlineCallsite\",\"positions\":{\"1\":5}}",
			"o.o(S:2)\na.b(S:27)", "dropped\nx.Y.m(Y.java)"}, // R8 takes the place itself for a line of the caller, here that of n
		{"a check for null that was inlined", "x.Y -> a:\n 4:4:void z.C.check():23:23 -> b\n 4:4:void m():7 -> b\n" +
			" # {\"id\":\"com.android.tools.r8.rewriteFrame\",\"conditions\":[\"throws(Ljava/lang/NullPointerException;)\"],\"actions\":[\"removeInnerFrames(1)\"]}",
			"!java.lang.NullPointerException\na.b(S:4)\na.b(S:4)\n!java.lang.Error\na.b(S:4)",
			"x.Y.m(Y.java:7)\nz.C.check(C.java:23) > x.Y.m(Y.java:7)\nz.C.check(C.java:23) > x.Y.m(Y.java:7)"},
		{"comments that mean nothing here", "x.Y -> a:\n# {\"id\":\"com.android.tools.r8.residualsignature\",\"signature\":\"()V\"}\n# {broken\n# words\n int f -> f\n 1:1:void m():7:7 -> b", "a.b(S:1)", "x.Y.m(Y.java:7)"},
	} {
		m, err := retrace.Read("map", []byte(`# {"id":"com.android.tools.r8.mapping","version":"2.2"}`+"\n"+c.text+"\n"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var trace retrace.Trace
		var got []string
		for line := range strings.SplitSeq(c.trace, "\n") {
			if class, is := strings.CutPrefix(line, "!"); is {
				m.Exception(&trace, class)
				continue
			}
			got = append(got, shown(m.Retrace(&trace, frame(line))))
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, text, c.want)
		}
	}
}

// TestReal holds what the map of a real build says: it has the checksum in its head, and R8's own methods are not shown.
func TestReal(t *testing.T) {
	m, err := retrace.Open(t.Context(), "testdata/r8-8.3.36.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Damage(); err != nil || m.Header().ID != "48ffd94" {
		t.Errorf("%+v, %v", m.Header(), err)
	}
	var trace retrace.Trace
	for was, want := range map[string]string{
		"a.a.a(SourceFile:12)": "io.wzieba.r8fullmoderenamessources.Foobar.foo(Foobar.kt:10)",
		"io.wzieba.r8fullmoderenamessources.MainActivity.b(SourceFile:6)": "io.wzieba.r8fullmoderenamessources.MainActivity.onCreate$lambda$1$lambda$0(MainActivity.kt:14)",
		"io.wzieba.r8fullmoderenamessources.MainActivity.a(SourceFile:1)": "dropped",
		"a.c.onClick(SourceFile:1)":                                       "dropped",
	} {
		if got := shown(m.Retrace(&trace, frame(was))); got != want {
			t.Errorf("%s: %s", was, got)
		}
	}
}

// TestFormats holds which comments count in which version of the format.
func TestFormats(t *testing.T) {
	const text = "x.O -> o:\n 1:2:int out():0:0 -> o\n # {\"id\":\"com.android.tools.r8.outline\"}\n void s() -> s\n # {\"id\":\"com.android.tools.r8.synthesized\"}\n"
	for version, want := range map[string]string{"": "dropped, dropped", "0.9": "x.O.out(O.java), x.O.s(O.java:1)", "1.0": "x.O.out(O.java), dropped", "1.9": "x.O.out(O.java), dropped",
		"2.0": "dropped, dropped", "2.1": "dropped, dropped", "2.2": "dropped, dropped", "2.3": "dropped, dropped", "10.0": "dropped, dropped", "experimental": "dropped, dropped", "words": "dropped, dropped"} {
		head := "# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"" + version + "\"}\n"
		if version == "" {
			head = ""
		}
		m, err := retrace.Read("map", []byte(head+text))
		if err != nil {
			t.Fatal(err)
		}
		var trace retrace.Trace
		if got := shown(m.Retrace(&trace, frame("o.o(S:1)"))) + ", " + shown(m.Retrace(&trace, frame("o.s(S:1)"))); got != want {
			t.Errorf("%q: %s", version, got)
		}
		if newer := len(m.Newer()) > 0; newer != (version == "2.3" || version == "10.0") {
			t.Errorf("%q: newer: %v", version, newer)
		}
	}
}

// TestHeader holds what is read of the comments above the first class.
func TestHeader(t *testing.T) {
	m, err := retrace.Read("map", []byte("# compiler: R8\r\n# compiler_version: 9.0.32\r\n# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.3\"}\r\n"+
		"# pg_map_id: 4f1b\r\n# pg_map_hash: SHA-256 4f1b22\r\nx.Y -> a:\r\n    1:1:void m():7:7 -> b\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Header(), (retrace.Header{ID: "4f1b", Hash: "SHA-256 4f1b22", Compiler: "R8", CompilerVersion: "9.0.32", Version: "2.3"}); got != want || !slices.Equal(m.Newer(), []string{"2.3"}) {
		t.Errorf("%+v", got)
	}
	if class, ok := m.Class("a"); !ok || class != "x.Y" {
		t.Errorf("%q, %v", class, ok)
	}
	var trace retrace.Trace
	if got := shown(m.Retrace(&trace, frame("a.b(S:1)"))); got != "x.Y.m(Y.java:7)" {
		t.Error(got)
	}
}

// TestOpen holds which files are read.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte("x.Y -> a:\n"))
	_ = z.Close()
	for name, c := range map[string]struct {
		content string
		good    bool
	}{"map": {"x.Y -> a:\n", true}, "gz": {packed.String(), true}, "empty": {"", false}, "words": {"words\n", false}, "cut": {packed.String()[:12], false}} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := retrace.Open(t.Context(), path, nil)
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil {
			continue
		}
		if class, ok := m.Class("a"); !ok || class != "x.Y" || m.Close() != nil {
			t.Errorf("%s: %q", name, class)
		}
	}
	if _, err := retrace.Open(t.Context(), filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// FuzzMap holds that no map and no frame panics, and that what a frame becomes is bounded.
func FuzzMap(f *testing.F) {
	f.Add("x.Y -> a:\n 1:1:void z.In.n():3:3 -> b\n 1:1:void m():7 -> b\n # {\"id\":\"com.android.tools.r8.synthesized\"}\n", "b", 1)
	f.Add("x.Y -> a:\n 0:65535:void m():33:33 -> b\n", "b", 0)
	f.Fuzz(func(t *testing.T, text, method string, line int) {
		m, err := retrace.Read("map", []byte(text))
		if err != nil {
			return
		}
		var trace retrace.Trace
		m.Exception(&trace, "a")
		for _, has := range []bool{true, false} {
			if r := m.Retrace(&trace, retrace.Frame{Class: "a", Method: method, File: "S", Line: line, HasLine: has}); len(r.Candidates) > 64 {
				t.Errorf("%d candidates", len(r.Candidates))
			}
		}
	})
}

// TestRewrites holds below which exceptions a map says that frames may be others: any, if a comment has no condition, or one that is not understood,
// or if there are more than are remembered.
func TestRewrites(t *testing.T) {
	comment := func(conditions string) string {
		return "a.B -> a:\n    1:1:void f():1:1 -> a\n    # {\"id\":\"com.android.tools.r8.rewriteFrame\",\"conditions\":[" + conditions + "],\"actions\":[\"removeInnerFrames(1)\"]}\n"
	}
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, ",\"throws(Lx/E%d;)\"", i)
	}
	for conditions, want := range map[string][2]bool{
		`"throws(Lx/Y;)"`:        {true, false},
		``:                       {true, true},
		`"throws\u0028Lx/Y;)"`:   {true, true},
		`"throws(Lx/Z;)"`:        {false, false},
		many.String()[1:]:        {true, true},
		`"throws(Lx/Y$\u0041;)"`: {true, true},
	} {
		m, err := retrace.Read("m", []byte(comment(conditions)))
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{m.Rewrites("x.Y"), m.Rewrites("q.R")}; got != want {
			t.Errorf("%.40s: %v", conditions, got)
		}
	}
}
