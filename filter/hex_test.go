package filter

import (
	"fmt"
	"testing"
)

func TestAppendRange(t *testing.T) {
	for shift := range 64 {
		for _, n := range []uint64{1 << shift, 1<<shift - 1, ^uint64(0) >> shift, 0x0123456789abcdef << shift} {
			for _, mode := range []string{"r", "rwx"} {
				if got, want := string(appendRange([]byte("x"), n, ^n, mode)), fmt.Sprintf("x[%#x-%#x](%s)", n, ^n, mode); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		}
	}
}
