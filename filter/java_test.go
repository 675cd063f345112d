package filter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/prefix/prefixtest"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc/javamap"
)

// javaMap is a map as R8 writes it.
const javaMap = `# compiler: R8
# {"id":"com.android.tools.r8.mapping","version":"2.2"}
# pg_map_id: 4f1b2c3
com.example.app.Main -> a.b.c:
# {"id":"sourceFile","fileName":"Main.java"}
    1:1:void onCreate():12:12 -> a
    2:2:void inner():30:30 -> a
    2:2:void outer():14 -> a
    3:3:void last():2:2 -> a
    void x() -> d
    void y() -> d
com.example.app.AppException -> a.b.e:
# {"id":"sourceFile","fileName":"AppException.java"}
com.example.app.Kept -> com.example.app.Kept:
# {"id":"sourceFile","fileName":"Kept.java"}
    1:1:void run():70:70 -> run
`

// sdkMap is the map of a library that was obfuscated before the app, and appMap that of the app.
const (
	sdkMap = `com.lib.Client -> l.a:
    1:1:void connect():50:50 -> a
`
	appMap = `# pg_map_id: ab12
l.a -> x.y:
    7:7:void a():1:1 -> b
`
)

// mapFile writes a map below a directory.
func mapFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// openMaps opens maps.
func openMaps(t *testing.T, o javamap.Options) *javamap.Maps {
	t.Helper()
	maps, err := javamap.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return maps
}

// named returns maps that a user names.
func named(t *testing.T, texts ...string) *javamap.Maps {
	t.Helper()
	var o javamap.Options
	dir := t.TempDir()
	for i, text := range texts {
		o.Files = append(o.Files, mapFile(t, dir, fmt.Sprintf("mapping%d.txt", i), text))
	}
	return openMaps(t, o)
}

// javaTrace and javaWant are a trace and what it is with javaMap.
var (
	javaTrace = []string{
		"FATAL EXCEPTION: main",
		"a.b.e: text",
		"\tat a.b.c.a(SourceFile:1)",
		"\tat a.b.c.a(Unknown Source:2) ~[app.jar:1.0]",
		"\tat app//a.b.c.a(SourceFile:3)",
		"\tat android.os.Handler.dispatchMessage(Handler.java:106)",
		"\tat java.lang.reflect.Method.invoke(Native Method)",
		"\tSuppressed: a.b.e",
		"Caused by: a.b.e: more",
		"\t... 42 more",
		"[CIRCULAR REFERENCE: a.b.e: again]",
		"Exception in thread \"main\" a.b.e: text",
	}
	javaWant = []string{
		"FATAL EXCEPTION: main",
		"com.example.app.AppException: text",
		"\tat com.example.app.Main.onCreate(Main.java:12)",
		"\tat com.example.app.Main.inner(Main.java:30) ~[app.jar:1.0]",
		"\tat com.example.app.Main.outer(Main.java:14) ~[app.jar:1.0]",
		"\tat app//com.example.app.Main.last(Main.java:2)",
		"\tat android.os.Handler.dispatchMessage(Handler.java:106)",
		"\tat java.lang.reflect.Method.invoke(Native Method)",
		"\tSuppressed: com.example.app.AppException",
		"Caused by: com.example.app.AppException: more",
		"\t... 42 more",
		"[CIRCULAR REFERENCE: com.example.app.AppException: again]",
		"Exception in thread \"main\" com.example.app.AppException: text",
	}
)

func joinedLines(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// TestJavaEverywhere holds that frames and exceptions of Java get their names behind every prefix, that a second pass changes nothing, and
// that traces of several threads may mix.
func TestJavaEverywhere(t *testing.T) {
	maps := named(t, javaMap)
	for _, p := range prefixtest.All() {
		in, i := wrap(&p, javaTrace), 0
		got := runAll(t, filter.Options{Java: maps}, strings.NewReader(in))
		rest := got
		for _, want := range javaWant {
			if p.JSON {
				quoted, _ := json.Marshal(want)
				want = strings.ReplaceAll(string(quoted[1:len(quoted)-1]), `\u003c`, "<")
			}
			at := strings.Index(rest, strings.TrimLeft(want, "\t"))
			if at < 0 {
				t.Errorf("%s: no %q in line %d of\n%s", p.Name, want, i, got)
				break
			}
			rest = rest[at+len(strings.TrimLeft(want, "\t")):]
			i++
		}
		if again := runAll(t, filter.Options{Java: maps}, strings.NewReader(got)); again != got {
			t.Errorf("%s: a second pass: %s", p.Name, firstDifference(again, got))
		}
	}
}

// TestJavaReports holds that traces are read as the Play Console and Crashlytics write them. R8's retrace reads those with a space before the
// parenthesis, and `Fatal Exception: `. Frames of V8, Hermes and Mono, which have one there, too, stay.
func TestJavaReports(t *testing.T) {
	trace := joinedLines([]string{
		"Exception a.b.e: text",
		"  at a.b.c.a (SourceFile:1)",
		"  at a.b.c.a (Unknown Source:2)",
		"  at java.lang.reflect.Method.invoke (Method.java)",
		"Caused by a.b.e: more",
		"  at a.b.c.a (Unknown Source:3)",
		"Fatal Exception: a.b.e: text",
		"       at a.b.c.a(SourceFile:1)",
		"Non-fatal Exception: a.b.e",
		"       at a.b.c.a(:3)",
		"Exception a.b.e caught",
		"    at a.b.c.a (/srv/app/dist/app.js:1:3)",
		"    at a.b.c.a (address at index.android.bundle:1:3)",
		"  at a.b.c.a (System.Int32 x) [0x00001] in <4f1b2c3>:0",
		"  at a.b.c.a () [0x00001] in <4f1b2c3>:0",
		"    at a.b.c.a (native)",
	})
	want := joinedLines([]string{
		"Exception com.example.app.AppException: text",
		"  at com.example.app.Main.onCreate (Main.java:12)",
		"  at com.example.app.Main.inner (Main.java:30)",
		"  at com.example.app.Main.outer (Main.java:14)",
		"  at java.lang.reflect.Method.invoke (Method.java)",
		"Caused by com.example.app.AppException: more",
		"  at com.example.app.Main.last (Main.java:2)",
		"Fatal Exception: com.example.app.AppException: text",
		"       at com.example.app.Main.onCreate(Main.java:12)",
		"Non-fatal Exception: com.example.app.AppException",
		"       at com.example.app.Main.last(Main.java:2)",
	}) + trace[strings.Index(trace, "Exception a.b.e caught"):]
	maps := named(t, javaMap)
	got := runAll(t, filter.Options{Java: maps}, strings.NewReader(trace))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if again := runAll(t, filter.Options{Java: maps}, strings.NewReader(got)); again != got {
		t.Errorf("a second pass: %s", firstDifference(again, got))
	}
}

// TestJavaMixed holds that the lines of threads which write at once are told apart.
func TestJavaMixed(t *testing.T) {
	const in = `11-24 12:00:00.000  1234  1240 E Tag: a.b.e: one
11-24 12:00:00.000  1234  1999 I Tag: a.b.e: not an exception
11-24 12:00:00.000  1234  1240 E Tag: 	at a.b.c.a(SourceFile:1)
11-24 12:00:00.000  1234  1999 I Tag: nothing at a.b.c here
11-24 12:00:00.000  1234  1999 I Tag: a.b.e
`
	want := strings.NewReplacer("a.b.e: one", "com.example.app.AppException: one", "a.b.c.a(SourceFile:1)", "com.example.app.Main.onCreate(Main.java:12)").Replace(in)
	if got := runAll(t, filter.Options{Java: named(t, javaMap)}, strings.NewReader(in)); got != want {
		t.Error(firstDifference(got, want))
	}
}

// TestJavaCandidates holds that a frame which may be several methods has a line for each.
func TestJavaCandidates(t *testing.T) {
	got := runAll(t, filter.Options{Java: named(t, javaMap)}, strings.NewReader("E: \tat a.b.c.d(Unknown Source) [x]\n"))
	const want = "E: \tat com.example.app.Main.x(Main.java) [x]\nE: \t<OR> at com.example.app.Main.y(Main.java) [x]\n"
	if got != want {
		t.Errorf("got %q", got)
	}
}

// TestJavaLive holds that each line of a trace leaves at once, but for one that may name an exception, which waits for the next.
func TestJavaLive(t *testing.T) {
	f := filter.New(filter.Options{Symbols: &symbols{}, Java: named(t, javaMap)}).Feed()
	for _, step := range []struct{ in, want string }{
		{"plain\n", "plain\n"},
		{"\tat a.b.c.a(SourceFile:1)\n", "\tat com.example.app.Main.onCreate(Main.java:12)\n"},
		{"Caused by: a.b.e: more\n", "Caused by: com.example.app.AppException: more\n"},
		{"\tat a.b.c.a(SourceFile:2)\n", "\tat com.example.app.Main.inner(Main.java:30)\n\tat com.example.app.Main.outer(Main.java:14)\n"},
		{"\t... 3 more\n", "\t... 3 more\n"},
		{"a.b.e: text\n", ""},
		{"\tat a.b.c.a(SourceFile:3)\n", "com.example.app.AppException: text\n\tat com.example.app.Main.last(Main.java:2)\n"},
		{"a.b.e: no exception\n", ""},
		{"plain\n", "a.b.e: no exception\nplain\n"},
		{"a.b.x: no class\n", "a.b.x: no class\n"},
	} {
		if got := string(f.Add(t.Context(), nil, []byte(step.in))); got != step.want {
			t.Errorf("%q left as %q", step.in, got)
		}
	}
}

// TestJavaPause holds that a line which waits for the next one leaves when the log pauses, as it came.
func TestJavaPause(t *testing.T) {
	in, log := io.Pipe()
	shown, out := io.Pipe()
	go func() {
		_ = filter.New(filter.Options{Symbols: &symbols{}, Java: named(t, javaMap)}).Run(context.Background(), in, out)
		out.Close()
	}()
	const text = "a.b.e: text\n"
	if _, err := io.WriteString(log, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(shown, got); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
	log.Close()
	_, _ = io.Copy(io.Discard, shown)
}

// TestJavaArrival holds that it does not matter in what pieces a log arrives.
func TestJavaArrival(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	maps := named(t, javaMap)
	var in strings.Builder
	for range 40 {
		for _, line := range javaTrace {
			fmt.Fprintf(&in, "E/Tag ( %d): %s\n", 100+rng.IntN(2), line)
			for range rng.IntN(3) {
				fmt.Fprintf(&in, "I/Other( %d): a.b.e: words\n", 300+rng.IntN(4))
			}
		}
	}
	want := runAll(t, filter.Options{Java: maps}, strings.NewReader(in.String()))
	for range 4 {
		feed := filter.New(filter.Options{Symbols: &symbols{}, Java: maps}).Feed()
		var got []byte
		for rest := in.String(); rest != ""; {
			n := 1 + rng.IntN(min(len(rest), 400))
			got, rest = feed.Add(t.Context(), got, []byte(rest[:n])), rest[n:]
		}
		if got = feed.Flush(got); string(got) != want {
			t.Fatal(firstDifference(string(got), want))
		}
	}
}

// TestJavaKnown holds that frames which were seen before become the same, whatever was between them, and count as often: with maps that the user
// names, with those that frames name, and without any.
func TestJavaKnown(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 3))
	text := javaMap + "out.Class -> o.o:\n    1:2:int out():0 -> a\n# {\"id\":\"com.android.tools.r8.outline\"}\n" + strings.Replace(callsite, "-> b:", "-> o.p:", 1) + strings.Replace(npe, "-> a:", "-> o.n:", 1)
	every := text + "any.Class -> o.y:\n    4:4:void any.Class.in():3:3 -> a\n    4:4:void any.Class.out():5 -> a\n    # {\"id\":\"com.android.tools.r8.rewriteFrame\",\"conditions\":[],\"actions\":[\"removeInnerFrames(1)\"]}\n"
	dir := t.TempDir()
	mapFile(t, dir, "one/mapping.txt", text)
	mapFile(t, dir, "two/mapping.txt", strings.NewReplacer("4f1b2c3", "99", "com.example.app", "com.wrong").Replace(javaMap))
	maps := []func() *javamap.Maps{
		func() *javamap.Maps { return named(t, text) },
		func() *javamap.Maps { return named(t, every) },
		func() *javamap.Maps { return openMaps(t, javamap.Options{Places: []string{dir}}) },
		func() *javamap.Maps {
			return openMaps(t, javamap.Options{Files: []string{mapFile(t, t.TempDir(), "m.txt", appMap)}, Places: []string{dir}})
		},
		func() *javamap.Maps { return openMaps(t, javamap.Options{}) },
	}
	lines := []string{"java.lang.NullPointerException", "\tat o.n.a(:4)", "\tat o.o.a(:2)", "\tat o.p.s(:27)", "\tat o.y.a(:4)", "\tat a.b.c.a(SourceFile:1)", "\tat a.b.c.a(SourceFile:2)", "\tat a.b.c.d(Unknown Source)", "\tat a.b.c.zz(SourceFile:1)", "\tat q.r.s(SourceFile:1)",
		"Caused by: a.b.e: text", "a.b.e: text", "words at a.b.c", "#00 pc 00001234  /data/app/base.odex (f+12)", "    #0 0x7fa52731c130 (/usr/lib/a.so+0x1130)",
		"\tat a.b.c.a(r8-map-id-4f1b2c3:3)", "\tat a.b.c.a(r8-map-id-4f1b2c3:2) ~[x]", "\tat a.b.c.d(r8-map-id-99:1)", "\tat a.b.c.a(r8-map-id-0:1)", "\tat o.n.a(r8-map-id-4f1b2c3:4)", "\tat q.r.s(r8-map-id-99:1)", "Caused by: java.lang.NullPointerException: x", "Caused by: x.Y: x",
		"[CIRCULAR REFERENCE: a.b.e]", "\tat x.y.b(S:7)", "at a.b.c.a(SourceFile:1)", "x at a.b.c.a(SourceFile:1)\tat a.b.c.a(SourceFile:2)", "\tat a.b.c.a(SourceFile:1)\r", "I( 12) Caused by: a.b.e  (tag)", "\tat o.Own.run(Own.java:1) at a.b.c.a(SourceFile:1)"}
	for i := range 300 {
		var in strings.Builder
		few := lines
		if i%2 > 0 { // so that one line follows another
			few = []string{lines[rng.IntN(len(lines))], lines[rng.IntN(len(lines))], lines[rng.IntN(len(lines))], "\tat q.r.s(SourceFile:1)"}
		}
		for range 200 {
			fmt.Fprintf(&in, "%s%s\n", []string{"", "E/Tag ( 12): ", "E/Tag ( 13): ", "#1 "}[rng.IntN(4)], few[rng.IntN(len(few))])
		}
		of := maps[i%len(maps)]
		for _, o := range []filter.Options{{}, {Explain: true}, {Style: print.Replace}} {
			o.Symbols = &symbols{}
			o.Java = of()
			fast := filter.New(o)
			o.Java = of()
			full := filter.New(o)
			full.FullLook(true)
			var got, want strings.Builder
			if err := errors.Join(fast.Run(t.Context(), strings.NewReader(in.String()), &got), full.Run(t.Context(), strings.NewReader(in.String()), &want)); err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() || fast.Tally() != full.Tally() || fast.Stats() != full.Stats() {
				t.Fatalf("maps %d: %s\n%+v\n%+v", i%len(maps), firstDifference(got.String(), want.String()), fast.Tally(), full.Tally())
			}
		}
	}
}

// TestJavaUnknown holds that a log leaves byte for byte whose classes are in no map, whatever it has.
func TestJavaUnknown(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 2))
	maps := named(t, javaMap)
	pieces := []string{"\tat ", " at ", "at ", "q.r.s", "q.r.s.t", "(SourceFile:1)", "(Unknown Source)", "(", ")", ":", ": ", "\n", "\r\n", "Caused by: ", "Suppressed: ",
		"... 3 more", "[CIRCULAR REFERENCE: ", "]", "/", "E/Tag(12): ", `{"log":"`, `\n`, `"}`, "<init>", "\xff", "\x1b[31m", "com.example.app.Kept.run(Kept.java:70)", "é"}
	for range 1000 {
		var in strings.Builder
		for range 1 + rng.IntN(30) {
			in.WriteString(pieces[rng.IntN(len(pieces))])
		}
		for _, o := range []filter.Options{{Java: maps}, {Java: maps, Style: print.Append}, {Java: maps, Explain: true}, {Java: maps, Palette: sgr.NewPalette(true)}} {
			if got := runAll(t, o, strings.NewReader(in.String())); got != in.String() {
				t.Fatalf("%q became %q", in.String(), got)
			}
		}
	}
}

// TestJavaJSON holds that the objects of a log with frames of Java are the log again, and fit their schema's fields.
func TestJavaJSON(t *testing.T) {
	in := joinedLines(javaTrace) + "\tat a.b.c.d(Unknown Source)\n\tat a.b.c.zz(SourceFile:1)\n"
	var text strings.Builder
	statuses := map[string]int{}
	for line := range strings.Lines(runAll(t, filter.Options{Java: named(t, javaMap), JSON: &jsonl.Options{}}, strings.NewReader(in))) {
		var l struct {
			Text    string
			Context []struct{ Type, Function string }
			Frames  []struct {
				Status, Reason, Format, Text string
				Functions                    []struct{ Class, Method, File string }
				Candidates                   []any
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		text.WriteString(l.Text + "\n")
		for _, c := range l.Context {
			statuses[c.Function]++
		}
		for _, fr := range l.Frames {
			statuses[fr.Status]++
			statuses[fr.Format]++
			for _, fn := range fr.Functions {
				statuses[fn.Class+"|"+fn.Method+"|"+fn.File]++
			}
			statuses["candidates"] += len(fr.Candidates)
		}
	}
	want := map[string]int{"OK": 3, "AMBIGUOUS": 1, "MISMATCH_BUILD_ID": 1, "java": 5, "candidates": 2, "com.example.app.AppException": 5,
		"com.example.app.Main|onCreate|com/example/app/Main.java": 1, "com.example.app.Main|inner|com/example/app/Main.java": 1,
		"com.example.app.Main|outer|com/example/app/Main.java": 1, "com.example.app.Main|last|com/example/app/Main.java": 1}
	if text.String() != in || fmt.Sprint(statuses) != fmt.Sprint(want) {
		t.Errorf("%q\ngot  %v\nwant %v", text.String(), statuses, want)
	}
}

// TestJavaChain holds that the names which one map gives are looked up in the next.
func TestJavaChain(t *testing.T) {
	const in = "\tat x.y.b(SourceFile:7)\n\tat l.a.a(SourceFile:1)\n"
	const want = "\tat com.lib.Client.connect(Client.java:50)\n\tat com.lib.Client.connect(Client.java:50)\n"
	if got := runAll(t, filter.Options{Java: named(t, appMap, sdkMap)}, strings.NewReader(in)); got != want {
		t.Errorf("got %q", got)
	}
}

// TestJavaFound holds which map below a directory counts: that of a frame's ID; without one, the only one that fits all frames of a trace.
func TestJavaFound(t *testing.T) {
	dir := t.TempDir()
	mapFile(t, dir, "one/mapping.txt", javaMap)
	mapFile(t, dir, "two/mapping.txt", strings.NewReplacer("4f1b2c3", "99", "com.example.app", "com.wrong", "void last():2:2 -> a", "void last():2:2 -> k").Replace(javaMap))
	maps := func() *javamap.Maps { return openMaps(t, javamap.Options{Places: []string{dir}}) }
	for _, c := range []struct{ name, in, want string }{
		{"by its ID", "a.b.e: text\n\tat a.b.c.a(r8-map-id-4f1b2c3:1)\n\tat a.b.c.a(r8-map-id-99:1)\n",
			"com.example.app.AppException: text\n\tat com.example.app.Main.onCreate(Main.java:12)\n\tat com.wrong.Main.onCreate(Main.java:12)\n"},
		{"the only one that fits", "a.b.e: text\n\tat a.b.c.a(SourceFile:1)\n\tat a.b.c.k(SourceFile:3)\nend\n",
			"com.wrong.AppException: text\n\tat com.wrong.Main.onCreate(Main.java:12)\n\tat com.wrong.Main.last(Main.java:2)\nend\n"},
		{"both fit", "a.b.e: text\n\tat a.b.c.a(SourceFile:1)\nend\n", "a.b.e: text\n\tat a.b.c.a(SourceFile:1)\nend\n"},
		{"none fits", "a.b.e: text\n\tat a.b.c.a(SourceFile:1)\n\tat a.b.c.zz(SourceFile:3)\nend\n",
			"a.b.e: text\n\tat a.b.c.a(SourceFile:1)\n\tat a.b.c.zz(SourceFile:3)\nend\n"},
	} {
		if got := runAll(t, filter.Options{Java: maps()}, strings.NewReader(c.in)); got != c.want {
			t.Errorf("%s: got\n%s", c.name, got)
		}
	}
	f := filter.New(filter.Options{Symbols: &symbols{}, Java: maps(), Explain: true})
	var out strings.Builder
	if err := f.Run(t.Context(), strings.NewReader("\tat a.b.c.a(SourceFile:1)\nend\n"), &out); err != nil || !strings.Contains(out.String(), "(SourceFile:1) [NOT_VERIFIED mapping.txt: ") ||
		!strings.Contains(out.String(), "fit all frames of the trace") {
		t.Errorf("%q, %v", out.String(), err)
	}
	if got := f.Tally(); got.By[resolve.Outcome(resolve.OK)] != 0 || got.Frames != 1 {
		t.Errorf("%+v", got)
	}
}

// TestJavaOfMachineCode holds that a frame of compiled Java keeps its number, also below inlined functions, and its offset.
func TestJavaOfMachineCode(t *testing.T) {
	const in = "#00 pc 00001234  /data/app/base.odex (a.b.e.f+12)\n#01 pc 00001235  [anon:dalvik-classes.dex] (a.b.c.w+8)\n"
	text := strings.Replace(javaMap, "    void x() -> d", "    void w0() -> w\n    void x() -> d", 1)
	got := runAll(t, filter.Options{Java: named(t, text)}, strings.NewReader(in))
	const want = "#00 pc 00001234  /data/app/base.odex (a.b.e.f+12)\n#01 pc 00001235  [anon:dalvik-classes.dex] (com.example.app.Main.w0+8)\n"
	if got != want {
		t.Errorf("got %q", got)
	}
}

// TestJavaStyles holds what becomes of frames in the other forms of the output.
func TestJavaStyles(t *testing.T) {
	maps := named(t, javaMap)
	const in = "Caused by: a.b.e: text\n\tat a.b.c.a(SourceFile:2)\n"
	for name, c := range map[string]struct {
		o    filter.Options
		want string
	}{
		"append": {filter.Options{Java: maps, Style: print.Append}, "Caused by: a.b.e: text\n  -> com.example.app.AppException\n" +
			"\tat a.b.c.a(SourceFile:2)\n  -> com.example.app.Main.inner(Main.java:30)\n  -> com.example.app.Main.outer(Main.java:14)\n"},
		"short": {filter.Options{Java: maps, Style: print.Replace}, "Caused by: com.example.app.AppException: text\n" +
			"\tat com.example.app.Main.inner(Main.java:30)\n\tat com.example.app.Main.outer(Main.java:14)\n"},
		"only stacks": {filter.Options{Java: maps, OnlyStacks: true}, "Caused by: com.example.app.AppException: text\n" +
			"\tat com.example.app.Main.inner(Main.java:30)\n\tat com.example.app.Main.outer(Main.java:14)\n"},
	} {
		if got := runAll(t, c.o, strings.NewReader(in)); got != c.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
	twice := "\tat a.b.c.a(SourceFile:2)\n\tat a.b.c.a(SourceFile:1)\nwords\n"
	got := runAll(t, filter.Options{Java: maps, Dedupe: true}, strings.NewReader(twice+twice+strings.Replace(twice, ":1)", ":3)", 1)))
	if strings.Count(got, "[same as stack 1, line 1") != 1 || !strings.Contains(got, "last(") {
		t.Errorf("dedupe: got\n%s", got)
	}
}

// TestJavaInterleaved holds that the exceptions of processes which crash at once get their names, each from the map of its own frames.
func TestJavaInterleaved(t *testing.T) {
	dir := t.TempDir()
	mapFile(t, dir, "one/mapping.txt", javaMap)
	mapFile(t, dir, "two/mapping.txt", strings.NewReplacer("4f1b2c3", "99", "com.example.app", "org.other").Replace(javaMap))
	const in = `11-24 12:00:00.000  1234  1240 E AndroidRuntime: a.b.e: text
11-24 12:00:00.000  9999  9999 E AndroidRuntime: a.b.e: other
11-24 12:00:00.000  1234  1240 E AndroidRuntime: 	at a.b.c.a(r8-map-id-4f1b2c3:1)
11-24 12:00:00.000  7777  7777 I Words: a.b.e: no exception
11-24 12:00:00.001  9999  9999 E AndroidRuntime: 	at a.b.c.a(r8-map-id-99:3)
11-24 12:00:00.001  1234  1240 E AndroidRuntime: Caused by: a.b.e
11-24 12:00:00.001  9999  9999 E AndroidRuntime: Caused by: a.b.e
`
	const want = `11-24 12:00:00.000  1234  1240 E AndroidRuntime: com.example.app.AppException: text
11-24 12:00:00.000  9999  9999 E AndroidRuntime: org.other.AppException: other
11-24 12:00:00.000  1234  1240 E AndroidRuntime: 	at com.example.app.Main.onCreate(Main.java:12)
11-24 12:00:00.000  7777  7777 I Words: a.b.e: no exception
11-24 12:00:00.001  9999  9999 E AndroidRuntime: 	at org.other.Main.last(Main.java:2)
11-24 12:00:00.001  1234  1240 E AndroidRuntime: Caused by: com.example.app.AppException
11-24 12:00:00.001  9999  9999 E AndroidRuntime: Caused by: org.other.AppException
`
	if got := runAll(t, filter.Options{Java: openMaps(t, javamap.Options{Places: []string{dir}})}, strings.NewReader(in)); got != want {
		t.Error(firstDifference(got, want))
	}
}

// TestJavaDump holds what becomes of a dump of threads, as ART writes it for an ANR, and of a tombstone: frames of both kinds.
func TestJavaDump(t *testing.T) {
	const in = `"main" prio=5 tid=1 Native
  | sysTid=4201 nice=-10 cgrp=default sched=0/0 handle=0x7b2f0a4f8
  native: #00 pc 0000000000085b9c  /apex/com.android.runtime/lib64/bionic/libc.so (syscall+28)
  native: #01 pc 00000000001a2c40  /data/app/lib/arm64/libshop.so (???)
  at a.b.c.d(Native method)
  - locked <0x0a1b2c3d> (a java.lang.Object)
  at a.b.c.a(SourceFile:2)
  at java.lang.reflect.Method.invoke(Native method)
backtrace:
      #00 pc 00000000001a2c40  /data/app/lib/arm64/libshop.so (Java_shop+12)
      #01 pc 0000000000001234  /data/app/oat/arm64/base.odex (a.b.c.w+52)
      #02 pc 0000000000001434  /memfd:jit-cache (deleted) (offset 0x2000000) (com.example.app.Kept.run+100)
`
	want := strings.NewReplacer("  at a.b.c.d(Native method)\n", "  at com.example.app.Main.x(Native method)\n  <OR> at com.example.app.Main.y(Native method)\n",
		"  at a.b.c.a(SourceFile:2)\n", "  at com.example.app.Main.inner(Main.java:30)\n  at com.example.app.Main.outer(Main.java:14)\n", "a.b.c.w+52", "com.example.app.Main.w0+52").Replace(in)
	text := strings.Replace(javaMap, "    void x() -> d", "    void w0() -> w\n    void x() -> d", 1)
	if got := runAll(t, filter.Options{Java: named(t, text)}, strings.NewReader(in)); got != want {
		t.Error(firstDifference(got, want))
	}
}

// TestJavaRefuted holds that a map which a frame of a process contradicts names no frame of it after that, and those of others as before.
func TestJavaRefuted(t *testing.T) {
	const text = "com.example.Foo -> a.a:\n    1:10:void run():100:109 -> a\n    11:12:void stop():200:201 -> b\ncom.example.Bar -> a.b:\n    1:4:void go():50:53 -> a\n"
	const log = "11-20 15:58:12.000   7   7 E app: java.lang.Error: bad\n" +
		"11-20 15:58:12.000   7   7 E app: \tat a.b.a(SourceFile:1)\n" +
		"11-20 15:58:12.000   7   7 E app: \tat a.a.a(SourceFile:33)\n" +
		"11-20 15:58:12.000   7   7 E app: \tat a.b.a(SourceFile:2)\n" +
		"11-20 15:58:12.000   8   8 E app: java.lang.Error: bad\n" +
		"11-20 15:58:12.000   8   8 E app: \tat a.b.a(SourceFile:2)\n" +
		"11-20 15:58:13.000   7   9 E app: java.lang.Error: worse\n" +
		"11-20 15:58:13.000   7   9 E app: \tat a.a.b(SourceFile:12)\n" +
		"11-20 15:58:13.000   7   9 E app: \tat a.b.a(SourceFile:1)\n"
	for _, insist := range []bool{false, true} {
		got := runAll(t, filter.Options{Java: named(t, text), Insist: insist}, strings.NewReader(log))
		want := strings.Replace(log, "a.b.a(SourceFile:1)", "com.example.Bar.go(Bar.java:50)", 1)
		want = strings.Replace(want, "   8   8 E app: \tat a.b.a(SourceFile:2)", "   8   8 E app: \tat com.example.Bar.go(Bar.java:51)", 1)
		if insist {
			want = strings.NewReplacer("a.b.a(SourceFile:1)", "com.example.Bar.go(Bar.java:50)", "a.b.a(SourceFile:2)", "com.example.Bar.go(Bar.java:51)",
				"a.a.b(SourceFile:12)", "com.example.Foo.stop(Foo.java:201)").Replace(want)
		}
		if got != want {
			t.Errorf("insisting %v: got\n%s\nwant\n%s", insist, got, want)
		}
	}
	var out strings.Builder
	f := filter.New(filter.Options{Java: named(t, text), Explain: true})
	if err := f.Run(context.Background(), strings.NewReader(log), &out); err != nil || strings.Count(out.String(), "[another build: mapping0.txt does not have a.a.a at line 33, which the log has]") != 3 {
		t.Errorf("%v, no reason: %s", err, out.String())
	}
	if _, ok := f.Resume(nil); ok {
		t.Error("a filter that goes on from here does not know that the map is refuted")
	}
}
