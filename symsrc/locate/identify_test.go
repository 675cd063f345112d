package locate

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

func identifyBytes(b []byte) (*ident, error) {
	return identify(bytes.NewReader(b), int64(len(b)))
}

func TestIdentify(t *testing.T) {
	tests := []struct {
		name      string
		elf       testELF
		rank      rank
		debugOnly bool
	}{
		{"full", full, debugInfo, false},
		{"stripped", stripped, dynamic, false},
		{"no symbols", testELF{id: idA}, bare, false},
		{"symtab", testELF{id: idA, names: []string{".symtab"}}, symbols, false},
		{"MiniDebugInfo", testELF{id: idA, names: []string{".gnu_debugdata"}}, symbols, false},
		{"Go", testELF{id: idA, names: []string{".gopclntab"}}, symbols, false},
		{"compressed the old way", testELF{id: idA, names: []string{".zdebug_info"}}, debugInfo, false},
		{"line table alone", testELF{id: idA, names: []string{".debug_line"}}, bare, false},
		{"names that only begin alike", testELF{id: idA, names: []string{".debug_info.dwo", ".debug_inf", "x"}}, bare, false},
		{"debug file", debugOf, debugInfo, true},
		{"no build ID", nameless, debugInfo, false},
		{"segments only", testELF{id: idA, segments: true}, bare, false},
		{"extended numbering", testELF{id: idA, names: []string{".debug_info"}, extended: true}, debugInfo, false},
		{"link", testELF{id: idA, link: "x.debug", linkCRC: 0x12345678}, bare, false},
		{"link of 3+1 bytes", testELF{id: idA, link: "abc", linkCRC: 1}, bare, false},
		{"odd build ID", testELF{id: "a1b2c3"}, bare, false},
		{"longest build ID", testELF{id: strings.Repeat("ab", 64)}, bare, false},
	}
	for _, tt := range tests {
		for i, form := range []string{"64 little", "64 big", "32 little", "32 big"} {
			t.Run(tt.name+" "+form, func(t *testing.T) {
				e := tt.elf
				e.class32, e.big = i >= 2, i%2 == 1
				data := e.bytes()
				if !e.segments && !e.extended {
					if _, err := elf.NewFile(bytes.NewReader(data)); err != nil {
						t.Fatalf("debug/elf does not read the file of the test: %v", err)
					}
				}
				got, err := identifyBytes(data)
				if err != nil {
					t.Fatal(err)
				}
				if got.id != buildID(t, e.id) || got.rank != tt.rank || got.debugOnly != tt.debugOnly || got.is64 == e.class32 {
					t.Errorf("got %+v", got)
				}
				if got.link != e.link || got.linkCRC != e.linkCRC {
					t.Errorf("link %q %#x, want %q %#x", got.link, got.linkCRC, e.link, e.linkCRC)
				}
			})
		}
	}
}

func TestIdentifyReadsLittle(t *testing.T) {
	data, err := os.ReadFile("../../testdata/rootfs/usr/apps/org.example.test/mainbin")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{Reader: bytes.NewReader(data)}
	if _, err := identify(r, int64(len(data))); err != nil {
		t.Fatal(err)
	}
	if r.calls > 3 || r.read > 8192 {
		t.Errorf("%d reads of %d bytes", r.calls, r.read)
	}
}

func TestIdentifyRefuses(t *testing.T) {
	good := full.bytes()
	edit := func(off int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[off:], b)
		return c
	}
	shoff := int(uint64(good[40]) | uint64(good[41])<<8)
	ff := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	tests := []struct {
		name   string
		data   []byte
		status symsrc.Status
		note   string
	}{
		{"empty", nil, symsrc.NotELF, "not an ELF file"},
		{"text", []byte("hello"), symsrc.NotELF, "not an ELF file"},
		{"gzip", []byte("\x1f\x8b\x08 etc"), symsrc.UnsupportedCompressed, "gzip"},
		{"xz", []byte("\xfd7zXZ\x00 etc"), symsrc.UnsupportedCompressed, "xz"},
		{"zstd", []byte("\x28\xb5\x2f\xfd etc"), symsrc.UnsupportedCompressed, "zstd"},
		{"zip", []byte("PK\x03\x04 etc"), symsrc.UnsupportedCompressed, "zip"},
		{"bzip2", []byte("BZh9 etc"), symsrc.UnsupportedCompressed, "bzip2"},
		{"lz4", []byte("\x04\x22\x4d\x18 etc"), symsrc.UnsupportedCompressed, "lz4"},
		{"magic alone", []byte("\x7fELF"), symsrc.Corrupted, ""},
		{"60 bytes of 64", good[:60], symsrc.Corrupted, ""},
		{"half", good[:len(good)/2], symsrc.Corrupted, ""},
		{"one byte short", good[:len(good)-1], symsrc.Corrupted, ""},
		{"class 3", edit(4, 3), symsrc.Corrupted, ""},
		{"encoding 0", edit(5, 0), symsrc.Corrupted, ""},
		{"section headers nowhere", edit(40, ff...), symsrc.Corrupted, ""},
		{"section headers of 0 bytes", edit(58, 0, 0), symsrc.Corrupted, ""},
		{"names in no section", edit(62, 0xfe, 0xff), symsrc.Corrupted, ""},
		{"names nowhere", edit(shoff+64*6+24, ff...), symsrc.Corrupted, ""},
		{"note nowhere", edit(shoff+64*2+24, ff...), symsrc.Corrupted, ""},
		{"debug info too long", edit(shoff+64*4+32, ff...), symsrc.Corrupted, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := identifyBytes(tt.data)
			fe, ok := errors.AsType[*fileError](err)
			if !ok || fe.status != tt.status || tt.note != "" && fe.note != tt.note {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// TestIdentifyLyingCount has a file say in the extended form that it has 2^56 sections.
func TestIdentifyLyingCount(t *testing.T) {
	e := full
	e.extended = true
	data := e.bytes()
	shoff := int(uint64(data[40]) | uint64(data[41])<<8)
	data[shoff+32+7] = 1
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := identifyBytes(data); err == nil || err.(*fileError).status != symsrc.Corrupted {
			t.Errorf("got %v", err)
		}
	})
	if allocated > 100 {
		t.Errorf("%v allocations", allocated)
	}
}

// A file that shrinks while it is read is damaged; one that cannot be read is not.
func TestIdentifyReadErrors(t *testing.T) {
	data := full.bytes()
	_, err := identify(bytes.NewReader(data[:100]), int64(len(data)))
	if fe := classify(err); fe.status != symsrc.Corrupted {
		t.Errorf("shrunk: %v", fe)
	}
	_, err = identify(brokenReader{}, 1000)
	if fe := classify(err); fe.status != symsrc.ReadError || !errors.Is(fe, os.ErrDeadlineExceeded) {
		t.Errorf("broken: %v", fe)
	}
}

type brokenReader struct{}

func (brokenReader) ReadAt([]byte, int64) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestIdentifyLikeReadelf compares with readelf over the tools' own files of this machine.
func TestIdentifyLikeReadelf(t *testing.T) {
	if _, err := exec.LookPath("readelf"); err != nil {
		t.Skip("no readelf:", err)
	}
	paths, _ := filepath.Glob("../../testdata/rootfs/usr/lib/*.so*")
	more, _ := filepath.Glob("../../testdata/rootfs/usr/lib/debug/.build-id/*/*")
	libs, _ := filepath.Glob("/usr/lib/x86_64-linux-gnu/lib[c-m]*.so.*")
	paths = append(append(paths, more...), libs[:min(len(libs), 20)]...)
	compared := 0
	for _, path := range paths {
		id, err := probe(place{path: path})
		if err != nil {
			continue
		}
		out, err := exec.Command("readelf", "-WSn", path).Output()
		if err != nil {
			t.Fatalf("readelf %s: %v", path, err)
		}
		compared++
		want := ""
		if _, after, ok := strings.Cut(string(out), "Build ID: "); ok {
			want = strings.Fields(after)[0]
		}
		if id.id.String() != want {
			t.Errorf("%s: build ID %s, want %s", path, id.id, want)
		}
		if got, want := id.rank == debugInfo, strings.Contains(string(out), " .debug_info "); got != want {
			t.Errorf("%s: debug info %v, want %v", path, got, want)
		}
	}
	if compared < 10 {
		t.Errorf("only %d files compared", compared)
	}
}

func FuzzIdentify(f *testing.F) {
	for _, e := range []testELF{full, stripped, debugOf, nameless, {id: idA, segments: true}, {id: idA, link: "l", extended: true}} {
		for i := range 4 {
			e.class32, e.big = i >= 2, i%2 == 1
			f.Add(e.bytes())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &reader{Reader: bytes.NewReader(data)}
		id, err := identify(r, int64(len(data)))
		if (id == nil) == (err == nil) {
			t.Fatalf("%v, %v", id, err)
		}
		if err != nil {
			if _, ok := errors.AsType[*fileError](err); !ok {
				t.Fatalf("%T", err)
			}
		} else if len(id.id) > 64 || len(id.link) > maxLinkName {
			t.Fatalf("%+v", id)
		}
		if r.read > maxRead+firstRead {
			t.Fatalf("%d bytes read of %d", r.read, len(data))
		}
	})
}
