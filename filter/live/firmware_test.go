package live_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"qss-filter/filter"
)

// TestFirmware compares frames of EDK2's firmware, and of OP-TEE's core and an application of it, whose files are linked to address 0, with llvm-symbolizer.
func TestFirmware(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is one of x86-64")
	}
	needTool(t, "gcc", "gcc")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	const id, base = "8aaaf201-2450-11e4-abe2-0002a5d5c57b", 0x40010000
	for _, c := range []struct {
		file, above string
		frame       func(at uint64) string
		exact       bool
	}{
		{"DxeCore.dll", "Synchronous Exception at 0x000000003F910AFC\n", func(at uint64) string {
			return fmt.Sprintf("PC 0x%012X (0x%012X+0x%08X) [ 1] DxeCore.dll", base+at, base, at)
		}, false},
		{"x.dll", "", func(at uint64) string {
			return fmt.Sprintf("!!!! Find image based on IP(0x%X) /b/DEBUG/x.dll", base+at)
		}, true},
		{id + ".elf", fmt.Sprintf("E/LD:  Status of TA %s\nE/LD:   [0] %[1]s @ %#x\nE/LD:  Call stack:\n", id, base), func(at uint64) string {
			return fmt.Sprintf("E/LD:   0x%016x", base+at)
		}, false},
		{"tee.elf", fmt.Sprintf("E/TC:0 0 Panic at core/kernel/assert.c:28 <_assert_break>\nE/TC:0 0 TEE load address @ %#x\nE/TC:0 0 Call stack:\n", base), func(at uint64) string {
			return fmt.Sprintf("E/TC:0 0  0x%08x", base+at)
		}, false},
	} {
		t.Run(c.file, func(t *testing.T) {
			dir := t.TempDir()
			source, path := filepath.Join(dir, "k.c"), filepath.Join(dir, c.file)
			if err := os.WriteFile(source, []byte(freeBSDKernel), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("gcc", "-g", "-O1", "-fpic", "-ffreestanding", "-nostdlib", "-static-pie", "-o", path, source).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			log, want := c.above, c.above
			for _, call := range [...][2]string{{"vpanic", "kdb_backtrace"}, {"panic", "vpanic"}, {"_start", "panic"}} {
				at := returnsTo(t, path, call[0], call[1])
				asked := at - 1
				if c.exact {
					asked = at
				}
				out, err := exec.Command("llvm-symbolizer-22", "--obj="+path, fmt.Sprintf("%#x", asked)).Output()
				if err != nil {
					t.Fatal(err)
				}
				after := ""
				if c.exact {
					after = fmt.Sprintf(" (ImageBase=%016X, EntryPoint=%016X) !!!!", base, base)
				}
				log += c.frame(at) + after + "\n"
				want += c.frame(at) + " in " + strings.Join(strings.Fields(string(out)), " ") + after + "\n"
			}
			var got strings.Builder
			f := filter.New(filter.Options{Symbols: sourceOf(t, dir)})
			if err := f.Run(context.Background(), strings.NewReader(log), &got); err != nil {
				t.Fatal(err)
			}
			if got.String() != want {
				t.Errorf("\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}
