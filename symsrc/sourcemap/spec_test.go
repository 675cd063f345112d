package sourcemap

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpec runs the tests of the standard (tc39/source-map-tests): which maps are valid, and where positions come from.
func TestSpec(t *testing.T) {
	text, err := os.ReadFile("testdata/spec/tests.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Tests []struct {
			Name, SourceMapFile string
			SourceMapIsValid    bool
			TestActions         []struct {
				ActionType                                                   string
				GeneratedLine, GeneratedColumn, OriginalLine, OriginalColumn int
				OriginalSource, MappedName                                   *string
				IntermediateMaps                                             []string
			}
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range all.Tests {
		t.Run(c.Name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata/spec", c.SourceMapFile))
			if err != nil {
				t.Fatal(err)
			}
			m, err := Parse(text)
			if (err == nil) != c.SourceMapIsValid {
				t.Fatalf("%v, want valid %v", err, c.SourceMapIsValid)
			}
			for _, a := range c.TestActions {
				if a.ActionType != "checkMapping" || err != nil {
					continue
				}
				checked++
				o, ok := m.At(a.GeneratedLine, a.GeneratedColumn)
				switch {
				case a.OriginalSource == nil && ok && o.Source != "":
					t.Errorf("%d:%d is %+v, want none", a.GeneratedLine, a.GeneratedColumn, o)
				case a.OriginalSource == nil:
				case !ok || !strings.HasSuffix(o.Source, *a.OriginalSource) || o.Line != a.OriginalLine+1 || o.Column != a.OriginalColumn:
					t.Errorf("%d:%d is %+v %v, want %s:%d:%d", a.GeneratedLine, a.GeneratedColumn, o, ok, *a.OriginalSource, a.OriginalLine+1, a.OriginalColumn)
				}
			}
		})
	}
	t.Logf("%d maps, %d positions", len(all.Tests), checked)
}
