package scan

import (
	"strconv"
	"testing"
)

// BenchmarkHex reads numbers of each length that logs are full of, with the text of a frame after them.
func BenchmarkHex(b *testing.B) {
	for _, digits := range []string{"10", "1182a3", "7f52731c", "55aefc1432a3", "0000000000011150"} {
		b.Run(strconv.Itoa(len(digits)), func(b *testing.B) {
			line := []byte("    #0 0x" + digits + "  (/home/dev/bin/crash+0x1182a3)")
			for b.Loop() {
				if _, _, ok := Address(line, len("    #0 ")); !ok {
					b.Fatal(digits)
				}
			}
		})
	}
}
