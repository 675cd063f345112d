// Package locate finds the files of a module, the runtime ELF and its debug information, by build ID or by path.
//
//   - locate.go: Locator and its Options; trees.go: Trees, which looks in build-ID trees alone, as llvm does
//   - search.go: one search; byname.go: by the module's name alone; debuglink.go: by .gnu_debuglink; idmap.go: by ids.txt and symbol-index
//     files; pair.go: what a search has found
//   - name.go, archive.go: a module's name in a log, and in an archive
//   - place.go: where a file may be; resolve.go: paths inside a root, as in a chroot; dirs.go: where directories lead; open_unix.go and
//     open_other.go: regular files and nothing else
//   - walk.go: directory trees that are indexed; index.go: the index; treecache.go and treecode.go: the index on disk
//   - identify.go, head.go and sections.go: the headers of an ELF file; symbolfile.go: symbol files that are not ELF files
//   - zip.go, member.go: members of archives; unpack.go: those that are deflated, unpacked in the cache directory
//   - watch.go: whether what was found has changed, or what was missing is there
package locate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"qss-filter/symsrc"
)

// Options say where files are looked for.
type Options struct {
	// Objects are files named one by one, Arguments those that a command is about.
	Objects, Arguments []string
	// Symbols are directories of any shape: every regular ELF file below is known by its build ID and by its file name,
	// from the first search that needs it on; so is every one in a zip archive below (APK, AAR, AAB). Links to files count,
	// links to directories are not followed, nor are the stores of version control read.
	Symbols []string
	// BuildIDDirs are build-ID trees: xx/yyyy.debug, xx/yyyy, or these below .build-id.
	BuildIDDirs []string
	// DebugRoots are directories like /usr/lib/debug: .build-id/xx/yyyy.debug, and the debug files of the log's paths below.
	DebugRoots []string
	// BreakpadDirs are symbol stores of Breakpad's layout: NAME/DEBUGID/NAME.sym, perhaps packed.
	BreakpadDirs []string
	// IDsTxt are files that say where the files of build IDs lie: ids.txt and symbol-index files of Fuchsia.
	IDsTxt []string
	// Rootfs are the roots that the paths of the log hang on; none means the host's own.
	Rootfs []string
	// CacheDir is where the index of Symbols is kept from one run to the next, and what is unpacked of archives; "" means
	// nowhere: each run reads the trees anew, and deflated members of archives are of no use.
	CacheDir string
	// WorkDir is the directory of relative names; "" means the process's own.
	WorkDir string
	// OnProblem, if not nil, is told once per cause of what hinders the search, such as a directory that cannot be read.
	OnProblem func(msg string)
}

// maxMemo bounds the modules remembered; a log of random names must not fill the memory.
const maxMemo = 1 << 14

// Locator finds files. It may be used by several goroutines at once.
type Locator struct {
	opt      Options
	roots    []string
	explicit bool // the roots were named
	objects  *index

	symbols  *lazyIndex // of Options.Symbols
	rootTree *lazyIndex // of Options.Rootfs

	mu   sync.Mutex
	memo map[symsrc.Module]*remembered

	dirs knownDirs // of roots

	mapOnce sync.Once
	idMap   idMap // of Options.IDsTxt
}

// remembered is a search that is done, or under way until done is closed. After that files is nil where it was given up.
type remembered struct {
	done  chan struct{}
	files *symsrc.Files
}

// New checks that what was named is there. It fails with a *symsrc.OptionError on a directory or an object that cannot be
// read, and with "open NAME: …" on an argument; one that is no ELF file is a problem only.
func New(o Options) (*Locator, error) {
	l := &Locator{
		opt: o, roots: o.Rootfs, explicit: len(o.Rootfs) > 0,
		memo: make(map[symsrc.Module]*remembered),
	}
	if l.opt.OnProblem == nil {
		l.opt.OnProblem = func(string) {}
	}
	l.symbols = newLazyIndex(trees{dirs: o.Symbols, cacheDir: o.CacheDir, problem: l.opt.OnProblem})
	l.rootTree = newLazyIndex(trees{dirs: o.Rootfs, isRoot: true, cacheDir: o.CacheDir, problem: l.opt.OnProblem})
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
			if err := readableDir(dir); err != nil {
				return nil, wrong(named.field, err)
			}
		}
	}
	if !l.explicit {
		root, _ := hostRoot(string(filepath.Separator))
		l.roots = []string{root}
	}
	return l, l.indexObjects()
}

// wrong returns what is wrong with a field of Options.
func wrong(field string, err error) error {
	return &symsrc.OptionError{Option: "locate." + field, Err: err}
}

// readableDir fails unless dir is a directory whose entries may be listed.
func readableDir(dir string) error {
	fi, err := os.Stat(dir) // before it is opened, for it may be a FIFO
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

// cause is the system's own word for a failed operation on a path, without operation and path.
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
		_, list, err := read(path, true)
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
			l.opt.OnProblem(path + ": " + fe.note)
		}
	}
	l.objects.finish()
	return nil
}

// Find looks for the files of m, or returns what an earlier search found, unless a file of that has changed since. The answer is
// shared and must not be changed. When ctx ends first, its status is UnknownError and nothing is remembered.
func (l *Locator) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	if len(m.Name) > 2*maxPath { // no path, and too long to be kept
		m.Name = ""
	}
	if len(m.Member) > maxMemberName {
		m.Member = ""
	}
	for ctx.Err() == nil {
		r, mine := l.entry(m)
		if mine {
			l.run(ctx, m, r)
		}
		select {
		case <-r.done:
			if r.files != nil && (mine || !r.files.Watch.Look()) {
				return r.files
			} // else the search that was waited for has been given up, or is to be done again
			l.forget(m, r)
		case <-ctx.Done():
		}
	}
	return &symsrc.Files{
		ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.UnknownError, Note: "search ended early",
		Detail: context.Cause(ctx).Error(),
	}
}

// entry returns the memo's entry for m, and whether the caller is the one to fill it.
func (l *Locator) entry(m symsrc.Module) (*remembered, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.memo[m]; ok {
		return r, false
	}
	if len(l.memo) >= maxMemo {
		clear(l.memo)
	}
	r := &remembered{done: make(chan struct{})}
	m.Name, m.Member = strings.Clone(m.Name), strings.Clone(m.Member) // they may be parts of a whole chunk of the log
	l.memo[m] = r
	return r, true
}

// run fills r, or takes it back when ctx ends before.
func (l *Locator) run(ctx context.Context, m symsrc.Module, r *remembered) {
	files := newSearch(l, ctx, m).run()
	if ctx.Err() == nil {
		r.files = files
	} else {
		l.forget(m, r)
	}
	close(r.done)
}

// forget takes a search out of the memo.
func (l *Locator) forget(m symsrc.Module, r *remembered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.memo[m] == r {
		delete(l.memo, m)
	}
}
