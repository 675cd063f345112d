package locate

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strings"
	"testing"
)

// zipped is a member to be put into an archive.
type zipped struct {
	name   string
	data   []byte
	method uint16
	align  int // of its content; 0: anywhere
}

// zipFile makes an archive.
func zipFile(t testing.TB, members ...zipped) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: m.method}
		if m.method == zip.Store { // no data descriptor, as in an APK
			h.CRC32, h.CompressedSize64, h.UncompressedSize64 = crc32.ChecksumIEEE(m.data), uint64(len(m.data)), uint64(len(m.data))
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if m.align > 0 { // as zipalign does, by the extra field
			start := out.Len() + zipLocalSize + len(m.name) + 4
			pad := (m.align - start%m.align) % m.align
			h.Extra = append(binary.LittleEndian.AppendUint16([]byte{0x35, 0xd9}, uint16(pad)), make([]byte, pad)...)
		}
		var err error
		if m.method == zip.Store {
			f, e := w.CreateRaw(h)
			if err = e; err == nil {
				_, err = f.Write(m.data)
			}
		} else {
			f, e := w.CreateHeader(h)
			if err = e; err == nil {
				_, err = f.Write(m.data)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func list(t testing.TB, b []byte) string {
	t.Helper()
	members, err := zipMembers(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return "error"
	}
	var names []string
	for _, m := range members {
		names = append(names, m.name)
	}
	return strings.Join(names, " ")
}

// TestZipMembers compares with what archive/zip reads.
func TestZipMembers(t *testing.T) {
	b := zipFile(t, zipped{"lib/arm64-v8a/liba.so", full.bytes(), zip.Store, 4096}, zipped{"classes.dex", []byte("dex"), zip.Deflate, 0},
		zipped{"lib/x86_64/liba.so", other.bytes(), zip.Deflate, 0}, zipped{"odd/libb.so.1.2", full.bytes(), zip.Store, 0},
		zipped{"bin/prog", full.bytes(), zip.Store, 0}, zipped{"small.so", []byte("x"), zip.Store, 0})
	members, err := zipMembers(bytes.NewReader(b), int64(len(b)))
	if err != nil || len(members) != 4 {
		t.Fatalf("%+v, %v", members, err)
	}
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		found := false
		for _, f := range r.File {
			off, err := f.DataOffset()
			if f.Name == m.name && err == nil {
				found = m.data == off && m.crc == f.CRC32 && m.size == int64(f.UncompressedSize64) && m.packed == int64(f.CompressedSize64)
			}
		}
		if !found {
			t.Errorf("%+v is not what archive/zip says", m)
		}
	}
	if members[0].data%4096 != 0 || members[2].data%4096 == 0 {
		t.Error("the test has no page-aligned and unaligned members")
	}
	commented := bytes.Clone(b)
	binary.LittleEndian.PutUint16(commented[len(b)-2:], 300)
	if got := list(t, append(commented, make([]byte, 300)...)); strings.Count(got, " ") != 3 {
		t.Errorf("with a comment: %s", got)
	}
}

// zip64 moves the directory's numbers of an archive to a record of 64 bits.
func zip64(b []byte) []byte {
	end := bytes.Clone(b[len(b)-zipEndSize:])
	le := binary.LittleEndian
	n, size, off := le.Uint16(end[10:]), le.Uint32(end[12:]), le.Uint32(end[16:])
	out := bytes.Clone(b[:len(b)-zipEndSize])
	at := len(out)
	out = le.AppendUint64(append(out, zipEnd64...), zipEnd64Size-12)
	out = append(out, 45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	for _, v := range []uint64{uint64(n), uint64(n), uint64(size), uint64(off)} {
		out = le.AppendUint64(out, v)
	}
	out = le.AppendUint64(append(out, zipLocator64+"\x00\x00\x00\x00"...), uint64(at))
	out = append(out, 1, 0, 0, 0)
	for i := 8; i < 20; i++ {
		end[i] = 0xff
	}
	return append(out, end...)
}

// TestZipHostile damages archives.
func TestZipHostile(t *testing.T) {
	good := zipFile(t, zipped{"a.so", full.bytes(), zip.Store, 0}, zipped{"b.so", other.bytes(), zip.Deflate, 0})
	dir := bytes.Index(good, []byte(zipDirectory))
	second := bytes.LastIndex(good, []byte(zipDirectory))
	edit := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	odd := func(names ...string) []byte {
		var m []zipped
		for _, n := range names {
			m = append(m, zipped{n, full.bytes(), zip.Store, 0})
		}
		return zipFile(t, m...)
	}
	for name, tt := range map[string]struct {
		b    []byte
		want string
	}{
		"good":                {good, "a.so b.so"},
		"zip64":               {zip64(good), "a.so b.so"},
		"paths":               {odd("../../etc/x.so", "a/../../x.so", "/abs.so", "c:\\x.so", "esc\x1b[31m.so", "", "ok.so"), "abs.so c:\\x.so ok.so"},
		"huge when unpacked":  {edit(second+24, 0xfffffff0), "a.so"},
		"stored, other sizes": {edit(dir+24, 1000), "b.so"},
		"overlapping":         {edit(second+42, 0), "a.so"},
		"header elsewhere":    {edit(second+42, 7), "a.so"},
		"header beyond":       {edit(second+42, 0x7fffffff), "a.so"},
		"large, no extra":     {edit(second+20, 0xffffffff), "a.so"},
		"directory beyond":    {edit(len(good)-6, 0x7fffffff), "error"},
		"directory of 4 GiB":  {edit(len(good)-10, 0xfffffff0), "error"},
		"zip64 without":       {edit(len(good)-10, 0xffffffff), "error"},
		"cut off":             {good[:len(good)-30], "error"},
		"signature only":      {[]byte(zipLocal), "error"},
		"empty":               {nil, "error"},
	} {
		if got := list(t, tt.b); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for i := range good { // nothing panics
		b := bytes.Clone(good)
		b[i] ^= 0xff
		archiveContents(bytes.NewReader(b), int64(len(b)))
		archiveContents(bytes.NewReader(good[:i]), int64(i))
	}
}

// TestZipMillion has a directory of a million entries, which all are of the same member.
func TestZipMillion(t *testing.T) {
	one := zipFile(t, zipped{"a.so", full.bytes(), zip.Store, 0})
	dir := bytes.Index(one, []byte(zipDirectory))
	entry, end := one[dir:len(one)-zipEndSize], bytes.Clone(one[len(one)-zipEndSize:])
	const n = 1_000_000
	b := append(bytes.Clone(one[:dir]), bytes.Repeat(entry, n)...)
	binary.LittleEndian.PutUint32(end[12:], uint32(n*len(entry)))
	b = append(b, end...)
	r := &reader{Reader: bytes.NewReader(b)}
	if found := archiveContents(r, int64(len(b))); len(found) != 1 || r.read > len(b)+(maxMembers+10)*firstRead {
		t.Errorf("%d members, %d bytes read", len(found), r.read)
	}
}

// TestDeflatedBomb claims to be far larger than it is, and is far larger than it claims.
func TestDeflatedBomb(t *testing.T) {
	big := append(full.bytes(), make([]byte, 8<<20)...)
	for name, size := range map[string]uint32{"larger than it says": 4096, "smaller": 7 << 20} {
		b := zipFile(t, zipped{"x.so", big, zip.Deflate, 0})
		at := bytes.LastIndex(b, []byte(zipDirectory))
		if name == "smaller" {
			b = zipFile(t, zipped{"x.so", big[:6<<20], zip.Deflate, 0})
			at = bytes.LastIndex(b, []byte(zipDirectory))
		}
		binary.LittleEndian.PutUint32(b[at+24:], size)
		dir := t.TempDir()
		write(t, dir+"/s/x.zip", b)
		l := locator(t, Options{Symbols: []string{dir + "/s"}, CacheDir: dir + "/c"})
		f := find(t, l, "x.so", idA)
		if f.Usable() {
			t.Errorf("%s: %+v", name, f)
		}
		if left, _ := filepath.Glob(dir + "/c/members/*"); len(left) > 0 {
			t.Errorf("%s: left %q", name, left)
		}
	}
}

// TestRankOfDeflated guesses by the name what only the whole file would tell.
func TestRankOfDeflated(t *testing.T) {
	b := zipFile(t, zipped{"arm64-v8a/liba.so.dbg", full.bytes(), zip.Deflate, 0}, zipped{"arm64-v8a/liba.so.sym", full.bytes(), zip.Deflate, 0},
		zipped{"text.so", bytes.Repeat([]byte("text"), 100), zip.Deflate, 0})
	var got []string
	for _, c := range archiveContents(bytes.NewReader(b), int64(len(b))) {
		got = append(got, fmt.Sprint(c.member.name, c.rank, c.id == buildID(t, idA)))
	}
	if want := "arm64-v8a/liba.so.dbg3 true arm64-v8a/liba.so.sym2 true"; strings.Join(got, " ") != want {
		t.Errorf("got %s", got)
	}
}
