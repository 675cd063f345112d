package locate

import (
	"os"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// TestIDsTxt takes files from ids.txt and from symbol-index files of both forms.
func TestIDsTxt(t *testing.T) {
	dir := tree(t, map[string]testELF{"out/exe.unstripped/app": full, "tree/" + leafA + ".debug": debugOf, "wrong": other})
	write(t, dir+"/out/ids.txt", []byte("# comment\n\nzz bad\n"+strings.ToUpper(idA)+" ./exe.unstripped/app\r\n"+idB+" gone\n"))
	write(t, dir+"/abs.txt", []byte(idA+" "+dir+"/out/exe.unstripped/app"))
	write(t, dir+"/lies.txt", []byte(idA+" wrong\n"+idA+" /dev/zero\n"+idA+" ../../../../../../etc/shadow\n"+idA+" "+strings.Repeat("a/", 1e4)+"\n"))
	write(t, dir+"/plain", []byte(dir+"/out/ids.txt\t/src\nrelative\n"+dir+"/gone\n"+dir+"/plain\n"))
	write(t, dir+"/dirs", []byte(dir+"/tree\n"))
	write(t, dir+"/index.json", []byte(`{"includes": ["sub/*.json", "index.json"], "gcs_flat": [{"url": "x"}]}`))
	write(t, dir+"/sub/b.json", []byte(`{"ids_txts": [{"path": "../out/ids.txt", "build_dir": "/src"}], "build_id_dirs": [{"path": "../none"}]}`))
	symlink(t, "../out/ids.txt", dir+"/links/ids.txt")
	for name, want := range map[string]string{
		"out/ids.txt": "out/exe.unstripped/app -", "abs.txt": "out/exe.unstripped/app -", "plain": "out/exe.unstripped/app -",
		"dirs": "- tree/" + leafA + ".debug", "index.json": "out/exe.unstripped/app -", "links/ids.txt": "out/exe.unstripped/app -", "lies.txt": "",
	} {
		f := find(t, locator(t, Options{IDsTxt: []string{dir + "/" + name}, Rootfs: []string{dir + "/tree"}}), "", idA)
		if got := relative(dir, f.Elf, f.Debug); f.Usable() != (want != "") || want != "" && got != want || f.Unverified {
			t.Errorf("%s: %s: %+v", name, got, f)
		}
	}
	f := find(t, locator(t, Options{IDsTxt: []string{dir + "/out/ids.txt"}}), "", "0102")
	if !slices.Contains(f.Tried, dir+"/out/ids.txt: no line of this build ID") {
		t.Errorf("%q", f.Tried)
	}
	for _, bad := range []string{dir, dir + "/none", "/dev/zero"} {
		if _, err := New(Options{IDsTxt: []string{bad}}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	var told []string
	write(t, dir+"/bad.json", []byte(`{"includes": 5`))
	find(t, locator(t, Options{IDsTxt: []string{dir + "/bad.json"}, OnProblem: func(m string) { told = append(told, m) }}), "", idA)
	if len(told) != 1 || !strings.HasPrefix(told[0], "read "+dir+"/bad.json: ") {
		t.Errorf("%q", told)
	}
}

// TestDebugRoot has debug files below a directory like /usr/lib/debug.
func TestDebugRoot(t *testing.T) {
	linked := testELF{id: idA, names: []string{".dynsym"}, link: "libx.debug", linkCRC: debugOf.crc()}
	for name, files := range map[string]map[string]testELF{
		".build-id/" + leafA + ".debug": {"r/usr/lib/libx.so": stripped},
		"usr/lib/libx.debug":            {"r/usr/lib/libx.so": linked},
		"usr/lib/libx.so.debug":         {"r/usr/lib/libx.so": stripped},
	} {
		files["d/"+name] = debugOf
		dir := tree(t, files)
		os.Mkdir(dir+"/empty", 0o755)
		l := locator(t, Options{DebugRoots: []string{dir + "/empty", dir + "/d"}, Rootfs: []string{dir + "/r"}})
		f := find(t, l, "/usr/lib/libx.so", idA)
		if got := relative(dir, f.Elf, f.Debug); got != "r/usr/lib/libx.so d/"+name || f.DebugStatus != symsrc.OK {
			t.Errorf("%s: %s\ntried %q", name, got, f.Tried)
		}
	}
	dir := tree(t, map[string]testELF{"r/lib/libx.so": linked, "outside/libx.debug": debugOf})
	symlink(t, dir+"/outside", dir+"/d/lib")
	l := locator(t, Options{DebugRoots: []string{dir + "/d"}, Rootfs: []string{dir + "/r"}})
	if f := find(t, l, "/lib/libx.so", idA); f.Debug != "" {
		t.Errorf("a link led out of the debug root: %+v", f)
	}
}

// TestSeveralDirectories has the parts of one build in several trees and roots; the richest are used together.
func TestSeveralDirectories(t *testing.T) {
	dir := tree(t, map[string]testELF{"s1/x": stripped, "s2/deep/x": full, "s3/x.debug": debugOf, "r1/y": other, "r2/lib/x": stripped})
	for _, tt := range []struct {
		symbols []string
		want    string
	}{
		{[]string{"s1"}, "s1/x -"},
		{[]string{"s1", "s2"}, "s2/deep/x -"},
		{[]string{"s1", "s3"}, "s1/x s3/x.debug"},
		{[]string{"s3"}, "r2/lib/x s3/x.debug"},
		{[]string{"s3", "s2", "s1"}, "s2/deep/x s3/x.debug"},
		{nil, "r2/lib/x -"},
	} {
		o := Options{Rootfs: []string{dir + "/r1", dir + "/r2"}}
		for _, s := range tt.symbols {
			o.Symbols = append(o.Symbols, dir+"/"+s)
		}
		if f := find(t, locator(t, o), "/lib/x", idA); relative(dir, f.Elf, f.Debug) != tt.want {
			t.Errorf("%v: %s %s, want %s", tt.symbols, f.Elf, f.Debug, tt.want)
		}
	}
}

// TestSaysWhatDiffers names the file of a symbol tree that has the module's name and another build ID.
func TestSaysWhatDiffers(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/lib/x": other})
	l := locator(t, Options{Symbols: []string{dir + "/s"}, Rootfs: []string{dir + "/s/lib"}})
	f := find(t, l, "/usr/bin/x", idA)
	if want := "build ID differs: log has " + idA + ", " + dir + "/s/lib/x has " + idB; f.Detail != want || f.ElfStatus != symsrc.MismatchBuildID {
		t.Errorf("%+v", f)
	}
	if want := dir + "/s: 1 ELF file, none of this build ID"; len(f.Tried) == 0 || f.Tried[0] != want {
		t.Errorf("%q", f.Tried)
	}
}
