package object_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// discardedSources are two files with functions that are not called: the first one is longer than all of the program, and contains
// inlined calls.
var discardedSources = map[string]string{
	"a.c": `
extern volatile int V;
static inline __attribute__((always_inline)) int step(int a) { V += a; return V ^ a; }
int unused_long(int a) {
#define S a += step(a);
#define T S S S S S S S S S S
  T T T T T T T T T T
  return a;
}
__attribute__((noinline)) int first(int a) { V += a; return V + 1; }
__attribute__((noinline)) int unused(int a) { V -= a; return V + 1; }
__attribute__((noinline)) int called(int a) { for (int i = 0; i < a; i++) V ^= step(i); return V; }
`,
	"b.c": `
volatile int V;
int first(int a);
int called(int a);
static inline __attribute__((always_inline)) int twice(int a) { V *= 2; return called(a); }
int unused_too(int a) { return twice(a) + twice(a + 1) + twice(a + 2); }
__attribute__((noinline)) int last(int a) { return twice(a) + first(a); }
void _start(void) { last(3); for (;;); }
`,
}

// TestDiscardedAtZero compares a program with code at address 0, where linkers also move discarded code, with the same one elsewhere.
func TestDiscardedAtZero(t *testing.T) {
	const away = 0x10000000
	tried := 0
	for _, command := range [][]string{
		{"gcc", "-gdwarf-5"}, {"gcc", "-gdwarf-4"}, {"gcc", "-gdwarf-2"}, {"gcc", "-g", "-fuse-ld=gold"}, {"clang-22", "-g"}, {"clang-22", "-g", "-gdwarf-aranges"},
		{"arm-none-eabi-gcc", "-g", "-mthumb", "-mcpu=cortex-m3"},
	} {
		dir := t.TempDir()
		args := append(command[1:], "-O1", "-ffunction-sections", "-nostdlib", "-static", "-Wl,--gc-sections")
		for name, text := range discardedSources {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, name)
		}
		slices.Sort(args)
		var paths []string
		for _, at := range [...]string{"0", "0x10000000"} {
			path := filepath.Join(dir, at)
			cmd := exec.Command(command[0], append(args, "-Wl,-Ttext="+at, "-o", path)...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Logf("%v is skipped: %v: %s", command, err, out)
				break
			}
			paths = append(paths, path)
		}
		if len(paths) < 2 {
			continue
		}
		tried++
		found, err := locate.New(locate.Options{Objects: paths})
		if err != nil {
			t.Fatal(err)
		}
		src := object.NewSource(found)
		defer src.Close()
		frames := func(path string, addr uint64) []symsrc.Frame {
			return src.Frames(t.Context(), symsrc.Addr{Module: symsrc.Module{Name: path}, Offset: addr}).Frames
		}
		low, high := functions(t, paths[0]), functions(t, paths[1])
		same, without := 0, 0
		for name, s := range low {
			at := high[name]
			if at.Size != s.Size || at.Value < away {
				t.Fatalf("%v: %s at %#x and at %#x", command, name, s.Value, at.Value)
			}
			for i := uint64(0); i < s.Size; i += 3 {
				got, want := frames(paths[0], s.Value+i), frames(paths[1], at.Value+i)
				switch {
				case slices.EqualFunc(got, want, func(a, b symsrc.Frame) bool {
					return a.Func == b.Func && a.File == b.File && a.Line == b.Line && a.Column == b.Column
				}):
					same++
				case s.Value <= 1 && len(got) == 1 && got[0].Func == name && got[0].File == "": // it cannot be told from the discarded ones
					without++
				default:
					t.Errorf("%v: %s+%#x: %+v\n want %+v", command, name, i, got, want)
				}
			}
		}
		if same < 2*without {
			t.Errorf("%v: %d addresses have a position, %d have none", command, same, without)
		}
	}
	if tried == 0 {
		t.Skip("no compiler")
	}
}

// functions returns the symbols of the functions of a program.
func functions(t *testing.T, path string) map[string]elf.Symbol {
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
	found := make(map[string]elf.Symbol)
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			if f.Machine == elf.EM_ARM {
				s.Value &^= 1
			}
			found[s.Name] = s
		}
	}
	return found
}
