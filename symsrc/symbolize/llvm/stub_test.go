package llvm

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestStubs names the stubs of a program, with and without a separate debug file, as objdump does.
func TestStubs(t *testing.T) {
	path := build(t, "stubs", "", `#include <stdio.h>
int main(int c, char **v) { puts(v[0]); printf("%d", c); return fflush(stdout); }
`, []string{"gcc", "-g", "-O1", "-x", "c", "-", "-o", "a.out"})
	for _, split := range []string{"", "objcopy --only-keep-debug a.out a.debug && objcopy --strip-all --add-gnu-debuglink=a.debug a.out"} {
		cmd := exec.Command("sh", "-c", split)
		cmd.Dir = filepath.Dir(path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", split, err, out)
		}
		code, err := exec.Command("objdump", "-d", path).Output()
		if err != nil {
			t.Skip("objdump:", err)
		}
		stubs := regexp.MustCompile(`(?m)^0*([0-9a-f]+) <(\w+@plt)>:$`).FindAllStringSubmatch(string(code), -1)
		if len(stubs) < 3 {
			t.Fatalf("%d stubs", len(stubs))
		}
		for _, m := range stubs {
			for _, raw := range []bool{false, true} {
				if got := answersOf(t, Options{NoDemangle: raw, Functions: LinkageNames}, path+" 0x"+m[1]+"\n"); !strings.HasPrefix(got, m[2]+"\n") {
					t.Errorf("after %q, not demangled %v: %s is %q", split, raw, m[2], got)
				}
			}
		}
	}
}
