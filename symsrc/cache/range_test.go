package cache

import (
	"os"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
)

// TestMembersDiffer checks that two files of one archive, which have no build ID, are not taken for one.
func TestMembersDiffer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "base.apk")
	if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]symsrc.Files)
	for _, f := range []symsrc.Files{
		{Elf: path}, {Elf: path, ElfRange: symsrc.Range{Offset: 10, Size: 20}}, {Elf: path, ElfRange: symsrc.Range{Offset: 40, Size: 20}},
		{Elf: path, Debug: path}, {Elf: path, Debug: path, DebugRange: symsrc.Range{Offset: 10, Size: 20}},
	} {
		id := filesIdentity(&f)
		if old, ok := seen[id]; ok || id == "" {
			t.Errorf("%+v and %+v have one identity", old, f)
		}
		seen[id] = f
	}
}
