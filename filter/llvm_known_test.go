package filter

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
)

// processes writes n processes of two modules with a frame each. Where moved is set each lies elsewhere.
func processes(n int, moved bool, end string) string {
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

// TestKnownLines holds that lines which are known become what they become when they are not, in both styles.
func TestKnownLines(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		for _, moved := range []bool{false, true} {
			log := processes(20, moved, end)
			for _, o := range []Options{{LLVM: &LLVMOptions{}}, {LLVM: &LLVMOptions{Color: true, Errors: io.Discard}}, {}, {Context: ContextKeep}, {Context: ContextDrop}} {
				o.Symbols = &symbols{}
				want := feed(o, log) // line by line
				if got := runAll(t, o, strings.NewReader(log)); got != want {
					t.Errorf("moved %v, end %q: got %q\nwant %q", moved, end, cutAt(got), cutAt(want))
				}
			}
		}
	}
}

// TestKnownLinesCost holds that lines which are known cost no memory.
func TestKnownLinesCost(t *testing.T) {
	log := []byte(strings.ReplaceAll(processes(20, true, "\n"), "text\n", ""))
	for _, o := range []Options{{LLVM: &LLVMOptions{}}} {
		o.Symbols = &symbols{}
		f := New(o)
		dst := make([]byte, 0, 10*len(log))
		if allocated := testing.AllocsPerRun(3, func() {
			if _, used := f.run(context.Background(), dst, log); used != len(log) {
				t.Errorf("%d of %d bytes are known", used, len(log))
			}
		}); allocated > 0 {
			t.Errorf("%v times memory", allocated)
		}
	}
}
