package importer

import (
	"context"
	"io"
	"path/filepath"
	"testing"
)

// TestProgress says that an import tells how far it is: never back, never beyond all, and in the end all.
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
