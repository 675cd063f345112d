package importer

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// TestProgress says that an import reports how far it is: never back, never beyond all, and in the end all.
func TestProgress(t *testing.T) {
	for _, path := range []string{"scaler", "scaler/thread_0x7f0298f1e740.bin", "perflow", "perflow/samples.pflw", "perflow/stream.log",
		"perflow/maps.1", "perflow/maps.1.libmap", "chopstix/chop.db"} {
		for _, by := range []By{ByNothing, ByModule} {
			calls, last, of := 0, int64(-1), int64(0)
			in, err := Detect(filepath.Join("testdata", path), Options{By: by, Progress: func(done, total int64) {
				if done < last && total == of || done > total || of > 0 && last == of && done < total {
					t.Errorf("%s: %d of %d after %d of %d", path, done, total, last, of)
				}
				calls, last, of = calls+1, done, total
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := in.Lines(context.Background(), io.Discard); err != nil {
				t.Fatal(err)
			}
			if calls < 2 || last != of {
				t.Errorf("%s: %d calls, the last with %d of %d", path, calls, last, of)
			}
		}
	}
}
