package importer

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCreatable says that asking whether a profile can be saved leaves everything as it is.
func TestCreatable(t *testing.T) {
	dir := t.TempDir()
	there, link := filepath.Join(dir, "there"), filepath.Join(dir, "link")
	if err := os.WriteFile(there, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", link); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]bool{"": true, there: true, link: true, filepath.Join(dir, "new"): true, dir: false,
		filepath.Join(there, "x"): false, filepath.Join(dir, "none", "x"): false, os.DevNull: true} {
		for _, o := range []Options{{Pprof: path}, {Folded: path}} {
			if err := o.Creatable(); (err == nil) != want {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if text, _ := os.ReadFile(there); err != nil || len(entries) != 2 || string(text) != "text" {
		t.Errorf("%v is there, and %q in the file, %v", entries, text, err)
	}
}
