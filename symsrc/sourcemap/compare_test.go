package sourcemap

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestInlined compares the places of programs in which terser, rolldown, and swc after esbuild have put variables and functions where they are
// used with what Node.js writes for the program as it was: none may be another one, and few be missing. The maps have the variable at `await` in its
// place, and swc's have places within words, and several at one column.
func TestInlined(t *testing.T) {
	for tool, missing := range map[string]int{"terser": 3, "rolldown": 2, "swc": 2} {
		of := "testdata/inlined/source.stack"
		if tool == "swc" {
			of = "testdata/inlined/swc-source.stack"
		}
		sources := stacks(t, of, regexp.MustCompile(`(?:lib|main)\.js:\d+`))
		script, err := filepath.Abs("testdata/inlined/" + tool + ".mjs")
		if err != nil {
			t.Fatal(err)
		}
		s := New(Options{}).Script(context.Background(), script)
		if s == nil {
			t.Fatalf("%s: no map", tool)
		}
		for i, stack := range stacks(t, "testdata/inlined/"+tool+".stack", regexp.MustCompile(`\d+:\d+`)) {
			want := sources[i]
			for _, place := range stack {
				line, column, _ := strings.Cut(place, ":")
				l, _ := strconv.Atoi(line)
				c, _ := strconv.Atoi(column)
				a := s.At(Pack(uint32(l-1), uint32(c-1)))
				if len(a.Frames) == 0 {
					missing--
					continue
				}
				got := fmt.Sprintf("%s:%d", filepath.Base(a.Frames[0].File), a.Frames[0].Line)
				if k := slices.Index(want, got); k >= 0 {
					want = want[k+1:]
				} else {
					t.Errorf("%s: %s is %s, want one of %q", tool, place, got, want)
				}
			}
		}
		if missing < 0 {
			t.Errorf("%s: %d more places have none than should", tool, -missing)
		}
	}
}

// stacks returns what is found in each of the stacks of a file.
func stacks(t *testing.T, path string, what *regexp.Regexp) (all [][]string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for stack := range strings.SplitSeq(string(text), "TypeError: ") {
		if found := what.FindAllString(stack, -1); len(found) > 0 {
			all = append(all, found)
		}
	}
	return all
}

// TestEchoes has maps whose source is another one, or another text of it: what compilers leave of a source is not where they have it, though each single place
// may be that of something.
func TestEchoes(t *testing.T) {
	const kept, short = "AAAA,IAAI,OACJ,IAAI,OACJ,IAAI,OACJ,IAAI", "AAAA,EAAI,KACJ,EAAI,KACJ,EAAI,KACJ,EAAI" // a word of each line, and what is called of it
	for _, c := range []struct {
		code, mappings, content string
		line                    int
	}{
		{`one.add(a);two.get(b);xyz.set(c);uvw.run(d)`, kept, `one.add(n)\ntwo.get(n)\nxyz.set(n)\nuvw.run(n)`, 3},
		{`one.add(a);two.get(b);xyz.set(c);uvw.run(d)`, kept, `\none.add(n)\ntwo.get(n)\nxyz.set(n)\nuvw.run(n)`, 0},
		{`one.add(a);two.get(b);xyz.set(c);uvw.run(d)`, kept, `rst.pop(n)\nopq.cut(n)\nlmn.sum(n)\nijk.end(n)`, 0},
		{`a.p(b);c.q(d);e.r(f);g.s(h)`, short, `rst.pop(n)\nopq.cut(n)\nlmn.sum(n)\nijk.end(n)`, 3}, // the compiler has left none
	} {
		place := strings.SplitAfter(c.code, ";")[2]
		if line := lineAt(t, c.code, place, c.mappings, c.content); line != c.line {
			t.Errorf("%s of %s: line %d, want %d", c.code, c.content, line, c.line)
		}
	}
}

// TestCompareTokens holds which code agrees with a source: names may be others, and words that minifiers drop may be missing.
func TestCompareTokens(t *testing.T) {
	for _, c := range []struct {
		source, code string
		want         comparison
		last         string // what the source has from there
	}{
		{"await load(n);", "await", agrees, "await load"},
		{"found + found;", "await", differs, ""},
		{"total // of all\n  .add(1)", "a.add(", agrees, "(1)"},
		{"other /* one */ (n)", "b(", agrees, "(n)"},
		{"other(n)", "b))(", differs, ""},
		{"return await load(n)", "await", agrees, "await load"},
		{"new Error('x')", "Error(", agrees, "('x')"},
		{"const a = b(c)", "d=e(", agrees, "(c)"},
		{"class Cart {\n  total", "class{a", agrees, "total"},
		{"class Cart extends List {", "class extends a{", agrees, "{"},
		{"function total(n) {", "function(e){", agrees, "{"},
		{"class Cart", "class a", agrees, "Cart"},
		{"};", ")(", differs, ""},
		{"return n", "return await", differs, ""},
		{"say('a').at(1)", `f("a").at(`, unknown, ""},
		{"", "a", differs, ""},
	} {
		of, last := compareTokens(c.source, c.code)
		if of != c.want || of == agrees && !strings.HasPrefix(c.source[last:], c.last) {
			t.Errorf("%q and %q: %d at %q", c.source, c.code, of, c.source[last:])
		}
	}
}

// FuzzCompare holds that no source and no code is a panic, and that code agrees with itself.
func FuzzCompare(f *testing.F) {
	f.Add("await f(1)", "await g(")
	f.Add("/* x", "// y\nz")
	f.Fuzz(func(t *testing.T, source, code string) {
		if of, last := compareTokens(source, code); of == agrees && (last < 0 || last > len(source)) {
			t.Error(last)
		}
		if of, _ := compareTokens(code, code); of == differs {
			t.Error("it differs from itself")
		}
	})
}

// FuzzUnescaped holds that contents are those that package json reads, and that lines begin where they do.
func FuzzUnescaped(f *testing.F) {
	f.Add([]byte(`a\tb\n\\n\"c\u00e9é\/\u000A`))
	f.Add([]byte("\\\\\\n\\n\xff\x01\\ud83d\\ude00"))
	f.Add([]byte(`12345678\n\ud83dx\udE00\u00ZZ`))
	f.Add([]byte("\xff\\n\xc3\\nabcdefgh\\b"))
	f.Add([]byte(`\ud83d\u0041\ud83d\n\`))
	var of content
	f.Fuzz(func(t *testing.T, whole []byte) {
		var want string
		err := json.Unmarshal(slices.Concat([]byte{'"'}, whole, []byte{'"'}), &want)
		got, ok := of.unescape(whole)
		switch {
		case ok != (err == nil):
			t.Fatalf("%q: %t, and %v", whole, ok, err)
		case !ok:
			return
		case got != want:
			t.Fatalf("%q: %q, want %q", whole, got, want)
		}
		starts := []uint32{0}
		for i := range want {
			if want[i] == '\n' {
				starts = append(starts, uint32(i+1))
			}
		}
		if !slices.Equal(of.starts, starts) {
			t.Fatalf("%q: lines begin at %d, want %d", whole, of.starts, starts)
		}
	})
}
