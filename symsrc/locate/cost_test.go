package locate

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"qss-filter/symsrc"
)

// metered counts what is read of a file.
type metered struct {
	io.ReaderAt
	bytes int64
}

func (m *metered) ReadAt(b []byte, off int64) (int, error) {
	n, err := m.ReaderAt.ReadAt(b, off)
	m.bytes += int64(n)
	return n, err
}

// headers returns an ELF file of n sections of that type and place, whose names are in the last one.
func headers(n int, section [64]byte) []byte {
	b := make([]byte, 64, 64+64*n)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint64(b[40:], 64)
	le.PutUint16(b[58:], 64)
	first := make([]byte, 64)
	le.PutUint64(first[32:], uint64(n)) // more than e_shnum takes
	b = append(b, first...)
	for range n - 1 {
		b = append(b, section[:]...)
	}
	return b
}

// shdr is a section header.
func shdr(typ uint32, off, size uint64) (b [64]byte) {
	binary.LittleEndian.PutUint32(b[4:], typ)
	binary.LittleEndian.PutUint64(b[24:], off)
	binary.LittleEndian.PutUint64(b[32:], size)
	return b
}

// TestReadHeadCost holds that no header makes us read more than the bound.
func TestReadHeadCost(t *testing.T) {
	overlapping := headers(100000, shdr(shtNote, 0, 1<<20))
	for name, c := range map[string]struct {
		b      []byte
		size   int64
		cutOff bool
	}{
		"notes that overlap":        {overlapping, int64(len(overlapping)), false},
		"four million sections":     {headers(1<<22, shdr(1, 0, 64)), 64 + 64<<22, false},
		"more sections than bytes":  {headers(100, shdr(1, 0, 64))[:3000], 3000, true},
		"notes beyond the end":      {headers(100, shdr(shtNote, 1<<40, 1<<40)), 6464, true},
		"a size that wraps":         {headers(100, shdr(1, 1<<63, 1<<63)), 6464, true},
		"sections that are nowhere": {headers(100, shdr(1, 1<<40, 64)), 6464, true},
	} {
		in := &metered{ReaderAt: bytes.NewReader(c.b)}
		_, err := ReadHead(in, c.size)
		if errors.Is(err, ErrCutOff) != c.cutOff || in.bytes > maxRead+firstRead {
			t.Errorf("%s: %v after %d bytes", name, err, in.bytes)
		}
	}
}

// TestArchiveCost holds that the members of an archive make us read and unpack no more than its size has a use for.
func TestArchiveCost(t *testing.T) {
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, 9)
	if err != nil {
		t.Fatal(err)
	}
	head := headers(2, [64]byte{})
	binary.LittleEndian.PutUint64(head[32:], 64) // program headers that are asked for, at the end of what is unpacked
	binary.LittleEndian.PutUint16(head[54:], 56)
	binary.LittleEndian.PutUint16(head[56:], 18000)
	_, _ = z.Write(append(head, make([]byte, maxBeginning-len(head))...))
	z.Close()
	var b, directory []byte
	le := binary.LittleEndian
	const members = 2000
	for i := range members {
		name := fmt.Sprintf("lib/%04d.so", i)
		fields := []byte{20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		fields = le.AppendUint32(fields, uint32(packed.Len()))
		fields = le.AppendUint32(fields, maxBeginning)
		fields = append(fields, byte(len(name)), 0, 0, 0)
		directory = append(append(append(directory, zipDirectory...), 20, 0), fields...)
		directory = append(directory, make([]byte, 10)...)
		directory = append(le.AppendUint32(directory, uint32(len(b))), name...)
		b = append(append(append(append(b, zipLocal...), fields...), name...), packed.Bytes()...)
	}
	at := len(b)
	b = append(append(b, directory...), zipEnd...)
	b = append(b, 0, 0, 0, 0, members&255, members>>8, members&255, members>>8)
	b = append(le.AppendUint32(le.AppendUint32(b, uint32(len(directory))), uint32(at)), 0, 0)
	list, err := zipMembers(bytes.NewReader(b), int64(len(b)))
	if err != nil || len(list) != members {
		t.Fatalf("%d members, %v", len(list), err)
	}
	in := &budgetReader{bytes.NewReader(b), archiveRead(int64(len(b)))}
	looked := 0
	for i := range list {
		if _, err := identifyBeginning(in, &list[i]); errors.Is(err, errBudget) {
			break
		}
		looked++
	}
	if most := int(archiveRead(int64(len(b)))/(18000*56)) + 1; looked > most || looked == 0 {
		t.Errorf("%d members of %d are unpacked, want %d at most", looked, members, most)
	}
	if got, want := archiveRead(1), int64(leastArchiveRead); got != want {
		t.Errorf("of one byte %d, want %d", got, want)
	}
	if got, want := archiveRead(1<<30), int64(maxArchiveRead); got != want {
		t.Errorf("of 1 GiB %d, want %d", got, want)
	}
}

// TestBombMember holds that a member which unpacks to more than a library of its size does is no member.
func TestBombMember(t *testing.T) {
	for _, c := range []struct {
		packed, size uint32
		ok           bool
	}{{1 << 20, 60 << 20, true}, {1 << 20, 70 << 20, false}, {100 << 20, 1500 << 20, true}, {100 << 20, 1700 << 20, false}} {
		var h [zipHeaderSize]byte
		h[10] = zipDeflated
		binary.LittleEndian.PutUint32(h[20:], c.packed)
		binary.LittleEndian.PutUint32(h[24:], c.size)
		if _, ok := parseMember(&h, "lib/a.so", nil); ok != c.ok {
			t.Errorf("%d MiB in %d: %v", c.size>>20, c.packed>>20, ok)
		}
	}
}

// TestChecksumOfHoles holds that a file of any size which takes no room on the disk is not read through.
func TestChecksumOfHoles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holes")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxChecksum+1); err != nil {
		t.Skip(err)
	}
	if _, _, err := checksum(t.Context(), path, true); !errors.Is(err, errChecksum) {
		t.Error(err)
	}
}

// TestIDsTxtMemory holds that a line of an ids.txt takes a few bytes, however long it is, and is found whatever is beside it.
func TestIDsTxtMemory(t *testing.T) {
	const count = 20000
	var text, last []byte
	ids := make([]symsrc.BuildID, count)
	for i := range ids {
		sum := sha256.Sum256(binary.BigEndian.AppendUint32(nil, uint32(i)))
		if i%30 == 1 { // they begin alike
			sum = [sha256.Size]byte(append([]byte("abcdefgh"), sum[8:]...))
		}
		ids[i] = symsrc.BuildID(sum[:12+i%20])
		if i%1000 == 0 {
			text = append(text, strings.Repeat("x", (i/1000)<<12)+"\n"...)
		}
		last = fmt.Appendf(nil, "%s some/%s/%d", ids[i], strings.Repeat("long", 50), i)
		text = append(append(text, last...), '\n')
	}
	dir := t.TempDir()
	write(t, dir+"/empty", nil)
	write(t, dir+"/lines", text[:len(text)-1])
	x := idMap{read: map[string]bool{}, tell: func(msg string) { t.Error(msg) }}
	for _, name := range []string{"empty", "lines"} {
		x.load(filepath.Join(dir, name))
	}
	x.sort()
	if size := unsafe.Sizeof(x.lines[0]); size > 16 || len(x.lines) != count {
		t.Errorf("%d lines of %d bytes", len(x.lines), size)
	}
	for i := range 500 {
		i = i*37 + count - 500*37
		want := filepath.Join(dir, fmt.Sprintf("some/%s/%d", strings.Repeat("long", 50), i))
		if paths := x.paths(ids[i]); !slices.Contains(paths, want) {
			t.Errorf("%d: %d other paths", i, len(paths))
		}
	}
	write(t, dir+"/lines", last) // another one by now
	for i := range 10 {
		if paths := x.paths(ids[3*i]); len(paths) > 0 {
			t.Errorf("%q, which is not there any more", paths)
		}
	}
}

// TestIDsTxtCost holds that the paths for one build ID are bounded, and that all files together are.
func TestIDsTxtCost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 200))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ids.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat(idA+" b\n", 10*maxSame)), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	x := idMap{read: map[string]bool{}, tell: func(msg string) { told = append(told, msg) }}
	x.load(path)
	x.sort()
	if id, _ := symsrc.ParseBuildID([]byte(idA)); len(x.paths(id)) != maxSame+1 || x.paths(id)[0] != filepath.Join(dir, "b") {
		t.Errorf("%d paths", len(x.paths(id)))
	}
	x.bytes = maxIDFile - 10
	if x.load(path + "/../ids.txt"); len(told) != 0 {
		t.Errorf("the same file twice: %q", told)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte(idA+" b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if x.load(other); len(told) != 1 || !strings.Contains(told[0], "more than 256 MiB") {
		t.Errorf("told %q", told)
	}
}
