package locate

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"qss-filter/symsrc"
)

// bzImage returns a boot image of x86 with a packed kernel, as Linux's build makes it: behind all formats but gzip comes the size.
func bzImage(payload []byte, size int) []byte {
	const sectors, at = 3, 0x2cc
	if !bytes.HasPrefix(payload, []byte("\x1f\x8b")) {
		payload = binary.LittleEndian.AppendUint32(bytes.Clone(payload), uint32(size))
	}
	b := make([]byte, (sectors+1)*bootSector+at)
	copy(b, "MZ")
	b[bootSetup] = sectors
	copy(b[bootMark:], "HdrS\x0f\x02")
	binary.LittleEndian.PutUint32(b[bootPayload:], at)
	binary.LittleEndian.PutUint32(b[bootPayload+4:], uint32(len(payload)))
	return append(append(b, payload...), "the code that unpacks it"...)
}

// packer returns what a writer makes of a content.
func packer(t testing.TB, b []byte, begin func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := begin(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzWriter(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
func xzWriter(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }

// kernels are the ways in which a kernel is packed in a boot image.
var kernels = map[string]func(io.Writer) (io.WriteCloser, error){
	"gzip": gzWriter,
	"xz":   xzWriter,
	"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	"lzma": func(w io.Writer) (io.WriteCloser, error) { return lzma.NewWriter(w) },
	"lz4": func(w io.Writer) (io.WriteCloser, error) {
		z := lz4.NewWriter(w)
		return z, z.Apply(lz4.LegacyOption(true))
	},
}

// TestBootImages finds the kernel in a boot image by its build ID, packed in each way, and the image packed again; in a tree, from the index
// on disk, and named. It is no kernel of another build, and none of a log without a build ID.
func TestBootImages(t *testing.T) {
	kernel := full.bytes()
	images := map[string][]byte{}
	for name, pack := range kernels {
		images["vmlinuz-"+name] = bzImage(packer(t, kernel, pack), len(kernel))
	}
	images["vmlinuz-6.1.gz"] = packer(t, images["vmlinuz-zstd"], gzWriter)
	images["vmlinuz-6.1.xz"] = packer(t, images["vmlinuz-gzip"], xzWriter)
	for name, image := range images {
		for _, named := range []bool{false, true} {
			dir := t.TempDir()
			at := write(t, filepath.Join(dir, "s", "boot", name), image)
			o := Options{Symbols: []string{filepath.Join(dir, "s")}, CacheDir: filepath.Join(dir, "c"), Rootfs: []string{t.TempDir()}}
			if named {
				o.Symbols = []string{at}
			} else {
				indexOf(t, filepath.Join(dir, "s"), o.CacheDir)
			}
			for range 2 {
				l := locator(t, o)
				f := find(t, l, "vmlinux", idA)
				if f.ElfStatus != symsrc.OK || f.DebugStatus != symsrc.OK || f.Unverified || FileID(f.Elf) != buildID(t, idA) {
					t.Errorf("%s, named %v: %+v", name, named, f)
				}
				if f := find(t, l, "vmlinux", idB); f.Usable() {
					t.Errorf("%s: of another build: %+v", name, f)
				}
				if f := find(t, l, "libfoo.so", idA); f.Usable() {
					t.Errorf("%s: another module: %+v", name, f)
				}
				if f := l.Find(t.Context(), symsrc.Module{Name: "vmlinux"}); f.Usable() {
					t.Errorf("%s: without a build ID: %+v", name, f)
				}
			}
		}
	}
}

// TestBesideBootImage takes a vmlinux for itself by its name, whatever boot images there are, and before them by its build ID.
func TestBesideBootImage(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/vmlinux": full})
	put(t, dir, "s/vmlinuz", bzImage(packer(t, other.bytes(), gzWriter), 0))
	put(t, dir, "s/vmlinuz.old", bzImage(packer(t, full.bytes(), gzWriter), 0))
	l := locator(t, Options{Symbols: []string{dir + "/s"}, CacheDir: dir + "/c"})
	for _, m := range []symsrc.Module{{Name: "vmlinux"}, {Name: "vmlinux", BuildID: buildID(t, idA)}} {
		if f := l.Find(t.Context(), m); f.Elf != dir+"/s/vmlinux" {
			t.Errorf("%+v", f)
		}
	}
}

// TestDamagedBootImage takes no part of a kernel for one.
func TestDamagedBootImage(t *testing.T) {
	kernel := full.bytes()
	for name, pack := range kernels {
		good := bzImage(packer(t, kernel, pack), len(kernel))
		for n := bootEnd; n < len(good)-40; n += 1 + len(good)/50 {
			in, close, err := unpackKernel(bytes.NewReader(good[:n]))
			if err != nil {
				continue
			}
			got, err := io.ReadAll(in)
			if close != nil {
				close()
			}
			if err == nil && len(got) == len(kernel) && n < len(good)-60 {
				t.Errorf("%s: %d of %d bytes are enough", name, n, len(good))
			}
		}
	}
	for _, b := range [][]byte{{}, make([]byte, 4096), bzImage(nil, 0), bzImage([]byte("text"), 4)} {
		if in, _, err := unpackKernel(bytes.NewReader(b)); err == nil {
			if got, _ := io.ReadAll(in); bytes.HasPrefix(got, elfHead) {
				t.Errorf("%q", got)
			}
		}
	}
}

// TestImages says of kernels that are no ELF files what they are.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	image := make([]byte, 4096)
	copy(image[imageMark:], "ARM\x64")
	for _, b := range [][]byte{image, append([]byte("MZ\x00\x00zimg"), make([]byte, 100)...)} {
		var told []string
		locator(t, Options{Symbols: []string{write(t, dir+"/Image", b)}, OnProblem: func(m string) { told = append(told, m) }})
		if len(told) != 1 || told[0] != dir+"/Image: an image of a kernel, not an ELF file: its vmlinux has the symbols" {
			t.Errorf("%q", told)
		}
	}
}

// TestForeign says of programs of Windows and of WebAssembly what they are, in place of that they are no ELF files. The first program is one of
// lld, if it is installed. A file that only begins as such a program does is not known to be one.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	pe := append([]byte("MZ"), make([]byte, 0x76)...)
	pe[0x3c] = byte(len(pe))
	pe = append(pe, "PE\x00\x00d\x86"...)
	write(t, dir+"/f.c", []byte("int f(void) { return 1; }\n"))
	link := exec.Command("clang-22", "--target=x86_64-pc-windows-msvc", "-nostdlib", "-fuse-ld=lld", "-Wl,/entry:f,/subsystem:console", "-o", dir+"/real.exe", dir+"/f.c")
	if out, err := link.CombinedOutput(); err != nil {
		t.Logf("no clang-22 with lld: %v\n%s", err, out)
		write(t, dir+"/real.exe", pe)
	}
	write(t, dir+"/a.exe", pe)
	write(t, dir+"/a.wasm", []byte("\x00asm\x01\x00\x00\x00"))
	for name, want := range map[string]string{"real.exe": ": a PE file of Windows, which is not read", "a.exe": ": a PE file of Windows, which is not read",
		"a.wasm": ": a WebAssembly file, which is not read"} {
		var told []string
		locator(t, Options{Symbols: []string{dir + "/" + name}, OnProblem: func(m string) { told = append(told, m) }})
		if len(told) != 1 || told[0] != dir+"/"+name+want {
			t.Errorf("%q, want %s%s", told, name, want)
		}
	}
	for n := range len(pe) - 2 {
		if got := foreign(pe[:n]); got != notELF {
			t.Errorf("%d bytes: %s", n, got)
			break
		}
	}
}

// TestRealBootImage finds the kernel that runs, or another one of the system, in /boot.
func TestRealBootImage(t *testing.T) {
	images, _ := filepath.Glob("/boot/vmlinuz-*")
	if extra := os.Getenv("QSS_TEST_VMLINUZ"); extra != "" {
		images = append(images, extra)
	}
	if len(images) == 0 {
		t.Skip("no kernel is installed")
	}
	for _, image := range images {
		f, err := os.Open(image)
		if err != nil {
			t.Skip(err)
		}
		defer f.Close()
		in, close, err := unpackKernel(f)
		if err != nil {
			t.Logf("%s: %v", image, err)
			continue
		}
		at := filepath.Join(t.TempDir(), "vmlinux")
		out, err := os.Create(at)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(out, in)
		out.Close()
		if close != nil {
			close()
		}
		if err != nil {
			t.Fatalf("%s: %v", image, err)
		}
		text, err := exec.Command("readelf", "-n", at).Output()
		if err != nil {
			t.Skip("no readelf")
		}
		if id := FileID(at).String(); id == "" || !bytes.Contains(text, []byte(id)) {
			t.Errorf("%s: build ID %s, and readelf says\n%s", image, id, text)
		}
	}
}
