package filtertest

import (
	"fmt"
	"strings"
)

// Processes returns the log of n processes of two modules with a frame each. If moved is set, each has other addresses.
func Processes(n int, moved bool, end string) string {
	var log strings.Builder
	for k := range n {
		base := uint64(0x7f0000000000)
		if moved {
			base += uint64(k) << 20
		}
		for _, line := range []string{
			"{{{reset}}}", "{{{module:0:a.so:elf:0123abcd}}}", fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:r:0x0}}}", base), fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:rx:0x1000}}}", base+0x1000),
			"{{{module:1:b.so:elf:4567}}}", fmt.Sprintf("{{{mmap:%#x:0x1000:load:1:rx:0x0}}}", base-0x8000),
			fmt.Sprintf("{{{bt:0:%#x}}}", base+0x1021), fmt.Sprintf("{{{bt:1:%#x:pc}}}", base-0x8000+0x40), "text",
		} {
			log.WriteString(line + end)
		}
	}
	return log.String()
}
