package locate

import (
	"slices"
	"strings"
	"testing"
)

// TestLacked says of each place what was wrong with it.
func TestLacked(t *testing.T) {
	dir := tree(t, map[string]testELF{"r/usr/lib/other.so": other, "r/usr/lib/mine.so": full, "r/usr/lib/bare.so": stripped})
	write(t, dir+"/r/usr/lib/text.so", []byte("no ELF file at all"))
	l := locator(t, Options{Rootfs: []string{dir + "/r"}})
	for name, want := range map[string]string{
		"/usr/lib/other.so": "build ID differs: log has " + idA + ", " + dir + "/r/usr/lib/other.so has " + idB,
		"/usr/lib/text.so":  "not an ELF file",
		"/usr/lib/gone.so":  "no such file",
		"/usr/lib/bare.so":  "no .debug_info",
		"/usr/lib/mine.so":  "",
	} {
		f := find(t, l, name, idA)
		at := slices.Index(f.Tried, dir+"/r"+name)
		if len(f.Lacked) != len(f.Tried) || at < 0 || f.Lacked[at] != want {
			t.Errorf("%s: %q lacked %q, want %q", name, strings.Join(f.Tried, "\n"), f.Lacked, want)
		}
	}
}
