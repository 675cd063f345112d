package batch

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestWholeOfDevice holds that a device is written to, and not replaced by a file.
func TestWholeOfDevice(t *testing.T) {
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Skip("there is no /dev/null")
	}
	link := filepath.Join(t.TempDir(), "null") // what is replaced by mistake is the link
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(*whole) error{(*whole).commit, func(w *whole) error { w.abort(); return nil }} {
		w, err := create(link)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, "text"); err != nil {
			t.Fatal(err)
		}
		if err := end(w); err != nil {
			t.Fatal(err)
		}
		if target, err := os.Readlink(link); err != nil || target != "/dev/null" {
			t.Errorf("the device has become %q, %v", target, err)
		}
	}
	path := filepath.Join(filepath.Dir(link), "file")
	w, err := create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("a file is there before it is whole")
	}
	if err := w.commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}
