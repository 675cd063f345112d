package msvc

import (
	_ "embed"
	"strings"
	"testing"
)

// clangNames has one name per line and, after tabs, what llvm prints for it.
//
//go:embed testdata/msvc.txt
var clangNames string

// namesOfClang returns the names in clangNames.
func namesOfClang(t testing.TB) (names []string) {
	t.Helper()
	for line := range strings.Lines(clangNames) {
		name, _, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("no tab in %q", line)
		}
		names = append(names, name)
	}
	return names
}

// hostileNames are the parts of names that cost time, stack or memory. The parts open and end are repeated up to the limit on the
// length of names.
var hostileNames = map[string]struct{ before, open, middle, end string }{
	"pointers":            {"?x@@3", "PEA", "H", ""},
	"functions":           {"?x@@3", "P6A", "X", "@Z"},
	"parameters twice":    {"?f@@YAXPEAH", "P6AX00@Z", "", ""},
	"templates":           {"?f@", "?$a@V", "b", "@@"},
	"template scopes":     {"?f@", "?$a@H@", "", ""},
	"local scopes":        {"", "?f@?1?", "?g@@YAXXZ", "@YAXXZ"},
	"symbols":             {"", "??$f@$1", "?g@@3HA", "@@YAXXZ"},
	"arrays":              {"?x@@3", "Y0A@", "H", "A"},
	"dimensions":          {"?x@@3YPP@", "A@", "H", "A"},
	"initializers":        {"", "??__E?", "?x@@3HA", "@@YAXXZ"},
	"members":             {"?x@@3", "PEQa@@", "H", ""},
	"results":             {"?f@@YA", "P6A", "X", "XZ"},
	"destructors":         {"?", "?1?$a@H", "", "@@"},
	"anonymous":           {"?f@", "?A0x1@", "", "@YAXXZ"},
	"literal":             {"??_C@_1PPPP@AAAAAAAA@", "?$AAa", "@", ""},
	"narrow literal":      {"??_C@_0PPPP@AAAAAAAA@", "a", "@", ""},
	"numbers":             {"??$f@", "$0PPPP@", "", "@"},
	"custom types":        {"?f@@YA", "??$a@", "?b@", "@@"},
	"scopes without end":  {"?f@", "?1", "", ""},
	"references to names": {"?f@@YAX", "V01@", "", ""},
}

// doubling returns a name whose parameters are functions that use the previous parameter several times: its readable form
// grows exponentially.
func doubling() string {
	var b strings.Builder
	b.WriteString("?f@@YAXPEAH")
	for i := range 9 {
		b.WriteString("P6AX" + strings.Repeat(string(rune('0'+i)), 300) + "@Z")
	}
	return b.String() + "@Z"
}

// TestHostile checks that hostile names are demangled or refused within the limits.
func TestHostile(t *testing.T) {
	names := []string{doubling()}
	for _, h := range hostileNames {
		for _, n := range []int{9, (maxName - len(h.before) - len(h.middle)) / len(h.open+h.end)} {
			names = append(names, h.before+strings.Repeat(h.open, n)+h.middle+strings.Repeat(h.end, n))
		}
	}
	for _, name := range names {
		check(t, name)
	}
	if s, ok := Demangle(doubling(), false); ok {
		t.Errorf("a name of exponential length was demangled to %d bytes", len(s))
	}
	if _, ok := Demangle("?"+strings.Repeat("f", maxName)+"@@3HA", false); ok {
		t.Error("a name that is too long was demangled")
	}
}

// check checks the invariants that hold for any name.
func check(t *testing.T, name string) {
	t.Helper()
	for _, brief := range []bool{false, true} {
		s, ok := Demangle(name, brief)
		if ok == (s == "") || len(s) > maxOutput {
			t.Errorf("Demangle(%.80q) = %d bytes, %v", name, len(s), ok)
		}
		if ok && !strings.HasPrefix(name, "?") && !strings.HasPrefix(name, ".") {
			t.Errorf("Demangle(%q) = %q, but it is not one of Microsoft's names", name, s)
		}
	}
}

// TestCut checks truncated names.
func TestCut(t *testing.T) {
	for _, name := range namesOfClang(t) {
		for i := range name {
			check(t, name[:i])
			check(t, "?"+name[i:])
		}
	}
}

func FuzzDemangle(f *testing.F) {
	for _, name := range namesOfClang(f) {
		f.Add(name)
	}
	f.Fuzz(check)
}
