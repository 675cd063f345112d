package object

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"qss-filter/symsrc/diskcache"
)

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
	temp, err := diskcache.Create(filepath.Join(t.dir, w.name))
	if err != nil {
		return
	}
	if t.note(temp.Name()) && t.fill(temp, f, w) == nil && t.finish(temp, f, w) == nil {
		return
	}
	t.drop(temp)
}

// lockName is the file in the directory of twins that is locked by the process which writes there.
const lockName = "lock"

// enter makes the directory, and room in it. The lock is the right to write there.
func (t *twins) enter(w *twin) (lock *os.File, err error) {
	if _, err := diskcache.MakeDir(filepath.Split(t.dir)); err != nil {
		return nil, err
	}
	if lock, err = lockFile(filepath.Join(t.dir, lockName)); err != nil {
		return nil, err
	}
	if !t.makeRoom(w) {
		lock.Close()
		return nil, errNoTwin
	}
	return lock, nil
}

// makeRoom removes what is unfinished, for no other process is writing, and the twins that were not used for the longest time until
// there is room for another one. It reports whether there is.
func (t *twins) makeRoom(w *twin) bool {
	diskcache.RemoveTemporary(t.dir, 0)
	_ = os.Remove(filepath.Join(t.dir, w.name)) // it is there only if it is damaged
	return diskcache.Evict(t.dir, func(name string) bool { return name != lockName }, math.MaxInt, t.max-w.size) &&
		diskcache.HasRoom(t.dir, w.size, t.reserve)
}

// note keeps the name of the unfinished file, for the closing of the source. It returns false where that was done.
func (t *twins) note(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = path
	return !t.closed
}

func (t *twins) drop(temp *diskcache.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	temp.Abort()
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
func (t *twins) fill(temp *diskcache.File, f *File, w *twin) (err error) {
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
	for i, s := range f.dwarf.Compressed {
		for n := 0; n < s.Size; n += aheadStep {
			pace.wait()
			end := min(n+aheadStep, s.Size)
			if t.stopped(f) {
				return errStopped
			}
			b := s.UpTo(end)
			if len(b) < end {
				return fmt.Errorf("section %d: %w", s.Index, io.ErrUnexpectedEOF)
			}
			if since += end - n; since >= looks {
				since = 0
				if !diskcache.HasRoom(t.dir, 0, t.reserve) {
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
func (t *twins) finish(temp *diskcache.File, f *File, w *twin) error {
	if err := os.Chtimes(temp.Name(), time.Now(), w.stamp); err != nil {
		return err
	}
	if stat, err := temp.Stat(); err != nil || !w.sound(stat) {
		return errNoTwin
	}
	if diskcache.Changed(f.path, f.stat) {
		return errNoTwin
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errStopped
	}
	if err := temp.Commit(); err != nil {
		return err
	}
	t.writing = ""
	return nil
}
