package object

import (
	"path/filepath"
	"testing"
)

// TestTaggedAddresses looks up addresses with a tag in the top byte, with authentication codes, and with both, in small and in large
// AArch64 address spaces; and addresses that only look like them.
func TestTaggedAddresses(t *testing.T) {
	need(t, clang)
	path := filepath.Join(t.TempDir(), "a.elf")
	b := build{compiler: clang, flags: "--target=aarch64-linux-gnu -g -O1" + lld}
	b.run(t, path)
	f := open(t, path)
	other, table := findSymbol(t, f, "_Z5otheri"), findSymbol(t, f, "table")
	for _, tag := range []uint64{0, 0xb4 << 56, 1 << 63, 0xff << 56, 0x0023 << 48, 0xb423 << 48, 0x1aab << 40, 1 << 54, 0x7f8 << 40} {
		frames := f.Code(other | tag)
		if len(frames) != 1 || frames[0].Func != "other(int)" || frames[0].Line == 0 {
			t.Errorf("code with %#x: %+v", tag, frames)
		}
		if frames := f.ShortCode(other | tag); len(frames) != 1 || frames[0].Func != "other" {
			t.Errorf("short code with %#x: %+v", tag, frames)
		}
		if v, ok := f.Data(table + 8 | tag); !ok || v.Func != "table" || v.Offset != 8 {
			t.Errorf("data with %#x: %+v", tag, v)
		}
		if p := f.Probe(other|tag, 0); p.Linked != other || p.CallDistance != 4 || !p.Known {
			t.Errorf("probe with %#x: %+v", tag, p)
		}
	}
	for _, far := range []uint64{1 << 38, 0x7f << 32, 1 << 20} {
		if frames := f.Code(other + far); frames != nil {
			t.Errorf("%#x after the function: %+v", far, frames)
		}
	}
	if frames := openAsLLVM(t, path).Code(other | 0xb4<<56); len(frames) == 1 && frames[0].Line != 0 {
		t.Errorf("as llvm: %+v", frames)
	}
}

// TestKernelAddresses is TestTaggedAddresses for a file in the upper half of the address space.
func TestKernelAddresses(t *testing.T) {
	need(t, clang)
	path := filepath.Join(t.TempDir(), "a.elf")
	b := build{compiler: clang, flags: "--target=aarch64-linux-gnu -static -fno-pic -mcmodel=large -g -O1 -Wl,--image-base=0xffff800080000000" + lld}
	b.run(t, path)
	f := open(t, path)
	other := findSymbol(t, f, "_Z5otheri")
	if other>>48 != 0xffff {
		t.Fatalf("the function is at %#x", other)
	}
	for _, signed := range []uint64{other, other &^ (0xff << 56), other &^ (0x5a << 48), 0xb4a5<<48 | other&(1<<48-1) | 1<<55} {
		if frames := f.Code(signed); len(frames) != 1 || frames[0].Func != "other(int)" {
			t.Errorf("%#x: %+v", signed, frames)
		}
	}
}

// TestThumbBit looks up addresses of Thumb functions with and without the Thumb bit.
func TestThumbBit(t *testing.T) {
	need(t, clang)
	path := filepath.Join(t.TempDir(), "a.elf")
	b := build{compiler: clang, flags: "--target=armv7a-linux-gnueabihf -mthumb -g -O1" + lld}
	b.run(t, path)
	f := open(t, path)
	for _, name := range []string{"_Z5otheri", "_start"} {
		addr := findSymbol(t, f, name)
		even, odd := f.Code(addr), f.Code(addr|1)
		if len(even) == 0 || render(even) != render(odd) || even[len(even)-1].Linkage != name {
			t.Errorf("%s: %s and %s", name, render(even), render(odd))
		}
		if p := f.Probe(addr|1, 0); p.Linked != addr || p.CallDistance != 2 {
			t.Errorf("%s: %+v", name, p)
		}
		kind := byte(0)
		for _, m := range f.symtab.Mappings() {
			if m.Addr <= addr {
				kind = m.Kind
			}
		}
		if kind != 't' {
			t.Errorf("%s is in code of kind %q", name, kind)
		}
	}
}
