// Package locate finds the files of a module, the runtime ELF and its debug information, by build ID or by path.
//
//   - locate.go: Locator and its Options; sort.go: what Options.Symbols are, by their content; trees.go: Trees, which looks in build-ID trees alone, as llvm does
//   - search.go: one search; byname.go: by the module's name alone; debuglink.go: by .gnu_debuglink; idmap.go: by ids.txt and symbol-index
//     files; pair.go: what a search has found
//   - name.go, archive.go: a module's name in a log, and in an archive
//   - place.go: where a file may be; resolve.go: paths inside a root, as in a chroot; dirs.go: where directories lead; open_unix.go and
//     open_other.go: regular files and nothing else
//   - walk.go: indexed directory trees; index.go: the index; treecache.go and treecode.go: the index on disk
//   - identify.go, head.go and sections.go: the headers of an ELF file; symbolfile.go: symbol files that are not ELF files
//   - macho.go: Mach-O files, and those of several architectures
//   - below.go: a bounded look at directories that no user has named
//   - zip.go, member.go: members of archives; unpack.go: those that are deflated, unpacked in the cache directory
//   - watch.go: whether found files have changed, or missing ones exist now
package locate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"qss-filter/symsrc"
)

// Options say where to look for files.
type Options struct {
	// Objects are files named one by one, Arguments those in the arguments of a command.
	Objects, Arguments []string
	files              []string // those of Objects that Symbols names
	// Symbols are files and directories that are known by their content. A file counts as one of Objects or of IDsTxt. A directory
	// that is one of BuildIDDirs or BreakpadDirs by its layout counts as such. Of any other directory, every regular ELF file below it
	// is found by its build ID and by its file name, and so is every ELF file in a zip archive (APK, AAR, AAB). These are read by the
	// first search that needs them. Links to files count. Links to directories are not followed, and the directories of version
	// control are not read.
	Symbols []string
	// Nearby are directories like Symbols that the user has not named. Their files are found by their build IDs alone, after those of all
	// other places, and what of them cannot be read is left out.
	Nearby []string
	// BuildIDDirs are build-ID trees: xx/yyyy.debug, xx/yyyy, or these below .build-id.
	BuildIDDirs []string
	// DebugRoots are directories like /usr/lib/debug: with .build-id/xx/yyyy.debug, and debug files below the paths of the log.
	DebugRoots []string
	// BreakpadDirs are symbol stores with Breakpad's layout: NAME/DEBUGID/NAME.sym, possibly compressed.
	BreakpadDirs []string
	// IDsTxt are files that list files by build ID: ids.txt and symbol-index files of Fuchsia.
	IDsTxt []string
	// Rootfs are the roots of the paths in the log; none means the host's own.
	Rootfs []string
	// CacheDir is where the index of Symbols and unpacked members of archives are kept between runs. If it is "",
	// each run reads the trees again, and deflated members of archives cannot be used.
	CacheDir string
	// WorkDir is the directory of relative names; "" means the process's own.
	WorkDir string
	// Wait bounds how long all calls of Find together wait in vain; 0 is no bound. A search that takes longer goes on, and the answer to
	// later calls is its result. Until then, it is what the places had when they were read the last time.
	Wait time.Duration
	// After bounds how long Await waits for such searches.
	After time.Duration
	// Held, if not nil, returns where the file of a module with a build ID is found that is not at the module's path any more, or "".
	Held func(m symsrc.Module) string
	// OnProblem, if not nil, is called once per cause with a problem of the search, such as a directory that cannot be read.
	OnProblem func(msg string)

	bundled bool // Symbols has bundles
}

// maxMemo bounds the remembered modules: a log of random names must not fill the memory.
const maxMemo = 1 << 14

// Locator finds files. It may be used by several goroutines at once.
type Locator struct {
	opt      Options
	roots    []string
	explicit bool // the roots were named
	objects  *index

	symbols  *lazyIndex // of Options.Symbols
	nearby   *lazyIndex // of Options.Nearby
	rootTree *lazyIndex // of Options.Rootfs

	ctx    context.Context // of searches that go on without a caller
	cancel context.CancelFunc

	mu    sync.Mutex
	memo  map[symsrc.Module]*remembered
	vain  time.Duration // that calls of Find have waited for searches that took longer
	late  []*remembered // those searches, finished ones among them
	hurry bool          // Await does not wait

	dirs knownDirs // of roots

	mapOnce sync.Once
	idMap   idMap // of Options.IDsTxt
}

// remembered is a search. It is finished when done is closed; files is then nil if it was canceled.
type remembered struct {
	done  chan struct{}
	files *symsrc.Files
	// before is the result of a search in what the trees had the last time, while they are read. It is set when known is closed.
	before *symsrc.Files
	known  chan struct{}
	late   bool // some answer did not wait for it; Locator.mu guards it
	// awaiting counts the frames of such answers.
	awaiting atomic.Int64
}

// New checks that the named files exist. It returns a *symsrc.OptionError for a directory or an object that cannot be
// read, or for a file of Symbols that is nothing which has symbols, and "open NAME: …" for an argument; of Objects, a file that is not an ELF file
// is only reported as a problem.
func New(o Options) (*Locator, error) {
	if o.OnProblem == nil {
		o.OnProblem = func(string) {}
	}
	o, err := o.sorted()
	if err != nil {
		return nil, err
	}
	l := &Locator{
		opt: o, roots: o.Rootfs, explicit: len(o.Rootfs) > 0,
		memo: make(map[symsrc.Module]*remembered),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	workers := 0
	if o.Wait > 0 { // a core is left to those who do not wait
		workers = max(1, runtime.GOMAXPROCS(0)-1)
	}
	l.symbols = newLazyIndex(trees{dirs: o.Symbols, cacheDir: o.CacheDir, problem: l.opt.OnProblem, workers: workers})
	l.nearby = newLazyIndex(trees{dirs: o.Nearby, cacheDir: o.CacheDir, problem: func(string) {}, workers: workers})
	l.rootTree = newLazyIndex(trees{dirs: o.Rootfs, isRoot: true, cacheDir: o.CacheDir, problem: l.opt.OnProblem, workers: workers})
	for _, path := range o.IDsTxt {
		f, err := openRegular(path, true)
		if err != nil {
			return nil, wrong("IDsTxt", fmt.Errorf("open %s: %w", path, cause(err)))
		}
		f.close()
	}
	for _, named := range [...]struct {
		field string
		dirs  []string
	}{{"Symbols", o.Symbols}, {"BuildIDDirs", o.BuildIDDirs}, {"DebugRoots", o.DebugRoots},
		{"BreakpadDirs", o.BreakpadDirs}, {"Rootfs", o.Rootfs}} {
		for _, dir := range named.dirs {
			if o.bundled && isFile(dir) {
				continue
			}
			if err := readableDir(dir); err != nil {
				return nil, wrong(named.field, err)
			}
		}
	}
	if !l.explicit {
		root, _ := hostRoot(string(filepath.Separator))
		l.roots = []string{root}
	}
	if err := l.indexObjects(); err != nil {
		return nil, err
	}
	if o.bundled { // unpacking one takes so long that it does not begin with the first frame
		l.symbols.run()
	}
	return l, nil
}

// wrong returns an error about a field of Options.
func wrong(field string, err error) error {
	return &symsrc.OptionError{Option: "locate." + field, Err: err}
}

// readableDir returns an error unless dir is a directory that can be listed.
func readableDir(dir string) error {
	fi, err := os.Stat(dir) // before opening it, since it may be a FIFO
	if err == nil && !fi.IsDir() {
		err = syscall.ENOTDIR
	}
	var d *os.File
	if err == nil {
		d, err = os.Open(dir)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, cause(err))
	}
	d.Close()
	return nil
}

// cause returns the system's error of a failed operation on a path, without operation and path.
func cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// indexObjects reads the headers of the files named one by one.
func (l *Locator) indexObjects() error {
	l.objects = newIndex()
	for i, path := range slices.Concat(l.opt.Arguments, l.opt.Objects) {
		_, list, err := read(path, true, true)
		if err == nil && len(list) > 0 {
			l.objects.add(0, path, list)
			continue
		}
		if err == nil { // for the reason
			_, err = probe(place{path: path})
		}
		switch fe := classify(err); fe.status {
		case symsrc.NotFound, symsrc.NoReadPermission, symsrc.ReadError:
			err = fmt.Errorf("open %s: %s", path, fe.note)
			if fe.err != nil {
				err = fmt.Errorf("open %s: %w", path, cause(fe.err))
			}
			if i >= len(l.opt.Arguments) {
				err = wrong("Objects", err)
			}
			return err
		default:
			note := fe.note
			switch {
			case fe.isZip():
				note = "an archive without files of native code"
			case fe.note == notELF && slices.Contains(l.opt.files, path):
				return wrong("Symbols", fmt.Errorf("%s: no file with symbols: want a program, a library, a symbol file, or a directory or an archive of these", path))
			}
			l.opt.OnProblem(path + ": " + note)
		}
	}
	l.objects.finish()
	return nil
}

// Find looks for the files of m, or returns the result of an earlier search, unless one of its files has changed. The result is
// shared and must not be changed. If ctx ends first, its status is UnknownError and nothing is remembered. If the search takes longer
// than Options.Wait allows, the result has a Retry.
func (l *Locator) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	if files := m.BuildID.Unreadable(); files != nil {
		return files
	}
	if len(m.Name) > 2*maxPath { // not a path, and too long to be remembered
		m.Name = ""
	}
	if len(m.Member) > maxMemberName {
		m.Member = ""
	}
	for ctx.Err() == nil && l.ctx.Err() == nil {
		r, mine := l.entry(m)
		switch {
		case mine && l.opt.Wait > 0:
			go l.run(l.ctx, m, r)
		case mine:
			l.run(ctx, m, r)
		}
		if !l.await(ctx, r) {
			return r.unfinished()
		}
		select {
		case <-r.done:
			if r.files != nil && (mine || !r.files.Watch.Look()) {
				return r.files
			} // otherwise that search was canceled, or must be repeated
			l.forget(m, r)
		case <-ctx.Done():
		}
	}
	return &symsrc.Files{
		ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.UnknownError, Note: "search ended early",
		Detail: cmp.Or(context.Cause(ctx), context.Canceled).Error(),
	}
}

// leastWait is how long a search is waited for after others have used up Options.Wait: one that need not read a tree is over by then.
const leastWait = 5 * time.Millisecond

// bundleWait is how long searches are waited for while a bundle is unpacked, which mostly takes seconds.
const bundleWait = 50 * time.Millisecond

// await waits for a search, or until ctx ends. It returns false if the search takes longer than it is waited for.
func (l *Locator) await(ctx context.Context, r *remembered) bool {
	if l.opt.Wait == 0 || r.over() {
		return true
	}
	began := time.Now()
	most := l.opt.Wait
	if l.opt.bundled && !closedNow(l.symbols.run().unpacked) {
		most = min(most, bundleWait)
	}
	l.mu.Lock()
	most, late := max(most-l.vain, leastWait), r.late
	l.mu.Unlock()
	if late {
		return false
	}
	enough := time.NewTimer(most)
	defer enough.Stop()
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
		return true
	case <-r.known:
		began = time.Now() // it was not in vain
	case <-enough.C:
	}
	l.mu.Lock()
	first := len(l.late) == 0
	if l.vain += time.Since(began); !r.late {
		r.late, l.late = true, append(l.late, r)
	}
	l.mu.Unlock()
	if first && !closedNow(r.known) && len(l.opt.Symbols) > 0 && l.symbols.made() == nil {
		l.opt.OnProblem(strings.Join(l.opt.Symbols, " and ") + ": still being read; frames get the names that are there when it is done")
		go l.sayCame()
	}
	return false
}

// sayCame says that the trees were read for which answers did not wait, if that names frames that came before.
func (l *Locator) sayCame() {
	l.symbols.get(l.ctx)
	l.mu.Lock()
	late := l.late
	l.mu.Unlock()
	frames := int64(0)
	for _, r := range late {
		select {
		case <-r.done:
		case <-l.ctx.Done():
			return
		}
		if r.files != nil && r.files.Usable() {
			frames += r.awaiting.Load()
		}
	}
	if frames > 0 && l.ctx.Err() == nil {
		l.opt.OnProblem(symsrc.CameLate(strings.Join(l.opt.Symbols, " and "), frames))
	}
}

// over reports whether a search is finished.
func (r *remembered) over() bool { return closedNow(r.done) }

// closedNow reports whether a channel is closed, on which nothing is sent.
func closedNow(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// unfinished returns what is known of a module whose search goes on.
func (r *remembered) unfinished() *symsrc.Files {
	const note = "still being searched for"
	files := symsrc.Files{ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.UnknownError, Note: note, Detail: note}
	files.Retry = func() bool { return closedNow(r.known) || r.over() }
	if closedNow(r.known) {
		files = *r.before
		files.Retry = r.over
	}
	files.Awaiting = &r.awaiting
	files.Came = func() bool { return r.over() && r.files != nil && r.files.Usable() }
	return &files
}

// Hurry makes Await not wait. It may be called at any time.
func (l *Locator) Hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hurry = true
}

// Await waits for searches that answers did not wait for, as Options.After says, after bundles have been unpacked: that is not begun anew
// by each run.
func (l *Locator) Await() {
	l.mu.Lock()
	late := l.late
	if l.late = nil; l.hurry {
		late = nil
	}
	l.mu.Unlock()
	if len(late) > 0 && l.opt.bundled {
		<-l.symbols.run().unpacked
	}
	enough := time.NewTimer(l.opt.After)
	defer enough.Stop()
	for _, r := range late {
		select {
		case <-r.done:
		case <-enough.C:
			return
		}
	}
}

// Reading returns how many files of Options.Symbols have been read, about how many there are, 0 if that is not known, and whether all have been.
func (l *Locator) Reading() (files, of int64, done bool) {
	return l.symbols.files.Load(), l.symbols.known.Load(), len(l.opt.Symbols) == 0 || l.symbols.made() != nil
}

// Close ends searches that go on. What they have read of trees is kept for the next run.
func (l *Locator) Close() {
	l.cancel()
	for _, t := range [...]*lazyIndex{l.symbols, l.nearby, l.rootTree} {
		t.close()
	}
}

// entry returns the memo's entry for m, and whether the caller must fill it.
func (l *Locator) entry(m symsrc.Module) (*remembered, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.memo[m]; ok {
		return r, false
	}
	if len(l.memo) >= maxMemo {
		clear(l.memo)
	}
	r := &remembered{known: make(chan struct{}), done: make(chan struct{})}
	m.Name, m.Member = strings.Clone(m.Name), strings.Clone(m.Member) // they may share memory with a large chunk of the log
	l.memo[m] = r
	return r, true
}

// run fills r, or removes it from the memo if ctx ends before.
func (l *Locator) run(ctx context.Context, m symsrc.Module, r *remembered) {
	defer close(r.done)
	files := l.inPast(ctx, m)
	if files != nil {
		r.before = files
		close(r.known)
	}
	if files == nil || !files.Usable() || files.DebugStatus != symsrc.OK {
		files = newSearch(l, ctx, m).run()
	}
	if ctx.Err() == nil {
		r.files = files
	} else {
		l.forget(m, r)
	}
}

// inPast looks for a module in what trees had the last time, if they are being read, or will be: a file that is still there is verified by
// its build ID as any other. While a bundle is unpacked it looks in all other places: unpacking takes seconds. It returns nil if that cannot help.
func (l *Locator) inPast(ctx context.Context, m symsrc.Module) *symsrc.Files {
	if m.BuildID == "" || len(l.opt.Symbols) == 0 || l.symbols.made() != nil {
		return nil
	}
	if past := l.symbols.before(ctx); past == nil || len(past.entries)+len(past.symbols) == 0 && (!l.opt.bundled || closedNow(l.symbols.run().unpacked)) {
		return nil
	}
	s := newSearch(l, ctx, m)
	s.past = true
	if files := s.run(); files.Usable() || len(files.Symbols) > 0 {
		return files
	}
	return nil
}

// forget removes a search from the memo.
func (l *Locator) forget(m symsrc.Module, r *remembered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.memo[m] == r {
		delete(l.memo, m)
	}
}
