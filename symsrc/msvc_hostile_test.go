package symsrc

import (
	"strings"
	"testing"
)

// hostileMSVC are names that cost time, depth or room: each is given with its parts repeated up to the limit of length.
var hostileMSVC = map[string]struct{ before, open, middle, end string }{
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

// doublingMSVC gives a name whose parameters are each a function of several of the one before: its text grows exponentially.
func doublingMSVC() string {
	var b strings.Builder
	b.WriteString("?f@@YAXPEAH")
	for i := range 9 {
		b.WriteString("P6AX" + strings.Repeat(string(rune('0'+i)), 300) + "@Z")
	}
	return b.String() + "@Z"
}

// TestHostileMSVC checks that hostile names come to an end, and what is given does not grow without bounds.
func TestHostileMSVC(t *testing.T) {
	names := []string{doublingMSVC()}
	for _, h := range hostileMSVC {
		for _, n := range []int{9, (maxMangled - len(h.before) - len(h.middle)) / len(h.open+h.end)} {
			names = append(names, h.before+strings.Repeat(h.open, n)+h.middle+strings.Repeat(h.end, n))
		}
	}
	for _, name := range names {
		checkMSVC(t, name)
	}
	if s, ok := demangleMSVC(doublingMSVC(), false); ok {
		t.Errorf("a name of exponential length gives %d bytes", len(s))
	}
	long := "?" + strings.Repeat("f", maxMangled) + "@@3HA"
	if got := DemangleLLVM(long, true); got != long {
		t.Errorf("a name of %d bytes was demangled", len(long))
	}
	if got := DemangleLLVM(long[:1]+long[7:], true); got != "int "+long[7:len(long)-5] {
		t.Errorf("a name of %d bytes was not demangled", len(long)-6)
	}
}

// checkMSVC checks what is to hold for any name.
func checkMSVC(t *testing.T, name string) {
	t.Helper()
	for _, brief := range []bool{false, true} {
		s, ok := demangleMSVC(name, brief)
		if ok == (s == "") || len(s) > maxOutput {
			t.Errorf("%.80q gives %d bytes, %v", name, len(s), ok)
		}
		if ok && !strings.HasPrefix(name, "?") && !strings.HasPrefix(name, ".") {
			t.Errorf("%q is none of Microsoft's, and gives %q", name, s)
		}
	}
}

// TestCutMSVC cuts names anywhere.
func TestCutMSVC(t *testing.T) {
	for _, n := range msvcNames(t) {
		for i := range n.name {
			checkMSVC(t, n.name[:i])
			checkMSVC(t, "?"+n.name[i:])
		}
	}
}

func FuzzDemangleMSVC(f *testing.F) {
	for _, n := range msvcNames(f) {
		f.Add(n.name)
	}
	f.Fuzz(checkMSVC)
}
