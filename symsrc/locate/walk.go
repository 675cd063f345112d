package locate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc/diskcache"
)

// trees are directory trees to be indexed.
type trees struct {
	dirs     []string // or bundles
	isRoot   bool     // they are root file systems
	cacheDir string   // for their cache files; "" for none
	problem  func(string)
	workers  int // 0: one for each core
	// known, if not nil, is called before the trees are read with what they had the last time.
	known func(*index)
	// unpacked, if not nil, is called after the bundles were unpacked.
	unpacked func()
	// ended is set when no caller waits for the trees any more.
	ended *atomic.Bool
	// files counts the files that were read; it may be nil.
	files *atomic.Int64
	// had gets the number of files that the trees had the last time; it may be nil.
	had *atomic.Int64
}

const (
	// settle is how long a file must be unchanged before its times identify it: the clock of a file system may
	// have steps of two seconds.
	settle = 2 * time.Second
	// chunk is the maximum number of files in a job.
	chunk = 512
)

// index indexes every regular ELF file below the directories, and those in archives, on all cores. It reports each
// tree with directories that cannot be read. It skips the host's own root file system, which is too large for
// a search. It is nil if t.ended was set before: what was read until then is kept for the next time.
func (t *trees) index() *index {
	walks := make([]*treeWalk, len(t.dirs))
	for i, dir := range t.dirs {
		if isFile(dir) {
			dir = t.unbundledAt(dir)
		}
		if dir != "" {
			walks[i] = t.walk(dir)
		}
	}
	if t.had != nil {
		n := 0
		for _, w := range walks {
			if w != nil {
				n += len(w.known)
			}
		}
		t.had.Store(int64(n))
	}
	if t.known != nil {
		t.known(indexed(walks, func(w *treeWalk) []foundFile { return w.known.files() }))
	}
	for i, dir := range t.dirs {
		if isFile(dir) && walks[i] == nil {
			walks[i] = t.unbundled(dir)
		}
	}
	if t.unpacked != nil {
		t.unpacked()
	}
	x := indexed(walks, t.read)
	if t.ended != nil && t.ended.Load() {
		return nil
	}
	return x
}

// walk returns the walk over a directory; nil if it is not read.
func (t *trees) walk(dir string) *treeWalk {
	abs, err := filepath.Abs(dir)
	host := err == nil && abs == string(filepath.Separator)
	if host && t.isRoot {
		return nil
	}
	w := newTreeWalk(dir, host || t.isRoot, loadTree(t.cacheDir, abs))
	w.root, w.ended, w.count = abs, t.ended, t.files
	return w
}

// unbundled returns the walk over the files of a bundle, which it unpacks; nil if it cannot be.
func (t *trees) unbundled(path string) *treeWalk {
	dir, err := t.unbundle(path)
	if err == nil {
		return t.walk(dir)
	}
	if !errors.Is(err, errEnded) {
		t.problem(path + ": cannot unpack it: " + err.Error())
	}
	return nil
}

// indexed returns the index of what files returns for each tree; nil stands for one that is not read.
func indexed(walks []*treeWalk, files func(*treeWalk) []foundFile) *index {
	x := newIndex()
	for i, w := range walks {
		if w == nil {
			x.trees = append(x.trees, 0)
			continue
		}
		x.addTree(i, files(w))
	}
	x.finish()
	return x
}

// read reads a tree.
func (t *trees) read(w *treeWalk) []foundFile {
	if w.stopped() {
		return nil
	}
	w.keeps, w.unsettled = t.cacheDir != "", time.Now().Add(-settle).UnixNano()
	list := w.run(cmp.Or(t.workers, runtime.GOMAXPROCS(0)))
	if w.denied > 0 {
		t.problem(fmt.Sprintf("search %s: %d directories cannot be read, the first: %v", w.dir, w.denied, w.problem))
	}
	if w.keeps && !w.same() {
		if err := saveTree(t.cacheDir, w.root, w.contents()); err != nil {
			t.problem(fmt.Sprintf("keep the index of %s: %v", w.dir, err))
		}
	}
	return list
}

// treeWalk reads a directory tree: workers take directories, or parts of large ones, and add further ones.
type treeWalk struct {
	dir, root string   // as it was named, and its absolute path
	keeps     bool     // the result is saved for the next time
	isRoot    bool     // the tree is a root file system: its links would lead out of it, and its /proc may be in use
	known     contents // from the last time
	unsettled int64    // files that changed after this, in nanoseconds since 1970, are not saved
	ended     *atomic.Bool
	count     *atomic.Int64

	mu   sync.Mutex
	more sync.Cond // signals that there are jobs, or that there will be none
	jobs []job
	busy int // workers that may add jobs

	// The results of the workers.
	found   []foundFile
	seen    []settled // to be saved
	fresh   int       // how many of them are new
	denied  int       // directories that could not be read
	problem error     // of the first of them, in the order of their paths
	first   string
}

// job is a directory, or some files of one.
type job struct {
	dir   string
	depth int
	files []fs.DirEntry // nil: the whole directory
}

// foundFile is a file that is or contains ELF files.
type foundFile struct {
	path string
	list []content
}

// settled is a file that its stamp identifies.
type settled struct {
	diskcache.Stamp
	foundFile
}

func newTreeWalk(dir string, isRoot bool, known contents) *treeWalk {
	w := &treeWalk{dir: dir, isRoot: isRoot, known: known}
	w.more.L = &w.mu
	return w
}

// run walks the tree and returns its files with ELF files, in the order of a walk over sorted directories.
func (w *treeWalk) run(workers int) []foundFile {
	w.jobs = []job{{dir: w.dir}}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(w.work)
	}
	w.work()
	wg.Wait()
	sortFound(w.found)
	return w.found
}

// sortFound sorts files in the order of a walk over sorted directories.
func sortFound(list []foundFile) {
	slices.SortFunc(list, func(a, b foundFile) int { return comparePaths(a.path, b.path) })
}

// stopped reports whether the walk is to end early.
func (w *treeWalk) stopped() bool { return w.ended != nil && w.ended.Load() }

// same reports whether the saved contents need no update.
func (w *treeWalk) same() bool { return w.fresh == 0 && (w.stopped() || len(w.seen) >= len(w.known)) }

// contents returns what is saved for the next time: after an early end, with what was known before.
func (w *treeWalk) contents() contents {
	known := make(contents, len(w.seen))
	if w.stopped() {
		maps.Copy(known, w.known)
	}
	for _, s := range w.seen {
		known[s.Stamp] = s.foundFile
	}
	return known
}

// comparePaths orders paths by their components.
func comparePaths(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		if os.IsPathSeparator(a[i]) {
			return -1
		}
		if os.IsPathSeparator(b[i]) {
			return 1
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

// work does jobs until there are none and no worker can add one.
func (w *treeWalk) work() {
	mine := treeWalk{keeps: w.keeps, isRoot: w.isRoot, known: w.known, unsettled: w.unsettled, ended: w.ended, count: w.count}
	for {
		w.mu.Lock()
		for len(w.jobs) == 0 && w.busy > 0 {
			w.more.Wait()
		}
		if len(w.jobs) == 0 {
			w.gather(&mine)
			w.mu.Unlock()
			return
		}
		j := w.jobs[len(w.jobs)-1]
		w.jobs = w.jobs[:len(w.jobs)-1]
		w.busy++
		w.mu.Unlock()

		mine.jobs = mine.jobs[:0]
		if j.files == nil && !w.stopped() {
			j.files = mine.list(j)
		}
		for _, e := range j.files {
			if w.stopped() {
				break
			}
			mine.file(filepath.Join(j.dir, e.Name()), e.Type() != 0)
		}

		w.mu.Lock()
		w.busy--
		w.jobs = append(w.jobs, mine.jobs...)
		w.more.Broadcast()
		w.mu.Unlock()
	}
}

// gather adds the results of a worker. The lock is held.
func (w *treeWalk) gather(mine *treeWalk) {
	w.found = append(w.found, mine.found...)
	w.seen = append(w.seen, mine.seen...)
	w.fresh += mine.fresh
	w.denied += mine.denied
	if mine.problem != nil && (w.problem == nil || comparePaths(mine.first, w.first) < 0) {
		w.problem, w.first = mine.problem, mine.first
	}
}

// list reads a directory. It adds jobs for its directories, and for files beyond one job, and returns the other files.
func (w *treeWalk) list(j job) []fs.DirEntry {
	list, err := readDir(j.dir)
	if err != nil {
		w.denied++
		if w.problem == nil || comparePaths(j.dir, w.first) < 0 {
			w.problem, w.first = err, j.dir
		}
	}
	files := list[:0]
	for _, e := range list {
		switch e.Type() {
		case fs.ModeDir:
			if !w.skips(e.Name(), j.depth) {
				w.jobs = append(w.jobs, job{dir: filepath.Join(j.dir, e.Name()), depth: j.depth + 1})
			}
		case fs.ModeSymlink, 0:
			if e.Type() == 0 || !w.isRoot {
				files = append(files, e)
			}
		}
	}
	for len(files) > chunk {
		w.jobs = append(w.jobs, job{dir: j.dir, depth: j.depth, files: files[len(files)-chunk:]})
		files = files[:len(files)-chunk]
	}
	return files
}

// skips reports whether a directory is not read: one with special files of a root, or of version control.
func (w *treeWalk) skips(name string, depth int) bool {
	if w.isRoot {
		return depth == 0 && special(name)
	}
	return name == ".git" || name == ".repo" || name == ".hg" || name == ".svn"
}

// readDir returns a directory's entries, not sorted.
func readDir(dir string) ([]fs.DirEntry, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}

// file adds the ELF files that a file is or contains.
func (w *treeWalk) file(path string, link bool) {
	if w.count != nil {
		w.count.Add(1)
	}
	var s diskcache.Stamp
	var k foundFile
	known := false
	if len(w.known) > 0 {
		var err error
		if s, err = diskcache.StampAt(path, link); err != nil {
			return
		}
		k, known = w.known[s]
	}
	if !known {
		var err error
		if s, k.list, err = read(path, link, false); err != nil {
			return
		}
	}
	if len(k.list) > 0 && k.path != path {
		if _, err := os.Lstat(k.path); err != nil { // otherwise it is another link to the file
			k.path, known = path, false
		}
	}
	if w.keeps && max(s.Mtime, s.Ctime) < w.unsettled {
		w.seen = append(w.seen, settled{s, k})
		if !known {
			w.fresh++
		}
	}
	if len(k.list) > 0 {
		w.found = append(w.found, foundFile{path, k.list})
	}
}
