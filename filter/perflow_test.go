package filter_test

import (
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/prefix/prefixtest"
)

// TestPerFlowEverywhere holds that a stream of PerFlow, maps and stacks, is read behind every prefix as it is without one: all its addresses
// are return addresses, the first one too.
func TestPerFlowEverywhere(t *testing.T) {
	stream := []string{"--- /proc/self/maps (map_id 0) ---", "55f5ef185000-55f5ef187000 r--p 00000000 fe:00 5324893                    /a",
		"55f5ef187000-55f5ef189000 r-xp 00002000 fe:00 5324893                    /a", "--- end of maps ---",
		"[1795191696932172754] Call Stack (depth: 2)", "  0x000055f5ef187a60", "  0x000055f5ef187359", "",
		"[1795191696932172755] Call Stack (depth: 1)", "  0x000055f5ef187b60", ""}
	want := []string{"0x000055f5ef187a60 in /a@2a5f", "0x000055f5ef187359 in /a@2358", "0x000055f5ef187b60 in /a@2b5f"}
	tried := 0
	for _, p := range prefixtest.All() {
		tried++
		out := filtertest.Run(t, filter.Options{Symbols: addresses{}}, wrap(&p, stream))
		for _, frame := range want {
			if !strings.Contains(out, frame) {
				t.Errorf("behind %s: no %q in\n%s", p.Name, frame, out)
				break
			}
		}
	}
	t.Logf("%d prefixes", tried)
}
