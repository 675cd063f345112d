package object

import (
	"debug/elf"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// wholeObjects are files of Debian's debug packages. testdata/bench/objects.sh downloads them to a directory, whose path is in the
// environment variable QSS_OBJECTS; QSS_OBJECTS=/ means the installed packages.
var wholeObjects = []struct {
	name, pack string
	match      string // a pattern of the path in the package; the largest file that matches is used
}{
	{"libc", "libc6-dbg", "usr/lib/debug/.build-id/*/*.debug"},
	{"libstdc++", "libstdc++6-12-dbg", "usr/lib/x86_64-linux-gnu/debug/libstdc++.so.*"},
	{"python", "python3.11-dbg", "usr/lib/debug/.build-id/*/*.debug"},
	{"kernel module", "linux-image-6.1.0-*-amd64-dbg", "usr/lib/debug/lib/modules/*/kernel/fs/*/*.ko"},
	{"vmlinux", "linux-image-6.1.0-*-amd64-dbg", "usr/lib/debug/boot/vmlinux-*"},
	{"ceph", "ceph-osd-dbg", "usr/lib/debug/.build-id/*/*.debug"},
}

// wholeAddresses is the number of addresses that are looked up in each object.
const wholeAddresses = 20000

// TestWholeObjects compares the frames of random addresses in large objects with llvm-symbolizer.
func TestWholeObjects(t *testing.T) {
	root := os.Getenv("QSS_OBJECTS")
	for _, o := range wholeObjects {
		t.Run(o.name, func(t *testing.T) {
			if root == "" {
				t.Skip("QSS_OBJECTS is not set; see testdata/bench/objects.sh")
			}
			path := findObject(t, root, o.pack, o.match)
			if path == "" {
				t.Skipf("%s is not in %s", o.pack, root)
			}
			compareWhole(t, path)
		})
	}
}

// findObject returns the path of the largest file of a package that matches, or "".
func findObject(t *testing.T, root, pack, match string) (path string) {
	t.Helper()
	packages, err := filepath.Glob(filepath.Join(root, pack))
	if err != nil {
		t.Fatal(err)
	}
	if root == "/" {
		packages = []string{"/"}
	}
	size := int64(0)
	for _, dir := range packages {
		files, err := filepath.Glob(filepath.Join(dir, match))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if root == "/" && !isOf(f, pack) {
				continue
			}
			if s, err := os.Stat(f); err == nil && s.Mode().IsRegular() && s.Size() > size {
				path, size = f, s.Size()
			}
		}
	}
	return path
}

// ownedFiles caches the lists of files of installed packages, by a pattern of the packages' names.
var ownedFiles = make(map[string]string)

// isOf reports whether a file belongs to an installed package.
func isOf(path, pack string) bool {
	list, ok := ownedFiles[pack]
	if !ok {
		lists, _ := fs.Glob(os.DirFS("/var/lib/dpkg/info"), pack+".list")
		more, _ := fs.Glob(os.DirFS("/var/lib/dpkg/info"), pack+":*.list")
		for _, l := range append(lists, more...) {
			b, _ := os.ReadFile(filepath.Join("/var/lib/dpkg/info", l))
			list += "\n" + string(b)
		}
		ownedFiles[pack] = list
	}
	return strings.Contains(list, "\n"+path+"\n")
}

// TestWholePrograms is TestWholeObjects for larger programs of several compilers.
func TestWholePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	for _, p := range []struct {
		name, source, text string
		command            []string
	}{
		{"lto", "a.cpp", wholeCPP, []string{clang, "-O2", "-flto", "-g", "-fuse-ld=lld", "-o", "a.elf", "a.cpp"}},
		{"rust", "a.rs", wholeRust, []string{"rustc", "-g", "-O", "-o", "a.elf", "a.rs"}},
		{"go", "a.go", wholeGo, []string{"go", "build", "-o", "a.elf", "a.go"}},
	} {
		t.Run(p.name, func(t *testing.T) {
			need(t, p.command[0])
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, p.source), []byte(p.text), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(p.command[0], p.command[1:]...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", strings.Join(p.command, " "), err, out)
			}
			compareWhole(t, filepath.Join(dir, "a.elf"))
		})
	}
}

const wholeCPP = `
#include <iostream>
#include <map>
#include <regex>
#include <string>
int main(int argc, char **argv) {
	std::map<std::string, std::smatch> found;
	std::regex r("([a-z]+)=([0-9]+)");
	for (int i = 1; i < argc; i++) { std::string s = argv[i]; std::regex_search(s, found[s], r); }
	for (auto &[k, v] : found) std::cout << k << v.size() << std::endl;
}
`

const wholeRust = `
use std::collections::BTreeMap;
fn main() {
	let mut m: BTreeMap<String, Vec<u64>> = BTreeMap::new();
	for a in std::env::args() { m.entry(a.to_uppercase()).or_default().push(a.len() as u64); }
	let mut v: Vec<_> = m.iter().map(|(k, v)| (v.iter().sum::<u64>(), k.clone())).collect();
	v.sort_by(|a, b| b.cmp(a));
	println!("{:?}", v);
}
`

const wholeGo = `package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
)

func main() {
	var v map[string]any
	fmt.Println(json.NewDecoder(os.Stdin).Decode(&v), v, regexp.MustCompile("a+b").FindString(fmt.Sprint(v)))
}
`

// compareWhole compares the frames of random addresses with llvm-symbolizer.
func compareWhole(t *testing.T, path string) {
	t.Helper()
	addrs := randomAddresses(t, path, wholeAddresses)
	want := symbolizer(t, path, addrs)
	f := open(t, path)
	outer := symbolsOfObject(t, path)
	bad, stubs := 0, 0
	for i, a := range addrs {
		got := render(f.Code(a))
		if f.code.InStubs(a) && (got == "?? ??:0:0" || strings.HasSuffix(got, "@plt ??:0:0")) {
			stubs++ // llvm names them after the last symbol before them, which is in another section
			continue
		}
		if got != want[i] && !(outer != nil && sameButOuter(got, want[i], outer(a))) {
			if bad++; bad <= 8 {
				t.Errorf("%#x:\n got %s\nwant %s", a, got, want[i])
			}
		}
	}
	if outer == nil {
		compareAsLLVM(t, path, addrs, want)
	}
	t.Logf("%s: %d addresses, %d of them in stubs, %d differ", path, len(addrs), stubs, bad)
}

// compareAsLLVM compares the answers of NewLLVMSource, which must be identical.
func compareAsLLVM(t *testing.T, path string, addrs []uint64, want []string) {
	t.Helper()
	s := NewLLVMSource(fixedFinder{&symsrc.Files{Elf: path, DebugStatus: symsrc.NotFound}})
	bad := 0
	for i, a := range addrs {
		if got := render(ask(s, symsrc.Module{Name: path}, a).Frames); got != want[i] {
			if bad++; bad <= 4 {
				t.Errorf("%#x as llvm:\n got %s\nwant %s", a, got, want[i])
			}
		}
	}
}

// symbolsOfObject returns, for a relocatable file, a function that returns the names of the functions that cover an address of the first
// code section. llvm does not distinguish the sections of symbols, because all begin at 0, and so names the physical function after
// variables. For other files it returns nil.
func symbolsOfObject(t *testing.T, path string) func(addr uint64) []string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Type != elf.ET_REL {
		return nil
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return func(addr uint64) (names []string) {
		home := slices.IndexFunc(f.Sections, func(s *elf.Section) bool {
			const code = elf.SHF_ALLOC | elf.SHF_EXECINSTR
			return s.Flags&code == code && addr < s.Size
		})
		for _, s := range symbols {
			if int(s.Section) == home && addr >= s.Value && addr-s.Value < s.Size {
				names = append(names, s.Name)
			}
		}
		return names
	}
}

// sameButOuter reports whether frames differ only in the physical function's name, and got has one of names, or none if there are no
// names, as between functions.
func sameButOuter(got, want string, names []string) bool {
	split := func(chain string) (inner, outer, where string) {
		if i := strings.LastIndex(chain, " < "); i >= 0 {
			inner, chain = chain[:i], chain[i+3:]
		}
		outer, where, _ = strings.Cut(chain, " ")
		return inner, outer, where
	}
	inner, outer, where := split(got)
	wantInner, _, wantWhere := split(want)
	return inner == wantInner && where == wantWhere &&
		(slices.Contains(names, outer) || outer == "??" && len(names) == 0)
}

// randomAddresses returns n random addresses in code sections.
func randomAddresses(t *testing.T, path string, n int) (addrs []uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	total := uint64(0)
	var code []*elf.Section
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Flags&elf.SHF_ALLOC != 0 {
			code, total = append(code, s), total+s.Size
		}
	}
	r := rand.New(rand.NewPCG(total, 1))
	for range n {
		at := r.Uint64N(total)
		for _, s := range code {
			if at < s.Size {
				addrs = append(addrs, s.Addr+at)
				break
			}
			at -= s.Size
		}
	}
	return addrs
}
