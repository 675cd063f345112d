package debuginfod

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"qss-filter/symsrc/diskcache"
)

// cache is a directory as elfutils keeps it (debuginfod-client-config(7), CACHE; the names by observation):
//
//	BUILDID/debuginfo, BUILDID/executable, BUILDID/source##…   files; one without content says that no server has it, since its mtime
//	BUILDID/breakpad##NAME.sym              of this program alone
//	BUILDID/debuginfo.XXXXXX                being written
//	cache_miss_s, …                         control files: see control
//
// Other programs write here too, and do not verify what they were given.
type cache struct {
	dir  string
	now  func() time.Time
	free func(dir string) (n int64, ok bool) // free bytes on the disk; nil for no limit
}

// path returns the path of a file in the cache.
func (c *cache) path(k key) string { return filepath.Join(c.dir, k.id.String(), k.kind.fileName()) }

// missAge returns how long it is remembered that no server has a file: as long as the control file says, but an hour in place of the ten
// minutes that elfutils writes there, for which preset is set. Builds that a server lacks are most often those that it will never have.
func (c *cache) missAge() (age time.Duration, preset bool) {
	if age := c.control(cacheMiss); age != time.Duration(cacheMiss.preset)*time.Second {
		return age, false
	}
	return time.Hour, true
}

// hit is what the cache has of a file.
type hit struct {
	path    string
	elf     *elfInfo  // not nil if the file is there; empty for a source file
	missing bool      // no server had it
	until   time.Time // when missing expires
	note    string    // for messages; "" if the cache has nothing
}

// look looks for a file. A file that has another build ID or is damaged counts as missing; a download will replace it.
func (c *cache) look(k key) hit {
	h := hit{path: c.path(k)}
	st, err := os.Stat(h.path)
	if err != nil || !st.Mode().IsRegular() {
		return h
	}
	if st.Size() == 0 { // its permissions may be 000: the first releases of elfutils set that
		age, _ := c.missAge()
		h.until = st.ModTime().Add(age)
		h.missing = c.now().Before(h.until) && !st.ModTime().After(c.now().Add(age))
		if h.missing {
			h.note = "no server had it at " + st.ModTime().Format(time.DateTime)
		}
		return h
	}
	if c.foreign(st) {
		h.note = "it belongs to another user"
		return h
	}
	if k.kind.isSource() {
		h.elf = new(elfInfo)
	} else if h.elf, err = verifyFile(h.path, k); err != nil {
		h.elf, h.note = nil, err.Error()
		return h
	}
	diskcache.Touch(h.path, st) // for the cleaning
	return h
}

// writeError is a failure to write into the cache.
type writeError struct{ err error }

func (e *writeError) Error() string { return "write to the cache: " + e.err.Error() }

func (e *writeError) Unwrap() error { return e.err }

// entry is a file of the cache that is being written. One attempt uses it at a time.
type entry struct {
	key
	cache     *cache
	path      string
	temp      *diskcache.File
	fault     error // a *writeError: nothing more is written
	committed bool
	// looked is how many bytes were written since the last check of the free space.
	looked int64
}

// open makes a temporary file in the directory of the file.
func (c *cache) open(k key) (*entry, error) {
	e := &entry{key: k, cache: c, path: c.path(k)}
	dir := filepath.Dir(e.path)
	err := os.MkdirAll(filepath.Dir(c.dir), 0o700)
	if err == nil {
		if err = os.Mkdir(c.dir, 0o777); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	for try := 0; err == nil && try < 2; try++ { // another program that cleans may remove the directory in between
		if err = os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			break
		}
		e.temp, err = diskcache.CreateNamed(e.path, k.kind.fileName()+".")
		if err == nil {
			return e, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = nil
	}
	if err == nil {
		err = fs.ErrNotExist
	}
	return nil, fmt.Errorf("cache of downloads: %w", err)
}

// A download leaves keptFree bytes of the disk free. It checks that after every lookAfter bytes.
const (
	keptFree  = 64 << 20
	lookAfter = 16 << 20
)

// room fails if the disk has no room for so many bytes.
func (e *entry) room(size int64) error {
	e.looked = 0
	if e.cache.free == nil {
		return nil
	}
	free, ok := e.cache.free(filepath.Dir(e.path))
	if !ok || free-size >= keptFree {
		return nil
	}
	why := fmt.Sprintf("%s has only %s free, of which %s must stay free; free some space, or set DEBUGINFOD_CACHE_PATH to a directory on another disk",
		e.cache.dir, bytesText(free), bytesText(keptFree))
	if size > 0 {
		why = fmt.Sprintf("the file has %s, and ", bytesText(size)) + why
	}
	e.fault = &writeError{errors.New(why)}
	return e.fault
}

// write replaces what was written before and returns the number of bytes written. size is the expected size, 0 if it is unknown. A
// failure of the disk is a *writeError; all later writes then fail immediately.
func (e *entry) write(from io.Reader, size int64) (int64, error) {
	if e.fault != nil {
		return 0, e.fault
	}
	if err := e.temp.Truncate(0); err != nil {
		e.fault = &writeError{err}
		return 0, e.fault
	}
	if _, err := e.temp.Seek(0, io.SeekStart); err != nil {
		e.fault = &writeError{err}
		return 0, e.fault
	}
	if err := e.room(size); err != nil {
		return 0, err
	}
	return io.Copy(blame{e}, from)
}

// blame distinguishes failures to write from failures to read.
type blame struct{ e *entry }

// Write implements io.Writer.
func (b blame) Write(p []byte) (int, error) {
	if b.e.looked += int64(len(p)); b.e.looked > lookAfter {
		if err := b.e.room(0); err != nil {
			return 0, err
		}
	}
	n, err := b.e.temp.Write(p)
	if err != nil {
		b.e.fault = &writeError{err}
		err = b.e.fault
	}
	return n, err
}

// verify checks what was written.
func (e *entry) verify() (*elfInfo, error) {
	if e.kind.isSource() {
		return new(elfInfo), nil
	}
	st, err := e.temp.Stat()
	if err != nil {
		return nil, err
	}
	return verify(e.temp, st.Size(), e.key)
}

// commit makes the temporary file the cached file, atomically.
func (e *entry) commit() error {
	err := e.temp.Sync() // other programs that use the cache do not verify the content
	if err == nil {
		err = e.temp.Chmod(0o400) // as elfutils does
	}
	if err == nil {
		err = e.temp.Commit()
	}
	if err != nil {
		e.fault = &writeError{err}
		return e.fault
	}
	e.committed = true
	return nil
}

// miss records that no server has the file.
func (e *entry) miss() {
	if st, err := os.Stat(e.path); err == nil && st.Size() == 0 {
		_ = os.Remove(e.path) // expired
	}
	// Another process may have found the file in the meantime. If nothing can be written, the servers are asked again next time.
	if f, err := os.OpenFile(e.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err == nil {
		f.Close()
	}
}

// close removes the temporary file.
func (e *entry) close() {
	if e.committed {
		return
	}
	e.temp.Abort()
	_ = os.Remove(filepath.Dir(e.path)) // fails unless it is empty
}

// control is a file in the cache that holds a number of seconds.
type control struct {
	name   string
	preset int64
}

// The control files (debuginfod-client-config(7)) with the defaults of elfutils.
var (
	cacheMiss     = control{"cache_miss_s", 600}
	cleanInterval = control{"cache_clean_interval_s", 24 * 60 * 60} // its mtime is the time of the last cleaning
	maxUnused     = control{"max_unused_age_s", 7 * 24 * 60 * 60}
)

// control reads a control file, and creates it if it is missing. If it has no number, the default counts.
func (c *cache) control(k control) time.Duration {
	seconds := k.preset
	path := filepath.Join(c.dir, k.name)
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() { // a FIFO would block
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

// preset creates a control file. If that fails, the default still applies.
func (c *cache) preset(k control) {
	f, err := os.OpenFile(filepath.Join(c.dir, k.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		fmt.Fprintf(f, "%d", k.preset)
		f.Close()
	}
}

// clean removes files that have not been used for a long time, if it is time to clean.
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
	if os.Chtimes(path, now, now) != nil { // first, so that no other process cleans too
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

// cleanDir removes the unused files of one build ID, and the directory if it is empty and as old.
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
		_ = os.Remove(dir) // fails unless it is empty
	}
}

// bound removes the files that were used the longest ago, until all of them have at most so many bytes.
func (c *cache) bound(most int64) {
	type file struct {
		path string
		size int64
		used time.Time
	}
	var all []file
	total := int64(0)
	dirs, _ := os.ReadDir(c.dir)
	for _, dir := range dirs {
		if !dir.IsDir() || strings.Trim(dir.Name(), "0123456789abcdef") != "" {
			continue
		}
		files, _ := os.ReadDir(filepath.Join(c.dir, dir.Name()))
		for _, f := range files {
			if info, err := f.Info(); err == nil && info.Mode().IsRegular() && ours(f.Name()) {
				used, _ := diskcache.Used(info)
				all = append(all, file{filepath.Join(c.dir, dir.Name(), f.Name()), info.Size(), used})
				total += info.Size()
			}
		}
	}
	slices.SortFunc(all, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, f := range all {
		if total <= most {
			return
		}
		if os.Remove(f.path) == nil {
			total -= f.size
			_ = os.Remove(filepath.Dir(f.path)) // fails unless it is empty
		}
	}
}

// ours reports whether a name is that of a file of debuginfod, complete or temporary.
func ours(name string) bool {
	for _, kind := range [...]string{"debuginfo", "executable", "source", "section", "breakpad"} {
		if strings.HasPrefix(name, kind) {
			return true
		}
	}
	return false
}
