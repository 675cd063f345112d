package filter_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
