package mapped

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "some bytes"} {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		data, stat, closeFile, err := Open(path)
		if err != nil || string(data) != text || stat.Size() != int64(len(text)) {
			t.Fatalf("%q is %q, %v", text, data, err)
		}
		if err := closeFile(); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "none"), os.DevNull} {
		if data, _, _, err := Open(path); err == nil {
			t.Errorf("%s is %d bytes", path, len(data))
		}
	}
}
