package filter

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestHex(t *testing.T) {
	for shift := range 64 {
		for _, n := range []uint64{1 << shift, 1<<shift - 1, ^uint64(0) >> shift, 0x0123456789abcdef << shift, 0xfedcba9876543210 >> shift} {
			if got, want := string(appendHex([]byte("x"), n)), fmt.Sprintf("x%x", n); got != want {
				t.Errorf("appendHex: %s, want %s", got, want)
			}
			if got, want := string(appendHex16([]byte("x"), n)), fmt.Sprintf("x%016x", n); got != want {
				t.Errorf("appendHex16: %s, want %s", got, want)
			}
			for _, mode := range []string{"r", "rwx"} {
				if got, want := string(appendRange([]byte("x"), n, ^n, mode)), fmt.Sprintf("x[%#x-%#x](%s)", n, ^n, mode); got != want {
					t.Errorf("appendRange: %s, want %s", got, want)
				}
			}
		}
	}
}

func TestHexPrefix(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const others = "0123456789abcdefABCDEFgG/:@`\x00\x10\x19\x7f\x80\xb0\xe1\xff\x01"
	for range 200000 {
		b := make([]byte, r.IntN(24))
		for i := range b {
			if b[i] = others[r.IntN(22)]; r.IntN(20) == 0 {
				b[i] = others[r.IntN(len(others))]
			}
		}
		n := len(b) - len(strings.TrimLeft(string(b), others[:22]))
		want, err := strconv.ParseUint("0"+string(b[:n]), 16, 64)
		v, got, ok := hexPrefix(b)
		if ok != (err == nil) || ok && (got != n || v != want) {
			t.Fatalf("%q gives %#x, %d, %v, want %#x, %d, %v", b, v, got, ok, want, n, err)
		}
	}
}
