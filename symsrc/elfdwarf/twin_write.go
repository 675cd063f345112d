package elfdwarf

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// tempPrefix begins the names of unfinished twins.
const tempPrefix = "tmp-"

// looks is after how many bytes written it is looked whether the disk is full.
const looks = 32 << 20

var (
	errNoTwin  = errors.New("no twin is to be written")
	errStopped = errors.New("stopped")
)

// write makes the twin of f, one at a time in a process and in the directory. What goes wrong leaves f without one, which
// nobody needs to know.
func (t *twins) write(f *File, w *twin) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-w.quit:
		return
	}
	f.unpackAhead() // which questions need more than the twin
	f.ahead.busy.Wait()
	if t.off.Load() || time.Since(f.stat.ModTime()) < 2*time.Second { // it may change without the time telling
		return
	}
	lock, err := t.enter(w)
	if err != nil {
		return
	}
	defer lock.Close()
	temp, err := os.CreateTemp(t.dir, tempPrefix)
	if err != nil {
		return
	}
	defer temp.Close()
	if t.note(temp.Name()) && t.fill(temp, f, w) == nil && t.finish(temp, f, w) == nil {
		return
	}
	t.drop(temp.Name())
}

// enter makes the directory, which nobody else may write to, and room in it. The lock is the right to write there.
func (t *twins) enter(w *twin) (lock *os.File, err error) {
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return nil, err
	}
	if stat, err := os.Lstat(t.dir); err != nil || !stat.IsDir() || !private(stat) {
		return nil, errNoTwin
	}
	if lock, err = lockFile(filepath.Join(t.dir, "lock")); err != nil {
		return nil, err
	}
	if err := t.makeRoom(w); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// makeRoom removes what is unfinished, for nobody else is writing, and the twins that were not used for the longest time
// until there is room for another one.
func (t *twins) makeRoom(w *twin) error {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return err
	}
	type old struct {
		path string
		size int64
		used time.Time
	}
	var all []old
	total := w.size
	for _, e := range entries {
		path := filepath.Join(t.dir, e.Name())
		stat, err := e.Info()
		if err != nil || !stat.Mode().IsRegular() {
			continue
		}
		if strings.HasPrefix(e.Name(), tempPrefix) || e.Name() == w.name {
			os.Remove(path)
			continue
		}
		total += stat.Size()
		all = append(all, old{path, stat.Size(), lastUse(stat)})
	}
	slices.SortFunc(all, func(a, b old) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, o := range all {
		if total <= t.max {
			break
		}
		if o.size > 0 && os.Remove(o.path) == nil {
			total -= o.size
		}
	}
	if total > t.max || freeSpace(t.dir) < w.size+t.reserve {
		return errNoTwin
	}
	return nil
}

// note keeps the name of the unfinished file, for who closes the source; false where that was done.
func (t *twins) note(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = path
	return !t.closed
}

func (t *twins) drop(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	os.Remove(path)
	t.writing = ""
}

// close removes the unfinished file.
func (t *twins) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.writing != "" {
		os.Remove(t.writing)
	}
}

// fill writes the head and unpacks the sections into the file, as others unpack them on demand meanwhile.
func (t *twins) fill(temp *os.File, f *File, w *twin) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = faultOf(r)
		}
	}()
	if _, err := temp.WriteAt(w.head, 0); err != nil {
		return err
	}
	since, pace := 0, pace{t: t, quit: w.quit}
	for i, s := range f.compressed {
		for n := 0; n < s.size; n += aheadStep {
			pace.wait()
			end := min(n+aheadStep, s.size)
			if t.stopped(f) {
				return errStopped
			}
			b := s.upTo(end)
			if len(b) < end {
				return fmt.Errorf("section %d: %w", s.index, io.ErrUnexpectedEOF)
			}
			if since += end - n; since >= looks {
				since = 0
				if freeSpace(t.dir) < t.reserve {
					return errNoTwin
				}
			}
			if _, err := temp.WriteAt(b[n:end], w.offs[i]+int64(n)); err != nil {
				return err
			}
		}
	}
	return temp.Truncate(w.size)
}

func (t *twins) stopped(f *File) bool {
	if f.ahead.stopped.Load() {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// finish gives the twin its time and its name, if the object has not changed meanwhile.
func (t *twins) finish(temp *os.File, f *File, w *twin) error {
	if err := os.Chtimes(temp.Name(), time.Now(), w.stamp); err != nil {
		return err
	}
	if stat, err := temp.Stat(); err != nil || !w.sound(stat) {
		return errNoTwin
	}
	if now, err := os.Stat(f.path); err != nil || !unchanged(now, f.stat) || identity(now) != identity(f.stat) {
		return errNoTwin
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errStopped
	}
	if err := os.Rename(temp.Name(), filepath.Join(t.dir, w.name)); err != nil {
		return err
	}
	t.writing = ""
	return nil
}
