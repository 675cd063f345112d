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

// An unpacked copy is a file with the uncompressed contents of an object's compressed sections, so that the next process can map them in
// place of unpacking them.
//
// It begins with a header of copyPage bytes, a text that identifies the object and lists the sections. A reader builds the same header from
// the object and compares both, so that no data in a copy is ever interpreted. The sections follow, each aligned to copyPage. A modification
// of a complete copy changes its modification time, which is set to that of the object in whole seconds. A crash of the machine may leave
// data unwritten, so the header contains the boot ID.
const (
	copyVersion = 1
	copyPage    = 1 << 12
)

// Limits of copies, in bytes: the uncompressed size from which on an object has one (below it, a query unpacks what it needs in less
// than about 10 ms), the total size of all copies, and the space that is left free on the disk.
const (
	minUnpacked     = 4 << 20
	maxUnpacked     = 1 << 30
	unpackedReserve = 256 << 20
)

// unpackedCache is the directory of the unpacked copies of a Source.
type unpackedCache struct {
	dir               string
	boot              string // boot ID of the machine
	min, max, reserve int64  // see minUnpacked, maxUnpacked, unpackedReserve

	asking   atomic.Int32  // number of queries that are being answered
	asked    atomic.Int64  // number of queries that were answered
	disabled atomic.Bool   // a copy was damaged while it was in use
	writer   chan struct{} // holds an element while a copy is being written

	mu      sync.Mutex
	closed  bool
	writing string // path of the unfinished file; "" if there is none
}

// KeepUnpacked makes the source keep unpacked copies of large compressed objects in dir/unpacked, at most 1 GiB in total, for use by later
// processes. A copy is written in the background after the second query about an object; if the process ends before it is complete,
// there is none. An empty dir, the default, disables copies. Call it before the first query. It does nothing on systems without a
// boot ID.
func (s *Source) KeepUnpacked(dir string) {
	boot := bootID()
	if dir == "" || boot == "" {
		s.unpacked = nil
		return
	}
	s.unpacked = &unpackedCache{dir: filepath.Join(dir, "unpacked"), boot: boot, min: minUnpacked, max: maxUnpacked, reserve: unpackedReserve,
		writer: make(chan struct{}, 1)}
}

// Close stops writing copies, without waiting, and removes an unfinished one. The source still answers queries.
func (s *Source) Close() error {
	if s.unpacked != nil {
		s.unpacked.close()
	}
	return nil
}

// unpackedCopy is the unpacked copy of a File, either mapped or to be written.
type unpackedCopy struct {
	of     *unpackedCache
	name   string // file name
	header []byte
	stamp  time.Time // modification time
	offs   []int64   // offsets of the sections, in the order of dwarf.Sections.Compressed
	size   int64
	mapped []byte // nil if it is not mapped
	unmap  func() error
	stat   fs.FileInfo // of the mapped file

	asked atomic.Int32  // number of queries about the File, up to 2
	done  chan struct{} // closed with the File
}

// attach maps the copy of a file that was just opened if it exists, and otherwise prepares to write it. part is the range of the file in
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

// describe returns the copy of a file, which is neither mapped nor written yet, or nil if the file must have none.
func (t *unpackedCache) describe(f *File, part symsrc.Range) *unpackedCopy {
	id := diskcache.StampOf(f.path, f.stat)
	w := &unpackedCopy{of: t, stamp: f.stat.ModTime().Truncate(time.Second), done: make(chan struct{})}
	header := fmt.Appendf(nil, "unpacked copy of a compressed object, version %d\nboot %s\nfile %d:%d changed %d.%09d size %d modified %d\npart %d+%d\nbuild ID %x\n",
		copyVersion, t.boot, id.Device, id.Inode, id.Ctime/int64(time.Second), id.Ctime%int64(time.Second), id.Size, id.Mtime, part.Offset, part.Size, string(f.elf.ID))
	w.size = copyPage
	for _, s := range f.dwarf.Compressed {
		header = fmt.Appendf(header, "section %d packed %d size %d at %d\n", s.Index, s.Packed, s.Size, w.size)
		w.offs = append(w.offs, w.size)
		w.size += (int64(s.Size) + copyPage - 1) &^ (copyPage - 1)
	}
	if len(header) > copyPage || w.size > t.max {
		return nil
	}
	w.header = append(header, make([]byte, copyPage-len(header))...)
	sum := sha256.Sum256(w.header)
	w.name = hex.EncodeToString(sum[:16])
	return w
}

// isMapped reports whether the copy is mapped. c may be nil.
func (c *unpackedCopy) isMapped() bool { return c != nil && c.mapped != nil }

// writeLater starts to write the copy after the second query, because most files get either one query or many. c may be nil.
func (c *unpackedCopy) writeLater(f *File) {
	if c == nil || c.mapped != nil || c.asked.Load() > 1 || c.asked.Add(1) != 2 {
		return
	}
	if runtime.GOMAXPROCS(0) == 1 { // it would delay the answers
		return
	}
	f.prefetch.running.Go(func() { c.of.write(f, c) })
}

// changed reports whether the copy was modified since it was mapped.
func (c *unpackedCopy) changed() bool {
	if !c.isMapped() {
		return false
	}
	// If it was removed or replaced, the mapping is unchanged.
	now, err := os.Stat(filepath.Join(c.of.dir, c.name))
	return err == nil && os.SameFile(now, c.stat) && !c.isValid(now)
}

// isValid reports whether stat is that of a complete and unmodified copy.
func (c *unpackedCopy) isValid(stat fs.FileInfo) bool {
	return stat.Mode().IsRegular() && diskcache.IsPrivate(stat) && stat.Size() == c.size && stat.ModTime().Equal(c.stamp)
}

// stop stops writing the copy. c may be nil.
func (c *unpackedCopy) stop() {
	if c != nil {
		close(c.done)
	}
}

// close unmaps the copy. c may be nil.
func (c *unpackedCopy) close() {
	if c != nil && c.unmap != nil {
		_ = c.unmap()
	}
}

// checkSpaceEvery is the number of written bytes after which the free space on the disk is checked.
const checkSpaceEvery = 32 << 20

var (
	errNoCopy  = errors.New("no copy is to be written")
	errStopped = errors.New("stopped")
)

// write writes the copy of f. At most one copy is written at a time, in this process and in the directory. It ignores errors.
func (t *unpackedCache) write(f *File, w *unpackedCopy) {
	select {
	case t.writer <- struct{}{}:
		defer func() { <-t.writer }()
	case <-w.done:
		return
	}
	f.beginPrefetch() // queries need it more urgently than the copy
	f.prefetch.busy.Wait()
	if t.disabled.Load() || time.Since(f.stat.ModTime()) < 2*time.Second { // a change might not show in the time
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

// lockName is the name of the lock file in the directory of copies. The process that writes there holds the lock.
const lockName = "lock"

// lockDir creates the directory, locks it, and makes room for the copy.
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

// makeRoom removes unfinished files, because no other process is writing, and the least recently used copies until there is room for
// another one. It reports whether there is.
func (t *unpackedCache) makeRoom(w *unpackedCopy) bool {
	diskcache.RemoveTemporary(t.dir, 0)
	_ = os.Remove(filepath.Join(t.dir, w.name)) // if it exists, it is damaged
	return diskcache.Evict(t.dir, func(name string) bool { return name != lockName }, math.MaxInt, t.max-w.size) &&
		diskcache.HasRoom(t.dir, w.size, t.reserve)
}

// setWriting stores the path of the unfinished file, for close. It returns false if the source was closed already.
func (t *unpackedCache) setWriting(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = path
	return !t.closed
}

// abort removes the unfinished file.
func (t *unpackedCache) abort(temp *diskcache.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	temp.Abort()
	t.writing = ""
}

// close prevents further writing, and removes the unfinished file.
func (t *unpackedCache) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.writing != "" {
		os.Remove(t.writing)
	}
}

// fill writes the header and the unpacked sections. Queries may unpack the same sections meanwhile.
func (t *unpackedCache) fill(temp *diskcache.File, f *File, w *unpackedCopy) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = faultOf(r)
		}
	}()
	if _, err := temp.WriteAt(w.header, 0); err != nil {
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

// stopped reports whether the file or the source was closed.
func (t *unpackedCache) stopped(f *File) bool {
	if f.prefetch.stopped.Load() {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// finish sets the modification time and the final name of the copy. It fails if the object has changed meanwhile.
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

// begin is called before each query is answered. t may be nil.
func (t *unpackedCache) begin() {
	if t != nil {
		t.asking.Add(1)
	}
}

// end is called after each query was answered. t may be nil.
func (t *unpackedCache) end() {
	if t != nil {
		t.asked.Add(1)
		t.asking.Add(-1)
	}
}

// pace limits the writer of a copy to a tenth of a core while there are queries, which need the cores and the memory bandwidth.
// Without queries the writer uses a whole core.
type pace struct {
	t     *unpackedCache
	quit  <-chan struct{}
	since time.Time // when the current step began; zero before the first one
	asked int64     // unpackedCache.asked at that time
}

const (
	busyFraction = 10                    // while there are queries, steps take 1/busyFraction of the time
	quiet        = 10 * time.Millisecond // least pause while there are queries
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
