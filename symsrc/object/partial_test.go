package object

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// alone is a finder with one file for every module.
type alone string

func (f alone) Find(context.Context, symsrc.Module) *symsrc.Files {
	return &symsrc.Files{Elf: string(f)}
}

// TestPartial removes the file that the debug information of a file refers to: answers must be marked as partial.
func TestPartial(t *testing.T) {
	for file, beside := range map[string]string{
		"split5.elf": "split5.elf.dwp", "split4.elf": "split4.elf.dwp", "dwz5.elf": "dwz5.common", "gcc5.elf": "",
	} {
		for _, whole := range []bool{true, false} {
			dir := t.TempDir()
			for _, name := range []string{file, beside} {
				if name == "" || name == beside && !whole {
					continue
				}
				b, err := os.ReadFile(filepath.Join("testdata", name))
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			lines, err := os.ReadFile(filepath.Join("testdata", file+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			source, partial := NewSource(alone(filepath.Join(dir, file))), false
			for line := range strings.Lines(string(lines)) {
				digits, _, _ := strings.Cut(line, " ")
				addr, err := strconv.ParseUint(digits, 0, 64)
				if err != nil {
					continue
				}
				partial = source.Frames(context.Background(), symsrc.Addr{Offset: addr}).Partial
			}
			if want := !whole && beside != ""; partial != want {
				t.Errorf("%s, whole %v: partial is %v", file, whole, partial)
			}
		}
	}
}
