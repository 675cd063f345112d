package prefix_test

import (
	"strings"
	"testing"

	"qss-filter/filter/prefix"
	"qss-filter/filter/prefix/prefixtest"
)

// checkRows holds that the table leads to each recognizer for its own sample, and that what follows the prefix is the text.
func checkRows(t *testing.T, rows []prefix.Row) {
	t.Helper()
	for n, r := range rows {
		if r.Fit.End < 0 || !r.Found {
			t.Errorf("row %d: its own sample %q is not found: %+v", n, r.Sample, r)
			continue
		}
		if rest := r.Sample[r.Fit.End:]; rest != "" && !strings.HasSuffix(rest, "text") || r.Fit.Kind == prefix.KindNone {
			t.Errorf("row %d: %q is %v before %q", n, r.Sample, r.Fit.Kind, rest)
		}
	}
}

func TestRows(t *testing.T) { checkRows(t, prefix.Rows()) }

// TestKinds holds that each kind has a name of its own and a sample.
func TestKinds(t *testing.T) {
	sampled := map[prefix.Kind]bool{}
	for _, s := range prefixtest.All() {
		sampled[s.Kind] = true
	}
	for _, r := range prefix.Rows() {
		sampled[r.Fit.Kind] = true
	}
	object := prefix.JSONKey([]byte("{}")) // no row: JSONKey reads it
	sampled[object.Kind] = true
	names := map[string]bool{}
	for _, k := range prefix.Kinds() {
		if k.String() == "" || names[k.String()] {
			t.Errorf("kind %d: no name of its own: %q", k, k)
		}
		names[k.String()] = true
		if !sampled[k] {
			t.Errorf("%v: neither prefixtest nor a row has a sample", k)
		}
	}
}

// TestAddPrefix holds that a prefix is added with one row: it is read, and so are all others.
func TestAddPrefix(t *testing.T) {
	r, rows := prefix.AddRow("@", "@host@ text", func(line []byte, at int) int {
		end := strings.Index(string(line[at+1:]), "@ ")
		if end < 1 {
			return -1
		}
		return at + 1 + end + len("@ ")
	})
	checkRows(t, rows)
	line := []byte("@host@ text")
	if p := r.Read(line); string(line[p.Start:]) != "text" || p.Kind == prefix.KindNone {
		t.Errorf("%+v", p)
	}
	var known prefix.Reader
	if p := known.Read(line); p.Kind != prefix.KindNone {
		t.Errorf("it is known without its row: %+v", p)
	}
	for _, s := range prefixtest.All() {
		if line := []byte(s.Line(payload[0], 19531, 1)); r.Read(line).Kind != known.Read(line).Kind {
			t.Errorf("%s: %v", s.Name, r.Read(line).Kind)
		}
	}
}
