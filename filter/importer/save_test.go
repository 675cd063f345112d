package importer

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSaveFails holds that a file that is not whole goes, that a device which cannot be written stays, and that the message
// names flag and path, once each.
func TestSaveFails(t *testing.T) {
	if info, err := os.Stat("/dev/full"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Skip("there is no /dev/full")
	}
	link := filepath.Join(t.TempDir(), "full") // what goes by mistake is the link
	if err := os.Symlink("/dev/full", link); err != nil {
		t.Fatal(err)
	}
	err := (&Options{Pprof: link}).Save(context.Background(), demo())
	if err == nil || err.Error() != "importer.Pprof: write "+link+": no space left on device" {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(link); err != nil {
		t.Errorf("the device is gone: %v", err)
	}
	none := filepath.Join(t.TempDir(), "none", "p")
	if err := (&Options{Folded: none}).Save(context.Background(), demo()); err == nil || !strings.HasPrefix(err.Error(), "importer.Folded: open "+none+": ") {
		t.Errorf("error %v", err)
	}
}
