//go:build unix

package locate

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"qss-filter/symsrc"
)

// TestChroot follows links of a rootfs. Outside of it lies a file of the same build ID, which must not be taken.
func TestChroot(t *testing.T) {
	dir := tree(t, map[string]testELF{"outside/x": full, "r/usr/lib/x": full, "r/etc/y": full})
	root := filepath.Join(dir, "r")
	symlink(t, "usr/lib", root+"/lib")
	symlink(t, "/usr/lib", root+"/abs")
	symlink(t, "../../../../../../usr/lib", root+"/usr/up")
	symlink(t, dir+"/outside", root+"/escape")
	symlink(t, "../outside/x", root+"/out")
	symlink(t, "x", root+"/usr/lib/x.1")
	symlink(t, "x.1", root+"/usr/lib/x.2")
	symlink(t, "loop2", root+"/loop1")
	symlink(t, "loop1", root+"/loop2")
	symlink(t, "self/self", root+"/self")
	symlink(t, "/etc/../lib/./x", root+"/etc/dots")
	long := "x"
	for i := range maxLinks + 1 {
		symlink(t, long, filepath.Join(root, "usr/lib", "chain"+strings.Repeat("i", i)))
		long = "chain" + strings.Repeat("i", i)
	}
	tests := []struct {
		name, want string // found at; "" nowhere
		status     symsrc.Status
	}{
		{"/usr/lib/x", "usr/lib/x", symsrc.OK},
		{"/lib/x", "lib/x", symsrc.OK},
		{"//lib///./x", "lib/x", symsrc.OK},
		{"/abs/x", "usr/lib/x", symsrc.OK}, // the operating system would find another file by the name
		{"/usr/up/x", "usr/lib/x", symsrc.OK},
		{"/usr/lib/x.2", "usr/lib/x.2", symsrc.OK},
		{"/../../usr/lib/x", "usr/lib/x", symsrc.OK},
		{"/usr/../etc/../lib/x", "usr/lib/x", symsrc.OK},
		{"/lib/../lib/x", "usr/lib/x", symsrc.OK}, // /lib/.. is /usr
		{"/lib/../etc/y", "", symsrc.NotFound},
		{"/etc/dots", "usr/lib/x", symsrc.OK},
		{"/escape/x", "", symsrc.NotFound},
		{"/out", "", symsrc.NotFound},
		{"/../outside/x", "", symsrc.NotFound},
		{"../outside/x", "", symsrc.NotFound},
		{"/loop1", "", symsrc.ReadError},
		{"/self", "", symsrc.ReadError},
		{"/usr/lib/" + long, "", symsrc.ReadError},
		{"/usr/lib/x/y", "", symsrc.NotFound},
		{"/usr/lib/x/../x", "", symsrc.NotFound},
		{"/usr/lib", "", symsrc.ReadError},
		{"/", "", symsrc.NotFound},
	}
	l := locator(t, Options{Rootfs: []string{root}, WorkDir: t.TempDir()})
	for _, tt := range tests {
		f := find(t, l, tt.name, idA)
		got := ""
		if f.ElfStatus == symsrc.OK {
			got = relative(root, f.Elf)
		}
		if got != tt.want || f.ElfStatus != tt.status {
			t.Errorf("%.60s: found %q, %v %q, want %q, %v", tt.name, got, f.ElfStatus, f.Note, tt.want, tt.status)
		}
		if f.ElfStatus == symsrc.OK {
			if file, err := os.ReadFile(f.Elf); err != nil || string(file) != string(full.bytes()) {
				t.Errorf("%.60s: %s does not open the file: %v", tt.name, f.Elf, err)
			}
		}
	}
}

// TestSpecialFiles meets what must not be read: it would block, never end, or act.
func TestSpecialFiles(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(root+"/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(root+"/libs.debug", 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, root+"/libs", testELF{id: idB, link: "libs.debug"}.bytes())
	write(t, root+"/dev/regular", full.bytes())
	symlink(t, "/dev/regular", root+"/todev")
	for _, opt := range []Options{{Rootfs: []string{root}}, {}} {
		l := locator(t, opt)
		for _, name := range []string{"/fifo", root + "/fifo", "/dev/zero", "/dev/regular", "/todev", "/dev/stdin", "/proc/self/mem",
			"/proc/self/exe", "/sys/kernel/notes", "//dev//zero", "/usr/../dev/zero"} {
			for _, id := range []string{idA, ""} {
				f := find(t, l, name, id)
				if f.Usable() || f.ElfStatus != symsrc.ReadError && f.ElfStatus != symsrc.NotFound {
					t.Errorf("%s: %+v", name, f)
				}
			}
		}
	}
	l := locator(t, Options{Rootfs: []string{root}, Symbols: []string{root}, BuildIDDirs: []string{root}})
	if f := find(t, l, "/libs", idB); f.ElfStatus != symsrc.OK || f.DebugStatus != symsrc.ReadError || f.Note != "not a regular file" {
		t.Errorf("FIFO as debug file: %+v", f)
	}
	if _, err := New(Options{Objects: []string{root + "/fifo"}}); err == nil {
		t.Error("a FIFO is taken as an object")
	}
	if _, err := New(Options{Symbols: []string{root + "/fifo"}}); err == nil {
		t.Error("a FIFO is taken as a directory")
	}
}

// TestSparse has a file of 1 TB that is nothing but a hole, and others that only begin like an ELF file or an archive: no more
// than their headers is read.
func TestSparse(t *testing.T) {
	dir := t.TempDir()
	for name, head := range map[string]string{"hole": "", "elf": string(full.bytes()), "zip": zipLocal} {
		path := write(t, dir+"/s/"+name, []byte(head))
		if err := os.Truncate(path, 1<<40); err != nil {
			t.Skip("the file system has no files of 1 TB:", err)
		}
	}
	plain := locator(t, Options{Rootfs: []string{dir}})
	for name, want := range map[string]symsrc.Status{"hole": symsrc.NotELF, "elf": symsrc.OK, "zip": symsrc.UnsupportedCompressed} {
		if f := find(t, plain, "/s/"+name, idA); f.ElfStatus != want {
			t.Errorf("%s: %+v", name, f)
		}
	}
	l := locator(t, Options{Symbols: []string{dir + "/s"}, CacheDir: dir + "/c"})
	if f := find(t, l, "", idA); f.Elf != dir+"/s/elf" {
		t.Errorf("%+v", f)
	}
	for _, m := range []symsrc.Module{{Name: "/s/zip", Member: "x.so"}, {Name: "/s/zip!x.so"}, {Name: "/s/hole", InArchive: 1 << 39}} {
		if f := plain.Find(t.Context(), m); f.Usable() {
			t.Errorf("%+v: %+v", m, f)
		}
	}
}

// TestHostileMembers names archives and members that are none.
func TestHostileMembers(t *testing.T) {
	dir := tree(t, map[string]testELF{"outside.so": full, "r/x": other})
	write(t, dir+"/r/a.apk", zipFile(t, zipped{"../../outside.so", full.bytes(), 0, 0}))
	if err := syscall.Mkfifo(dir+"/r/fifo.apk", 0o644); err != nil {
		t.Fatal(err)
	}
	l := locator(t, Options{Rootfs: []string{dir + "/r"}, Symbols: []string{dir + "/r"}})
	for _, m := range []symsrc.Module{
		{Name: "/a.apk", Member: "../../outside.so"}, {Name: "/a.apk!../../outside.so"}, {Name: "/a.apk", Member: "outside.so"},
		{Name: "/fifo.apk", Member: "x.so"}, {Name: "/fifo.apk", InArchive: 1}, {Name: "/dev/zero!x.so"}, {Name: "/dev/zero", InArchive: 4096},
		{Name: "/proc/self/mem", Member: "xx"}, {Name: "/proc/self/exe", InArchive: 64}, {Name: "../../etc/shadow", Member: "xx"},
		{Name: "../../etc/shadow", InArchive: 1 << 63}, {Name: "!"}, {Name: "!!"}, {Name: "a.apk!"}, {Name: "!a"}, {Name: "a.apk!b.apk!c.so"},
		{Name: "/a.apk", Member: strings.Repeat("a/", 1e5)}, {Name: strings.Repeat("a", 1e6), Member: "x", InArchive: 1}, {Member: "x"}, {InArchive: 5},
		{Name: "/a.apk", Member: "x\x00y"}, {Name: "/a.apk", Member: "/"}, {Name: "/a.apk", Member: "lib/"},
	} {
		for _, id := range []string{"", idA} {
			m.BuildID = buildID(t, id)
			if f := l.Find(t.Context(), m); f.Usable() {
				t.Errorf("%.60q %.60q %#x: %+v", m.Name, m.Member, m.InArchive, f)
			}
		}
	}
}

func TestHostileNames(t *testing.T) {
	l := locator(t, Options{Rootfs: []string{t.TempDir()}, Symbols: []string{t.TempDir()}})
	for _, name := range []string{
		strings.Repeat("a", 1e6), strings.Repeat("/a", 5e5), strings.Repeat("/", 1e6), strings.Repeat("../", 3e5) + "etc/passwd",
		"/a\x00b", strings.Repeat("\x00", 100), "/" + strings.Repeat("b", 256), strings.Repeat("/", 4000) + "x", " (deleted)", "/%s%n\n\t",
		"\xff\xfe", "-", "~", "../../etc/shadow", "/../../etc/shadow", "C:\\x", "\\\\server\\share\\x",
	} {
		for _, id := range []string{"", idA, "ab", "a"} {
			f := find(t, l, name, id)
			if f.Usable() || f.ElfStatus != symsrc.NotFound || len(f.Elf) > 2*maxPath {
				t.Errorf("%.20q: %+v", name, f.ElfStatus)
			}
		}
	}
	for m := range l.memo {
		if len(m.Name) > 2*maxPath {
			t.Errorf("a name of %d bytes is remembered", len(m.Name))
		}
	}
}
