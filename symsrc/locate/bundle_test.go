package locate

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ulikunitz/xz"

	"qss-filter/symsrc"
)

// inTar returns a tar file of one file.
func inTar(t testing.TB, name string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg, Format: tar.FormatGNU}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gz(t testing.TB, data []byte) []byte { return []byte(gzipped(t, string(data))) }

func zst(t testing.TB, data []byte) []byte { return []byte(zstandard(t, string(data))) }

// inDeb returns a package of Debian.
func inDeb(data []byte) []byte {
	b := []byte("!<arch>\n")
	for _, m := range []struct {
		name string
		data []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", []byte("odd")}, {"data.tar.gz", data}} {
		b = fmt.Appendf(b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 0, 0, 0, "100644", len(m.data))
		if b = append(b, m.data...); len(m.data)%2 == 1 {
			b = append(b, '\n')
		}
	}
	return b
}

// inCPIO returns a cpio archive of one file.
func inCPIO(name string, data []byte) []byte {
	var b []byte
	add := func(name string, mode int, data []byte) {
		b = fmt.Appendf(b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
		b = append(append(b, name...), 0)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		b = append(b, data...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
	}
	add("./usr", 0o040755, nil)
	add(name, 0o100644, data)
	add("TRAILER!!!", 0, nil)
	return b
}

// inRPM returns an RPM package with that payload.
func inRPM(payload []byte) []byte {
	b := append([]byte("\xed\xab\xee\xdb\x03\x00"), make([]byte, 90)...)
	for _, store := range []int{5, 9} { // of the signature, which is filled up, and of the header
		b = append(b, "\x8e\xad\xe8\x01\x00\x00\x00\x00"...)
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, 2), uint32(store))
		b = append(b, make([]byte, 32+store)...)
		if store == 5 {
			b = append(b, make([]byte, 3)...)
		}
	}
	return append(b, payload...)
}

// TestBundles finds a module in packages and images that are named, and unpacks each once.
func TestBundles(t *testing.T) {
	program := full.bytes()
	const name = "usr/lib/libfoo.so"
	layer := gz(t, inTar(t, name, program))
	for what, data := range map[string][]byte{
		"tar":          inTar(t, name, program),
		"tar.gz":       gz(t, inTar(t, "./"+name, program)),
		"pkg.tar.zst":  zst(t, inTar(t, name, program)),
		"deb":          inDeb(gz(t, inTar(t, "./"+name, program))),
		"rpm":          inRPM(zst(t, inCPIO("./"+name, program))),
		"image":        inTar(t, "blobs/sha256/ab12", layer),
		"older image":  inTar(t, "ab12/layer.tar", inTar(t, name, program)),
		"packed in it": inTar(t, name+".gz", gz(t, program)),
		"leads out":    inTar(t, "../../../"+name, program),
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir+"/bundle", data)
			o := Options{Symbols: []string{dir + "/bundle"}, CacheDir: dir + "/c"}
			for range 2 {
				for _, id := range []string{idA, ""} {
					f := find(t, locator(t, o), "libfoo.so", id)
					if f.ElfStatus != symsrc.OK || !strings.HasPrefix(f.Elf, dir+"/c/bundles/") || !strings.HasSuffix(f.Elf, name) {
						t.Fatalf("%q: %+v", id, f)
					}
					if got := answered(t, f.Elf, f.ElfRange); got != string(program) {
						t.Errorf("%d bytes", len(got))
					}
				}
			}
			if all, _ := filepath.Glob(dir + "/c/bundles/*"); len(all) != 1 {
				t.Errorf("unpacked to %q", all)
			}
		})
	}
}

// TestBundleLater holds that a bundle is unpacked while the log is carried, and that the end of a run, which has seen the first of its modules,
// waits until it is.
func TestBundleLater(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/bundle", gz(t, inTar(t, "libfoo.so", append(full.bytes(), make([]byte, 48<<20)...))))
	o := Options{Symbols: []string{dir + "/bundle"}, CacheDir: dir + "/c", Wait: time.Nanosecond, After: time.Nanosecond}
	l := locator(t, o)
	first := find(t, l, "libfoo.so", idA)
	if first.Usable() || first.Retry == nil || first.Retry() {
		t.Errorf("%+v", first)
	}
	l.Await()
	for !first.Retry() {
		time.Sleep(time.Millisecond)
	}
	if f := find(t, l, "libfoo.so", idA); !f.Usable() || !first.Came() {
		t.Errorf("%+v", f)
	}
	// A run that ends before leaves nothing.
	o.CacheDir = dir + "/d"
	l = locator(t, o)
	find(t, l, "libfoo.so", idA)
	l.Close()
	if left, _ := filepath.Glob(dir + "/d/bundles/*"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestBundleElsewhere holds that a file in another place is not waited for while a bundle is unpacked.
func TestBundleElsewhere(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/bundle", gz(t, inTar(t, "other.so", append((&testELF{id: idB}).bytes(), make([]byte, 192<<20)...))))
	write(t, dir+"/root/usr/lib/libfoo.so", full.bytes())
	l := locator(t, Options{Symbols: []string{dir + "/bundle"}, Rootfs: []string{dir + "/root"}, CacheDir: dir + "/c", Wait: time.Minute, After: time.Nanosecond})
	began := time.Now()
	f := find(t, l, "/usr/lib/libfoo.so", idA)
	if !f.Usable() || f.Elf != dir+"/root/usr/lib/libfoo.so" {
		t.Errorf("after %v: %+v", time.Since(began), f)
	}
	if closedNow(l.symbols.run().unpacked) {
		t.Skip("it was unpacked before")
	}
}

// TestRealBundles has what the programs of distributions make.
func TestRealBundles(t *testing.T) {
	for what, command := range map[string]string{
		"dpkg-deb": "mkdir -p p/DEBIAN && printf 'Package: x\\nVersion: 1\\nArchitecture: all\\nMaintainer: x\\nDescription: x\\n' >p/DEBIAN/control && dpkg-deb -b p bundle",
		"tar":      "tar -C p -cJf bundle usr",
		"rpmbuild": `printf 'Name: x\nVersion: 1\nRelease: 1\nSummary: x\nLicense: x\n%%global debug_package %%{nil}\n%%global __os_install_post %%{nil}\n%%description\nx\n` +
			`%%install\ncp -r %s/p/usr %%{buildroot}\n%%files\n/usr/lib/libfoo.so\n' "$PWD" >x.spec && ` +
			`rpmbuild -bb --define "_topdir $PWD/r" --define "_build_id_links none" x.spec && mv r/RPMS/*/*.rpm bundle`,
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := exec.LookPath(what); err != nil {
				t.Skip(what + " is not installed")
			}
			dir := t.TempDir()
			write(t, dir+"/p/usr/lib/libfoo.so", full.bytes())
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			f := find(t, locator(t, Options{Symbols: []string{dir + "/bundle"}, CacheDir: dir + "/c"}), "", idA)
			if f.ElfStatus != symsrc.OK || answered(t, f.Elf, f.ElfRange) != string(full.bytes()) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestBadBundles holds that bundles which cannot be used are said to be so, leave nothing in the cache, and end no search.
func TestBadBundles(t *testing.T) {
	deb := inDeb(gz(t, inTar(t, "usr/lib/libfoo.so", full.bytes())))
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut off":   {deb[:len(deb)-30], "unexpected EOF"},
		"no data":   {deb[:72], "no file of native code"},
		"no binary": {inTar(t, "README", make([]byte, 600)), "no file of native code"},
		"too large": {gz(t, inTar(t, "a", append([]byte("\x7fELF"), make([]byte, 80<<20)...))), errTooLarge.Error()},
	} {
		dir, told := t.TempDir(), ""
		write(t, dir+"/bundle", c.data)
		o := Options{Symbols: []string{dir + "/bundle"}, CacheDir: dir + "/c", OnProblem: func(text string) { told += text }}
		if f := find(t, locator(t, o), "libfoo.so", idA); f.Usable() || !strings.Contains(told, dir+"/bundle: cannot unpack it: ") || !strings.Contains(told, c.want) {
			t.Errorf("%s: told %q, %+v", what, told, f)
		}
		if all, _ := os.ReadDir(dir + "/c/bundles"); len(all) > 0 {
			t.Errorf("%s: the cache has %v", what, all)
		}
	}
}

// TestEvictBundles holds that the bundles that were not used for longest go first.
func TestEvictBundles(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"old", "older", "new"} {
		write(t, filepath.Join(dir, name, "lib"), make([]byte, 100))
		then := time.Now().Add(-time.Duration([]int{2, 3, 1}[i]) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	evictBundles(dir, 250)
	if left, _ := filepath.Glob(dir + "/*"); len(left) != 2 || filepath.Base(left[0]) != "new" {
		t.Errorf("left %q", left)
	}
}

// TestPacked finds a module in a file that is compressed as a whole: in a tree, named, and below a root.
func TestPacked(t *testing.T) {
	module := testELF{id: idB, names: []string{".debug_info", ".symtab"}, debug: true}
	for what, pack := range map[string]func(testing.TB, []byte) []byte{".gz": gz, ".zst": zst} {
		dir := t.TempDir()
		write(t, dir+"/s/usr/lib/libfoo.so"+what, pack(t, full.bytes()))
		write(t, dir+"/d/"+"libbar.debug"+what, pack(t, module.bytes()))
		write(t, dir+"/r/usr/lib/libfoo.so"+what, pack(t, full.bytes()))
		for from, o := range map[string]Options{
			"a tree": {Symbols: []string{dir + "/s"}}, "the file": {Symbols: []string{dir + "/s/usr/lib/libfoo.so" + what}}, "a root": {Rootfs: []string{dir + "/r"}},
		} {
			o.CacheDir = dir + "/c"
			name := "/usr/lib/libfoo.so"
			if from == "a root" {
				name += what
			}
			for range 2 {
				f := find(t, locator(t, o), name, idA)
				if f.ElfStatus != symsrc.OK || answered(t, f.Elf, f.ElfRange) != string(full.bytes()) {
					t.Errorf("%s, %s: %+v", what, from, f)
				}
			}
		}
		f := find(t, locator(t, Options{Symbols: []string{dir + "/d"}, CacheDir: dir + "/c"}), "", idB)
		if f.DebugStatus != symsrc.OK || answered(t, f.Debug, f.DebugRange) != string(module.bytes()) {
			t.Errorf("%s: %+v", what, f)
		}
		// One that is damaged behind its beginning is told, and used no more.
		whole := pack(t, append(full.bytes(), bytes.Repeat([]byte("0123456789abcdef"), 1<<14)...))
		write(t, dir+"/b/libfoo.so"+what, whole[:len(whole)-20])
		if f := find(t, locator(t, Options{Symbols: []string{dir + "/b"}, CacheDir: dir + "/c2"}), "", idA); f.Usable() {
			t.Errorf("%s, damaged: %+v", what, f)
		}
		if left, _ := filepath.Glob(dir + "/c2/members/*"); len(left) > 0 {
			t.Errorf("%s, damaged: %q", what, left)
		}
	}
}

// TestPackedByXZ finds a module of the kernel that is packed with xz in a tree by its name, which the kernel writes in its own way, and takes
// none of another build.
func TestPackedByXZ(t *testing.T) {
	pack := func(data []byte) []byte {
		var b bytes.Buffer
		w, err := xz.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(data)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	dir := t.TempDir()
	write(t, dir+"/s/kernel/snd-hda-intel.ko.xz", pack(full.bytes()))
	write(t, dir+"/s/other/snd-hda-intel.ko.xz", pack(other.bytes()))
	write(t, dir+"/s/notes.xz", pack([]byte("text")))
	o := Options{Symbols: []string{dir + "/s"}, CacheDir: dir + "/c"}
	for id, want := range map[string]string{idA: string(full.bytes()), idB: string(other.bytes()), "0123": ""} {
		for range 2 {
			f := find(t, locator(t, o), "snd_hda_intel.ko", id)
			got := ""
			if f.Usable() {
				got = answered(t, f.Elf, f.ElfRange)
			}
			if got != want {
				t.Errorf("%s: %+v", id, f)
			}
		}
	}
	f := find(t, locator(t, Options{Symbols: []string{dir + "/s/kernel/snd-hda-intel.ko.xz"}, CacheDir: dir + "/c"}), "", idA)
	if !f.Usable() { // one that is named is looked at
		t.Errorf("%+v", f)
	}
}

// FuzzBundle reads damaged bundles: whatever they say, what is unpacked stays in the directory and in the limit.
func FuzzBundle(f *testing.F) {
	elf := stripped.bytes()
	for _, seed := range [][]byte{
		inTar(f, "a/b", elf), gz(f, inTar(f, "../x", elf)), inDeb(gz(f, inTar(f, "c", elf))), inRPM(gz(f, inCPIO("./d", elf))),
		inTar(f, "e/layer.tar", inTar(f, "g", elf)), inCPIO("../../h", elf), elf,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		top := t.TempDir()
		dir := filepath.Join(top, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		const limit = 1 << 20
		b := bundle{ended: new(atomic.Bool), dir: dir, left: limit}
		_ = b.read(io.LimitReader(bytes.NewReader(data), limit), "file", 0)
		if all, _ := os.ReadDir(top); len(all) != 1 {
			t.Fatalf("written outside: %v", all)
		}
	})
}
