package object

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime/metrics"
	"slices"
	"testing"

	"qss-filter/symsrc"
)

// sectionPlace is a section of a file in testdata, or of the file that it refers to, whose contents a fuzzer may replace.
type sectionPlace struct {
	name         string // of the seed
	file, beside []byte
	inBeside     bool
	index        int
	contents     []byte
	addrs        []uint64
}

// sectionPlaces returns the sections with the given names of all files in testdata.
func sectionPlaces(f testing.TB, names ...string) (all []sectionPlace) {
	f.Helper()
	for _, b := range seeds {
		path := filepath.Join("testdata", b.name+".elf")
		file, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		addrs := codeAddresses(f, path, 97)
		all = append(all, placesIn(f, sectionPlace{name: b.name, file: file, addrs: addrs}, path, names)...)
		if b.beside == "" {
			continue
		}
		path = filepath.Join("testdata", b.beside)
		beside, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for i := range all {
			if &all[i].file[0] == &file[0] {
				all[i].beside = beside
			}
		}
		all = append(all, placesIn(f, sectionPlace{name: b.name, file: file, beside: beside, inBeside: true, addrs: addrs}, path, names)...)
	}
	if len(all) == 0 {
		f.Fatalf("no file has one of the sections %q", names)
	}
	return all
}

// placesIn returns the sections with the given names of the file at path, as copies of one place.
func placesIn(f testing.TB, of sectionPlace, path string, names []string) (all []sectionPlace) {
	x, err := elf.Open(path)
	if err != nil {
		f.Fatal(err)
	}
	defer x.Close()
	for i, s := range x.Sections {
		if !slices.Contains(names, s.Name) {
			continue
		}
		if of.contents, err = s.Data(); err != nil {
			f.Fatal(err)
		}
		of.index = i
		all = append(all, of)
	}
	return all
}

// with returns the file and the one that it refers to, with the section replaced by uncompressed contents.
func (p *sectionPlace) with(contents []byte) (file, beside []byte) {
	if p.inBeside {
		return p.file, withSection(p.beside, p.index, contents)
	}
	return withSection(p.file, p.index, contents), p.beside
}

// withSection appends contents to a file, and changes the header of a section to refer to them.
func withSection(file []byte, index int, contents []byte) []byte {
	out := append(slices.Clone(file), contents...)
	var order binary.ByteOrder = binary.LittleEndian
	if out[elf.EI_DATA] == byte(elf.ELFDATA2MSB) {
		order = binary.BigEndian
	}
	if out[elf.EI_CLASS] == byte(elf.ELFCLASS64) {
		h := out[int(order.Uint64(out[40:]))+64*index:]
		order.PutUint64(h[8:], order.Uint64(h[8:])&^uint64(elf.SHF_COMPRESSED))
		order.PutUint64(h[24:], uint64(len(file)))
		order.PutUint64(h[32:], uint64(len(contents)))
		return out
	}
	h := out[int(order.Uint32(out[32:]))+40*index:]
	order.PutUint32(h[8:], order.Uint32(h[8:])&^uint32(elf.SHF_COMPRESSED))
	order.PutUint32(h[16:], uint32(len(file)))
	order.PutUint32(h[20:], uint32(len(contents)))
	return out
}

// allocated returns the total number of bytes allocated on the heap.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// fuzzSections replaces sections and looks up addresses. Nothing must panic, answers are limited, the answer to a query does not
// depend on earlier queries, and memory is limited by the size of the file.
func fuzzSections(f *testing.F, names ...string) {
	all := sectionPlaces(f, names...)
	for i := range all {
		f.Add(uint8(i), all[i].contents, uint64(0x1371))
		f.Add(uint8(i), all[i].contents[:len(all[i].contents)/2], uint64(0))
	}
	f.Fuzz(func(t *testing.T, which uint8, contents []byte, addr uint64) {
		p := &all[int(which)%len(all)]
		file, beside := p.with(contents)
		answers := make(map[uint64][]symsrc.Frame)
		addrs := append([]uint64{addr}, p.addrs...)
		for range 2 { // the second time in reverse order
			before := allocated()
			x, err := newFileBeside(file, beside)
			if err != nil {
				if errors.Is(err, errDamaged) {
					t.Fatal(err)
				}
				return
			}
			for i := range 2 * len(addrs) {
				a := addrs[i/2]
				frames := x.Code(a)
				if len(frames) > mostInlined+1 {
					t.Fatalf("%d frames", len(frames))
				}
				x.Data(a)
				if gone, err := givenUp(x); err != nil {
					t.Fatal(err)
				} else if gone {
					return
				}
				if first, ok := answers[a]; !ok {
					answers[a] = frames
				} else if !reflect.DeepEqual(frames, first) {
					t.Fatalf("%#x: first %+v, then %+v", a, first, frames)
				}
			}
			slices.Reverse(addrs)
			if used, most := allocated()-before, uint64(64<<20+2000*(len(file)+len(beside))); used > most {
				t.Fatalf("%d bytes of memory for files of %d and %d", used, len(file), len(beside))
			}
		}
	})
}

// FuzzLineSections reads damaged line tables and their strings.
func FuzzLineSections(f *testing.F) { fuzzSections(f, ".debug_line", ".debug_line_str") }

// FuzzUnitSections reads damaged units, complete or split, and their abbreviations, indirect strings and addresses.
func FuzzUnitSections(f *testing.F) {
	fuzzSections(f, ".debug_info", ".debug_abbrev", ".debug_str_offsets", ".debug_addr",
		".debug_info.dwo", ".debug_abbrev.dwo", ".debug_str_offsets.dwo")
}

// FuzzRangeSections reads damaged range lists.
func FuzzRangeSections(f *testing.F) {
	fuzzSections(f, ".debug_ranges", ".debug_rnglists", ".debug_aranges", ".debug_rnglists.dwo")
}

// FuzzIndexSections reads damaged package indexes, and links to supplementary files.
func FuzzIndexSections(f *testing.F) { fuzzSections(f, ".debug_cu_index", ".gnu_debugaltlink") }

// FuzzSymbolSections reads damaged symbol tables, function descriptors, relocations and notes.
func FuzzSymbolSections(f *testing.F) {
	fuzzSections(f, ".symtab", ".strtab", ".dynsym", ".dynstr", ".opd", ".rela.text", ".rela.debug_info", ".note.gnu.build-id",
		".gnu_debugdata")
}
