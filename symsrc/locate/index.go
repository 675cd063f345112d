package locate

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// entry is an ELF file of an index.
type entry struct {
	path   string
	member *member // its place in the archive at path; nil if it is that file itself
	id     symsrc.BuildID
	rank   rank
	arch   string
	tree   int // the index of its tree
	seq    int // its position in the walk over the trees, which makes the order deterministic
}

// place returns where to open the file.
func (e *entry) place() place { return place{path: e.path, member: e.member} }

// full returns the path with the name in the archive, for comparing directories.
func (e *entry) full() string {
	if e.member == nil {
		return e.path
	}
	return e.path + "/" + e.member.name
}

// index has files by build ID and by file name. Its lists are sorted: the richest files first, then in the order of the walk.
type index struct {
	entries []entry
	trees   []int // the number of files of each tree
	byID    map[symsrc.BuildID][]*entry
	byName  map[string][]*entry
	// kernels are those in boot images. Their build IDs show when they are unpacked, and they have no symbols: none counts by its name alone.
	kernels []*entry
	// symbols are the symbol files that are not ELF files, by the beginning of the build ID, in the order of the walk.
	symbols map[symsrc.BuildID][]symbolFile
}

func newIndex() *index { return &index{} }

// add adds a file with its ELF files; finish must follow.
func (x *index) add(tree int, path string, list []content) {
	for _, c := range list {
		if c.kind != 0 {
			x.addSymbols(path, c)
			continue
		}
		x.entries = append(x.entries, entry{path, c.member, c.id, c.rank, c.arch, tree, len(x.entries)})
	}
}

// addTree adds the files of the next tree.
func (x *index) addTree(tree int, files []foundFile) {
	before := len(x.entries)
	for _, f := range files {
		x.add(tree, f.path, f.list)
	}
	x.trees = append(x.trees, len(x.entries)-before)
}

// finish makes the lists.
func (x *index) finish() {
	slices.SortFunc(x.entries, func(a, b entry) int {
		return cmp.Or(-cmp.Compare(a.rank, b.rank), cmp.Compare(a.seq, b.seq))
	})
	x.byID = make(map[symsrc.BuildID][]*entry, len(x.entries))
	x.byName = make(map[string][]*entry, len(x.entries))
	for i := range x.entries {
		e := &x.entries[i]
		if e.id != "" {
			x.byID[e.id] = append(x.byID[e.id], e)
		}
		base := filepath.Base(e.path)
		if e.member != nil && e.member.isKernel() {
			x.kernels = append(x.kernels, e)
			continue
		}
		if e.member != nil {
			base = e.member.base()
		}
		x.byName[base] = append(x.byName[base], e)
		if loaded := moduleOf(base); loaded != base {
			x.byName[loaded] = append(x.byName[loaded], e)
		}
	}
}

// moduleOf returns the name of a file as the kernel has it if it is one of its modules: `snd-hda-intel.ko` is snd_hda_intel there.
func moduleOf(base string) string {
	if strings.HasSuffix(base, ".ko") || strings.HasSuffix(base, ".ko.debug") {
		return strings.ReplaceAll(base, "-", "_")
	}
	return base
}

// debugSuffixes are the suffixes of debug files after the module's name; the last two are those of native-debug-symbols.zip.
var debugSuffixes = [...]string{".debug", ".dbg", ".sym"}

// ownSuffix returns the suffix that a file with debug information has only if it is one of some: of the kernels of OpenBSD and NetBSD, or an
// application of OP-TEE, whose name is a UUID. It is "" for others.
func ownSuffix(base string) string {
	switch {
	case base == "bsd", base == "netbsd":
		return ".gdb"
	case len(base) == len("8aaaf201-2450-11e4-abe2-0002a5d5c57b") && strings.Count(base, "-") == 4:
		return ".elf"
	}
	return ""
}

// named returns the files that may be the module n: those with its file name, or that with a debug suffix. Only those count whose
// directories have the longest agreement with the end of its path.
func (x *index) named(n moduleName) []*entry {
	if n.base == "" {
		return nil
	}
	all := slices.Clone(x.byName[n.base])
	for _, suffix := range debugSuffixes {
		all = append(all, x.byName[n.base+suffix]...)
	}
	if suffix := ownSuffix(n.base); suffix != "" {
		all = append(all, x.byName[n.base+suffix]...)
	}
	most := 0
	for _, e := range all {
		most = max(most, n.agreement(e.full()))
	}
	return slices.DeleteFunc(all, func(e *entry) bool { return n.agreement(e.full()) < most })
}

// If an index does not have a build ID, it is made again, since the file may have been built in the meantime: no sooner than minAge
// after the last time, and for no more than one part in minAgeTimes of the time.
const (
	minAge      = 10 * time.Second
	minAgeTimes = 20
)

// lazyIndex is the index of some directory trees, made when it is first needed.
type lazyIndex struct {
	trees trees
	age   time.Duration // minAge, except in tests
	ended atomic.Bool   // no caller waits any more
	files atomic.Int64  // that the last making of the index has read
	known atomic.Int64  // and how many the trees had the last time

	mu   sync.Mutex
	last *indexRun // nil before the first
	told map[string]bool
}

// indexRun is the making of an index, which is finished when done is closed.
type indexRun struct {
	known chan struct{} // closed when before is set
	// before is what the trees had the last time: when another index was made, or another run of the program read them.
	before *index
	// unpacked is closed when the bundles among the trees are unpacked.
	unpacked chan struct{}
	done     chan struct{}
	index    *index
	began    time.Time
	ended    time.Time
}

func newLazyIndex(t trees) *lazyIndex {
	x := &lazyIndex{trees: t, age: minAge, told: make(map[string]bool)}
	x.trees.ended, x.trees.files, x.trees.had = &x.ended, &x.files, &x.known
	problem := t.problem
	x.trees.problem = func(msg string) { // runs do not overlap
		if !x.told[msg] {
			x.told[msg] = true
			problem(msg)
		}
	}
	return x
}

// get returns the index, or nil if ctx ends before it is made. Without directories it is empty.
func (x *lazyIndex) get(ctx context.Context) *index { return x.run().wait(ctx) }

// run returns the last making of the index.
func (x *lazyIndex) run() *indexRun {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last == nil {
		x.start()
	}
	return x.last
}

// before returns the index of what the trees had the last time, as long as the index is being made; nil if ctx ends before. Files may have
// come, changed and gone since then.
func (x *lazyIndex) before(ctx context.Context) *index {
	run := x.run()
	select {
	case <-run.known:
		return run.before
	case <-ctx.Done():
		return nil
	}
}

// newer returns an index that was made after old, or nil if old is new enough or ctx ends before.
func (x *lazyIndex) newer(ctx context.Context, old *index) *index {
	x.mu.Lock()
	run := x.last
	select {
	case <-run.done:
		if run.index == old {
			if time.Since(run.ended) < max(x.age, minAgeTimes*run.ended.Sub(run.began)) {
				x.mu.Unlock()
				return nil
			}
			x.start()
			run = x.last
		}
	default:
	}
	x.mu.Unlock()
	return run.wait(ctx)
}

// start starts to make the index. It is for all searches, so it does not end with the one that started it.
func (x *lazyIndex) start() {
	run := &indexRun{known: make(chan struct{}), unpacked: make(chan struct{}), done: make(chan struct{}), began: time.Now()}
	t := x.trees
	t.unpacked = func() { close(run.unpacked) }
	if x.last != nil {
		run.before = x.last.index
		close(run.known)
	} else {
		t.known = func(x *index) {
			run.before = x
			close(run.known)
		}
	}
	x.last = run
	x.files.Store(0)
	go func() {
		defer close(run.done)
		run.index = t.index()
		run.ended = time.Now()
	}()
}

// endTime bounds how long the end of a run waits until an index is no longer made: a file system may not answer.
const endTime = time.Second

// close ends the making of the index, and waits until it has ended.
func (x *lazyIndex) close() {
	x.ended.Store(true)
	x.mu.Lock()
	run := x.last
	x.mu.Unlock()
	if run == nil {
		return
	}
	enough := time.NewTimer(endTime)
	defer enough.Stop()
	select {
	case <-run.done:
	case <-enough.C:
	}
}

// made returns the index if it is made, otherwise nil.
func (x *lazyIndex) made() *index {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last == nil {
		return nil
	}
	select {
	case <-x.last.done:
		return x.last.index
	default:
		return nil
	}
}

func (r *indexRun) wait(ctx context.Context) *index {
	select {
	case <-r.done:
		return r.index
	case <-ctx.Done():
		return nil
	}
}
