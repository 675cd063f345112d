package diskcache

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Free returns how many bytes this user may still write to the disk of a directory. ok is false where that is not known.
func Free(dir string) (n int64, ok bool) { return free(dir) }

// HasRoom reports whether size bytes may be written to the disk of a directory so that reserve bytes stay free. Where nothing is
// known of the disk there is room: it says itself when it is full.
func HasRoom(dir string, size, reserve int64) bool {
	n, ok := Free(dir)
	return !ok || n-size >= reserve
}

// Used returns when a file was last used: its access time. Where the system has none it returns the time of modification, and ok is
// false.
func Used(fi fs.FileInfo) (t time.Time, ok bool) { return accessed(fi) }

// touchAfter is how old an access time may be. A file that is used all the time is not marked at each use.
const touchAfter = time.Minute

// Touch marks a file as used now. Reading it need not do that, for most file systems are mounted with relatime or noatime. The time
// of modification stays: it may say what the content is of.
func Touch(path string, fi fs.FileInfo) {
	if used, _ := Used(fi); time.Since(used) < touchAfter && time.Until(used) < touchAfter {
		return
	}
	_ = os.Chtimes(path, time.Now(), fi.ModTime()) // otherwise it is evicted sooner than others
}

// Abandoned is how long after the last write a temporary file is taken to be one of a process that died.
const Abandoned = time.Hour

// Evict removes those files of a directory that were used the longest ago, until at most so many files and bytes are left, and
// reports whether that is so. The files are the regular ones that match reports as the cache's own. Abandoned temporary files are
// removed as well.
func Evict(dir string, match func(name string) bool, files int, bytes int64) bool {
	type file struct {
		path string
		size int64
		used time.Time
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	RemoveTemporary(dir, Abandoned)
	var all []file
	total := int64(0)
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), TempPrefix) || !match(e.Name()) {
			continue
		}
		if fi, err := e.Info(); err == nil {
			used, _ := Used(fi)
			all = append(all, file{filepath.Join(dir, e.Name()), fi.Size(), used})
			total += fi.Size()
		}
	}
	slices.SortFunc(all, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	left := len(all)
	for _, f := range all {
		if left <= files && total <= bytes {
			break
		}
		if os.Remove(f.path) == nil {
			left--
			total -= f.size
		}
	}
	return left <= files && total <= bytes
}

// RemoveTemporary removes the temporary files of a directory that were not written to for that long. Zero is for a caller that
// holds a lock, so that no other process is writing.
func RemoveTemporary(dir string, age time.Duration) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), TempPrefix) {
			continue
		}
		if fi, err := e.Info(); err == nil && (age == 0 || time.Since(fi.ModTime()) > age) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // otherwise the next caller does
		}
	}
}
