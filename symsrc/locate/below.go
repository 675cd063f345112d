package locate

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"qss-filter/symsrc"
)

// Wanted is a module of which a Below looks for a file with more symbols.
type Wanted struct {
	// ID is the build ID of the file. If it is "", a file counts that has the file name of Name, which proves nothing.
	ID   symsrc.BuildID
	Name string
	// Have is the path of a file that does not say enough, "" for none: only one that says more counts.
	Have string
}

// Sighting is a file of a module.
type Sighting struct {
	// Wanted is the index of the module, and Path the file, which may be an archive that contains it.
	Wanted int
	Path   string
	// Tree is the directory around Path that a user may name in whole: the one below the directory in which the search began. It is ""
	// if the file is in that directory itself.
	Tree string
	// Archive is set if Path is an archive, and Exported if the file has the names of exported functions alone.
	Archive, Exported bool
}

// Below looks for files of modules below directories that no user has named, so it does as little as it can: it takes the
// usual directories of builds first and near ones before far ones, and ends when every module has a file with debug information, or at a
// limit. It does not leave the file system of a directory, and follows no links, except those of the usual directories of builds.
type Below struct {
	// Dirs are where the search begins, and Builds usual directories of builds elsewhere.
	Dirs, Builds []string
	// MaxFiles bounds the files that are read; 0 means a default.
	MaxFiles int
}

// belowWalk is one search of a Below. It may go on for a while after its time: a file system may not answer.
type belowWalk struct {
	Below
	wanted []Wanted
	least  []rank // that a file of each must have
	byID   map[symsrc.BuildID][]int
	byName map[string][]int
	left   int // modules without a file with debug information

	queue [turns][]*folder
	seen  map[inode]bool
	files int

	mu    sync.Mutex
	found []ranked
	best  []rank
}

// ranked is a sighting with what its file has.
type ranked struct {
	Sighting
	rank rank
}

// folder is a directory to be read.
type folder struct {
	path, tree string
	device     uint64
	turn       turn
}

// inode identifies a directory.
type inode struct{ device, number uint64 }

// turn is when a directory is read.
type turn uint8

const (
	builds turn = iota // usual directories of builds, and all below them
	others
	last // hidden directories, and those with the packages of others
	turns
)

const (
	maxBelow   = 100_000 // files that are read
	maxSighted = 4       // files of one module, on average
)

// usual are the names of directories in which builds leave files, and usualStarts the beginnings of such names.
var (
	usual = names("build builds _build builddir buildDir out output target bazel-bin bazel-out .cargo symbols debug Debug release Release RelWithDebInfo " +
		"bin lib lib64 obj dist install stage zig-out .build .debug .build-id artifacts result unstripped")
	usualStarts = []string{"cmake-build-", "build-", "build_"}
	// later are read when nothing else is left.
	later = names("node_modules site-packages __pycache__ CMakeFiles third_party external vendor")
	// never are those of version control.
	never = names(".git .repo .hg .svn")
	// unread are the extensions of files that are no programs.
	unread = names(".c .cc .cpp .cxx .h .hh .hpp .hxx .inc .ipp .s .S .asm .o .obj .lo .la .d .rs .rlib .rmeta .go .py .pyc .pyi .js .ts .tsx .css .java .class .kt " +
		".swift .m .mm .zig .json .txt .md .rst .log .html .htm .xml .yml .yaml .toml .lock .ini .cfg .cmake .ninja .make .mk .in .am .sh .png .jpg .jpeg .gif .svg .ico .pdf .csv .tsv .sql .db")
)

// names returns a set of words.
func names(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// IsBuildDir reports whether a directory has one of the names that are usual for directories of builds.
func IsBuildDir(name string) bool {
	if usual[name] {
		return true
	}
	for _, start := range usualStarts {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// turnOf returns when a directory is read that is in one of another turn. ok is false for never.
func turnOf(name string, in turn) (t turn, ok bool) {
	switch {
	case never[name]:
		return 0, false
	case in == last || later[name]:
		return last, true
	case in == builds || IsBuildDir(name):
		return builds, true
	case strings.HasPrefix(name, "."):
		return last, true
	}
	return in, true
}

// Find returns the files that it finds until ctx ends: for each module those that have most, in the order in which they were
// found. A file system that does not answer does not delay it.
func (b Below) Find(ctx context.Context, wanted []Wanted) []Sighting {
	w := belowWalk{Below: b}
	return w.find(ctx, wanted)
}

// find is Find of one search.
func (b *belowWalk) find(ctx context.Context, wanted []Wanted) []Sighting {
	if b.MaxFiles == 0 {
		b.MaxFiles = maxBelow
	}
	b.wanted, b.left, b.seen = wanted, len(wanted), map[inode]bool{}
	b.least, b.best = make([]rank, len(wanted)), make([]rank, len(wanted))
	b.byID, b.byName = map[symsrc.BuildID][]int{}, map[string][]int{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.want()
		b.walk(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Sighting
	for _, f := range b.found {
		if f.rank == b.best[f.Wanted] {
			list = append(list, f.Sighting)
		}
	}
	return list
}

// want notes what is looked for. A file of which nothing is known must have some symbols, one that is only of the same name all functions.
func (b *belowWalk) want() {
	for i, w := range b.wanted {
		b.least[i] = dynamic
		if w.ID != "" {
			b.byID[w.ID.Cut()] = append(b.byID[w.ID.Cut()], i)
		} else {
			b.least[i] = symbols
			base := withoutDebugSuffix(w.Name[strings.LastIndexByte(w.Name, '/')+1:])
			b.byName[base] = append(b.byName[base], i)
		}
		if w.Have == "" {
			continue
		}
		if _, list, err := read(w.Have, true, false); err == nil {
			for _, c := range list {
				if w.ID == "" || c.id == w.ID {
					b.least[i] = max(b.least[i], c.rank+1)
				}
			}
		}
	}
}

// walk reads the directories in their turns.
func (b *belowWalk) walk(ctx context.Context) {
	anywhere := func(inode) bool { return true }
	for _, dir := range b.Builds {
		b.add(&folder{path: dir, tree: dir, turn: builds}, anywhere)
	}
	for _, dir := range b.Dirs {
		b.add(&folder{path: dir, turn: others}, anywhere)
	}
	for ctx.Err() == nil && b.left > 0 && b.files < b.MaxFiles {
		f := b.next()
		if f == nil {
			return
		}
		b.read(ctx, f)
	}
}

// next returns the directory to be read next, nil if there is none.
func (b *belowWalk) next() (f *folder) {
	for i := range b.queue {
		if len(b.queue[i]) > 0 {
			f, b.queue[i] = b.queue[i][0], b.queue[i][1:]
			return f
		}
	}
	return nil
}

// add adds a directory that was not added before, if it may be where it is.
func (b *belowWalk) add(f *folder, may func(inode) bool) {
	info, err := os.Stat(f.path)
	if err != nil || !info.IsDir() {
		return
	}
	at, known := inodeOf(info)
	if known && (b.seen[at] || !may(at)) {
		return
	}
	if known {
		b.seen[at], f.device = true, at.device
	}
	b.queue[f.turn] = append(b.queue[f.turn], f)
}

// read looks at the files of a directory and adds the directories in it.
func (b *belowWalk) read(ctx context.Context, f *folder) {
	list, err := os.ReadDir(f.path)
	if err != nil {
		return
	}
	for _, e := range list {
		if ctx.Err() != nil || b.left == 0 || b.files >= b.MaxFiles {
			return
		}
		path := filepath.Join(f.path, e.Name())
		switch {
		case e.Type().IsRegular():
			if !unread[filepath.Ext(e.Name())] {
				b.file(f, path)
			}
		case e.IsDir():
			b.enter(f, path, func(at inode) bool { return at.device == f.device })
		case e.Type() == fs.ModeSymlink && f.tree == "" && IsBuildDir(e.Name()):
			b.enter(f, path, func(at inode) bool { return at.device == f.device || !isRemote(path) })
		}
	}
}

// enter adds a directory in f.
func (b *belowWalk) enter(f *folder, path string, may func(inode) bool) {
	if t, ok := turnOf(filepath.Base(path), f.turn); ok {
		b.add(&folder{path: path, tree: cmp.Or(f.tree, path), turn: t}, may)
	}
}

// file notes the modules of which a file has something.
func (b *belowWalk) file(f *folder, path string) {
	b.files++
	_, list, err := read(path, false, false)
	if err != nil {
		return
	}
	base := withoutDebugSuffix(filepath.Base(path))
	for _, c := range list {
		has := c.rank
		if c.kind != 0 {
			has = debugInfo
		}
		if c.id != "" {
			for _, i := range b.byID[c.id.Cut()] {
				if c.id == b.wanted[i].ID || c.kind != 0 && (&symsrc.SymbolFile{Kind: c.kind, ID: c.id, Cut: c.cut}).Of(b.wanted[i].ID) {
					b.sight(ranked{Sighting{i, path, f.tree, c.member != nil, has < symbols}, has})
				}
			}
		}
		name := base
		if c.member != nil {
			name = withoutDebugSuffix(c.member.base())
		}
		for _, i := range b.byName[name] {
			b.sight(ranked{Sighting{i, path, f.tree, c.member != nil, has < symbols}, has})
		}
	}
}

// sight notes a file of a module. A search by name goes on: another file may have the name, too.
func (b *belowWalk) sight(r ranked) {
	if r.rank < b.least[r.Wanted] {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.found) >= maxSighted*len(b.wanted) {
		return
	}
	b.found = append(b.found, r)
	if r.rank > b.best[r.Wanted] {
		b.best[r.Wanted] = r.rank
		if r.rank == debugInfo && b.wanted[r.Wanted].ID != "" {
			b.left--
		}
	}
}
