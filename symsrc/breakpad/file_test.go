package breakpad

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
)

// room is more memory than any index in these tests needs.
const room = 1 << 30

// text formats frames as `function file:line`, the innermost one first; ~ marks an approximate line.
func text(frames []symsrc.Frame) string {
	var all []string
	for _, f := range frames {
		s := f.Func
		if f.File != "" {
			s += " " + f.File + ":" + fmt.Sprint(f.Line)
		}
		if f.Approx {
			s += "~"
		}
		all = append(all, s)
	}
	return strings.Join(all, " < ")
}

const sample = `MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90 a name with blanks
INFO CODE_ID E536511B75BC65BEB3673345D73240C9C14EFE76
INFO URL https://example.org
FILE 0 /src/a.c
FILE 7 /src/b h.h
INLINE_ORIGIN 0 inner(int)
INLINE_ORIGIN 3 middle
FUNC 1000 30 0 outer(char const*)
INLINE 0 11 0 3 1008 10 1020 8
INLINE 1 21 7 0 100c 4 1024 4
INLINE 2 31 7 3 1026 1
INLINE 9 1 0 0 1000 30
1000 8 10 0
1008 4 20 7
100c 4 30 7
1010 10 0 0
1020 10 40 7
FUNC m 1040 10 8 several names
1040 10 50 99
FUNC 1050 8 0 _ZN4demo5Meter4readEi
FUNC 1058 8 0 <name omitted>
1058 8 60 0
PUBLIC 1060 0 label
PUBLIC m 1080 0 second label
FUNC 2000 10 0 far
PUBLIC 3000 0 last
FUNC x 10 0 bad
FUNC 10000000000000000 10 0 bad
FUNC 5000 0 0 empty
FUNC 5000 100000000 0 huge
FUNC
2000 10 7 0
STACK WIN 4 2170 14 1 0 0 0 0 0 1 $eip 4 + ^ =
`

// stack are records with the extents of the labels.
const stack = `STACK CFI INIT 1060 10 .cfa: $rsp 8 +
STACK CFI INIT 1078 10 .cfa: $rsp 8 +
STACK CFI 1079 .cfa: $rsp 16 +
`

func TestFrames(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want map[uint64]string
	}{
		"plain": {sample, map[uint64]string{
			0xfff: "", 0x1000: "outer(char const*) /src/a.c:10", 0x1007: "outer(char const*) /src/a.c:10",
			0x1008: "middle /src/b h.h:20 < outer(char const*) /src/a.c:11",
			0x100c: "inner(int) /src/b h.h:30 < middle /src/b h.h:21 < outer(char const*) /src/a.c:11",
			0x1010: "middle /src/a.c:0 < outer(char const*) /src/a.c:11",
			0x1018: "outer(char const*) /src/a.c:10~",
			0x1026: "middle /src/b h.h:40 < inner(int) /src/b h.h:31 < middle /src/b h.h:21 < outer(char const*) /src/a.c:11",
			0x102f: "outer(char const*) /src/b h.h:40", 0x1030: "", 0x1040: "several names",
			0x1050: "demo::Meter::read(int)", 0x1058: " /src/a.c:60",
			0x1060: "label", 0x107f: "label", 0x1080: "second label", 0x1fff: "second label",
			0x2000: "far", 0x2010: "", 0x3000: "last", 0x3001: "", 0x5000: "", ^uint64(0): "",
		}},
		"with the extents of labels": {sample + stack, map[uint64]string{
			0x1060: "label", 0x106f: "label", 0x1070: "", 0x1078: "", 0x107f: "", 0x1080: "second label", 0x1087: "second label", 0x1088: "", 0x3000: "last",
		}},
		"unsorted, with carriage returns": {strings.ReplaceAll("MODULE Linux x86 0 a\nFUNC 20 10 0 b\n20 10 2 1\nFUNC 10 10 0 a\n10 10 1 1\nFILE 1 x\nFILE 0 y\nFILE 1 z\n", "\n", "\r\n"),
			map[uint64]string{0x10: "a x:1", 0x2f: "b x:2"}},
		"truncated": {"MODULE Linux x86 0 a\nFUNC 20 10 0 b\n20 10 2 1\nFILE 1 x\nFUNC 40 10 0 c", map[uint64]string{0x20: "b x:2", 0x40: ""}},
		"empty":     {"MODULE Linux x86 0 a\n", map[uint64]string{0: ""}},
	} {
		f, err := New([]byte(tc.text), room)
		if err != nil {
			t.Fatal(err)
		}
		for addr, want := range tc.want {
			frames, err := f.Frames(addr)
			if got := text(frames); got != want || err != nil {
				t.Errorf("%s: %#x: %v\n got %s\nwant %s", name, addr, err, got, want)
			}
		}
	}
	if _, err := New([]byte("FUNC 1 1 0 a\n"), room); err == nil {
		t.Error("a file without MODULE was accepted")
	}
}

// TestDumped reads the output of Breakpad's dump_syms for testdata/inline.cpp, also for a program that is linked to 0x200000.
func TestDumped(t *testing.T) {
	for name, want := range map[string]map[uint64]string{
		"inline.sym": {
			0x17e0: "demo::scale(int, int) /src/demo/src/scale.h:6 < demo::twice(int) /src/demo/src/inline.cpp:9 < plain /src/demo/src/inline.cpp:27",
			0x17d6: "demo::twice(int) /src/demo/src/inline.cpp:8 < plain /src/demo/src/inline.cpp:27",
			0x17d0: "plain /src/demo/src/inline.cpp:26", 0x1730: "demo::Meter::read(int) /src/demo/src/inline.cpp:19",
			0x1640: "_start", 0x1661: "_start", 0x1662: "", 0x1720: "frame_dummy", 0x1724: "",
		},
		"fixed.sym": {0x1710: "demo::scale(int, int) /src/demo/src/scale.h:6 < demo::twice(int) /src/demo/src/inline.cpp:9 < plain /src/demo/src/inline.cpp:27"},
	} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := New(data, room)
		if err != nil {
			t.Fatal(err)
		}
		for addr, want := range want {
			frames, err := f.Frames(addr)
			if got := text(frames); got != want || err != nil {
				t.Errorf("%s: %#x: %v\n got %s\nwant %s", name, addr, err, got, want)
			}
		}
	}
}

// TestHostile checks the limits for hostile files.
func TestHostile(t *testing.T) {
	for _, record := range []string{"FUNC 1 1 0 a\n", "PUBLIC 1 0 a\n", "FILE 1 a\n", "INLINE_ORIGIN 1 a\n", "STACK CFI INIT 1 1 a\n"} {
		many := "MODULE Linux x86 0 a\n" + strings.Repeat(record, 1001)
		f, err := New([]byte(many), room)
		if err != nil {
			t.Fatal(err)
		}
		f.limit = 1000
		if _, err := f.Frames(1); !errors.Is(err, ErrTooLarge) {
			t.Errorf("1001 times %q: %v", record, err)
		}
	}
	deep := "MODULE Linux x86 0 a\nINLINE_ORIGIN 0 i\nFUNC 0 10 0 f\n"
	for depth := range 2 * maxNested {
		deep += fmt.Sprintf("INLINE %d 1 0 0 0 10\n", depth)
	}
	f, err := New([]byte(deep), room)
	if err != nil {
		t.Fatal(err)
	}
	if frames, _ := f.Frames(1); len(frames) != maxNested+1 {
		t.Errorf("%d frames", len(frames))
	}
	long := "MODULE Linux x86 0 a\nFILE 0 x\nFUNC 0 10 0 f\n" + strings.Repeat("20 1 1 0\n", maxFunction/9) + "0 10 5 0\n"
	if f, err = New([]byte(long), room); err != nil {
		t.Fatal(err)
	}
	if frames, _ := f.Frames(1); text(frames) != "f" {
		t.Errorf("after %d bytes of records: %s", maxFunction, text(frames))
	}
	wide := "MODULE Linux x86 0 a\nFUNC 0 10 0 " + strings.Repeat("f", maxName+1) + "\n"
	if f, err = New([]byte(wide), room); err != nil {
		t.Fatal(err)
	}
	if frames, _ := f.Frames(1); text(frames) != "" {
		t.Errorf("a name of %d bytes was accepted", maxName+1)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte(sample+stack), uint64(0x100c))
	for _, name := range []string{"inline.sym", "fixed.sym"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint64(0x1710))
	}
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		symsrc.IdentifySymbols(data)
		file, err := New(data, room)
		if err != nil {
			return
		}
		for _, a := range [...]uint64{addr, 0, ^uint64(0), 0x1000, 0x100c} {
			frames, err := file.Frames(a)
			if err != nil && !errors.Is(err, ErrTooLarge) && !errors.Is(err, budget.ErrExceeded) && !errors.Is(err, budget.ErrTooLong) {
				t.Error(err)
			}
			for _, fr := range frames {
				if fr.Line < 0 || fr.Line > 0 && fr.File == "" {
					t.Errorf("%+v", fr)
				}
			}
		}
	})
}
