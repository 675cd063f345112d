package elf

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf/elftest"
)

// TestReadMini checks that a symbol table of another file is refused.
func TestReadMini(t *testing.T) {
	load := func(name string) (*File, []byte) {
		b, err := os.ReadFile(filepath.Join("../object/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := New(b, budget.NewFile(len(b)), Rules{})
		if err != nil {
			t.Fatal(err)
		}
		return f, b
	}
	gcc, own := load("gcc5.elf")
	_, otherBuild := load("clang4-zlib.elf")
	_, otherMachine := load("mips2.elf")
	for _, c := range []struct {
		name string
		data []byte
		want bool
	}{
		{"same build", own, true}, {"another build", otherBuild, false}, {"another machine", otherMachine, false},
		{"not an ELF file", []byte("text"), false}, {"truncated", own[:len(own)/2], false}, {"empty", nil, false},
	} {
		if got := gcc.readMini(c.data) != nil; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestXZ checks the limits for hostile streams.
func TestXZ(t *testing.T) {
	data := bytes.Repeat([]byte("symbol "), 9)
	for _, c := range []struct {
		name string
		b    []byte
		want int // bytes, -1 for an error
	}{
		{"good", elftest.XZStream(data, 63, 1), 63},
		{"three blocks", elftest.XZStream(data, 63, 3), 189},
		{"less than there is", elftest.XZStream(data, 62, 1), 62},
		{"more than there is", elftest.XZStream(data, 64, 1), -1},
		{"a bomb", elftest.XZStream(data, 1<<20, 1), -1},
		{"beyond every limit", elftest.XZStream(data, 1<<62, 7), -1},
		{"many blocks", elftest.XZStream(data, 63, 4000), -1},
		{"many empty blocks", elftest.XZStream(data, 0, 1000), 0},
		{"empty", nil, -1},
		{"two magics", []byte("\xfd7zXZ\x00\x00\x00....................YZ"), -1},
	} {
		out, err := unxz(c.b, budget.NewFile(len(c.b)))
		if got := len(out); c.want < 0 && err == nil || c.want >= 0 && (err != nil || got != c.want) {
			t.Errorf("%s: %d bytes, %v", c.name, got, err)
		}
		if c.want == 63 && !bytes.Equal(out, data) {
			t.Errorf("%s: %q", c.name, out)
		}
	}
}

// TestXZDamaged changes every byte of a real stream: it unpacks to the same bytes or not at all.
func TestXZDamaged(t *testing.T) {
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("xz is not installed")
	}
	want, err := os.ReadFile("../object/testdata/object5.elf")
	if err != nil {
		t.Fatal(err)
	}
	want = want[:min(len(want), 3000)]
	xz := exec.Command("xz", "-c")
	xz.Stdin = bytes.NewReader(want)
	good, err := xz.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unxz(good, budget.NewFile(len(good))); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("unpacked to other bytes: %v", err)
	}
	for i := range good {
		for _, mask := range []byte{1, 0x80, 0xff} {
			b := bytes.Clone(good)
			b[i] ^= mask
			if got, err := unxz(b, budget.NewFile(len(b))); err == nil && !bytes.Equal(got, want) {
				t.Errorf("another result with byte %d changed by %#x", i, mask)
			}
		}
		if _, err := unxz(good[:i], budget.NewFile(i)); err == nil {
			t.Error(fmt.Sprint("unpacked the first ", i, " bytes"))
		}
	}
}

// FuzzXZ unpacks any bytes, and checks the limit of the uncompressed size.
func FuzzXZ(f *testing.F) {
	f.Add(elftest.XZStream([]byte("symbols"), 7, 1))
	f.Add(elftest.XZStream([]byte("symbols"), 7, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		if out, _ := unxz(b, budget.NewFile(len(b))); len(out) > maxXZRatio*len(b) {
			t.Errorf("%d bytes of %d", len(out), len(b))
		}
	})
}
