package object

import (
	"bytes"
	"cmp"
	stdmacho "debug/macho"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc/macho"
)

// darwinClasses returns a source without headers, with inlined and virtual functions, templates, lambdas, and gaps between functions.
func darwinClasses(count int) string {
	var b strings.Builder
	b.WriteString("template <class T, int N> struct Vec {\n  T v[N];\n  inline __attribute__((always_inline)) T sum() const {\n" +
		"    T r = 0;\n    for (int i = 0; i < N; i++)\n      r += v[i];\n    return r;\n  }\n" +
		"  __attribute__((noinline)) T scaled(T k) const { return k > 3 ? sum() * k : sum(); }\n};\n")
	for i := range count {
		fmt.Fprintf(&b, "struct C%[1]d { int a; long b; VIRTUAL int go(int x); };\n"+
			"static inline __attribute__((always_inline)) int in%[1]d(int a, int b) {\n  int r = a * %[2]d;\n  if (b > %[1]d) r += b;\n  return r ^ (b | 1);\n}\n"+
			"__attribute__((noinline)) static int st%[1]d(int a) {\n  Vec<long, %[3]d> v;\n  for (int i = 0; i < %[3]d; i++)\n    v.v[i] = a + i;\n"+
			"  return (int)v.scaled(a) + in%[1]d(a, %[1]d);\n}\n"+
			"int C%[1]d::go(int x) {\n  auto l = [&](int y) { return in%[1]d(y, x) + a; };\n  int s = 0;\n  for (int i = 0; i < x; i++)\n    s += l(i) + st%[1]d(i);\n  return s + (int)b;\n}\n",
			i, i+3, i%7+2)
	}
	b.WriteString("int main() { return 0; }\n")
	return b.String()
}

// darwinKinds makes the files of a target: an object, the program that is linked from it, and its dSYM. ld64.lld links for machines of
// 64 bits only, so the others' programs are the object, moved.
func darwinKinds(t *testing.T, target, flags string) (object, program, dsym string) {
	t.Helper()
	dir := t.TempDir()
	run := commandsIn(t, dir)
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	object, program, dsym = filepath.Join(dir, "a.o"), filepath.Join(dir, "a"), filepath.Join(dir, "a.dSYM", "Contents", "Resources", "DWARF", "a")
	const classes = 130
	write("a.cpp", []byte(darwinClasses(classes)))
	run(append(append([]string{"clang-22", "--target=" + target, "-g", "-w", "-c", "-DVIRTUAL=virtual"}, strings.Fields(flags)...), "a.cpp")...)
	arch, _, _ := strings.Cut(target, "-")
	o, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains([]string{"armv7", "armv7s", "armv7k", "i386"}, arch) {
		moved, debugMap := move(t, o, arch)
		write("a", moved)
		write("map.yaml", debugMap)
		dsym = filepath.Join(dir, "a.dwarf")
		run("dsymutil-22", "-y", "map.yaml", "--flat", "-o", dsym)
		return object, program, dsym
	}
	platform := []string{"macos", "11.0"}
	switch {
	case strings.Contains(target, "ios"):
		platform = []string{"ios", "14.0"}
	case strings.Contains(target, "watchos"):
		platform = []string{"watchos", "6.0"}
	}
	run("ld64.lld-22", "-arch", arch, "-platform_version", platform[0], platform[1], platform[1], "-e", "_main", "-undefined", "dynamic_lookup", "a.o", "-o", "a")
	linked, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	copy(linked[8:12], o[8:12]) // the subtype of the processor, which ld64.lld leaves out
	write("a", linked)
	run("dsymutil-22", "a", "-o", "a.dSYM")
	return object, program, dsym
}

// move returns an object of 32 bits as a program at another address, without debug information, and what dsymutil reads to make the dSYM of it.
func move(t *testing.T, object []byte, arch string) (program, debugMap []byte) {
	t.Helper()
	const base, header, segment, section = 0x4000, 28, 56, 68
	f, err := stdmacho.NewFile(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	le := binary.LittleEndian
	b := bytes.Clone(object)
	add := func(at uint32) { le.PutUint32(b[at:], le.Uint32(b[at:])+base) }
	le.PutUint32(b[12:], 2) // MH_EXECUTE
	at := uint32(header)
	for _, l := range f.Loads {
		switch command := le.Uint32(b[at:]); command {
		case 1: // LC_SEGMENT
			copy(b[at+8:at+24], "__TEXT")
			add(at + 24)
			for i := range le.Uint32(b[at+48:]) {
				s := at + segment + section*i
				add(s + 32)
				if string(b[s+16:s+23]) == "__DWARF" {
					copy(b[s:], "__other_")
				}
			}
		case 2: // LC_SYMTAB
			first, count := le.Uint32(b[at+8:]), le.Uint32(b[at+12:])
			for i := range count {
				if s := first + 12*i; b[s+4]&0xe0 == 0 && b[s+4]&0xe == 0xe {
					add(s + 8)
				}
			}
		}
		at += uint32(len(l.Raw()))
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "---\ntriple: '%s-apple-darwin'\nbinary-path: a\nobjects:\n  - filename: a.o\n    timestamp: 0\n    symbols:\n", arch)
	for _, s := range f.Symtab.Syms {
		if s.Sect == 0 || s.Type&0xe0 != 0 || f.Sections[s.Sect-1].Name != "__text" {
			continue
		}
		end := f.Sections[s.Sect-1].Addr + f.Sections[s.Sect-1].Size
		for _, o := range f.Symtab.Syms {
			if o.Sect == s.Sect && o.Type&0xe0 == 0 && o.Value > s.Value {
				end = min(end, o.Value)
			}
		}
		fmt.Fprintf(&text, "      - { sym: '%s', objAddr: 0x%X, binAddr: 0x%X, size: 0x%X }\n", s.Name, s.Value, s.Value+base, end-s.Value)
	}
	text.WriteString("...\n")
	return b, text.Bytes()
}

// textOf returns addresses in the code of a Mach-O file, and some after it.
func textOf(t *testing.T, path string) (addrs []uint64) {
	t.Helper()
	f, err := stdmacho.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		if s.Name == "__text" {
			for a := s.Addr; a < s.Addr+s.Size; a++ {
				addrs = append(addrs, a)
			}
		}
	}
	return addrs
}

// TestDarwinMachines compares addresses of programs, dSYMs and objects of each machine of Apple's with llvm-symbolizer-22.
func TestDarwinMachines(t *testing.T) {
	for _, tool := range [...]string{"clang-22", "ld64.lld-22", "dsymutil-22", "llvm-symbolizer-22"} {
		need(t, tool)
	}
	for _, c := range []struct{ target, flags string }{
		{"arm64-apple-macos11", "-O2"},
		{"arm64e-apple-ios14", "-O2 -DVIRTUAL="},
		{"arm64e-apple-macos11", "-O0 -DVIRTUAL="},
		{"arm64_32-apple-watchos6", "-O1"},
		{"x86_64-apple-macos11", "-O2"},
		{"x86_64h-apple-macos11", "-O1 -gdwarf-5"},
		{"i386-apple-macos10.13", "-O2"},
		{"armv7-apple-ios10", "-O2"},
		{"armv7-apple-ios10", "-O1 -marm -gdwarf-5"},
		{"armv7s-apple-ios10", "-Os"},
		{"armv7k-apple-watchos4", "-O2"},
	} {
		t.Run(c.target+c.flags, func(t *testing.T) {
			object, program, dsym := darwinKinds(t, c.target, c.flags)
			for _, path := range [...]string{object, program, dsym} {
				addrs := textOf(t, path)
				f := open(t, path)
				bad, raw := 0, 0
				for i, want := range symbolizer(t, path, addrs) {
					got := render(f.Code(addrs[i]))
					if got == render(nil) && (path == dsym || path == program && !strings.Contains(c.target, "64")) && strings.HasSuffix(want, " ??:0:0") {
						raw++ // a dSYM, or a program that was not linked, has no list of the starts of functions
						continue
					}
					if got != want {
						if bad++; bad <= 3 {
							t.Errorf("%s %#x:\n got %s\nwant %s", filepath.Base(path), addrs[i], got, want)
						}
					}
				}
				if bad > 0 || raw > len(addrs)/15 || len(addrs) < 18000 {
					t.Errorf("%s: %d of %d differ, %d are raw", path, bad, len(addrs), raw)
				}
			}
		})
	}
}

// TestDarwinFat reads files of several architectures as llvm-lipo-22 writes them, with offsets of 32 and of 64 bits.
func TestDarwinFat(t *testing.T) {
	for _, tool := range [...]string{"clang-22", "llvm-lipo-22"} {
		need(t, tool)
	}
	dir := t.TempDir()
	run := commandsIn(t, dir)
	thin := map[string][]byte{}
	files := []string{}
	for arch, target := range map[string]string{"x86_64": "macos11", "x86_64h": "macos11", "i386": "macos10.13", "armv7": "ios10", "armv7s": "ios10", "arm64": "ios14",
		"arm64e": "ios14", "arm64_32": "watchos6", "armv7k": "watchos4"} {
		path := filepath.Join(dir, arch+".c")
		if err := os.WriteFile(path, []byte("int f(int x) { return x + 1; }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		run("clang-22", "--target="+arch+"-apple-"+target, "-g", "-c", arch+".c")
		b, err := os.ReadFile(filepath.Join(dir, arch+".o"))
		if err != nil {
			t.Fatal(err)
		}
		thin[arch], files = b, append(files, arch+".o")
	}
	for _, width := range [...][]string{{}, {"-fat64"}} {
		run(slices.Concat([]string{"llvm-lipo-22", "-create", "-output", "fat"}, width, files)...)
		fat, err := os.ReadFile(filepath.Join(dir, "fat"))
		if err != nil {
			t.Fatal(err)
		}
		list := macho.Slices(bytes.NewReader(fat), int64(len(fat)))
		if len(list) != len(thin) {
			t.Errorf("%v: %d architectures: %+v", width, len(list), list)
		}
		for _, s := range list {
			if !bytes.Equal(fat[s.Offset:s.Offset+s.Size], thin[s.Arch]) {
				t.Errorf("%v: %s is another file", width, s.Arch)
			}
		}
	}
}

// darwinHidden has functions with and without names in other files, of each kind of visibility.
const darwinHidden = `#define F(n) \
  static __attribute__((noinline)) int s##n(int x) { return x * 7 + n; } \
  int e##n(int x) { return s##n(x) + 3; } \
  static __attribute__((noinline)) int t##n(int x) { int y[9]; for (int i = 0; i < 9; i++) y[i] = s##n(x + i); return y[x % 9]; } \
  __attribute__((visibility("hidden"), noinline)) int h##n(int x) { return t##n(x) * s##n(x); } \
  int f##n(int x) { return h##n(x) + t##n(x); } \
  static __attribute__((noinline)) int u##n(int x) { return x * 11 + s##n(x + 1); } \
  int g##n(int x) { return f##n(x) + u##n(x); }
`

// TestDarwinStripped holds that no function of a file without some symbols, or of its dSYM, has the name of another one: names are those
// of the file with all symbols, and it has a name for nearly all code.
func TestDarwinStripped(t *testing.T) {
	for _, tool := range [...]string{"clang-22", "ld64.lld-22", "dsymutil-22", "llvm-strip-22"} {
		need(t, tool)
	}
	dir := t.TempDir()
	run := commandsIn(t, dir)
	for file, text := range map[string]string{"a.c": "F(1) F(2) F(3)\nint main(int n, char **v) { return g1(n); }\n", "b.c": "F(4) F(5) F(6)\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(darwinHidden+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arch := range [...]string{"arm64", "x86_64"} {
		run("clang-22", "--target="+arch+"-apple-macos11", "-O2", "-g", "-c", "a.c")
		run("clang-22", "--target="+arch+"-apple-macos11", "-O2", "-c", "b.c") // without debug information
		for _, kind := range [...][]string{{"-e", "_main"}, {"-dylib"}, {"-dylib", "-exported_symbol", "_e*"}} {
			for _, linked := range [...][]string{{}, {"-no_function_starts"}, {"-x"}, {"-x", "-no_function_starts"}, {"-no_exported_symbols"}} {
				if len(kind) == 3 && slices.Contains(linked, "-no_exported_symbols") || arch != "arm64" && len(kind) != 2 {
					continue
				}
				link := func(out string, flags ...string) {
					t.Helper()
					run(slices.Concat([]string{"ld64.lld-22", "-arch", arch, "-platform_version", "macos", "11.0", "11.0", "-undefined", "dynamic_lookup", "a.o", "b.o", "-o", out},
						kind, flags)...)
				}
				if slices.Contains(linked, "-no_function_starts") { // the code begins elsewhere
					link("whole", "-no_function_starts")
				} else {
					link("whole")
				}
				link("program", linked...)
				run("dsymutil-22", "program", "-o", "program.dSYM")
				truth, addrs := darwinTruth(t, filepath.Join(dir, "whole"))
				files := []string{filepath.Join("program.dSYM", "Contents", "Resources", "DWARF", "program"), "program"}
				for _, flags := range [...]string{"--strip-all", "-x", "-S"} {
					run("llvm-strip-22", flags, "program", "-o", "stripped"+flags)
					files = append(files, "stripped"+flags)
				}
				for _, file := range files {
					path := filepath.Join(dir, file)
					f := open(t, path)
					if !strings.Contains(file, "dSYM") && file != "program" {
						f.deps.mmap = nil // the objects are not there
					}
					named, wrong := 0, 0
					for _, a := range addrs {
						frames := f.Code(a)
						if len(frames) == 0 || frames[len(frames)-1].Func == "" {
							continue
						}
						if named++; frames[len(frames)-1].Func != truth(a) {
							if wrong++; wrong <= 2 {
								t.Errorf("%s %v %v %s, %#x: %s, which is %s", arch, kind, linked, filepath.Base(file), a, render(frames), truth(a))
							}
						}
					}
					whole := !slices.Contains(linked, "-x") && !strings.HasSuffix(file, "all") && !strings.HasSuffix(file, "-x")
					least := len(addrs)
					if strings.Contains(file, "dSYM") || slices.Contains(linked, "-no_function_starts") { // functions may have lost their symbols
						least = len(addrs) * 7 / 10
					}
					if wrong > 0 || whole && named < least {
						t.Errorf("%s %v %v %s: %d of %d named, %d wrong", arch, kind, linked, file, named, len(addrs), wrong)
					}
				}
			}
		}
	}
}

// TestDarwinPrebuilt holds that no function has the name of another one where a library was prebuilt without its local symbols, as ld's -r and
// -x write it: with names that linkers leave out, so that only the list of the starts of functions has them, which a dSYM has not. Where that
// list is left out, too, the tables of the unwinder bound functions.
func TestDarwinPrebuilt(t *testing.T) {
	for _, tool := range [...]string{"clang-22", "ld64.lld-22", "dsymutil-22"} {
		need(t, tool)
	}
	dir := t.TempDir()
	run := commandsIn(t, dir)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.c", darwinHidden+"F(1) F(2)\nint main(int n, char **v) { return g1(n); }\n")
	write("b.c", darwinHidden+"F(3) F(4)\nint cold(int x) { int y[40]; for (int i = 0; i < 40; i++) y[i] = g3(x + i); return y[x % 40] + g4(x); }\nF(5)\n")
	write("c.c", darwinHidden+"F(6)\n") // with its local symbols, also without debug information
	for _, arch := range [...]string{"arm64", "x86_64"} {
		compile := func(flags ...string) {
			t.Helper()
			run(append([]string{"clang-22", "--target=" + arch + "-apple-macos11", "-O1", "-fomit-frame-pointer"}, flags...)...)
		}
		compile("-g", "-c", "a.c")
		compile("-c", "b.c", "-o", "whole.o")
		compile("-c", "c.c")
		compile("-S", "b.c")
		text, err := os.ReadFile(filepath.Join(dir, "b.s"))
		if err != nil {
			t.Fatal(err)
		}
		write("b.s", regexp.MustCompile(`\b_([stu]\d)\b`).ReplaceAllString(string(text), "l_$1"))
		compile("-c", "b.s")
		for _, flags := range [...][]string{{}, {"-no_function_starts"}} {
			for _, order := range [...][]string{{"a.o", "b.o", "c.o"}, {"b.o", "c.o", "a.o"}, {"c.o", "b.o", "a.o"}} {
				link := func(out string, objects []string) {
					t.Helper()
					run(slices.Concat([]string{"ld64.lld-22", "-arch", arch, "-platform_version", "macos", "11.0", "11.0", "-e", "_main", "-undefined", "dynamic_lookup", "-o", out},
						objects, flags)...)
				}
				objects := slices.Clone(order)
				link("program", objects)
				run("dsymutil-22", "program", "-o", "program.dSYM")
				objects[slices.Index(objects, "b.o")] = "whole.o"
				link("whole", objects)
				truth, addrs := darwinTruth(t, filepath.Join(dir, "whole"))
				program, dsym := open(t, filepath.Join(dir, "program")), open(t, filepath.Join(dir, "program.dSYM", "Contents", "Resources", "DWARF", "program"))
				program.deps.mmap = nil // the objects are not there
				both := open(t, filepath.Join(dir, "program.dSYM", "Contents", "Resources", "DWARF", "program"))
				both.other = program
				for kind, f := range map[string]*File{"program": program, "dSYM": dsym, "both": both} {
					named, wrong := 0, 0
					for _, a := range addrs {
						frames := f.Code(a)
						if len(frames) == 0 || frames[len(frames)-1].Func == "" {
							continue
						}
						if named++; frames[len(frames)-1].Func != truth(a) {
							if wrong++; wrong <= 2 {
								t.Errorf("%s %v %v %s, %#x: %s, which is %s", arch, flags, order, kind, a, render(frames), truth(a))
							}
						}
					}
					if wrong > 0 || named < len(addrs)/4 {
						t.Errorf("%s %v %v %s: %d of %d named, %d wrong", arch, flags, order, kind, named, len(addrs), wrong)
					}
					t.Logf("%s %v %v %s: %d of %d named", arch, flags, order, kind, named, len(addrs))
				}
			}
		}
	}
}

// darwinTruth returns which function is at an address of a file with all symbols, and the addresses in its code.
func darwinTruth(t *testing.T, path string) (at func(uint64) string, addrs []uint64) {
	t.Helper()
	f, err := stdmacho.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms := slices.DeleteFunc(f.Symtab.Syms, func(s stdmacho.Symbol) bool {
		return s.Type&0xe0 != 0 || s.Sect == 0 || f.Sections[s.Sect-1].Name != "__text"
	})
	slices.SortFunc(syms, func(a, b stdmacho.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return func(addr uint64) (name string) {
		for _, s := range syms {
			if s.Value <= addr {
				name = strings.TrimPrefix(s.Name, "_")
			}
		}
		return name
	}, textOf(t, path)
}
