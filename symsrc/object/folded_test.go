package object_test

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// foldedSource has functions with the same code, and aliases.
const foldedSource = `
volatile int V;
#define NI extern "C" __attribute__((noinline))
NI int charge(int x) { V += 5; asm volatile("nop"); return x + V; }
NI int refund(int x) { V += 5; asm volatile("nop"); return x + V; }
NI int only(int x) { V += 11; asm volatile("nop; nop"); return x; }
extern "C" int other_name(int x) __attribute__((alias("only")));
extern "C" int weak_name(int x) __attribute__((weak, alias("only")));
struct A { __attribute__((noinline)) int f(int x) { V -= 7; asm volatile("nop"); return x + V; } };
struct B { __attribute__((noinline)) int g(int x) { V -= 7; asm volatile("nop"); return x + V; } };
template <class T> struct W { T *p; __attribute__((noinline)) int get(int x) { V ^= 3; asm volatile("nop"); return V + x; } };
struct C { int v; __attribute__((noinline)) C(int x) { V |= 4; asm volatile("nop; nop; nop"); v = x; } };
int main(int c, char **) {
  A a; B b; W<int> w; W<char> v; C k(c);
  return charge(c) + refund(c) + only(c) + other_name(c) + weak_name(c) + a.f(c) + b.g(c) + w.get(c) + v.get(c) + k.v;
}
`

// TestFolded looks at functions that linkers have folded, and at aliases, which are one function.
func TestFolded(t *testing.T) {
	want := map[string]string{
		"charge": "charge, refund (folded)", "refund": "charge, refund (folded)", "_ZN1A1fEi": "A::f(int), B::g(int) (folded)",
		"_ZN1WIiE3getEi": "W<int>::get(int), W<char>::get(int) (folded)", "_ZN1CC2Ei": "C::C(int)", "main": "main",
	}
	for _, command := range [][]string{
		{"clang++-22", "-fuse-ld=lld"}, {"clang++-22", "-fuse-ld=lld", "-gdwarf-4"}, {"clang++-22", "-fuse-ld=lld", "-gsplit-dwarf"},
		{"clang++-22", "-fuse-ld=gold"}, {"g++", "-fuse-ld=gold", "-fno-ipa-icf"},
	} {
		dir := t.TempDir()
		source, path := filepath.Join(dir, "a.cc"), filepath.Join(dir, "a.out")
		if err := os.WriteFile(source, []byte(foldedSource), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(command[0], append(command[1:], "-g", "-O1", "-ffunction-sections", "-Wl,--icf=all", "-o", path, source)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("%v is skipped: %v: %s", command, err, out)
			continue
		}
		symbols, src := symbolsOf(t, path)
		looked := 0
		for _, sym := range symbols {
			names, ok := want[sym.Name]
			if !ok {
				continue
			}
			looked++
			raw := src.Frames(context.Background(), symsrc.Addr{Module: symsrc.Module{Name: path}, Offset: sym.Value + 1}).Frames
			frames := symsrc.Unfold(raw)
			if len(frames) == 0 || frames[len(frames)-1].Func != names || len(frames) > 1 {
				t.Errorf("%v: %s is %+v, want %s", command, sym.Name, frames, names)
				continue
			}
			// The instances of a template have one line.
			if line := frames[0].Line > 0; line != (names[0] == 'm' || names[0] == 'C' || names[0] == 'W') {
				t.Errorf("%v: %s has the line %d", command, names, frames[0].Line)
			}
		}
		if looked != len(want) {
			t.Errorf("%v: %d of %d functions were found", command, looked, len(want))
		}
	}
}

// symbolsOf returns the symbols of a program, and a source that has it.
func symbolsOf(t *testing.T, path string) ([]elf.Symbol, *object.Source) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	found, err := locate.New(locate.Options{Objects: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	return symbols, object.NewSource(found)
}

// TestFoldedByCompiler looks at functions that gcc has folded itself, as it does from -O2 on with those of one file.
func TestFoldedByCompiler(t *testing.T) {
	dir := t.TempDir()
	source, path := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.out")
	const text = `#include <stdio.h>
static __attribute__((noinline)) int charge(int x) { puts("q"); return x * 3; }
static __attribute__((noinline)) int refund(int x) { puts("q"); return x * 3; }
__attribute__((noinline)) int only(int x) { puts("o"); return x * 5; }
int other_name(int x) __attribute__((alias("only")));
int main(int c, char **v) { return charge(c) + refund(c) + only(c) + other_name(c); }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O2", "-o", path, source).CombinedOutput(); err != nil {
		t.Skipf("gcc: %v: %s", err, out)
	}
	symbols, src := symbolsOf(t, path)
	charge := uint64(0)
	for _, sym := range symbols {
		switch sym.Name {
		case "charge":
			charge = sym.Value
		case "only":
			frames := src.Frames(context.Background(), symsrc.Addr{Module: symsrc.Module{Name: path}, Offset: sym.Value}).Frames
			if len(frames) != 1 || frames[0].Folded != "" {
				t.Errorf("an alias is taken for a folded function: %+v", frames)
			}
		}
	}
	for _, sym := range symbols {
		if sym.Name != "refund" || sym.Value != charge {
			continue
		}
		frames := symsrc.Unfold(src.Frames(context.Background(), symsrc.Addr{Module: symsrc.Module{Name: path}, Offset: sym.Value}).Frames)
		if len(frames) != 1 || frames[0].Func != "charge, refund (folded)" || frames[0].Line != 0 {
			t.Errorf("%+v", frames)
		}
		return
	}
	t.Skip("this gcc folds nothing")
}

// TestFoldedConstraint looks at the alias that gcc 14 and later write for a function with a constraint: its name without that.
func TestFoldedConstraint(t *testing.T) {
	const text = `template <class T> concept Small = sizeof(T) < 9;
template <class T> struct A { __attribute__((noinline)) T get(T x) requires Small<T> { asm volatile(""); return x; } };
template <class T> requires Small<T> __attribute__((noinline)) T one(T x) { asm volatile(""); return x; }
asm(".weak _ZN1AIiE3getEi\n.type _ZN1AIiE3getEi, @function\n.set _ZN1AIiE3getEi, _ZN1AIiE3getEiQ5SmallIT_E");
asm(".weak _Z3oneIiET_S0_\n.type _Z3oneIiET_S0_, @function\n.set _Z3oneIiET_S0_, _Z3oneIiQ5SmallIT_EES0_S0_");
int main(int c, char **) { A<int> a; return a.get(c) + one(c); }
`
	for _, debug := range []string{"-g", "-g0"} {
		dir := t.TempDir()
		source, path := filepath.Join(dir, "a.cc"), filepath.Join(dir, "a.out")
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("clang++-22", "-std=c++20", "-O1", debug, "-o", path, source)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("clang++-22: %v: %s", err, out)
		}
		symbols, src := symbolsOf(t, path)
		looked := 0
		for _, sym := range symbols {
			if sym.Name != "_ZN1AIiE3getEi" && sym.Name != "_Z3oneIiET_S0_" {
				continue
			}
			looked++
			frames := src.Frames(context.Background(), symsrc.Addr{Module: symsrc.Module{Name: path}, Offset: sym.Value}).Frames
			if len(frames) != 1 || frames[0].Folded != "" {
				t.Errorf("%s: %s: an alias is taken for a folded function: %+v", debug, sym.Name, frames)
			}
		}
		if looked != 2 {
			t.Errorf("%s: %d symbols", debug, looked)
		}
	}
}
