package object_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// TestOverlays checks that no function of an overlay has a name by its address, because another one may be loaded there, and that code
// beside and after the overlays has.
func TestOverlays(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.ld": `SECTIONS {
  . = 0x1000; .text : { *(.text*) }
  OVERLAY 0x8000 : AT(0x20000) { .first { *(.first) } .second { *(.second) } }
  . = 0x10000; .data : { *(.data*) *(.bss*) *(COMMON) }
}`,
		"a.c": `
volatile int V;
#define IN(s) __attribute__((section(s), noinline)) int
IN(".first") both_one(int a) { V += a; return V; }
IN(".second") both_two(int a) { V -= a; return V; }
IN(".second") alone(int a) { for (int i = 0; i < a; i++) V ^= i * a + V; return V; }
int main(void) { return both_one(1) + both_two(2) + alone(3); }
void _start(void) { main(); for (;;); }
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "a.out")
	cmd := exec.Command("gcc", "-g", "-O1", "-fcf-protection=none", "-nostdlib", "-static", "-no-pie", "-Wl,-T,a.ld", "-Wl,--build-id=none", "a.c", "-o", path)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("gcc: %v: %s", err, out)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	first := f.Section(".first")
	found, err := locate.New(locate.Options{Objects: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	src := object.NewSource(found)
	defer src.Close()
	named := 0
	for name, s := range functions(t, path) {
		for addr := s.Value; addr < s.Value+s.Size; addr++ {
			got := src.Frames(t.Context(), symsrc.Addr{Module: symsrc.Module{Name: path}, Offset: addr}).Frames
			switch overlaid := addr-first.Addr < first.Size; {
			case overlaid && len(got) > 0, !overlaid && (len(got) != 1 || got[0].Func != name):
				t.Errorf("%#x of %s: %+v", addr, name, got)
			case !overlaid:
				named++
			}
		}
	}
	if named == 0 {
		t.Error("nothing has a name")
	}
}
