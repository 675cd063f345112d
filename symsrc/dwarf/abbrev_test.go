package dwarf

import (
	"math/rand/v2"
	"testing"

	"qss-filter/symsrc/elf/elftest"
)

// TestDeclaredTwice looks up codes in random order. The first declaration of a code counts, also if codes decrease or have large
// gaps, or if the first declaration has no tag.
func TestDeclaredTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	codes := []byte{1, 2, 3, 5, 40, 70, 100, 110, 120, 127}
	for range 2000 {
		want := make(map[byte]uint16)
		var decls [][]byte
		for range r.IntN(60) {
			code, tag := codes[r.IntN(len(codes))], byte(r.IntN(8))
			decls = append(decls, []byte{code, tag, 0})
			if _, twice := want[code]; !twice {
				want[code] = uint16(tag)
			}
		}
		f := &Data{}
		f.abbrev.Replace(elftest.AbbrevTable(decls...))
		several := newAbbrevs(f, 0, newFormTable(layout{version: 4, addrSize: 8, offSize: 4}))
		for range 30 {
			code := codes[r.IntN(len(codes))]
			if d, _ := several.find(uint64(code)); d.tag != want[code] {
				t.Fatalf("%v: the tag of %d is %d instead of %d", decls, code, d.tag, want[code])
			}
			alone := newAbbrevs(f, 0, several.forms)
			if d := alone.declOf(uint64(code)); d.tag != want[code] {
				t.Fatalf("%v: alone, the tag of %d is %d instead of %d", decls, code, d.tag, want[code])
			}
		}
	}
}
