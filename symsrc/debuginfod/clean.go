package debuginfod

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"qss-filter/symsrc/diskcache"
)

// control is a file in the cache that holds a number of seconds.
type control struct {
	name   string
	preset int64
}

// The control files (debuginfod-client-config(7)) with what elfutils puts there.
var (
	cacheMiss     = control{"cache_miss_s", 600}
	cleanInterval = control{"cache_clean_interval_s", 24 * 60 * 60} // its mtime is the time of the last cleaning
	maxUnused     = control{"max_unused_age_s", 7 * 24 * 60 * 60}
)

// control reads a control file, and creates it if need be. What is no number counts as the default.
func (c *cache) control(k control) time.Duration {
	seconds := k.preset
	path := filepath.Join(c.dir, k.name)
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() { // a FIFO would hold us up
		return time.Duration(seconds) * time.Second
	}
	f, err := os.Open(path)
	switch {
	case err == nil:
		var n int64
		if _, err := fmt.Fscan(io.LimitReader(f, 64), &n); err == nil && n >= 0 {
			seconds = min(n, 1<<32)
		}
		f.Close()
	case errors.Is(err, fs.ErrNotExist):
		c.preset(k)
	}
	return time.Duration(seconds) * time.Second
}

// preset creates a control file. Where that fails the default holds nevertheless.
func (c *cache) preset(k control) {
	f, err := os.OpenFile(filepath.Join(c.dir, k.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		fmt.Fprintf(f, "%d", k.preset)
		f.Close()
	}
}

// clean removes what was not used for long, if that is due.
func (c *cache) clean() {
	if !exists(c.dir) {
		return
	}
	interval, unused := c.control(cleanInterval), c.control(maxUnused)
	c.control(cacheMiss)
	path := filepath.Join(c.dir, cleanInterval.name)
	st, err := os.Stat(path)
	now := c.now()
	if err != nil || now.Sub(st.ModTime()) < interval {
		return
	}
	if os.Chtimes(path, now, now) != nil { // first, so that no other process begins
		return
	}
	dirs, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if dir.IsDir() && dir.Name() != "" && strings.Trim(dir.Name(), "0123456789abcdef") == "" {
			cleanDir(filepath.Join(c.dir, dir.Name()), now, unused)
		}
	}
}

// cleanDir removes the files of one build ID that were not used for long, and the directory if it is empty and as old.
func cleanDir(dir string, now time.Time, unused time.Duration) {
	before, err := os.Lstat(dir)
	if err != nil {
		return
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, file := range files {
		if !file.Type().IsRegular() || !ours(file.Name()) {
			continue
		}
		st, err := file.Info()
		if err != nil {
			continue
		}
		if used, ok := diskcache.Used(st); ok && now.Sub(used) >= unused {
			_ = os.Remove(filepath.Join(dir, file.Name()))
		}
	}
	if now.Sub(before.ModTime()) >= unused {
		_ = os.Remove(dir) // fails where there is something in it
	}
}

// ours reports whether a file is one of debuginfod's by its name, whole or still being written.
func ours(name string) bool {
	for _, kind := range [...]string{"debuginfo", "executable", "source", "section"} {
		if strings.HasPrefix(name, kind) {
			return true
		}
	}
	return false
}
