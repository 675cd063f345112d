package locate

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
)

// testELF describes a small ELF file: headers, a build-ID note, and sections of a few bytes.
type testELF struct {
	id       string // hexadecimal build ID, "" for none
	names    []string
	debug    bool // the code is NOBITS
	class32  bool
	big      bool
	link     string
	linkCRC  uint32
	segments bool // the note is in a PT_NOTE segment and there are no section headers
	extended bool // e_shnum and e_shstrndx are in section 0
}

// byteOrder reads and appends.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func (e testELF) order() byteOrder {
	if e.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

type testSection struct {
	name  string
	typ   uint32
	flags uint64
	data  []byte
	size  uint64
	off   uint64
}

func (e testELF) note() []byte {
	id, err := hex.DecodeString(e.id)
	if err != nil {
		panic(err)
	}
	o := e.order()
	b := o.AppendUint32(nil, 4)
	b = o.AppendUint32(b, uint32(len(id)))
	b = o.AppendUint32(b, ntGNUBuildID)
	b = append(append(b, "GNU\x00"...), id...)
	return append(b, make([]byte, -len(b)&3)...)
}

func (e testELF) list() []testSection {
	code := testSection{name: ".text", typ: 1, flags: shfAlloc | shfExecinstr, data: []byte{0xc3, 0x90, 0x90, 0x90}, size: 4}
	if e.debug {
		code.typ, code.data = shtNobits, nil
	}
	s := []testSection{{}, code}
	if e.id != "" {
		s = append(s, testSection{name: ".note.gnu.build-id", typ: shtNote, flags: shfAlloc, data: e.note()})
	}
	for _, n := range e.names {
		t := testSection{name: n, typ: 1, data: []byte("content!")}
		switch n {
		case ".symtab":
			t.typ = shtSymtab
		case ".dynsym":
			t.typ = shtDynsym
		}
		s = append(s, t)
	}
	if e.link != "" {
		b := append([]byte(e.link), 0)
		b = append(b, make([]byte, -len(b)&3)...)
		s = append(s, testSection{name: ".gnu_debuglink", typ: 1, data: e.order().AppendUint32(b, e.linkCRC)})
	}
	names := []byte{0}
	for _, t := range s {
		names = append(append(names, t.name...), 0)
	}
	names = append(names, ".shstrtab\x00"...)
	return append(s, testSection{name: ".shstrtab", typ: 3, data: names})
}

// bytes lays the file out: header, one program header, contents, section headers.
func (e testELF) bytes() []byte {
	o := e.order()
	word := func(b []byte, v uint64) []byte {
		if e.class32 {
			return o.AppendUint32(b, uint32(v))
		}
		return o.AppendUint64(b, v)
	}
	ehsize, phsize, shsize, class := 64, 56, 64, byte(2)
	if e.class32 {
		ehsize, phsize, shsize, class = 52, 32, 40, 1
	}
	body := make([]byte, ehsize+phsize)
	secs := e.list()
	var noteOff, noteSize uint64
	for i := range secs {
		s := &secs[i]
		s.off = uint64(len(body))
		if s.data != nil {
			s.size = uint64(len(s.data))
		}
		body = append(body, s.data...)
		body = append(body, make([]byte, -len(body)&7)...)
		if s.typ == shtNote {
			noteOff, noteSize = s.off, s.size
		}
	}
	shoff, shnum, shstrndx := uint64(len(body)), uint16(len(secs)), uint16(len(secs)-1)
	if e.extended {
		secs[0].size, shnum = uint64(shnum), 0
	}
	if e.segments {
		shoff, shnum, shstrndx = 0, 0, 0
	} else {
		name := uint32(1)
		for i, s := range secs {
			link := uint32(0)
			if e.extended && i == 0 {
				link, shstrndx = uint32(shstrndx), 0xffff
			}
			body = o.AppendUint32(body, name)
			name += uint32(len(s.name) + 1)
			body = o.AppendUint32(body, s.typ)
			for _, v := range []uint64{s.flags, 0, s.off, s.size} {
				body = word(body, v)
			}
			body = o.AppendUint32(o.AppendUint32(body, link), 0)
			body = word(word(body, 4), 0)
		}
	}
	h := []byte{0x7f, 'E', 'L', 'F', class, 1, 1, 15: 0}
	if e.big {
		h[5] = 2
	}
	h = o.AppendUint32(o.AppendUint16(o.AppendUint16(h, 3), 62), 1)
	h = o.AppendUint32(word(word(word(h, 0), uint64(ehsize)), shoff), 0)
	for _, v := range []int{ehsize, phsize, 1, shsize, int(shnum), int(shstrndx)} {
		h = o.AppendUint16(h, uint16(v))
	}
	h = o.AppendUint32(h, ptNote)
	if e.class32 {
		for _, v := range []uint32{uint32(noteOff), 0, 0, uint32(noteSize), uint32(noteSize), 4, 4} {
			h = o.AppendUint32(h, v)
		}
	} else {
		h = o.AppendUint32(h, 4)
		for _, v := range []uint64{noteOff, 0, 0, noteSize, noteSize, 4} {
			h = o.AppendUint64(h, v)
		}
	}
	copy(body, h)
	return body
}

func (e testELF) crc() uint32 { return crc32.ChecksumIEEE(e.bytes()) }

// write puts the file at path, making directories.
func write(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func buildID(t testing.TB, s string) symsrc.BuildID {
	t.Helper()
	if s == "" {
		return ""
	}
	id, ok := symsrc.ParseBuildID(s)
	if !ok {
		t.Fatalf("bad build ID %q", s)
	}
	return id
}

func locator(t testing.TB, o Options) *Locator {
	t.Helper()
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func find(t testing.TB, l *Locator, name, id string) *symsrc.Files {
	t.Helper()
	return l.Find(t.Context(), symsrc.Module{Name: name, BuildID: buildID(t, id)})
}

// The build IDs of the tests, and the usual kinds of files.
const (
	idA = "aaaa00112233445566778899aabbccddeeff0011"
	idB = "bbbb00112233445566778899aabbccddeeff0022"
)

var (
	full     = testELF{id: idA, names: []string{".dynsym", ".debug_info", ".symtab"}}
	stripped = testELF{id: idA, names: []string{".dynsym"}}
	debugOf  = testELF{id: idA, names: []string{".debug_info", ".symtab"}, debug: true}
	other    = testELF{id: idB, names: []string{".debug_info"}}
	nameless = testELF{names: []string{".debug_info"}}
)

// reader counts what is read.
type reader struct {
	*bytes.Reader
	calls int
	read  int
}

func (r *reader) ReadAt(b []byte, off int64) (int, error) {
	r.calls++
	r.read += len(b)
	return r.Reader.ReadAt(b, off)
}
