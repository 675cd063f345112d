package filter_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print"
	"qss-filter/sgr"
)

// textsOf returns the values of attributes and the texts of a document of XML, in its order, and what follows it.
func textsOf(t *testing.T, name, document string) (texts []string, after string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(document))
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts, ""
		}
		if err != nil {
			t.Fatalf("%s: %v\n%.2000s", name, err, document)
		}
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			for _, a := range token.Attr {
				texts = append(texts, a.Value)
			}
		case xml.CharData:
			texts = append(texts, string(token))
		case xml.EndElement:
			if depth--; depth == 0 {
				return texts, strings.TrimPrefix(document[d.InputOffset():], "\n")
			}
		}
	}
}

// TestJUnit holds that the reports of runners of tests are documents of XML after the filter, too, in which each text is what the filter makes
// of it as a log, and that nothing else of them changes. ctest's, GoogleTest's, pytest's and gotestsum's were written by these programs,
// cargo-nextest's after its documentation.
func TestJUnit(t *testing.T) {
	source := filtertest.TreeSource(filtertest.LogTree(t))
	paths, err := filepath.Glob("../testdata/junit/*.xml")
	if err != nil || len(paths) < 6 {
		t.Fatalf("%d reports: %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, o := range map[string]filter.Options{
			"plain":  {Symbols: source},
			"colors": {Symbols: source, Palette: sgr.NewPalette(true)},
			"below":  {Symbols: source, Style: print.Append},
		} {
			name = filepath.Base(path) + " " + name
			out := runAll(t, o, strings.NewReader(string(text)))
			before, beyond := textsOf(t, name, string(text))
			after, rest := textsOf(t, name, out)
			o.Palette = nil
			var log strings.Builder
			for i, one := range before {
				fmt.Fprintf(&log, "text %d\n%s\n", i, one)
			}
			want := runAll(t, o, strings.NewReader(log.String()))
			var got strings.Builder
			for i, one := range after {
				fmt.Fprintf(&got, "text %d\n%s\n", i, one)
			}
			if got.String() != want {
				t.Errorf("%s:\n got %s\nwant %s", name, got.String(), want)
			}
			if named := strings.Count(want, "crash.cc:"); named < 3 {
				t.Errorf("%s: %d frames have names", name, named)
			}
			if beyond != "" && !strings.Contains(rest, "demo::deref<int>(int*, int)") {
				t.Errorf("%s: after the document: %s", name, rest)
			}
			if again := runAll(t, o, strings.NewReader(out)); name == filepath.Base(path)+" plain" && again != out {
				t.Errorf("%s: a second time: %s", name, again)
			}
		}
	}
}

// TestUnreadDocument holds that a line of a document which is not looked at means nothing, whatever its references hide: the output of documents with
// frames in them is the same if all lines are.
func TestUnreadDocument(t *testing.T) {
	text, err := os.ReadFile("frame/testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(9, 10))
	names := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
	escaped := func(line string) string {
		each := 1 // by how many characters a reference comes
		switch rng.IntN(3) {
		case 0:
			return names.Replace(line)
		case 1:
			each = 8
		}
		var b strings.Builder
		for _, c := range line {
			if strings.ContainsRune("&<>\"'", c) || rng.IntN(each) == 0 {
				fmt.Fprintf(&b, "&#%d;", c)
			} else {
				b.WriteRune(c)
			}
		}
		return b.String()
	}
	var document strings.Builder
	document.WriteString("<?xml version=\"1.0\"?>\n<tests>\n")
	for line := range strings.Lines(string(text)) {
		line, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "|")
		if !ok || strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c == utf8.RuneError }) {
			continue
		}
		switch rng.IntN(4) {
		case 0:
			fmt.Fprintf(&document, "<failure message=\"%s\"/>\n", escaped(line))
		case 1:
			fmt.Fprintf(&document, "<out>%s</out>\n", escaped(line))
		case 2:
			fmt.Fprintf(&document, "<out>a &gt; b&#10;%s&#10;c &lt; d</out>\n", escaped(line))
		default:
			fmt.Fprintf(&document, "%s\n", escaped(line))
		}
	}
	document.WriteString("</tests>\n")
	for name, o := range map[string]filter.Options{"plain": {}, "explained": {Explain: true}} {
		o.Symbols = &symbols{}
		got, want := filter.New(o), filter.New(o)
		want.ReadEveryLine()
		a, b := strings.Split(streamed(t, got, document.String()), "\n"), strings.Split(streamed(t, want, document.String()), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("%s: %q, and if all lines are read: %q", name, a[i], b[i])
			}
		}
		if len(a) != len(b) || o.Explain && strings.Join(a, "\n") == document.String() {
			t.Errorf("%s: %d lines, want %d", name, len(a), len(b))
		}
	}
}
