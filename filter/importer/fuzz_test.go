package importer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzImport reads any bytes as each kind: no panic, no endless work, and damage is said to be within the file.
func FuzzImport(f *testing.F) {
	for _, name := range []string{"scaler/thread_0x7f0297f1b6c0.bin", "scaler/bad/thread_0x3_badindex.bin", "perflow/samples.pflw",
		"perflow/maps.0.libmap", "perflow/maps.0.libmap.txt", "perflow/raw_stacks.txt", "perflow/samples.txt", "perflow/stream.log"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("SQLite format 3\x00"))
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "symbol.json"), []byte(`{"0":{"fileName":"a","funcNames":{"0":"f"}}}`), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, "thread_0x1.bin")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{Kind: "scaler"}, {Kind: "perflow"}, {Kind: "perflow", By: ByLine}, {Kind: "chopstix"}} {
			text, err := lines(t, path, o)
			if damage, ok := errors.AsType[*DamageError](err); ok && (damage.Offset < 0 || damage.Offset > int64(len(b))) {
				t.Errorf("%v in %d bytes", err, len(b))
			}
			if o.Kind == "scaler" && strings.Contains(text, "\x00") {
				t.Errorf("raw bytes in %q", text)
			}
		}
	})
}
