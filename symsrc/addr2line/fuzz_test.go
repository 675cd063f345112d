package addr2line

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// FuzzOutput reads anything as what a program prints: no answer without its address, and none that stood elsewhere.
func FuzzOutput(f *testing.F) {
	end := fmt.Sprintf("%#x\n??\n??:0\n", uint64(stop))
	f.Add([]byte("0x10\nf\n/a.c:3 (discriminator 2)\n_Z1gv\n/b.c:?\n0x20\n??\n??:0\n" + end))
	f.Add([]byte("0x0000000000000010\nf\r\n/a.c:3\r\n0x20\n"))
	f.Add([]byte("0x10\n0x20\n??\n"))
	f.Fuzz(func(t *testing.T, printed []byte) {
		c := &child{out: bufio.NewReaderSize(bytes.NewReader(printed), 16)}
		addrs := []uint64{0x10, 0x20, 0xffffffffffff0030}
		answers := make([][]symsrc.Frame, len(addrs))
		n, err := c.read(addrs, func(i int, frames []symsrc.Frame) { answers[i] = frames })
		if n > len(addrs) || err == nil && n != len(addrs) {
			t.Fatalf("%d answers, %v", n, err)
		}
		for i, frames := range answers {
			if i >= n && frames != nil {
				t.Fatalf("answer %d of %d", i, n)
			}
			for _, fr := range frames {
				if !bytes.Contains(printed, []byte(fr.Linkage)) || !bytes.Contains(printed, []byte(fr.File)) || strings.Contains(fr.File, "\n") {
					t.Fatalf("%+v was not printed", fr)
				}
			}
		}
	})
}
