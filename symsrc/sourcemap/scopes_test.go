package sourcemap

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// goldenScope and goldenRange are what the standard's tests of scopes want.
type goldenScope struct {
	Start, End   struct{ Line, Column int32 }
	Name         *string
	IsStackFrame bool
	Children     []goldenScope
}

type goldenRange struct {
	Start, End      struct{ Line, Column int32 }
	DefinitionIndex *int32
	Children        []goldenRange
}

// TestSpecScopes runs the tests of the standard for decoding scopes (decoding/scopes of tc39/source-map-tests).
func TestSpecScopes(t *testing.T) {
	text, err := os.ReadFile("testdata/spec/proposals/scopes.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name   string
		Map    json.RawMessage
		Golden struct {
			Sources []struct{ Scope *goldenScope }
			Ranges  []goldenRange
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		var want, got strings.Builder
		for i, s := range c.Golden.Sources {
			if s.Scope != nil {
				s.Scope.write(&want, i, -1)
			}
		}
		for _, r := range c.Golden.Ranges {
			r.write(&want)
		}
		m, err := Parse(c.Map)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		s := m.scopes()
		if s == nil {
			t.Errorf("%s: no scopes", c.Name)
			continue
		}
		for source := range m.sources {
			for i := s.first[source]; i < s.first[source+1]; i++ {
				o, name := s.originals[i], ""
				if o.name >= 0 {
					_ = json.Unmarshal(m.text.read(m.names[o.name]), &name)
				}
				parent := position{-1, 0}
				if o.parent >= 0 {
					parent = s.originals[o.parent].start
				}
				fmt.Fprintln(&got, source, parent.line, o.start, o.end, name, o.function)
			}
		}
		for _, r := range s.ranges {
			fmt.Fprintln(&got, r.start, r.end, r.scope)
		}
		if got.String() != want.String() {
			t.Errorf("%s:\n%s\nwant\n%s", c.Name, &got, &want)
		}
	}
	if len(all) < 8 {
		t.Errorf("%d maps", len(all))
	}
}

func (g *goldenScope) write(b *strings.Builder, source int, parent int32) {
	name := ""
	if g.Name != nil {
		name = *g.Name
	}
	fmt.Fprintln(b, source, parent, g.Start, g.End, name, g.IsStackFrame)
	for _, c := range g.Children {
		c.write(b, source, g.Start.Line)
	}
}

func (g *goldenRange) write(b *strings.Builder) {
	of := int32(-1)
	if g.DefinitionIndex != nil {
		of = *g.DefinitionIndex
	}
	fmt.Fprintln(b, g.Start, g.End, of)
	for _, c := range g.Children {
		c.write(b)
	}
}

// inlined is a map of `function n(t){throw new Error(t+1)}n(1);`, in which inner stands in the place of its call in outer. Its scopes are what
// the codec of Chrome's developer tools has encoded.
const inlined = `{"version":3,"sources":["a.ts"],"names":["global","inner","function","outer"],"mappings":"%s","scopes":"BCAAA,BHAOCE,CCB,BHBOEA,CCB,CCA,ECAA,EGKE,%sECED,IAEC,FU,FB,FF"}`

// TestScopes holds which functions a place of the code is in, and that those are not believed that the mappings contradict.
func TestScopes(t *testing.T) {
	for _, c := range []struct {
		what, mappings, more string
		column               int
		want                 string
	}{
		{"inlined", "cACE,MAAM,eAKR", "", 20, "inner 2:8, outer 5:2"},
		{"its own", "cACE,MAGA,eAEF", "", 35, " 7:0"},
		{"a mapping into the caller", "cACE,MAGA,eAEF", "", 20, " 5:2"},
		{"a mapping beyond the scopes", "cACE,MAUA,eAEF", "", 20, " 12:2"},
		{"a range that has not ended", "cACE,MAAM,eAKR", "EAA,", 20, " 2:8"},
		{"a scope that is none", "cACE,MAAM,eAKR", "ECAgB,FA,", 20, " 2:8"},
		{"an item that is not known", "cACE,MAAM,eAKR", "JAB,", 20, "inner 2:8, outer 5:2"},
		{"no number", "cACE,MAAM,eAKR", "!,", 20, " 2:8"},
		{"nothing", "cACE,MAAM,eAKR", ",", 20, " 2:8"},
	} {
		m, err := Parse(fmt.Appendf(nil, inlined, c.mappings, c.more))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		f := m.find(0, c.column, nil)
		all := f.stack(0, c.column)
		if o, ok := f.original(); all == nil && ok {
			all = []Original{o}
		}
		var got []string
		for _, o := range all {
			got = append(got, fmt.Sprintf("%s %d:%d", o.Function, o.Line, o.Column))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %q, want %q", c.what, s, c.want)
		}
	}
}

// TestHostileScopes has scopes that are many, or deep.
func TestHostileScopes(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("BEAA,", maxNested+1) + strings.Repeat("CAB,", maxNested) + "CAB",
		"BEAA,CAB" + strings.Repeat(",EAA", maxNested+1) + strings.Repeat(",FB", maxNested+1),
		"BEAA,CAB" + strings.Repeat(",EAA,FB", maxScopes),
		"BEAAgggggggB,CAB", "CAB", "FB", "IAAA", "A,A,A,A", "BEgggggDA,CgggggDA,BAAA",
	} {
		if s := readScopes([]byte(text), 2, 1); s != nil {
			t.Errorf("%.40q: %d scopes, %d ranges", text, len(s.originals), len(s.ranges))
		}
	}
	deep := "BEAA" + strings.Repeat(",BEAA", maxNested-2) + strings.Repeat(",CAA", maxNested-2) + ",CBA,ECAA" + strings.Repeat(",ECAA", maxNested-2) + strings.Repeat(",FA", maxNested-2) + ",FB"
	s := readScopes([]byte(deep), 1, 1)
	if s == nil {
		t.Fatal("they are not read")
	}
	if all, ok := s.stack(position{0, 0}, 0, position{0, 0}); len(all) != 1 || !ok {
		t.Errorf("%v %v", all, ok)
	}
}

// FuzzScopes looks for scopes over which the program panics.
func FuzzScopes(f *testing.F) {
	f.Add("BCAAA,BHAOCE,CCB,BHBOEA,CCB,CCA,ECAA,EGKE,ECED,IAEC,FU,FB,FF", int32(20), int32(1), int32(8))
	f.Fuzz(func(t *testing.T, text string, column, line, at int32) {
		if s := readScopes([]byte(text), 2, 4); s != nil {
			s.stack(position{0, column}, 0, position{line, at})
			s.stack(position{1, column}, 1, position{line, at})
		}
	})
}
