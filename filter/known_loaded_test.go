package filter_test

import (
	"context"
	"strings"
	"testing"

	"qss-filter/filter"
)

// TestKnownLoaded holds that a module that the log names by a relative path is the one that is mapped at the frame's address, also where the rest
// of the frame's line is known.
func TestKnownLoaded(t *testing.T) {
	const maps = "7f0000000000-7f0000010000 r-xp 00000000 08:01 77 /one/a.so\n7e0000000000-7e0000010000 r-xp 00000000 08:01 78 /other/a.so\n"
	frame := func(address string) string { return "    #0 " + address + " (./a.so+0x1234)\n" }
	one, other := frame("0x7f0000001234"), frame("0x7e0000001234")
	for _, log := range []string{
		maps + strings.Repeat(one, 4) + other + one,
		strings.Repeat(one, 4) + maps + one + other,
	} {
		for _, prefix := range []string{"", "Nov 21 10:11:12 host app[7]: "} {
			log := prefix + strings.ReplaceAll(strings.TrimSuffix(log, "\n"), "\n", "\n"+prefix) + "\n"
			filtered := func(known bool) string {
				return tell(t, filter.Options{Symbols: namedSymbols{}}, func(f *filter.Filter, out *strings.Builder) {
					f.FullLook(!known)
					if err := f.Run(context.Background(), strings.NewReader(log), out); err != nil {
						t.Fatal(err)
					}
				})
			}
			if got, want := filtered(true), filtered(false); got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
		}
	}
}
