package locate

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"qss-filter/symsrc"
)

// entry is an ELF file of an index.
type entry struct {
	path string
	id   symsrc.BuildID
	rank rank
	seq  int // its turn in the walk over the trees, which makes the order the same each time
}

// index knows files by build ID and by file name. Its lists are ordered: the richest files first, then as they were met.
type index struct {
	entries []entry
	byID    map[symsrc.BuildID][]*entry
	byName  map[string][]*entry
}

func newIndex() *index { return &index{} }

// add takes in a file; finish must follow.
func (x *index) add(path string, id *ident) {
	x.entries = append(x.entries, entry{path, id.id, id.rank, len(x.entries)})
}

// finish makes the lists.
func (x *index) finish() {
	slices.SortFunc(x.entries, func(a, b entry) int {
		if a.rank != b.rank {
			return int(b.rank) - int(a.rank)
		}
		return a.seq - b.seq
	})
	x.byID = make(map[symsrc.BuildID][]*entry, len(x.entries))
	x.byName = make(map[string][]*entry, len(x.entries))
	for i := range x.entries {
		e := &x.entries[i]
		if e.id != "" {
			x.byID[e.id] = append(x.byID[e.id], e)
		}
		base := filepath.Base(e.path)
		x.byName[base] = append(x.byName[base], e)
	}
}

// named gives the files that may be the module n: of its file name, or that with ".debug". Only those count whose
// directories agree with the end of its path the furthest.
func (x *index) named(n moduleName) []*entry {
	if n.base == "" {
		return nil
	}
	all := append(slices.Clone(x.byName[n.base]), x.byName[n.base+".debug"]...)
	most := 0
	for _, e := range all {
		most = max(most, n.agreement(e.path))
	}
	return slices.DeleteFunc(all, func(e *entry) bool { return n.agreement(e.path) < most })
}

// lazyIndex is the index of some directory trees, made when it is asked for first.
type lazyIndex struct {
	dirs    []string
	isRoot  bool // the directories are root file systems
	problem func(string)
	once    sync.Once
	done    chan struct{}
	index   *index // once done is closed
}

func newLazyIndex(dirs []string, isRoot bool, problem func(string)) *lazyIndex {
	return &lazyIndex{dirs: dirs, isRoot: isRoot, problem: problem, done: make(chan struct{})}
}

// get gives the index; nil when ctx ends before it is there. Without directories it is empty.
func (x *lazyIndex) get(ctx context.Context) *index {
	x.once.Do(func() {
		go func() { // it serves all searches, so that it does not end with the one that began it
			defer close(x.done)
			x.index = indexTrees(x.dirs, x.isRoot, x.problem)
		}()
	})
	select {
	case <-x.done:
		return x.index
	case <-ctx.Done():
		return nil
	}
}

// treeWalk reads directory trees and hands the files in them to workers that read their headers.
type treeWalk struct {
	jobs    chan job
	seq     int
	isRoot  bool  // the tree is a root file system: its links would lead out of it, its /proc may be a live one
	denied  int   // directories that could not be read
	problem error // why the first of them could not
}

type job struct {
	path string
	seq  int
	link bool
}

// indexTrees indexes every regular ELF file below dirs on all cores. It tells problem of each tree that has directories it
// could not read. Among root file systems the host's own is left out: it has no end that a search could wait for.
func indexTrees(dirs []string, isRoot bool, problem func(string)) *index {
	w := treeWalk{jobs: make(chan job, 1024)}
	workers := runtime.GOMAXPROCS(0)
	parts := make([][]entry, workers)
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { parts[i] = identifyAll(w.jobs) })
	}
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		host := err == nil && abs == string(filepath.Separator)
		if host && isRoot {
			continue
		}
		w.isRoot = host || isRoot
		w.denied, w.problem = 0, nil
		w.walk(dir, 0)
		if w.denied > 0 {
			problem(fmt.Sprintf("search %s: %d directories cannot be read, the first: %v", dir, w.denied, w.problem))
		}
	}
	close(w.jobs)
	wg.Wait()
	x := &index{entries: slices.Concat(parts...)}
	x.finish()
	return x
}

// walk hands out the files of dir and of the directories below it.
func (w *treeWalk) walk(dir string, depth int) {
	list, err := os.ReadDir(dir)
	if err != nil {
		if w.denied++; w.problem == nil {
			w.problem = err
		}
	}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		switch e.Type() {
		case fs.ModeDir:
			if depth > 0 || !w.isRoot || !special(e.Name()) {
				w.walk(path, depth+1)
			}
		case fs.ModeSymlink, 0:
			if link := e.Type() != 0; !link || !w.isRoot {
				w.jobs <- job{path, w.seq, link}
				w.seq++
			}
		}
	}
}

// identifyAll gives the ELF files among the jobs.
func identifyAll(jobs <-chan job) []entry {
	var found []entry
	for j := range jobs {
		if id := identifyPath(j); id != nil {
			found = append(found, entry{j.path, id.id, id.rank, j.seq})
		}
	}
	return found
}

// identifyPath gives nil for what is not a readable ELF file.
func identifyPath(j job) *ident {
	var f *regularFile
	var err error
	if j.link {
		f, err = openRegular(j.path, true)
	} else {
		f, err = openListed(j.path)
	}
	if err != nil {
		return nil
	}
	defer f.close()
	id, err := identify(f, f.size)
	if err != nil {
		return nil
	}
	return id
}
