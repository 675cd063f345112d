package sourcemap

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"qss-filter/symsrc"
)

// scripts are generated code with their maps, by esbuild.
const scripts = "../../filter/live/testdata/scripts/main.js"

// TestOffset compares the offsets of columns with those of the standard library's UTF-16.
func TestOffset(t *testing.T) {
	alphabet := []string{"a", "ab;c(", "é", "中", "🎉", strings.Repeat("x", 37), "\xff", "\x80"}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		of := alphabet
		if i%2 == 0 {
			of = alphabet[:len(alphabet)-2]
		}
		var text strings.Builder
		for range rng.IntN(3000) {
			text.WriteString(of[rng.IntN(len(of))])
		}
		line := text.String()
		c := newCode([]byte("first\n" + line + "\nlast"))
		r, ok := c.row(1)
		if !ok || string(r.text) != line {
			t.Fatalf("%q", r.text)
		}
		if !utf8.ValidString(line) {
			r.offset(len(line) / 2) // it only ends
			continue
		}
		column, offsets := 0, map[int]int{}
		for at, char := range line {
			if got, ok := r.offset(column); !ok || got != at {
				t.Fatalf("column %d is at %d, want %d", column, got, at)
			}
			offsets[column] = at
			column += utf16.RuneLen(char)
		}
		for column, at := range offsets { // in any order
			if got, ok := r.offset(column); !ok || got != at {
				t.Fatalf("column %d is at %d, want %d", column, got, at)
			}
		}
		if got, ok := r.offset(column); !ok || got != len(line) {
			t.Fatalf("the end is at %d", got)
		}
		if _, ok := r.offset(column + 1); ok {
			t.Fatal("there is a column behind the end")
		}
	}
}

// TestMoved holds that a map whose code was changed after it was made, so that it is another build's, hardly names a wrong place: code is inserted
// somewhere, and the places behind it are where they were, that many columns later.
func TestMoved(t *testing.T) {
	text, err := os.ReadFile(scripts)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(scripts + ".map")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	var right, refused, wrong int
	for _, inserted := range []string{"a", "ab", "x();", "a,", "1;", "var total=3;", "async "} {
		for at := 1; at < len(line)-20; at += 17 {
			c := newCode([]byte(string(line[:at]) + inserted + string(line[at:])))
			for column := range line {
				moved := column
				if column >= at {
					moved += len(inserted)
				}
				want, is := m.At(0, column)
				f := m.find(0, moved, nil)
				if exact, _ := m.At(0, column-1); !is || exact == want || !inWord(line[column]) {
					continue // the places of frames are nearly always words where a mapping begins
				}
				if !c.fits(&f) || !c.choose(&f, 0, moved) {
					refused++
					continue
				}
				switch got, _ := f.original(); {
				case got.Line == want.Line && got.Source == want.Source:
					right++
				default:
					wrong++
					t.Logf("%q at %d: column %d is %+v, want %+v", inserted, at, moved, got, want)
				}
			}
		}
	}
	t.Logf("%d right, %d refused", right, refused)
	if wrong > right/1000 || right < refused/20 {
		t.Errorf("%d right, %d refused, %d wrong", right, refused, wrong)
	}
	c := newCode(text)
	for column := range line {
		f := m.find(0, column, nil)
		if !c.fits(&f) || !c.holds(m) {
			t.Fatalf("column %d of the very code is refused", column)
		}
	}
	if newCode(line[:len(line)-40]).holds(m) {
		t.Error("code that is shorter has all places")
	}
}

// TestBeyondLines has places behind the ends of lines, as maps of swc have a few: many are of another build, as are those of lines that are not there.
func TestBeyondLines(t *testing.T) {
	const lines = 40_000
	for _, c := range []struct {
		short, cut int // how many lines are shorter than their places, and how many are not there
		holds      bool
	}{{0, 0, true}, {50, 0, true}, {2_000, 0, false}, {0, 1, false}} {
		text := strings.Repeat("x\n", c.short) + strings.Repeat("call()\n", lines-c.short-c.cut)
		m, err := Parse([]byte(`{"version":3,"sources":["a.ts"],"names":[],"mappings":"` + strings.Repeat("IACA;", lines) + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := newCode([]byte(strings.TrimSuffix(text, "\n"))).holds(m); got != c.holds {
			t.Errorf("%d shorter lines, %d less: holds is %t", c.short, c.cut, got)
		}
	}
}

// TestMovedSamples has code elsewhere than the map from some statements on: what has moved goes on, and what a compiler has inexact is here and there.
func TestMovedSamples(t *testing.T) {
	const statements = 40_000
	for _, c := range []struct {
		at     []int
		length int
		moved  bool
	}{{nil, 0, false}, {[]int{5_000, 15_000, 30_000}, 300, false}, {[]int{30_000}, 1_200, true}, {[]int{1_000}, statements, true}} {
		mappings := []byte("AAAA")
		within := false
		for i := 1; i < statements; i++ {
			delta := ",OACA"
			is := slices.ContainsFunc(c.at, func(at int) bool { return i >= at && i < at+c.length })
			if is != within {
				if delta = ",SACA"; within {
					delta = ",KACA"
				}
				within = is
			}
			mappings = append(mappings, delta...)
		}
		m, err := Parse([]byte(`{"version":3,"sources":["a.ts"],"names":[],"mappings":"` + string(mappings) + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := newCode([]byte(strings.Repeat("abcd();", statements))).moved(m); got != c.moved {
			t.Errorf("%d statements from %d on: moved is %t", c.length, c.at, got)
		}
	}
}

// TestInexactWithoutSource has a place within a word, far from another one: without the source, nothing says whether that one is right.
func TestInexactWithoutSource(t *testing.T) {
	const calls = 24
	source := strings.Repeat(`abc();\n`, calls)
	for _, c := range []struct {
		begin, content string
		line           int
	}{
		{"AAAA,MACA", "", calls},
		{"AAAA,EAAA,IACA", "", 0},
		{"AAAA,EAAA,IACA", `,"sourcesContent":["` + source + `"]`, calls},
	} {
		m, err := Parse([]byte(`{"version":3,"sources":["a.ts"],"names":[],"mappings":"` + c.begin + strings.Repeat(",MACA", calls-2) + `"` + c.content + `}`))
		if err != nil {
			t.Fatal(err)
		}
		s := &Script{m: m, maps: New(Options{}), files: &symsrc.Files{}, code: newCode([]byte(strings.Repeat("abc();", calls)))}
		line := 0
		if a := s.At(Pack(0, (calls-1)*6)); len(a.Frames) > 0 {
			line = a.Frames[0].Line
		}
		if line != c.line {
			t.Errorf("%s%s: line %d, want %d", c.begin, c.content, line, c.line)
		}
	}
}

// TestWithinWords has a map with a place in a word of each statement, where the word has one at its begin, too, as swc's with that of its own source: it is of
// this build. The same places in words that begin without one are of another build.
func TestWithinWords(t *testing.T) {
	const statements = 200
	for mappings, moved := range map[string]bool{"AAAA,EAAE,EAAE": false, "AAAA,CAAE,GAAE": true} {
		m, err := Parse([]byte(`{"version":3,"sources":["a.js"],"names":[],"mappings":"` + mappings +
			strings.Repeat(",QACJ"+strings.TrimPrefix(mappings, "AAAA"), statements-1) + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := newCode([]byte(strings.Repeat("a.total(b);+", statements))).moved(m); got != moved {
			t.Errorf("%s: moved is %v", mappings, got)
		}
	}
}

// TestAnotherBuild has scripts in which something was put or left out, with the map of the build before: no place has one of a source then, also
// where the code is what it was.
func TestAnotherBuild(t *testing.T) {
	const statement = "a.total.sum(b.count);"       // each of a line of the source
	for _, statements := range []int{200, 20_000} { // the latter is read as it is wanted
		code := strings.Repeat(statement, statements)
		at := len(code) * 3 / 4
		at -= at % len(statement)
		one := `{"version":3,"sources":["a.js"],"names":[],"mappings":"` + strings.TrimSuffix("AAAA,EAAE,MAAM,IAAI,EAAE,OACd,"+strings.Repeat("EAAE,MAAM,IAAI,EAAE,OACd,", statements-1), ",OACd,") + `"}`
		for name, c := range map[string]struct {
			code   string
			column int
			is     bool
		}{
			"the same":                  {code, 8, true},
			"a statement more":          {code[:at] + "x();" + code[at:], 8, false},
			"a statement less":          {code[:at] + code[at+len("a.total."):], 8, false},
			"a letter more":             {code[:at] + "-" + code[at:], 8, false},
			"a letter less":             {code[:at] + code[at+1:], 8, false},
			"more at the begin":         {"var c=1;" + code, 16, false},
			"a line more":               {"//\n" + code, 8, false},
			"letters that have 2 units": {code[:at] + "'🎉'" + code[at:], 8, false},
		} {
			for _, data := range []string{one, `{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":` + one + `}]}`} {
				script := filepath.Join(t.TempDir(), "app.js")
				for path, text := range map[string]string{script: c.code + "\n//# sourceMappingURL=app.js.map\n", script + ".map": data} {
					if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				a := New(Options{}).Script(context.Background(), script).At(Pack(0, uint32(c.column)))
				if c.is && (len(a.Frames) != 1 || a.Frames[0].Line != 1) || !c.is && (len(a.Frames) != 0 || a.Files.Note == "") {
					t.Errorf("%s of %d: %+v %q", name, statements, a.Frames, a.Files.Note)
				}
			}
		}
	}
}

// TestChoose holds which mapping a place belongs to that has none of its own, as maps of terser have it for `await`.
func TestChoose(t *testing.T) {
	const text = `b(2),await c(3),x;await d(4)`
	const data = `{"version":3,"sources":["a.ts"],"names":[],"mappings":`
	for _, c := range []struct {
		mappings string
		place    string
		line     int // 0 for none
		column   int
	}{
		{"AAAA,EAAE,SACF,EAAE", "await c", 2, -1},      // b, 2, c, 3
		{"AAAA,EAAE,SACF,EAAE", "c(3", 2, 0},           // its own
		{"AAAA,EAAE,SACF,EAAE", ")", 0, 0},             // JavaScriptCore's end of what is called
		{"AAAA,EAAE,SACF,EAAE", "await d", 0, 0},       // nothing is behind it
		{"AAAA,EAAE,SACF,EAAE,WACF", "await d", 3, -1}, // 3 and d
		{"AAAA,EAAE,SACF,EAAE,WACF", "x;", 0, 0},       // of neither 3 nor d
	} {
		m, err := Parse([]byte(data + `"` + c.mappings + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		code := newCode([]byte(text))
		column := strings.Index(text, c.place)
		f := m.find(0, column, nil)
		var o Original
		if code.choose(&f, 0, column) {
			o, _ = f.original()
		}
		if o.Line != c.line || o.Column != c.column {
			t.Errorf("%s: %s is %+v, want %d:%d", c.mappings, c.place, o, c.line, c.column)
		}
	}
}

// TestDroppedBraces has the map that swc makes where it drops the braces of a block, as in builds of Next.js: `hrow` in `throw` is their end.
func TestDroppedBraces(t *testing.T) {
	script := filepath.Join(t.TempDir(), "app.js")
	for path, text := range map[string]string{script: "if(e)throw new t(1);\n//# sourceMappingURL=app.js.map\n",
		script + ".map": `{"version":3,"sources":["a.ts"],"names":[],"mappings":"AAAA,GAAI,EACF,CADI,KACE"}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := New(Options{}).Script(context.Background(), script).At(Pack(0, 11))
	if len(a.Frames) != 1 || a.Frames[0].Line != 2 || a.Frames[0].Column != 9 {
		t.Errorf("%+v %+v", a.Frames, a.Files)
	}
}

// TestInlinedCall has a function, or what is called, in the place of its name, as swc makes it: the parenthesis after it comes from its last line. Bun has the call at the end of
// what the function calls last.
func TestInlinedCall(t *testing.T) {
	for _, c := range []struct {
		code, place, mappings string
		lines                 int
	}{
		{"(function(){})(e);", "(e", "AAAA,aACA,EADA", 0}, // the first parenthesis after the function is of line 2, and `e` of line 1
		{"(function(){})(e);", "(e", "AAAA,aACA,EAAA", 2}, // both are of line 2
		{"!function(){a(b)}();", ")}", "YAAA,EAAE,EAAE,CAEA", 0},
		{"!function(){a(b)}();", ")}", "YAAA,EAAE,EAAE,CAAE", 1},
		{"!function(){a=0}();", "0}", "YAAA,EAAE,CAAE,CAEA", 0},
		{"return(a?b:c)(d)", "(d", "AACA,OADQ,EAAI,EAAI,EAAA,CACP", 0},
		{"return(a?b:c)(d)", "(d", "AACA,OADQ,EAAI,EAAI,CAAA,EAAA,AACP", 0},
		{"return(a?b:c)(d)", "(d", "AACA,OAAQ,EAAI,EAAI,EAAA,CAAG", 2},
	} {
		script := filepath.Join(t.TempDir(), "app.js")
		for path, text := range map[string]string{script: c.code + "\n//# sourceMappingURL=app.js.map\n",
			script + ".map": `{"version":3,"sources":["a.ts"],"names":[],"mappings":"` + c.mappings + `"}`} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		line := 0
		if a := New(Options{}).Script(context.Background(), script).At(Pack(0, uint32(strings.Index(c.code, c.place)))); len(a.Frames) > 0 {
			line = a.Frames[0].Line
		}
		if line != c.lines {
			t.Errorf("%s with %s: line %d, want %d", c.code, c.mappings, line, c.lines)
		}
	}
}

// TestEndOfCallee has a class in the place of its name, where JavaScriptCore has the call at its end, and a comma in the source that the code lacks.
func TestEndOfCallee(t *testing.T) {
	for _, c := range []struct {
		code, place, mappings, content string
		line                           int
	}{
		{"return new class{}(e)", "}(", "AACA,OAAO,IADP,MAAS,EACI", `class A {}\nreturn new A(e);`, 0},
		{"return new class{}(e)", "}(", "AACA,OAAO,IAAI,MAAO,EAAE", `class A {}\nreturn new class {}(e);`, 2},
		{"await f(e)", ")", "AAAA,MAAM,EACJ", `await f(\n  e,\n);`, 0},
		{"await f(e)", ")", "AAAA,OAAO,EAAE", `await f(e,);`, 1},
		{"return(e=>f(e))(g)", "))(", "AACA,QADW,GAAO,EAAE,EACF", `const h = e => f(e);\nreturn h(g);`, 0},
		{"return(e=>f(e))(g)", "))(", "AACA,QAAS,GAAK,EAAE,EAAI", `\nreturn (e => f(e))(g);`, 2},
		{"return(a?b:c)(d)", "(d", "AACA,OADQ,EAAI,EAAI,EAAA,CACP", `let f = a ? b : c;\nreturn f(d)`, 0},
		{"return(a?b:c)(d)", "(d", "AACA,OADQ,EAAI,EAAI,EAAA,CACP", `let f = a ? b : c\nreturn f(d)`, 0},
		{"return(a?b:c)(d)", "(d", "AACA,OAAQ,EAAI,EAAI,EAAA,CAAG", `\nreturn (a ? b : c)(d)`, 2},
		{"return(a?b:c)(d)", "(d", "AACA,OAAQ,EAAI,EAAI,EAAE,CAAC", `\nreturn (a ? b : c)(d)`, 2},
		{"function(e){return n}()", "n}(", "AAAA,YACC,OAAO,EACR", `function h(e) {\n return n}\nh()`, 0},
		{"function(e){return n}()", "n}(", "AACA,YAAc,OAAO", `\nfunction (e) {return n}()`, 2},
	} {
		line := lineAt(t, c.code, c.place, c.mappings, c.content)
		if line != c.line {
			t.Errorf("%s: line %d, want %d", c.code, line, c.line)
		}
	}
}

// TestImportedCall has calls of names that are imported, with a segment after `(0,`, as Metro makes it.
func TestImportedCall(t *testing.T) {
	for _, c := range []struct {
		code, mappings, content string
		line                    int
	}{
		{"(0,n.fill)([1])", "CACC,EAAA,QAAK", `\n;fill([1])`, 2},
		{"(0,n.fill)([1])", "CACC,EAAA,QAAK", `\n;fill + [1]`, 0},
		{"(0,n.default)([1])", "CACC,EAAA,WAAK", `\n;load([1])`, 2},
		{"(0,n.default)([1])", "CACC,EAAA,WAAK", `\n;load + [1]`, 0},
		{"(0,r(d[9]).fill)([1])", "CACC,EAAA,cAAK", `\n;fill([1])`, 2},
		{"(0,r(d+9).fill)([1])", "CACC,EAAA,cAAK", `\n;fill([1])`, 0},
		{"throw new l.Oops([1])", "AACC,MAAM,IAAI,OAAK", `\n;throw new Oops([1])`, 2},
		{"throw new l.Oops([1])", "AACC,MAAM,IAAI,OAAK", `\n;throw new Oh([1])`, 0},
	} {
		if line := lineAt(t, c.code, "([", c.mappings, c.content); line != c.line {
			t.Errorf("%s of %q: line %d, want %d", c.code, c.content, line, c.line)
		}
	}
}

// TestInSegment has places that are within what a segment is of, where the source has other words: private names, whose sign is before the segment of
// terser's, members whose value has got another name, and a call at the end of a function that is called where it stands.
func TestInSegment(t *testing.T) {
	for _, c := range []struct {
		code, place, mappings, content string
		line                           int
	}{
		{"return this.#e(t)", "(t", "AACC,OAAO,MAAK,EAAQ", `\n;return this.#hidden(n)`, 2},
		{"return this.#e(t)", "(t", "AACC,OAAO,MAAK,EAAQ", `\n;return this.#hidden[n]`, 0},
		{"let{b:e}=l", "e}", "AACC,GAAI,CAAE,KAAM", `\n;let { b } = cart`, 2},
		{"let{b:e}=l", "e}", "AACC,GAAI,CAAE,KAAM", `\n;let { b + x } = l`, 0},
		{"(function(){return e.label()})()", "()})", "AACC,YACA,OAAO,EAAK,OACb", `\n;(function () {\n return item.label()\n})()`, 3},
	} {
		if line := lineAt(t, c.code, c.place, c.mappings, c.content); line != c.line {
			t.Errorf("%s of %q: line %d, want %d", c.code, c.content, line, c.line)
		}
	}
}

// lineAt returns the line that a script gets, 0 for none, at the place of a part of its code. The map has mappings and the content of its source.
func lineAt(t *testing.T, code, place, mappings, content string) int {
	script := filepath.Join(t.TempDir(), "app.js")
	for path, text := range map[string]string{script: code + "\n//# sourceMappingURL=app.js.map\n",
		script + ".map": `{"version":3,"sources":["a.ts"],"sourcesContent":["` + content + `"],"names":[],"mappings":"` + mappings + `"}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if a := New(Options{}).Script(context.Background(), script).At(Pack(0, uint32(strings.Index(code, place)))); len(a.Frames) > 0 {
		return a.Frames[0].Line
	}
	return 0
}

// TestUnsound has maps with places where the source has nothing that the code could be from, as those of code that compilers have added.
func TestUnsound(t *testing.T) {
	for _, c := range []struct {
		code, place, mappings, content string
		line                           int
	}{
		{"a();b(c)", "b(", "AAAA,IACA", `run();\nother();`, 2},
		{"a();b(c)", "b(", "AAAA,IACA", `run();`, 0},                                             // no such line
		{"a();b(c)", "b(", "AAAA,IACE", `run();\nother();`, 0},                                   // in a word
		{"a();b(c)", "b(", "AAAA,IACQ", `run();\nother();`, 0},                                   // behind the end of the line
		{"a();b(c)", "b(", "AAAA,IACI", `run();\ntry {\n  load();\n}`, 0},                        // a block begins
		{"a();b(c)", "b(", "AAAA,IACE", `run();\nf({ b }.b(c));`, 2},                             // an object begins
		{"a();b(c)", "b(", "AAAA,IAAK", `run();`, 0},                                             // a statement ends
		{"a=e=>e()", "e=>", "AAAA,EACU", `run();\nconst f = e => e()`, 0},                        // a function begins
		{"(function(e){a(e)})()", "()", "AAAA,kBAEA,CAFA", `(function (e) {\n  a(e);\n})();`, 0}, // the call begins two lines before
		{"a();x.b(c)", "b(", "AAAA,IACC,IAAM", `run();\n!o.run(n);`, 2},                          // between two places
		{"a();x.b(c)", "b(", "AAAA,IACC,IAAM", `run();\n!o+run(n);`, 0},                          // other code between them
		{"a();b(c)},10,[1])", "b(", "AAAA,IACA,O", `run();\nother();`, 2},                        // Metro numbers modules after it has made its maps
		{"a();b(c)},ab,[1])", "b(", "AAAA,IACA,O", `run();\nother();`, 0},
		{"(new function(){this.a=b}).c", "b}", "AAAA,uBACC", `class K {\n a = b;\n}\nnew K().c`, 0},
	} {
		line := lineAt(t, c.code, c.place, c.mappings, c.content)
		if line != c.line {
			t.Errorf("%s of %s: line %d, want %d", c.code, c.content, line, c.line)
		}
	}
}

// TestFunctionInPlaceOfName has a function in the place of its name, with a call whose argument the map has, as swc makes it of a function that
// is called once: the place is that of the name in the call, if the function is the one of that name.
func TestFunctionInPlaceOfName(t *testing.T) {
	for _, c := range []struct {
		content, mappings string
		line, column      int
	}{
		{`function run(a) {\n  go();\n}\nrun(e);`, "CAAA,WACE,IACF,GACI", 4, 1},
		{`function run(\n  a,\n) {\n  go();\n}\nconst x = run(\n  e);`, "CAAA,WAGE,IACF,GAEE", 6, 11},
		{`{\n  const run = (a) => {\n    go();\n  };\n  f(0, run(e));\n}`, "CACc,WACV,IACF,GACS", 5, 8},
		{`function run(a) { go(); }\nrun (e);`, "CAAA,WAAkB,IAAM,GACnB", 2, 1},
		{`function run(a) {\n  go();\n}\nrun(e);`, "CAAA,WACE,IACF,GACG", 4, 1}, // the parenthesis, as maps of maps have it
		{`function other(a) {\n  go();\n}\nrun(e);`, "CAAA,WACE,IACF,GACI", 0, 0},
		{`function run(a) {\n  go();\n}\nif (e);`, "CAAA,WACE,IACF,GACI", 0, 0},
		{`function run(a) {\n  go();\n}\nx = e ;`, "CAAA,WACE,IACF,GACI", 0, 0},
	} {
		script := filepath.Join(t.TempDir(), "app.js")
		for path, text := range map[string]string{script: "(function(){go()})(e);\n//# sourceMappingURL=app.js.map\n",
			script + ".map": `{"version":3,"sources":["a.ts"],"sourcesContent":["` + c.content + `"],"names":[],"mappings":"` + c.mappings + `"}`} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		line, column := 0, 0
		if a := New(Options{}).Script(context.Background(), script).At(Pack(0, 18)); len(a.Frames) > 0 {
			line, column = a.Frames[0].Line, a.Frames[0].Column
		}
		if line != c.line || column != c.column {
			t.Errorf("%s: %d:%d, want %d:%d", c.content, line, column, c.line, c.column)
		}
	}
}

// TestInexact has maps as swc writes them with that of its own source in it: two places at one column, of which the source says which is right,
// and that of a brace that is not in the code any more. One of a word within another one is of another build.
func TestInexact(t *testing.T) {
	for _, c := range []struct {
		mappings string
		line     int
	}{
		{"QAAU,GAAO,AACR,KAAK", 2},
		{"QAAU,GACD,EADQ,GACH", 2},
		{"QAAU,GACD,EAAP,GAAY", 0},
	} {
		script := filepath.Join(t.TempDir(), "app.js")
		for path, text := range map[string]string{script: "const t=r=>call(r)\n//# sourceMappingURL=app.js.map\n",
			script + ".map": `{"version":3,"sources":["a.ts"],"sourcesContent":["const t = (r) => {\n  return call(r);\n};"],"names":[],"mappings":"` + c.mappings + `"}`} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		line := 0
		if a := New(Options{}).Script(context.Background(), script).At(Pack(0, 11)); len(a.Frames) > 0 {
			line = a.Frames[0].Line
		}
		if line != c.line {
			t.Errorf("%s: line %d, want %d", c.mappings, line, c.line)
		}
	}
}

// TestNew has the map that Vite's minifier makes where it puts what is made in the place of its variable: at `new` it has the variable.
func TestNew(t *testing.T) {
	for _, c := range []struct {
		source       string
		line, column int
	}{
		{`const gate = new Gate(1);\nreturn gate.open();`, 1, 13},
		{`const gate = make(Gate(1));\nreturn gate.open();`, 2, 7}, // a compiler has made it
		{`const gate = anew Gate(1);\nreturn gate.open();`, 2, 7},
	} {
		m, err := Parse([]byte(`{"version":3,"sources":["a.ts"],"sourcesContent":["` + c.source + `"],"names":[],"mappings":"AACA,OAAO,IADU"}`))
		if err != nil {
			t.Fatal(err)
		}
		f := m.find(0, len("return "), nil)
		var o Original
		if newCode([]byte("return new o(1).open()")).choose(&f, 0, len("return ")) {
			o, _ = f.original()
		}
		if o.Line != c.line || o.Column != c.column {
			t.Errorf("%s: new is at %d:%d, want %d:%d", c.source, o.Line, o.Column, c.line, c.column)
		}
	}
}
