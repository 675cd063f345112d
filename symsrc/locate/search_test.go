package locate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// tree makes a directory of files by their paths and returns its name.
func tree(t testing.TB, files map[string]testELF) string {
	t.Helper()
	dir := t.TempDir()
	for name, e := range files {
		write(t, filepath.Join(dir, name), e.bytes())
	}
	return dir
}

// relative returns the files' paths from dir on, "-" for none.
func relative(dir string, paths ...string) string {
	var out []string
	for _, p := range paths {
		if p == "" {
			p = "-"
		}
		out = append(out, strings.TrimPrefix(p, dir+"/"))
	}
	return strings.Join(out, " ")
}

const leafA = "aa/aa00112233445566778899aabbccddeeff0011"

// TestPairs lays files out below r (rootfs), s (symbols), b (build-ID tree) and o (objects), and names the pair of files
// that must be found for /usr/lib/libx.so of build ID A.
func TestPairs(t *testing.T) {
	symtab := testELF{id: idA, names: []string{".dynsym", ".symtab"}}
	linked := testELF{id: idA, names: []string{".dynsym"}, link: "libx.debug", linkCRC: debugOf.crc()}
	tests := []struct {
		name  string
		files map[string]testELF
		want  string // elf and debug
		debug symsrc.Status
	}{
		{"unstripped in the rootfs", map[string]testELF{"r/usr/lib/libx.so": full}, "r/usr/lib/libx.so -", symsrc.OK},
		{"objects come first", map[string]testELF{"o/x": full, "s/x": full, "r/usr/lib/libx.so": full}, "o/x -", symsrc.OK},
		{"then symbols", map[string]testELF{"s/x": full, "b/" + leafA: full, "r/usr/lib/libx.so": full}, "s/x -", symsrc.OK},
		{"then build-ID trees", map[string]testELF{"b/" + leafA: full, "r/usr/lib/libx.so": full}, "b/" + leafA + " -", symsrc.OK},
		{"build-ID tree with .build-id", map[string]testELF{"b/.build-id/" + leafA + ".debug": debugOf, "r/usr/lib/libx.so": stripped},
			"r/usr/lib/libx.so b/.build-id/" + leafA + ".debug", symsrc.OK},
		{"executable and debug file of symbols", map[string]testELF{"s/bin/libx.so": stripped, "s/dbg/whatever": debugOf},
			"s/bin/libx.so s/dbg/whatever", symsrc.OK},
		{"debug file of an object, executable of the rootfs", map[string]testELF{"o/x.debug": debugOf, "r/usr/lib/libx.so": stripped},
			"r/usr/lib/libx.so o/x.debug", symsrc.OK},
		{"the richest of symbols", map[string]testELF{"s/1": stripped, "s/2": symtab, "s/3": full}, "s/3 -", symsrc.OK},
		{"symbols lack debug info, the rootfs has it", map[string]testELF{"s/x": stripped, "r/usr/lib/libx.so": full},
			"s/x r/usr/lib/libx.so", symsrc.OK},
		{"a symbol table is better than none", map[string]testELF{"s/x": symtab, "o/x": stripped}, "o/x s/x", symsrc.Incomplete},
		{"a full ELF as debug file", map[string]testELF{"r/usr/lib/libx.so": stripped, "r/usr/lib/debug/.build-id/" + leafA + ".debug": full},
			"r/usr/lib/libx.so r/usr/lib/debug/.build-id/" + leafA + ".debug", symsrc.OK},
		{"Yocto", map[string]testELF{"r/usr/lib/libx.so": stripped, "r/usr/lib/debug/usr/lib/libx.so.debug": debugOf},
			"r/usr/lib/libx.so r/usr/lib/debug/usr/lib/libx.so.debug", symsrc.OK},
		{"link beside", map[string]testELF{"r/usr/lib/libx.so": linked, "r/usr/lib/libx.debug": debugOf},
			"r/usr/lib/libx.so r/usr/lib/libx.debug", symsrc.OK},
		{"link before build-ID tree of the rootfs", map[string]testELF{"r/usr/lib/libx.so": linked, "r/usr/lib/.debug/libx.debug": debugOf,
			"r/usr/lib/debug/.build-id/" + leafA + ".debug": debugOf}, "r/usr/lib/libx.so r/usr/lib/.debug/libx.debug", symsrc.OK},
		{"link below debug", map[string]testELF{"r/usr/lib/libx.so": linked, "r/usr/lib/debug/usr/lib/libx.debug": debugOf},
			"r/usr/lib/libx.so r/usr/lib/debug/usr/lib/libx.debug", symsrc.OK},
		{"link of a file of symbols", map[string]testELF{"s/x": linked, "r/usr/lib/debug/usr/lib/libx.debug": debugOf},
			"s/x r/usr/lib/debug/usr/lib/libx.debug", symsrc.OK},
		{"link of an object", map[string]testELF{"o/x": linked, "o/.debug/libx.debug": debugOf}, "o/x o/.debug/libx.debug", symsrc.OK},
		{"Fedora's link to the executable", map[string]testELF{"r/usr/lib/.build-id/" + leafA: stripped, "b/" + leafA + ".debug": debugOf},
			"r/usr/lib/.build-id/" + leafA + " b/" + leafA + ".debug", symsrc.OK},
		{"another build ID at the path", map[string]testELF{"r/usr/lib/libx.so": other, "s/x": full}, "s/x -", symsrc.OK},
		{"another debug file", map[string]testELF{"r/usr/lib/libx.so": stripped, "r/usr/lib/debug/.build-id/" + leafA + ".debug": other},
			"r/usr/lib/libx.so -", symsrc.MismatchBuildID},
		{"a wrong debug file does not hide a right one", map[string]testELF{"r/usr/lib/libx.so": linked, "r/usr/lib/libx.debug": other,
			"r/usr/lib/debug/.build-id/" + leafA + ".debug": debugOf}, "r/usr/lib/libx.so r/usr/lib/debug/.build-id/" + leafA + ".debug", symsrc.OK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, tt.files)
			for _, d := range []string{"r", "s", "b"} {
				if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			objects, _ := filepath.Glob(dir + "/o/*x*")
			l := locator(t, Options{Objects: objects, Symbols: []string{dir + "/s"}, BuildIDDirs: []string{dir + "/b"}, Rootfs: []string{dir + "/r"}})
			f := find(t, l, "/usr/lib/libx.so", idA)
			if got := relative(dir, f.Elf, f.Debug); got != tt.want || f.ElfStatus != symsrc.OK || f.DebugStatus != tt.debug || f.Unverified {
				t.Errorf("got %s, %v %v, unverified %v, want %s\ntried %q", got, f.ElfStatus, f.DebugStatus, f.Unverified, tt.want, f.Tried)
			}
		})
	}
}

// Only the debug file is there: it answers, though the ELF file is missing.
func TestDebugFileAlone(t *testing.T) {
	dir := tree(t, map[string]testELF{"b/" + leafA + ".debug": debugOf, "r/none": other})
	l := locator(t, Options{BuildIDDirs: []string{dir + "/b"}, Rootfs: []string{dir + "/r"}})
	for _, name := range []string{"/usr/lib/libx.so", "", "[vdso]", "<unknown module>"} {
		f := find(t, l, name, idA)
		if f.ElfStatus != symsrc.NotFound || f.DebugStatus != symsrc.OK || f.Debug != dir+"/b/"+leafA+".debug" || !f.Usable() {
			t.Errorf("%q: %+v", name, f)
		}
	}
}

func TestTriedInOrder(t *testing.T) {
	dir := tree(t, map[string]testELF{"r1/x": other, "r2/x": other})
	l := locator(t, Options{Rootfs: []string{dir + "/r1", dir + "/r2"}})
	f := find(t, l, "/usr/lib/none-of-this-name.so", idA)
	want := []string{
		dir + "/r1/usr/lib/none-of-this-name.so",
		dir + "/r1/usr/lib/debug/.build-id/" + leafA + ".debug",
		dir + "/r1/usr/lib/.build-id/" + leafA,
		dir + "/r1/usr/lib/debug/usr/lib/none-of-this-name.so.debug",
	}
	for _, w := range slices.Clone(want) {
		want = append(want, strings.Replace(w, "/r1/", "/r2/", 1))
	}
	want = append(want, "/usr/lib/debug/.build-id/"+leafA+".debug", "/usr/lib/none-of-this-name.so")
	if !slices.Equal(f.Tried, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(f.Tried, "\n"), strings.Join(want, "\n"))
	}
	if f.Elf != want[0] {
		t.Errorf("reported at %s", f.Elf)
	}
}

// TestHostPath takes a file by its path of the host, when the named root lacks it, and only with the right build ID.
func TestHostPath(t *testing.T) {
	dir := tree(t, map[string]testELF{"host/app": full, "r/x": other})
	l := locator(t, Options{Rootfs: []string{dir + "/r"}})
	if f := find(t, l, dir+"/host/app", idA); f.Elf != dir+"/host/app" || f.ElfStatus != symsrc.OK {
		t.Errorf("%+v", f)
	}
	if f := find(t, l, dir+"/host/app", idB); f.ElfStatus != symsrc.NotFound {
		t.Errorf("%+v", f)
	}
	if f := find(t, l, dir+"/host/app", ""); f.ElfStatus != symsrc.NotFound || f.Usable() {
		t.Errorf("without build ID: %+v", f)
	}
}

// TestBareName guesses places for a name without a directory and verifies them.
func TestBareName(t *testing.T) {
	dir := tree(t, map[string]testELF{"r/usr/lib/x86_64-linux-gnu/libx.so": full, "r/usr/lib/liby.so": other, "w/app": full})
	l := locator(t, Options{Rootfs: []string{dir + "/r"}, WorkDir: dir + "/w"})
	for name, want := range map[string]string{
		"libx.so": dir + "/r/usr/lib/x86_64-linux-gnu/libx.so",
		"app":     dir + "/w/app",
		"./app":   dir + "/w/app",
	} {
		if f := find(t, l, name, idA); f.Elf != want || f.ElfStatus != symsrc.OK || f.Unverified {
			t.Errorf("%s: %+v", name, f)
		}
	}
	// The build ID is the identity: a root that was named is searched for it, whatever the file is called there.
	if f := find(t, l, "liby.so", idA); f.Elf != dir+"/r/usr/lib/x86_64-linux-gnu/libx.so" || f.Unverified {
		t.Errorf("the root was not searched by build ID: %+v", f)
	}
	if f := find(t, l, "liby.so", "010203"); f.Usable() {
		t.Errorf("another build ID is used: %+v", f)
	}
	if f := find(t, l, "libx.so", ""); f.Usable() {
		t.Errorf("guessed without build ID: %+v", f)
	}
}

func TestDebuglinkChecksum(t *testing.T) {
	elf := testELF{link: "x.debug", linkCRC: nameless.crc()}
	dir := tree(t, map[string]testELF{"good/x": elf, "good/x.debug": nameless})
	write(t, dir+"/bad/x", elf.bytes())
	write(t, dir+"/bad/x.debug", append(nameless.bytes(), 0))
	l := locator(t, Options{Rootfs: []string{dir}})
	f := find(t, l, "/good/x", "")
	if f.Debug != dir+"/good/x.debug" || f.DebugStatus != symsrc.OK || !f.Unverified {
		t.Errorf("good: %+v", f)
	}
	f = find(t, l, "/bad/x", "")
	if f.Debug != "" || f.DebugStatus != symsrc.MismatchBuildID || f.Note != "debug file mismatch" || !strings.HasPrefix(f.Detail, "checksum differs") {
		t.Errorf("bad: %+v", f)
	}
}

// The ELF file has a build ID and its debug file has none: the checksum decides.
func TestDebuglinkWithoutID(t *testing.T) {
	elf := testELF{id: idA, link: "x.debug", linkCRC: nameless.crc()}
	dir := tree(t, map[string]testELF{"x": elf, "x.debug": nameless, "path/y": {id: idA, link: "../x.debug", linkCRC: nameless.crc()}})
	l := locator(t, Options{Rootfs: []string{dir}})
	if f := find(t, l, "/x", idA); f.Debug != dir+"/x.debug" || f.DebugStatus != symsrc.OK {
		t.Errorf("%+v", f)
	}
	if f := find(t, l, "/path/y", idA); f.Debug != "" || f.DebugStatus != symsrc.Incomplete {
		t.Errorf("a link that is a path: %+v", f)
	}
}

// TestAgreement holds that of files of one name the one whose directories agree with the log's path is taken, and none
// where they agree equally far.
func TestAgreement(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/gcc/crash": full, "s/clang/crash": other})
	l := locator(t, Options{Symbols: []string{dir + "/s"}})
	for name, want := range map[string]string{
		"/home/dev/bin/gcc/crash": dir + "/s/gcc/crash", "clang/crash": dir + "/s/clang/crash", "/bin/crash": "", "crash": "",
	} {
		if f := find(t, l, name, ""); f.Usable() != (want != "") || f.Usable() && (f.Elf != want || !f.Unverified) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestChosen holds which files are found by the log's path alone, and which of them the user has not pointed at.
func TestChosen(t *testing.T) {
	dir := tree(t, map[string]testELF{"here/libx.so": full, "s/sub/libx.so": full, "r/here/libx.so": full})
	here := dir + "/here/libx.so"
	for _, tc := range []struct {
		name            string
		opt             Options
		path, id        string
		assumed, byPath bool
		elf             string
	}{
		{"the log's path", Options{}, here, "", true, true, here},
		{"and its build ID", Options{}, here, idA, false, true, here},
		{"a relative path", Options{WorkDir: dir}, "here/libx.so", "", true, true, here},
		{"an object", Options{Objects: []string{here}}, here, "", false, false, here},
		{"symbols that have it", Options{Symbols: []string{dir + "/s"}}, here, "", false, true, here},
		{"symbols of that build ID", Options{Symbols: []string{dir + "/s"}}, here, idA, false, false, dir + "/s/sub/libx.so"},
		{"a root", Options{Rootfs: []string{dir + "/r"}}, "/here/libx.so", "", false, false, dir + "/r/here/libx.so"},
		{"a root, and a build ID", Options{Rootfs: []string{dir + "/r"}}, "/here/libx.so", idA, false, false, dir + "/r/here/libx.so"},
	} {
		f := find(t, locator(t, tc.opt), tc.path, tc.id)
		if f.Assumed != tc.assumed || tc.id != "" && f.ByPath != tc.byPath || f.Elf != tc.elf {
			t.Errorf("%s: assumed %v, by path %v, want %v, %v: %s", tc.name, f.Assumed, f.ByPath, tc.assumed, tc.byPath, f.Elf)
		}
	}
}
