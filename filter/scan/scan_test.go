package scan_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter/scan"
)

func TestAppendHex(t *testing.T) {
	for shift := range 64 {
		for _, n := range []uint64{1 << shift, 1<<shift - 1, ^uint64(0) >> shift, 0x0123456789abcdef << shift, 0xfedcba9876543210 >> shift} {
			if got, want := string(scan.AppendHex([]byte("x"), n)), fmt.Sprintf("x%x", n); got != want {
				t.Errorf("AppendHex: %s, want %s", got, want)
			}
			if got, want := string(scan.AppendHex16([]byte("x"), n)), fmt.Sprintf("x%016x", n); got != want {
				t.Errorf("AppendHex16: %s, want %s", got, want)
			}
		}
	}
}

// TestHex compares Hex and its relatives with the standard library for digits and what comes close to them.
func TestHex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const digits = "0123456789abcdefABCDEF"
	const others = digits + "gG/:@`\x00\x10\x19\x7f\x80\xb0\xe1\xff\x01"
	for range 200000 {
		b := make([]byte, r.IntN(24))
		for i := range b {
			if b[i] = digits[r.IntN(len(digits))]; r.IntN(20) == 0 {
				b[i] = others[r.IntN(len(others))]
			}
		}
		n := len(b) - len(strings.TrimLeft(string(b), digits))
		want, err := strconv.ParseUint(string(b[:n]), 16, 64)
		v, end, ok := scan.Hex(b, 0)
		if ok != (err == nil) || ok && (end != n || v != want) {
			t.Fatalf("Hex of %q: %#x, %d, %v, want %#x, %d, %v", b, v, end, ok, want, n, err)
		}
		if v, end, again := scan.Address(append([]byte("#0 0x"), b...), 3); again != ok || ok && (v != want || end != 5+n) {
			t.Fatalf("Address of %q: %#x, %d, %v, want %#x, %d, %v", b, v, end, again, want, 5+n, err)
		}
		if got := scan.HexEnd(b, 0); got != n {
			t.Fatalf("HexEnd of %q: %d, want %d", b, got, n)
		}
		if got, want := scan.BackHex(b, 0, len(b)), len(strings.TrimRight(string(b), digits)); got != want {
			t.Fatalf("BackHex of %q: %d, want %d", b, got, want)
		}
		if got, want := scan.IsHexField(b), len(b) > 0 && n == len(b); got != want {
			t.Fatalf("IsHexField of %q: %v", b, got)
		}
	}
}

func TestHexOfEachLength(t *testing.T) {
	for n := range 17 {
		for _, after := range []string{"", " ", ":", "g", "\xff", "  (/home/dev/crash+0x1182a3)"} {
			const digits = "fEdCba9876543210"
			want, _ := strconv.ParseUint("0"+digits[:n], 16, 64)
			v, end, ok := scan.Hex([]byte("  "+digits[:n]+after), 2)
			if v != want || end != 2+n || ok != (n > 0) {
				t.Errorf("%q: %#x, %d, %v", digits[:n]+after, v, end, ok)
			}
		}
	}
	for _, zeros := range []int{1, 7, 8, 9, 30} {
		text := strings.Repeat("0", zeros) + "123456789abcdef0"
		if v, end, ok := scan.Hex([]byte(text), 0); !ok || v != 0x123456789abcdef0 || end != len(text) {
			t.Errorf("%q: %#x, %d, %v", text, v, end, ok)
		}
		if _, _, ok := scan.Hex([]byte(text+"0"), 0); ok {
			t.Errorf("%q is more than 64 bits", text+"0")
		}
	}
}

func TestNumber(t *testing.T) {
	for _, base := range []int{2, 8, 10, 16} {
		for _, field := range []string{"", "0", "1", "01", "7", "8", "9", "12a", "ff", "-1", "+1", "1_0", " 1", "1 ", "0x1", "g",
			strconv.FormatUint(1<<64-1, base), strconv.FormatUint(1<<63, base) + "0", "00000" + strconv.FormatUint(1<<64-1, base), "1\xff"} {
			want, err := strconv.ParseUint(field, base, 64)
			if v, ok := scan.Number([]byte(field), uint64(base)); ok != (err == nil) || ok && v != want {
				t.Errorf("Number(%q, %d): %d, %v, want %d, %v", field, base, v, ok, want, err)
			}
		}
	}
}

func TestAppendBytes(t *testing.T) {
	for field, want := range map[string]string{"a": "x\x0a", "ab": "x\xab", "ABc": "x\x0a\xbc", "00ff": "x\x00\xff", "": "", "0g": "", "0x": ""} {
		if got, ok := scan.AppendBytes([]byte("x"), []byte(field)); ok != (want != "") || ok && string(got) != want {
			t.Errorf("%q: %q, %v", field, got, ok)
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, tc := range []struct {
		text string
		end  int
		ok   bool
	}{{"", 0, false}, {"x", 0, false}, {"12x", 2, true}, {"18446744073709551615", 20, true}, {"18446744073709551616", 19, false}} {
		v, end, ok := scan.Decimal([]byte(tc.text), 0)
		want, _ := strconv.ParseUint(tc.text[:tc.end], 10, 64)
		if end != tc.end || ok != tc.ok || ok && v != want {
			t.Errorf("%q: %d, %d, %v", tc.text, v, end, ok)
		}
	}
}

func TestEdges(t *testing.T) {
	b := []byte("ab 12 \t0xff\n")
	for _, tc := range []struct {
		name      string
		got, want int
	}{
		{"Spaces", scan.Spaces(b, 5), 7},
		{"Spaces where none are", scan.Spaces(b, 3), 3},
		{"BackSpaces", scan.BackSpaces(b, 0, 7), 5},
		{"BackSpaces from", scan.BackSpaces(b, 6, 7), 6},
		{"BackDigits", scan.BackDigits(b, 0, 5), 3},
		{"BackToken", scan.BackToken(b, 0, 11), 7},
		{"BackToken from", scan.BackToken(b, 9, 11), 9},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, tc.got, tc.want)
		}
	}
	for i, want := range []struct{ start, end, last bool }{{true, false, false}, {false, false, false}, {false, true, false}, {true, false, false},
		{false, false, false}, {false, true, false}, {true, true, false}, {true, false, false}, {false, false, false}, {false, false, false},
		{false, false, false}, {false, true, true}, {true, true, true}} {
		if scan.WordStart(b, 0, i) != want.start || scan.WordEnd(b, i) != want.end || scan.LineEnd(b, i) != want.last {
			t.Errorf("at %d of %q", i, b)
		}
	}
	if !scan.LineEnd([]byte(`x \n`), 1) || scan.LineEnd([]byte(`x \t`), 1) {
		t.Error("a line break that is written as an escape ends a line")
	}
	if !scan.Has(b, 3, "12 ") || scan.Has(b, 3, "123") || scan.Has(b, 11, "\nx") || scan.Has(b, -1, "") || scan.Has(b, 13, "") {
		t.Error("Has")
	}
	if !scan.EndsWith(b, 0, 5, " 12") || scan.EndsWith(b, 3, 5, " 12") {
		t.Error("EndsWith")
	}
}

// FuzzHex holds Hex to what the standard library reads.
func FuzzHex(f *testing.F) {
	f.Add([]byte("0x55aefc1432a3  (/crash+0x1182a3)"))
	f.Add([]byte("0xffffffffffffffff0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, end, ok := scan.Address(b, 0)
		if !ok {
			return
		}
		want, err := strconv.ParseUint(string(b[2:end]), 16, 64)
		if err != nil || v != want || end < len(b) && scan.IsHex(b[end]) || bits.Len64(v) > 4*(end-2) {
			t.Fatalf("%q: %#x, %d, want %#x, %v", b, v, end, want, err)
		}
	})
}
