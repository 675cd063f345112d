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

// TestProposals holds that what proposals add to maps makes no place wrong: within a range of the range mappings, the line is right, and the
// column that of the range's begin; behind the end of the line a place has none. The maps and the wanted places are those of the standard's
// tests of that proposal (range-mappings-proposal-tests.json); scopes are those of its nested-scopes.map.
func TestProposals(t *testing.T) {
	const scopes = `,"scopes":"BAAA,BFKAA,BFFCC,BCFEE,CFE,CBC,CBA,CBA"}`
	for _, c := range []struct {
		text   string
		places [][4]int // generated line and column, original line and column
	}{
		{`{"version":3,"names":[],"sources":["a.js"],"mappings":";CAAA;A","rangeMappings":";B;"`, [][4]int{{1, 1, 0, 0}, {1, 2, 0, 1}, {1, 3, 0, 2}}},
		{`{"version":3,"names":[],"sources":["a.js"],"mappings":";CAAA,aAAa,EAAG,iBAAoB;A","rangeMappings":";BC;"`,
			[][4]int{{1, 1, 0, 0}, {1, 2, 0, 1}, {1, 16, 0, 16}, {1, 18, 0, 18}, {1, 35, 0, 36}}},
		{`{"version":3,"names":[],"sources":["a.js"],"mappings":"CAAA;GACG","rangeMappings":"B;"`, [][4]int{{0, 1, 0, 0}, {0, 7, 0, 6}, {1, 0, 1, 0}, {1, 2, 1, 2}}},
	} {
		for _, end := range []string{"}", scopes} {
			m, err := Parse([]byte(c.text + end))
			if err != nil {
				t.Errorf("%s%s: %v", c.text, end, err)
				continue
			}
			for _, p := range c.places {
				if o, ok := m.At(p[0], p[1]); ok && (o.Source != "a.js" || o.Line != p[2]+1 || o.Column > p[3] || o.Function != "") {
					t.Errorf("%s%s: %d:%d is %+v, want %d:%d", c.text, end, p[0], p[1], o, p[2]+1, p[3])
				}
			}
		}
	}
}
