package object

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	stdelf "debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/index"
	"qss-filter/symsrc/mapped"
)

// An index file has the answers of a module's files for all of their code (see package index), so that the next process maps it and reads
// no debug information.
//
// It begins with a header of indexPage bytes, a text. Its first part identifies the files and the program. A reader builds the same text
// from the files that it has opened and compares them, and the name of the file is its hash. The other lines list the files that the debug
// information refers to, which must be unchanged, too. A modification of a complete index file changes its modification time, which is
// set to that of the object in whole seconds. An empty file marks an index that could not be written, or is being written.
const (
	indexVersion = 3
	indexPage    = 1 << 12
)

// Limits of indexes, in bytes: the size of the debug information from which on an object has one (below it, answers take a few
// milliseconds without one), the total size of all index files, and the space that is left free on the disk.
const (
	minIndexed   = 1 << 20
	maxIndexes   = 1 << 30
	indexReserve = 256 << 20
)

// minIndexedAge is the time since the last modification of a file from which on it has an index. A program that is being developed is
// built again before an index is worth its cost.
const minIndexedAge = 10 * time.Minute

// retryIndex is the time after which an index that could not be written is wanted again.
const retryIndex = 24 * time.Hour

// indexes is the directory of the indexes of a Source.
type indexes struct {
	dir, program      string
	build             func(IndexJob)
	starting          sync.WaitGroup // calls of build
	min, max, reserve int64          // see minIndexed, maxIndexes, indexReserve
	age               time.Duration
}

// IndexJob says which files need an index.
type IndexJob struct {
	BuildID    string // of the files, hexadecimal; "" if it is not checked
	Elf, Debug string // absolute paths; "" for none
	// Status codes of Elf and Debug.
	ElfStatus, DebugStatus symsrc.Status
}

// Run writes the index to dir/index, for the program that program identifies, unless it exists. It fails if another process is writing
// one there.
func (j IndexJob) Run(ctx context.Context, dir, program string) error {
	s, key := j.source(dir, program)
	if err := s.writeIndex(ctx, key); err != nil {
		return fmt.Errorf("write the index of %s: %w", cmp.Or(j.Debug, j.Elf), err)
	}
	return nil
}

// source returns a source of the files, and their module.
func (j IndexJob) source(dir, program string) (s *Source, key symsrc.Module) {
	files := &symsrc.Files{Elf: j.Elf, Debug: j.Debug, ElfStatus: j.ElfStatus, DebugStatus: j.DebugStatus, Unverified: j.BuildID == ""}
	s = NewSource(found{files})
	s.UseIndexes(dir, program, nil)
	id, _ := symsrc.ParseBuildID(j.BuildID)
	return s, symsrc.Module{Name: cmp.Or(j.Elf, j.Debug), BuildID: id}
}

// found is a finder of the same files for every module.
type found struct{ files *symsrc.Files }

// Find returns the files.
func (f found) Find(context.Context, symsrc.Module) *symsrc.Files { return f.files }

// UseIndexes makes the source answer from the indexes in dir/index that the same program has written, as identified by program. For other
// modules with much debug information it calls build, which may be nil, at their second query and at most once; build should start
// another process, in which IndexJob.Run writes the index, and not wait for it. An empty dir, the default, disables indexes. Call it
// before the first query. It does nothing on systems where index files cannot be mapped.
func (s *Source) UseIndexes(dir, program string, build func(IndexJob)) {
	s.indexes = nil
	if dir != "" && program != "" && canIndex {
		s.indexes = &indexes{dir: filepath.Join(dir, "index"), program: program, build: build,
			min: minIndexed, max: maxIndexes, reserve: indexReserve, age: minIndexedAge}
	}
}

// WaitIndexes waits until all calls of build have returned. Call it before the program exits, because it may exit before build has
// started the other process.
func (s *Source) WaitIndexes() {
	if s.indexes != nil {
		s.indexes.starting.Wait()
	}
}

// moduleIndex is the index of the files of a module, which may not exist. A nil moduleIndex is one of files that have none.
type moduleIndex struct {
	of    *indexes
	name  string // file name
	head  []byte // first part of the header
	stamp time.Time
	job   IndexJob

	*index.Index        // nil if there is none
	mapped       []byte // the index file
	unmap        func() error
	stat         fs.FileInfo // of the index file
	others       map[string]string
	failed       atomic.Bool // the file is damaged
	tried        bool        // it could not be written lately
	asked        atomic.Int32
}

// attach maps the index of a module that was just opened, if it exists.
func (t *indexes) attach(m *module) {
	f := m.file
	if t == nil || f == nil || f.stat == nil || f.elf.Type == stdelf.ET_REL || int64(f.dwarf.Info.Size) < t.min || f.deps.dwp != "" {
		return
	}
	x := t.describe(m)
	if x == nil {
		return
	}
	if err := x.open(f); err != nil {
		x.close()
		x.Index = nil
	}
	f.index = x
}

// describe returns the index of a module, which is not open yet, or nil if it must have none.
func (t *indexes) describe(m *module) *moduleIndex {
	x := &moduleIndex{of: t, stamp: m.file.stat.ModTime().Truncate(time.Second)}
	if !m.found.Unverified {
		x.job.BuildID = m.key.BuildID.String()
	}
	x.head = fmt.Appendf(nil, "index of the code of an object, version %d\nprogram %q\n", indexVersion, t.program)
	for _, f := range m.opened {
		if !f.part.Whole() {
			return nil
		}
		x.head = fmt.Appendf(x.head, "file %v, build ID %x, answers %v\n", diskcache.StampOf(f.path, f.stat), string(f.elf.ID), f.File == m.file)
		if f.path == m.files.Debug && opens(m.files.DebugStatus) { // Elf may have the same path, and not exist
			x.job.Debug, x.job.DebugStatus = f.path, m.files.DebugStatus
		} else {
			x.job.Elf, x.job.ElfStatus = f.path, m.files.ElfStatus
		}
	}
	if late := m.file.runtimeFile.path; late != "" {
		x.job.Elf, x.job.ElfStatus = late, m.files.ElfStatus
	}
	for _, file := range []struct {
		path   *string
		status *symsrc.Status
	}{{&x.job.Elf, &x.job.ElfStatus}, {&x.job.Debug, &x.job.DebugStatus}} {
		if *file.path == "" {
			*file.status = symsrc.NotFound
		} else if abs, err := filepath.Abs(*file.path); err == nil { // the process that writes the index has another working directory
			*file.path = abs
		}
	}
	sum := sha256.Sum256(x.head)
	x.name = hex.EncodeToString(sum[:16])
	return x
}

var (
	errNoIndex = errors.New("there is no index")
	errStale   = errors.New("the files have changed")
)

// open maps the index for the answers of f.
func (x *moduleIndex) open(f *File) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = faultOf(r)
		}
	}()
	path := filepath.Join(x.of.dir, x.name)
	file, stat, err := diskcache.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if used, _ := diskcache.Used(stat); stat.Size() == 0 && x.isValid(stat) && time.Since(used) < retryIndex {
		x.tried = true
	}
	if x.stat = stat; !x.isValid(stat) || stat.Size() < indexPage || stat.Size() > x.of.max {
		return errNoIndex
	}
	if x.mapped, x.unmap, err = mapped.Whole(file, stat); err != nil {
		return err
	}
	others, ok := bytes.CutPrefix(x.mapped[:indexPage], x.head)
	if !ok {
		return errNoIndex
	}
	x.others = make(map[string]string)
	for line := range strings.SplitSeq(string(bytes.TrimRight(others, "\x00")), "\n") {
		if line == "" {
			continue
		}
		stamp, quoted, _ := strings.Cut(line, ", ")
		path, err := strconv.Unquote(quoted)
		if err != nil {
			return fmt.Errorf("read the header of the index: %w", err)
		}
		x.others[path] = stamp
	}
	if x.stale() {
		return errStale
	}
	x.Index, err = index.Open(x.mapped[indexPage:], &f.names, f.elf.Budget)
	if err == nil {
		diskcache.Touch(path, stat)
	}
	return err
}

// isValid reports whether stat is that of a complete and unmodified index file.
func (x *moduleIndex) isValid(stat fs.FileInfo) bool {
	return stat.Mode().IsRegular() && diskcache.IsPrivate(stat) && stat.ModTime().Equal(x.stamp)
}

// stale reports whether a file has changed that the debug information refers to.
func (x *moduleIndex) stale() bool {
	for path, stamp := range x.others {
		if now, err := diskcache.StampAt(path, true); err != nil || now.String() != stamp {
			return true
		}
	}
	return false
}

// isUsed reports whether there is an index and it is not damaged. x may be nil.
func (x *moduleIndex) isUsed() bool { return x != nil && x.Index != nil && !x.failed.Load() }

// frames returns the answer for an address, with its details if they are wanted, and whether the index has it. x may be nil.
func (x *moduleIndex) frames(addr uint64, detailed bool) (frames []symsrc.Frame, details []symsrc.Detail, ok bool) {
	if !x.isUsed() {
		return nil, nil, false
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			x.failed.Store(true)
			frames, details, ok = nil, nil, false
		}
	}()
	if frames, ok = x.Index.Frames(addr); detailed && len(frames) > 0 {
		details = x.Index.Details(addr)
	}
	return frames, details, ok
}

// folded returns the names of the functions that share the code at an address, and whether the index knows. x may be nil.
func (x *moduleIndex) folded(addr uint64) (names string, ok bool) {
	if !x.isUsed() {
		return "", false
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			x.failed.Store(true)
			names, ok = "", false
		}
	}()
	return x.Index.Folded(addr), true
}

// want has the index built, if there is none, at the second query, because most files get either one query or many. x may be nil.
func (x *moduleIndex) want() {
	if x == nil || x.Index != nil || x.tried || x.of.build == nil || x.asked.Load() > 1 || x.asked.Add(1) != 2 {
		return
	}
	if time.Since(x.stamp) > x.of.age {
		x.of.starting.Go(func() { x.of.build(x.job) })
	}
}

// changed reports whether the index was modified since it was mapped, or a file that the debug information refers to. x may be nil.
func (x *moduleIndex) changed() bool {
	if !x.isUsed() {
		return false
	}
	// If it was removed or replaced, the mapping is unchanged.
	now, err := os.Stat(filepath.Join(x.of.dir, x.name))
	return err == nil && os.SameFile(now, x.stat) && (!x.isValid(now) || now.Size() != x.stat.Size()) || x.stale()
}

// close unmaps the index. x may be nil.
func (x *moduleIndex) close() {
	if x != nil && x.unmap != nil {
		_ = x.unmap()
		x.unmap = nil
	}
}

// piecesAtOnce is the number of pieces after which the files are closed and opened again while an index is built, because what is read
// from them stays in memory as long as they are open.
const piecesAtOnce = 1 << 17

var (
	errNotIndexed = errors.New("it needs no index")
	errMissing    = errors.New("its debug information refers to files that are missing")
)

// writeIndex writes the index of a module, after UseIndexes. See IndexJob.Run.
func (s *Source) writeIndex(ctx context.Context, key symsrc.Module) error {
	t := s.indexes
	if t == nil {
		return errNotIndexed
	}
	lock, err := t.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	var x *moduleIndex
	b, others := index.NewBuilder(t.max/2), make(map[string]string)
	for at := uint64(0); at < math.MaxUint64; {
		err := errNotIndexed
		if _, ok := s.with(ctx, key, func(m *module, _ *symsrc.Files) {
			now := m.index()
			switch {
			case now == nil:
				return
			case x != nil && !bytes.Equal(x.head, now.head):
				err = errStale
				return
			case now.isUsed():
				x, at, err = nil, math.MaxUint64, nil
				return
			}
			if x == nil {
				t.mark(now)
			}
			x = now
			at, err = m.addPieces(ctx, at, b)
			m.addOthers(others)
		}); !ok && err == nil {
			err = errStale
		}
		if err != nil {
			return err
		}
		s.module(key).reset()
	}
	if x == nil {
		return nil
	}
	return t.write(x, b, others)
}

// index returns the index of the module's files, which may not exist, or nil.
func (m *module) index() *moduleIndex {
	if m.file == nil {
		return nil
	}
	return m.file.index
}

// reset closes the files, so that the next query opens them again.
func (m *module) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.close()
}

// addPieces adds the answers from an address on, and returns the address at which to continue.
func (m *module) addPieces(ctx context.Context, from uint64, b *index.Builder) (next uint64, err error) {
	f := m.file
	f.guard(func() {
		w := newWalker(f, piecesAtOnce, func(p *Piece) error {
			frames, sym := f.answer(p.Lo)
			err := b.Add(p.Lo, p.Hi, frames, f.details(p.Lo, frames))
			if folded := f.foldedNames(sym); err == nil && folded != "" {
				b.Fold(p.Lo, folded)
			}
			return err
		})
		w.detailed = true
		w.piece = func(_ *dwarf.Unit, lo, hi uint64) bool {
			w.p = Piece{Lo: lo, Hi: hi, Start: lo} // so that the walk may end before each piece
			return true
		}
		next, err = w.run(ctx, from)
	})
	if fault := f.fault.Load(); fault != nil {
		return 0, fault
	}
	for _, f := range m.opened {
		if f.dwarf.MissingFiles() {
			return 0, errMissing
		}
	}
	return next, err
}

// addOthers adds the stamps of the other files that were opened for answers, by path.
func (m *module) addOthers(others map[string]string) {
	add := func(f *File) { others[f.path] = diskcache.StampOf(f.path, f.stat).String() }
	for _, f := range m.opened {
		f.deps.mu.Lock()
		for _, other := range f.deps.opened {
			add(other)
		}
		f.deps.mu.Unlock()
		if late := f.runtimeFile.file.Load(); late != nil {
			add(late)
		}
	}
}

// lock makes the directory and locks it until the file is closed. It fails if another process has locked it.
func (t *indexes) lock() (*os.File, error) {
	if _, err := diskcache.MakeDir(filepath.Split(t.dir)); err != nil {
		return nil, err
	}
	return lockFile(filepath.Join(t.dir, indexLock))
}

// mark writes an empty file in place of an index, so that no process tries to write it again soon if that fails.
func (t *indexes) mark(x *moduleIndex) {
	path := filepath.Join(t.dir, x.name)
	if diskcache.WriteFile(path, nil) == nil {
		_ = os.Chtimes(path, time.Now(), x.stamp) // otherwise the next process tries again
	}
}

// write writes an index to the directory, which is locked.
func (t *indexes) write(x *moduleIndex, b *index.Builder, others map[string]string) error {
	head := x.head
	for path, stamp := range others {
		head = fmt.Appendf(head, "%s, %q\n", stamp, path)
	}
	if len(head) > indexPage {
		return fmt.Errorf("%d files belong to it: %w", len(others), errNotIndexed)
	}
	diskcache.RemoveTemporary(t.dir, 0)
	path := filepath.Join(t.dir, x.name)
	_ = os.Remove(path) // if it exists, it is damaged
	if !diskcache.Evict(t.dir, func(name string) bool { return name != indexLock }, math.MaxInt, t.max-indexPage-b.Size()) ||
		!diskcache.HasRoom(t.dir, indexPage+b.Size(), t.reserve) {
		return errNoRoom
	}
	file, err := diskcache.Create(path)
	if err != nil {
		return err
	}
	defer file.Abort()
	if _, err := file.Write(append(head, make([]byte, indexPage-len(head))...)); err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	if _, err := b.WriteTo(file); err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	if err := errors.Join(os.Chtimes(file.Name(), time.Now(), x.stamp), file.Sync()); err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	return file.Commit()
}

// indexLock is the name of the lock file in the directory of indexes.
const indexLock = "lock"

var errNoRoom = errors.New("there is no room for the index on the disk")
