//go:build linux || darwin

package cache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"qss-filter/symsrc/diskcache"
)

const (
	takenSuffix = ".taken" // of a file that is being taken
)

// tidy removes what nothing will come of: a file that a process died over, for it could be why, and what was never finished.
func (sv *server) tidy() {
	diskcache.RemoveTemporary(sv.dir, diskcache.Abandoned)
	dir := filepath.Join(sv.dir, spoolDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), spoolSuffix) {
			continue
		}
		fi, err := e.Info()
		if err == nil && (strings.HasSuffix(e.Name(), takenSuffix) || time.Since(fi.ModTime()) > diskcache.Abandoned) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // else the next process does
		}
	}
}

// take takes what filters have left into the database. What is damaged is dropped.
func (sv *server) take() {
	sv.taking.Lock()
	defer sv.taking.Unlock()
	for _, name := range spooled(sv.dir) {
		if sv.ending.Load() {
			return // the next process takes them
		}
		path := filepath.Join(sv.dir, spoolDir, name)
		taken := path + takenSuffix
		if os.Rename(path, taken) != nil {
			continue
		}
		b, err := readAtMost(taken, maxLeft)
		if err == nil {
			err = sv.store.put(b)
		}
		if errors.Is(err, errClosed) {
			_ = os.Rename(taken, path) // for the next process
			return
		}
		_ = os.Remove(taken) // else the next process does
	}
}
