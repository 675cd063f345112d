package object

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/diskcache"
)

// A twin is a file that holds the sections of an object unpacked which are compressed in the object, so that the next
// process maps them in place of unpacking them.
//
// It begins with a head of twinPage bytes, text that names the object and lists the sections. The head is made anew from the
// object and compared as a whole, so that nothing in a twin is ever interpreted. The sections follow, each at the start of a
// page. What is written after the twin was complete shows in its time of modification, which is set to that of the object,
// in whole seconds; and what a crash of the machine left unwritten does not count, because the head names the boot.
const (
	twinVersion = 1
	twinPage    = 1 << 12
)

// Limits of twins: the least that an object's sections are to unpack to (below it, to unpack what a question needs takes
// less than about 10 ms), what all twins take on disk, and what
// is left free on the disk.
const (
	minTwin      = 4 << 20
	maxTwins     = 1 << 30
	twinsReserve = 256 << 20
)

// twins is where a Source keeps the twins of the objects that it opens.
type twins struct {
	dir               string
	boot              string // names the time since the machine was started
	min, max, reserve int64  // see minTwin, maxTwins, twinsReserve

	asking atomic.Int32  // questions that are being answered
	asked  atomic.Int64  // those that were
	off    atomic.Bool   // one went bad while it was in use
	turn   chan struct{} // held by the one that is being written

	mu      sync.Mutex
	closed  bool
	writing string // the unfinished file; "" where there is none
}

// KeepTwins makes the source keep what large compressed objects unpack to in dir/twins, at most 1 GiB in all, and take it
// from there the next time. A twin is written beside the questions, from an object's second one on; where the process ends
// before that is done, there is none. An empty dir, the default, means to keep none. It is for the time before the first
// question, and does nothing where the system does not tell enough of files.
func (s *Source) KeepTwins(dir string) {
	boot := bootID()
	if dir == "" || boot == "" {
		s.twins = nil
		return
	}
	s.twins = &twins{dir: filepath.Join(dir, "twins"), boot: boot, min: minTwin, max: maxTwins, reserve: twinsReserve,
		turn: make(chan struct{}, 1)}
}

// Close ends what the source does beside the questions, without waiting. An unfinished twin is removed. The source may be
// asked further; it writes no twins any more.
func (s *Source) Close() error {
	if s.twins != nil {
		s.twins.close()
	}
	return nil
}

// twin is what a File has to do with its twin.
type twin struct {
	of     *twins
	name   string // of the twin's file
	head   []byte
	stamp  time.Time // its time of modification
	offs   []int64   // where the sections begin, in the order of File.compressed
	size   int64
	mapped []byte // nil where there is none yet
	unmap  func() error
	stat   fs.FileInfo // of what is mapped

	asked atomic.Int32
	quit  chan struct{} // closed with the File
}

// attach maps the twin of a file just opened, if there is one, or else prepares to write it. part is where the file lies in
// the one at its path.
func (t *twins) attach(f *File, part symsrc.Range) {
	if t == nil || t.off.Load() || f.stat == nil || f.elf.Type == elf.ET_REL || int64(f.dwarf.UnpackedSize) < t.min || len(f.dwarf.Compressed) == 0 {
		return
	}
	w := t.describe(f, part)
	if w == nil {
		return
	}
	if w.mapped, w.unmap = t.mapTwin(w); w.mapped != nil {
		for i, s := range f.dwarf.Compressed {
			at := w.offs[i]
			s.Replace(w.mapped[at : at+int64(s.Size) : at+int64(s.Size)])
		}
	}
	f.twin = w
}

// describe returns what the twin of a file is to be; nil where it is to have none.
func (t *twins) describe(f *File, part symsrc.Range) *twin {
	id := diskcache.StampOf(f.path, f.stat)
	w := &twin{of: t, stamp: f.stat.ModTime().Truncate(time.Second), quit: make(chan struct{})}
	head := fmt.Appendf(nil, "twin of a compressed object, version %d\nboot %s\nfile %d:%d changed %d.%09d size %d modified %d\npart %d+%d\nbuild ID %x\n",
		twinVersion, t.boot, id.Device, id.Inode, id.Ctime/int64(time.Second), id.Ctime%int64(time.Second), id.Size, id.Mtime, part.Offset, part.Size, string(f.elf.ID))
	w.size = twinPage
	for _, s := range f.dwarf.Compressed {
		head = fmt.Appendf(head, "section %d packed %d size %d at %d\n", s.Index, s.Packed, s.Size, w.size)
		w.offs = append(w.offs, w.size)
		w.size += (int64(s.Size) + twinPage - 1) &^ (twinPage - 1)
	}
	if len(head) > twinPage || w.size > t.max {
		return nil
	}
	w.head = append(head, make([]byte, twinPage-len(head))...)
	sum := sha256.Sum256(w.head)
	w.name = hex.EncodeToString(sum[:16])
	return w
}

// lostTwin reports whether a file failed while its sections were those of a twin, so that it is to be opened without.
func (m *module) lostTwin() bool {
	mapped, failed := false, false
	for _, f := range m.opened {
		mapped = mapped || f.twin != nil && f.twin.mapped != nil
		fault := f.fault.Load()
		failed = failed || fault != nil && !errors.Is(fault, budget.ErrExceeded)
	}
	return mapped && failed
}

// reopen closes the files of a module that lost a twin, or were overwritten.
func (m *module) reopen() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lostTwin() || !m.intact() { // nobody else has done it
		m.close()
	}
}

// keepTwin begins to write the twin when the file is asked the second time: who asks once will hardly come again.
func (f *File) keepTwin() {
	w := f.twin
	if w == nil || w.mapped != nil || w.asked.Load() > 1 || w.asked.Add(1) != 2 {
		return
	}
	if runtime.GOMAXPROCS(0) == 1 { // it would take the time of the answers
		return
	}
	f.ahead.running.Go(func() { w.of.write(f, w) })
}

// changedTwin reports whether somebody has written to the twin since it was mapped.
func (f *File) changedTwin() bool {
	if f.twin == nil || f.twin.mapped == nil {
		return false
	}
	// One that was removed, or another one in its place, leaves what is mapped as it was.
	now, err := os.Stat(filepath.Join(f.twin.of.dir, f.twin.name))
	return err == nil && os.SameFile(now, f.twin.stat) && !f.twin.sound(now)
}

// sound reports whether a twin's file is what was written.
func (w *twin) sound(stat fs.FileInfo) bool {
	return stat.Mode().IsRegular() && diskcache.IsPrivate(stat) && stat.Size() == w.size && stat.ModTime().Equal(w.stamp)
}

// closeTwin unmaps it.
func (f *File) closeTwin() {
	if f.twin == nil {
		return
	}
	if f.twin.unmap != nil {
		_ = f.twin.unmap()
	}
	f.twin = nil
}
