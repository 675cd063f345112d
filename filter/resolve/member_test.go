package resolve_test

import (
	"fmt"
	"testing"

	"qss-filter/filter/filtertest"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// TestModulesApart holds that modules are told apart whatever bytes their names and build IDs have.
func TestModulesApart(t *testing.T) {
	type key struct {
		name, member string
		at           uint64
		id           symsrc.BuildID
	}
	r := resolve.New(resolve.Options{Symbols: &filtertest.Symbols{}})
	seen := map[*resolve.Module]key{}
	for _, k := range []key{
		{"a", "", 0, "\xaa\x00m\x000"}, {"a", "m", 0, "\xaa"}, {"a", "", 0, "\xaa"}, {"a\x00\xaa", "", 0, ""}, {"a", "", 0x3000, "\xaa"},
		{"a", "m\x0030", 0, "\xaa"}, {"a", "m", 0x30, "\xaa"}, {"a\x01\xaa", "", 0, ""}, {"", "", 0, "a"}, {"a", "", 0, ""},
	} {
		m := r.Member([]byte(k.name), []byte(k.member), k.at, k.id)
		if other, taken := seen[m]; taken {
			t.Errorf("%+q is taken for %+q", fmt.Sprint(k), fmt.Sprint(other))
		}
		seen[m] = k
		if m.Name != k.name || m.Member != k.member || m.InArchive != k.at || m.BuildID != k.id {
			t.Errorf("%+q is %+q", fmt.Sprint(k), fmt.Sprint(m.Module))
		}
	}
}
