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

// Options say where to look for files.
type Options struct {
	// Objects are files named one by one, Arguments those in the arguments of a command.
	Objects, Arguments []string
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
	// OnProblem, if not nil, is called once per cause with a problem of the search, such as a directory that cannot be read.
	OnProblem func(msg string)
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

	mu   sync.Mutex
	memo map[symsrc.Module]*remembered

	dirs knownDirs // of roots

	mapOnce sync.Once
	idMap   idMap // of Options.IDsTxt
}

// remembered is a search. It is finished when done is closed; files is then nil if it was canceled.
type remembered struct {
	done  chan struct{}
	files *symsrc.Files
}

// New checks that the named files exist. It returns a *symsrc.OptionError for a directory or an object that cannot be
// read, and "open NAME: …" for an argument; a file that is not an ELF file is only reported as a problem.
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
	l.symbols = newLazyIndex(trees{dirs: o.Symbols, cacheDir: o.CacheDir, problem: l.opt.OnProblem})
	l.nearby = newLazyIndex(trees{dirs: o.Nearby, cacheDir: o.CacheDir, problem: func(string) {}})
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
			if fe.isZip() {
				note = "an archive without files of native code"
			}
			l.opt.OnProblem(path + ": " + note)
		}
	}
	l.objects.finish()
	return nil
}

// Find looks for the files of m, or returns the result of an earlier search, unless one of its files has changed. The result is
// shared and must not be changed. If ctx ends first, its status is UnknownError and nothing is remembered.
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
	for ctx.Err() == nil {
		r, mine := l.entry(m)
		if mine {
			l.run(ctx, m, r)
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
		Detail: context.Cause(ctx).Error(),
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
	r := &remembered{done: make(chan struct{})}
	m.Name, m.Member = strings.Clone(m.Name), strings.Clone(m.Member) // they may share memory with a large chunk of the log
	l.memo[m] = r
	return r, true
}

// run fills r, or removes it from the memo if ctx ends before.
func (l *Locator) run(ctx context.Context, m symsrc.Module, r *remembered) {
	files := newSearch(l, ctx, m).run()
	if ctx.Err() == nil {
		r.files = files
	} else {
		l.forget(m, r)
	}
	close(r.done)
}

// forget removes a search from the memo.
func (l *Locator) forget(m symsrc.Module, r *remembered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.memo[m] == r {
		delete(l.memo, m)
	}
}
