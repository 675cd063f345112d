package bin

import (
	"math"
	"testing"
)

func TestLEB(t *testing.T) {
	for _, c := range []struct {
		bytes    string
		unsigned uint64
		signed   int64
		end      int
	}{
		{"\x00", 0, 0, 1},
		{"\x7f", 127, -1, 1},
		{"\x80\x01", 128, 128, 2},
		{"\xe5\x8e\x26", 624485, 624485, 3},
		{"\x9b\xf1\x59", 1472667, -624485, 3},
		{"\x80\x80\x00", 0, 0, 3}, // padded
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", math.MaxUint64, -1, 10},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 0, 0, 12}, // bits above 64
		{"", 0, 0, Past},
		{"\x80", 0, 0, Past},
		{"\xff\xff", 0, 0, Past},
	} {
		b := []byte(c.bytes)
		if v, p := ULEB(b, 0); v != c.unsigned || p != c.end {
			t.Errorf("uleb %x: %d, %d", b, v, p)
		}
		if v, p := SLEB(b, 0); v != c.signed || p != c.end {
			t.Errorf("sleb %x: %d, %d", b, v, p)
		}
		if p := SkipLEB(b, 0); p != c.end {
			t.Errorf("skip %x: %d", b, p)
		}
	}
}

func TestFixed(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for _, c := range []struct {
		size        int
		little, big uint64
	}{{1, 1, 1}, {2, 0x201, 0x102}, {3, 0x30201, 0x10203}, {4, 0x4030201, 0x1020304}, {8, 0x807060504030201, 0x102030405060708}} {
		if v, p := Uint(b, 0, c.size, false); v != c.little || p != c.size {
			t.Errorf("%d little: %#x, %d", c.size, v, p)
		}
		if v, p := Uint(b, 0, c.size, true); v != c.big || p != c.size {
			t.Errorf("%d big: %#x, %d", c.size, v, p)
		}
		for _, at := range []int{len(b) - c.size + 1, len(b), Past, Past + 100} {
			if _, p := Uint(b, at, c.size, false); p != Past {
				t.Errorf("%d bytes at %d: %d", c.size, at, p)
			}
		}
	}
}

// TestUnversioned cuts the versions off that the GNU linker writes, and nothing off the names that crystal 1.21, clang-cl and zig write.
func TestUnversioned(t *testing.T) {
	for name, want := range map[string]string{
		"read@@GLIBC_2.2.5": "read", "read@GLIBC_2.2.5": "read", "_ZSt4cout@@GLIBCXX_3.4": "_ZSt4cout", "f@@libf-1.2+dfsg.so.1": "f", "read@plt": "read@plt",
		"": "", "@": "@", "@f": "@f", "@@f": "@", "f@": "f@", "?f@@YAXXZ": "?f@@YAXXZ",
		"*Int32@Int#to_s<String::Builder>:Nil": "*Int32@Int#to_s<String::Builder>:Nil", "*Pointer(UInt8)@Pointer(T)#+<Int32>:Pointer(UInt8)": "*Pointer(UInt8)@Pointer(T)#+<Int32>:Pointer(UInt8)",
		"~proc2Proc(Nil)@a.cr:3": "~proc2Proc(Nil)@a.cr:3", `a.test.@"b c"`: `a.test.@"b c"`,
	} {
		if got := Unversioned(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
