package locate

import (
	"archive/zip"
	"bytes"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// FuzzZip reads damaged archives: members lie in the archive and do not overlap, reading is bounded, and where
// archive/zip reads a member too it has the same content at its place.
func FuzzZip(f *testing.F) {
	f.Add(zipFile(f, zipped{"lib/a.so", full.bytes(), zip.Store, 4096}, zipped{"b.so", other.bytes(), zip.Deflate, 0}))
	f.Add(zipFile(f, zipped{"x", stripped.bytes(), zip.Store, 0}, zipped{"classes.dex", []byte("dex"), zip.Deflate, 0}))
	f.Add([]byte("PK\x06\x06" + strings.Repeat("\x00", 52) + "PK\x06\x07" + strings.Repeat("\x00", 16) + "PK\x05\x06" + strings.Repeat("\xff", 18)))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &reader{Reader: bytes.NewReader(data)}
		archiveContents(in, int64(len(data)))
		if in.read > 64*len(data)+1<<20 {
			t.Fatalf("%d bytes read of %d", in.read, len(data))
		}
		members, err := zipMembers(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		contents := theirs(data)
		end := int64(0)
		for i := range members {
			m := &members[i]
			if m.data < m.header || m.packed <= 0 || m.packed > int64(len(data))-m.data || !filepath.IsLocal(m.name) {
				t.Fatalf("%+v of %d bytes", m, len(data))
			}
			if len(members) == 1 || m.header >= end {
				end = m.data + m.packed
			}
			if want, ok := contents[m.name]; ok && m.packing == stored && !bytes.Equal(want, data[m.data:m.data+m.size]) {
				t.Fatalf("%+v: other bytes than archive/zip's", m)
			}
		}
	})
}

// theirs are the stored members that archive/zip reads whole, of those whose names are there once.
func theirs(data []byte) map[string][]byte {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	all, twice := map[string][]byte{}, map[string]bool{}
	for _, m := range r.File {
		if _, ok := all[m.Name]; ok {
			twice[m.Name] = true
		}
		in, err := m.Open()
		if err != nil || m.Method != zip.Store {
			continue
		}
		if b, err := io.ReadAll(in); err == nil {
			all[m.Name] = b
		}
	}
	for name := range twice {
		delete(all, name)
	}
	return all
}

// FuzzTreeFile reads anything as the body of an index on disk, which no checksum protects here: what is taken is written
// and read again as the same.
func FuzzTreeFile(f *testing.F) {
	known := contents{
		diskcache.Stamp{Device: 9, Inode: 1, Size: 2, Mtime: 3, Ctime: 4}: {path: "/s/a", list: []content{{id: "\x01\x02", rank: debugInfo}, {id: "\x03", member: &member{name: "a.so", data: 40, packed: 9, size: 9, crc: 7}}}},
		diskcache.Stamp{Inode: 5, Size: 6, Mtime: 7, Ctime: 8}:            {},
	}
	f.Add(appendTree(nil, "/s", known))
	f.Add(appendTree(nil, "", nil))
	f.Add(append(appendText(nil, "/s"), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\xff\xff\xff\x0f"...))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := treeReader{b: body}
		root := r.text()
		known := r.contents()
		if known == nil {
			return
		}
		files := 0
		for _, k := range known {
			files += len(k.list)
		}
		if files > len(body) || len(known) > len(body) {
			t.Fatalf("%d files with %d objects in %d bytes", len(known), files, len(body))
		}
		again := treeReader{b: appendTree(nil, root, known)}
		if root2, known2 := again.text(), again.contents(); root2 != root || !reflect.DeepEqual(known2, known) {
			t.Fatalf("%q %v is written as %q %v", root, known, root2, known2)
		}
	})
}

// FuzzIDMap reads anything as ids.txt or symbol-index file: what it names has a whole build ID and an absolute path, and
// nothing is read that is not named.
func FuzzIDMap(f *testing.F) {
	f.Add([]byte("# c\n\n" + idA + " ./exe.unstripped/app\r\n" + idB + " /gone\n/x/ids.txt\t/src\n"))
	f.Add([]byte(`{"includes": ["sub/*.json", "[", ""], "ids_txts": [{"path": "../out/ids.txt"}], "build_id_dirs": [{"path": "../none"}]}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		x := idMap{read: map[string]bool{}, tell: func(string) {}}
		path := filepath.Join(dir, "a", "ids.txt")
		if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			if bytes.ContainsAny(text, "*?[") || bytes.Contains(text, []byte(`\u`)) { // a pattern may stand for all of the disk
				return
			}
			_ = x.symbolIndex(text, filepath.Dir(path))
		} else {
			write(t, path, text)
			x.load(path)
			x.sort()
		}
		for line := range bytes.Lines(text) {
			id, _, ok := readIDLine(line)
			if !ok {
				continue
			}
			for _, p := range x.paths(id) {
				if !filepath.IsAbs(p) || strings.Contains(p, "\x00") || len(p) > maxPath+len(path) {
					t.Fatalf("path %q", p)
				}
			}
		}
		for _, d := range x.dirs {
			if !bytes.Contains(text, []byte(filepath.Base(d))) {
				t.Fatalf("%q is taken, which %q does not name", d, text)
			}
		}
	})
}

// FuzzModuleName takes names of modules apart, as logs have them.
func FuzzModuleName(f *testing.F) {
	for _, name := range []string{"/system/app/base.apk!lib/arm64/liba.so", "libc.so!libc.so", "/a (deleted)", "C:\\a\\b.dll", "[vdso]", "!", "a!", "//x/../y!z.so"} {
		f.Add(name, "", uint64(0))
		f.Add(name, "lib/../a.so", uint64(1)<<63)
	}
	f.Fuzz(func(t *testing.T, name, memberName string, at uint64) {
		n, a := splitModule(symsrc.Module{Name: name, Member: memberName, InArchive: at})
		if strings.Contains(n.base, "/") || strings.Contains(a.archive.base, "/") {
			t.Fatalf("%q: %+v %+v", name, n, a)
		}
		if a.offset < 0 || len(a.member) > maxMemberName {
			t.Fatalf("%+v", a)
		}
	})
}

// FuzzBootImage unpacks anything as a boot image, of which the beginning is read.
func FuzzBootImage(f *testing.F) {
	for _, pack := range kernels {
		f.Add(bzImage(packer(f, full.bytes(), pack), len(full.bytes())))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := kernelIn("vmlinuz", int64(len(b)))
		if id, err := identifyBeginning(&budgetReader{bytes.NewReader(b), maxBeginning}, m); err == nil && id == nil {
			t.Error("neither a file nor an error")
		}
	})
}
