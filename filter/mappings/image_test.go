package mappings_test

import (
	"encoding/hex"
	"testing"

	"qss-filter/filter/mappings"
	"qss-filter/symsrc"
)

func TestImage(t *testing.T) {
	for _, c := range []struct {
		text, path, id string
		start, last    uint64
	}{
		{"0x000055e8f7e2b000–0x000055e8f7e2d1f4 37c68c92 crash     /src/.build/debug/crash", "/src/.build/debug/crash", "37c68c92", 0x55e8f7e2b000, 0x55e8f7e2d1f3},
		{"0x00400000–0x00500000 <no build ID> my crash  /a b/my crash\r", "/a b/my crash", "", 0x400000, 0x4fffff},
		{"0x000055e8f7e2b000–0x000055e8f7e2d1f4 37c68c92 a (deleted) /bin/a (deleted)", "/bin/a (deleted)", "37c68c92", 0x55e8f7e2b000, 0x55e8f7e2d1f3},
		{"0x000055e8f7e2b000-0x000055e8f7e2d1f4 37c68c92 a-0x1 /bin/a-0x1", "/bin/a-0x1", "37c68c92", 0x55e8f7e2b000, 0x55e8f7e2d1f3},
	} {
		m, ok := mappings.Image([]byte(c.text))
		if !ok || string(m.Path) != c.path || hex.EncodeToString([]byte(m.BuildID)) != c.id || m.Start != c.start || m.Last != c.last ||
			m.Space != symsrc.InImage || !m.Names() {
			t.Errorf("%q: %+v, %v", c.text, m, ok)
		}
	}
	for _, text := range []string{"", "–0x", "0x1000–0x2000", "0x1000–0x2000 37c6", "0x1000–0x2000 37c6 a", "0x1000–0x2000 37c6 a /b",
		"0x1000–0x2000 xyz a /a", "0x1000--0x2000 37c6 a /a", "0x1000-0x2000 a /a", "0x2000–0x1000 37c6 a /a", "1000–0x2000 37c6 a /a", "0x1000–0x2000 <no build ID> <unknown> <unknown>",
		"see 0x1000–0x2000 37c6 a /a", "0x1000–0x0x2000 37c6 a /a"} {
		if m, ok := mappings.Image([]byte(text)); ok {
			t.Errorf("%q is taken for an image: %+v", text, m)
		}
	}
}

func TestBoundsImages(t *testing.T) {
	for text, want := range map[string]bool{
		"*** Signal 11: Backtracing from 0x7ffff743a96a... done ***":      true,
		"💣 Program crashed: Signal 4: Backtracing from 0x7f82cb8d29fc...": true,
		"Backtrace took 0.05s": true, "Architecture: x86_64": true, "Backtrace: f": false, "": false,
	} {
		if mappings.BoundsImages([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
