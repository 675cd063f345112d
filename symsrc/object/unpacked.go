package object

import (
	"crypto/sha256"
	stdelf "debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// An unpacked copy is a file that holds the sections of an object unpacked which are compressed in the object, so that the next
// process maps them in place of unpacking them.
//
// It begins with a head of copyPage bytes, text that names the object and lists the sections. The head is made again from the
// object and compared as a whole, so that nothing in a copy is ever interpreted. The sections follow, each at the start of a
// page. What is written after the copy was complete shows in its time of modification, which is set to that of the object,
// in whole seconds; and what a crash of the machine left unwritten does not count, because the head names the boot.
const (
	copyVersion = 1
	copyPage    = 1 << 12
)

// Limits of copies: the least that an object's sections are to unpack to (below it, to unpack what a question needs takes
// less than about 10 ms), what all copies take on disk, and what is left free on the disk.
const (
	minUnpacked     = 4 << 20
	maxUnpacked     = 1 << 30
	unpackedReserve = 256 << 20
)

// unpackedCache is where a Source keeps the copies of the objects that it opens.
type unpackedCache struct {
	dir               string
	boot              string // names the time since the machine was started
	min, max, reserve int64  // see minUnpacked, maxUnpacked, unpackedReserve

	asking   atomic.Int32  // questions that are being answered
	asked    atomic.Int64  // those that were
	disabled atomic.Bool   // one went bad while it was in use
	writer   chan struct{} // held by the one that is being written

	mu      sync.Mutex
	closed  bool
	writing string // the unfinished file; "" where there is none
}

// KeepUnpacked makes the source keep what large compressed objects unpack to in dir/unpacked, at most 1 GiB in all, and take it
// from there the next time. A copy is written in the background, from an object's second one on; where the process ends
// before that is done, there is none. An empty dir, the default, means to keep none. Call it before the first
// question; it does nothing where the system has no boot ID.
func (s *Source) KeepUnpacked(dir string) {
	boot := bootID()
	if dir == "" || boot == "" {
		s.unpacked = nil
		return
	}
	s.unpacked = &unpackedCache{dir: filepath.Join(dir, "unpacked"), boot: boot, min: minUnpacked, max: maxUnpacked, reserve: unpackedReserve,
		writer: make(chan struct{}, 1)}
}

// Close ends what the source does in the background, without waiting. An unfinished copy is removed. The source
// still answers questions; it writes no copies any more.
func (s *Source) Close() error {
	if s.unpacked != nil {
		s.unpacked.close()
	}
	return nil
}

// unpackedCopy is the copy of a File, mapped or to be written.
type unpackedCopy struct {
	of     *unpackedCache
	name   string // of the copy's file
	head   []byte
	stamp  time.Time // its time of modification
	offs   []int64   // where the sections begin, in the order of File.compressed
	size   int64
	mapped []byte // nil where there is none yet
	unmap  func() error
	stat   fs.FileInfo // of what is mapped

	asked atomic.Int32
	done  chan struct{} // closed with the File
}

// attach maps the copy of a file just opened, if there is one, and otherwise prepares to write it. part is where the file lies in
// the one at its path.
func (t *unpackedCache) attach(f *File, part symsrc.Range) {
	if t == nil || t.disabled.Load() || f.stat == nil || f.elf.Type == stdelf.ET_REL || int64(f.dwarf.UnpackedSize) < t.min || len(f.dwarf.Compressed) == 0 {
		return
	}
	w := t.describe(f, part)
	if w == nil {
		return
	}
	if w.mapped, w.unmap = t.mapCopy(w); w.mapped != nil {
		for i, s := range f.dwarf.Compressed {
			at := w.offs[i]
			s.Replace(w.mapped[at : at+int64(s.Size) : at+int64(s.Size)])
		}
	}
	f.unpacked = w
}

// describe returns what the copy of a file is to be; nil where it is to have none.
func (t *unpackedCache) describe(f *File, part symsrc.Range) *unpackedCopy {
	id := diskcache.StampOf(f.path, f.stat)
	w := &unpackedCopy{of: t, stamp: f.stat.ModTime().Truncate(time.Second), done: make(chan struct{})}
	head := fmt.Appendf(nil, "unpacked copy of a compressed object, version %d\nboot %s\nfile %d:%d changed %d.%09d size %d modified %d\npart %d+%d\nbuild ID %x\n",
		copyVersion, t.boot, id.Device, id.Inode, id.Ctime/int64(time.Second), id.Ctime%int64(time.Second), id.Size, id.Mtime, part.Offset, part.Size, string(f.elf.ID))
	w.size = copyPage
	for _, s := range f.dwarf.Compressed {
		head = fmt.Appendf(head, "section %d packed %d size %d at %d\n", s.Index, s.Packed, s.Size, w.size)
		w.offs = append(w.offs, w.size)
		w.size += (int64(s.Size) + copyPage - 1) &^ (copyPage - 1)
	}
	if len(head) > copyPage || w.size > t.max {
		return nil
	}
	w.head = append(head, make([]byte, copyPage-len(head))...)
	sum := sha256.Sum256(w.head)
	w.name = hex.EncodeToString(sum[:16])
	return w
}

// isMapped reports whether there is a copy that is read.
func (c *unpackedCopy) isMapped() bool { return c != nil && c.mapped != nil }

// writeLater begins to write the copy when the file is asked the second time: a file that is asked once is hardly ever asked again.
func (c *unpackedCopy) writeLater(f *File) {
	if c == nil || c.mapped != nil || c.asked.Load() > 1 || c.asked.Add(1) != 2 {
		return
	}
	if runtime.GOMAXPROCS(0) == 1 { // it would take the time of the answers
		return
	}
	f.prefetch.running.Go(func() { c.of.write(f, c) })
}

// changed reports whether the copy was written to since it was mapped.
func (c *unpackedCopy) changed() bool {
	if !c.isMapped() {
		return false
	}
	// One that was removed, or another one in its place, leaves what is mapped as it was.
	now, err := os.Stat(filepath.Join(c.of.dir, c.name))
	return err == nil && os.SameFile(now, c.stat) && !c.isValid(now)
}

// isValid reports whether a copy's file is what was written.
func (c *unpackedCopy) isValid(stat fs.FileInfo) bool {
	return stat.Mode().IsRegular() && diskcache.IsPrivate(stat) && stat.Size() == c.size && stat.ModTime().Equal(c.stamp)
}

// stop ends the writing of the copy.
func (c *unpackedCopy) stop() {
	if c != nil {
		close(c.done)
	}
}

// close unmaps the copy.
func (c *unpackedCopy) close() {
	if c != nil && c.unmap != nil {
		_ = c.unmap()
	}
}

// checkSpaceEvery is after how many written bytes the free space of the disk is checked.
const checkSpaceEvery = 32 << 20

var (
	errNoCopy  = errors.New("no copy is to be written")
	errStopped = errors.New("stopped")
)

// write makes the copy of f, one at a time in a process and in the directory. After an error f has none.
func (t *unpackedCache) write(f *File, w *unpackedCopy) {
	select {
	case t.writer <- struct{}{}:
		defer func() { <-t.writer }()
	case <-w.done:
		return
	}
	f.beginPrefetch() // which questions need more than the copy
	f.prefetch.busy.Wait()
	if t.disabled.Load() || time.Since(f.stat.ModTime()) < 2*time.Second { // it may change without the time telling
		return
	}
	lock, err := t.lockDir(w)
	if err != nil {
		return
	}
	defer lock.Close()
	temp, err := diskcache.Create(filepath.Join(t.dir, w.name))
	if err != nil {
		return
	}
	if t.setWriting(temp.Name()) && t.fill(temp, f, w) == nil && t.finish(temp, f, w) == nil {
		return
	}
	t.abort(temp)
}

// lockName is the file in the directory of copies that is locked by the process which writes there.
const lockName = "lock"

// lockDir makes the directory, and room in it. The lock is the right to write there.
func (t *unpackedCache) lockDir(w *unpackedCopy) (lock *os.File, err error) {
	if _, err := diskcache.MakeDir(filepath.Split(t.dir)); err != nil {
		return nil, err
	}
	if lock, err = lockFile(filepath.Join(t.dir, lockName)); err != nil {
		return nil, err
	}
	if !t.makeRoom(w) {
		lock.Close()
		return nil, errNoCopy
	}
	return lock, nil
}

// makeRoom removes what is unfinished, for no other process is writing, and the copies that were not used for the longest time until
// there is room for another one. It reports whether there is.
func (t *unpackedCache) makeRoom(w *unpackedCopy) bool {
	diskcache.RemoveTemporary(t.dir, 0)
	_ = os.Remove(filepath.Join(t.dir, w.name)) // it is there only if it is damaged
	return diskcache.Evict(t.dir, func(name string) bool { return name != lockName }, math.MaxInt, t.max-w.size) &&
		diskcache.HasRoom(t.dir, w.size, t.reserve)
}

// setWriting keeps the name of the unfinished file, for close. It returns false where the source was closed already.
func (t *unpackedCache) setWriting(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = path
	return !t.closed
}

func (t *unpackedCache) abort(temp *diskcache.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	temp.Abort()
	t.writing = ""
}

// close removes the unfinished file.
func (t *unpackedCache) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.writing != "" {
		os.Remove(t.writing)
	}
}

// fill writes the head and unpacks the sections into the file, as others unpack them on demand meanwhile.
func (t *unpackedCache) fill(temp *diskcache.File, f *File, w *unpackedCopy) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = faultOf(r)
		}
	}()
	if _, err := temp.WriteAt(w.head, 0); err != nil {
		return err
	}
	since, pace := 0, pace{t: t, quit: w.done}
	for i, s := range f.dwarf.Compressed {
		for n := 0; n < s.Size; n += prefetchStep {
			pace.wait()
			end := min(n+prefetchStep, s.Size)
			if t.stopped(f) {
				return errStopped
			}
			b := s.UpTo(end)
			if len(b) < end {
				return fmt.Errorf("section %d: %w", s.Index, io.ErrUnexpectedEOF)
			}
			if since += end - n; since >= checkSpaceEvery {
				since = 0
				if !diskcache.HasRoom(t.dir, 0, t.reserve) {
					return errNoCopy
				}
			}
			if _, err := temp.WriteAt(b[n:end], w.offs[i]+int64(n)); err != nil {
				return err
			}
		}
	}
	return temp.Truncate(w.size)
}

func (t *unpackedCache) stopped(f *File) bool {
	if f.prefetch.stopped.Load() {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// finish sets the copy's time and its name, if the object has not changed meanwhile.
func (t *unpackedCache) finish(temp *diskcache.File, f *File, w *unpackedCopy) error {
	if err := os.Chtimes(temp.Name(), time.Now(), w.stamp); err != nil {
		return err
	}
	if stat, err := temp.Stat(); err != nil || !w.isValid(stat) {
		return errNoCopy
	}
	if diskcache.Changed(f.path, f.stat) {
		return errNoCopy
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

// begin notes that the answer to a question begins.
func (t *unpackedCache) begin() {
	if t != nil {
		t.asking.Add(1)
	}
}

// end notes that it ends.
func (t *unpackedCache) end() {
	if t != nil {
		t.asked.Add(1)
		t.asking.Add(-1)
	}
}

// pace slows the writer of a copy down while there are questions, whose memory bandwidth and cores it would take: to a tenth of a core.
// Otherwise it uses a whole one.
type pace struct {
	t     *unpackedCache
	quit  <-chan struct{}
	since time.Time // when the step at hand began; zero before the first
	asked int64     // questions until then
}

const (
	busyFraction = 10                    // steps take one part in so many of the time while there are questions
	quiet        = 10 * time.Millisecond // without a question make a pause
)

// wait waits before each step. It returns at once when the file is closed.
func (p *pace) wait() {
	took := quiet / (busyFraction - 1)
	if !p.since.IsZero() {
		took = time.Since(p.since)
	}
	if p.since.IsZero() || p.t.asking.Load() > 0 || p.t.asked.Load() != p.asked {
		pause := time.NewTimer(max(quiet, took*(busyFraction-1)))
		defer pause.Stop()
		p.asked = p.t.asked.Load()
		select {
		case <-pause.C:
		case <-p.quit:
		}
	}
	p.since = time.Now()
}
