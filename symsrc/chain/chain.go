// Package chain combines the finders, the readers and the cache into one source, according to options.
package chain

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"qss-filter/symsrc"
	"qss-filter/symsrc/addr2line"
	"qss-filter/symsrc/cache"
	"qss-filter/symsrc/debuginfod"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/javamap"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/meter"
	"qss-filter/symsrc/object"
	"qss-filter/symsrc/sourcemap"
	"qss-filter/symsrc/sources"
	"qss-filter/symsrc/symfile"
)

// Options say where symbols come from.
type Options struct {
	Files   locate.Options
	Servers debuginfod.Options
	Cache   cache.Options
	// NoAnswers keeps no answers and uses none, but what else Cache has: indexes.
	NoAnswers bool
	// Sources says where source files are; its Fetch asks the servers of the last Finder.
	Sources sources.Options
	// Package is a file of split DWARF, in place of PROGRAM.dwp; "" for none. Such a file among Files.Symbols counts, too.
	Package string
	// Memory is the approximate memory for the contents of files, in bytes; 0 means object.DefaultMemory.
	Memory int64
	// Maps are the maps of names of Java that the user names, in the order in which they apply. Such files among Files.Symbols count, too.
	Maps []string
	// SkipLineZero makes LLVMSource use the line of the code before for code without a line.
	SkipLineZero bool
	// Programs are used in place of the built-in reader.
	Programs addr2line.Options
	// Around, if not nil, wraps the finder.
	Around func(symsrc.Finder) symsrc.Finder
	// Meter, if not nil, measures each layer: "locate", "debuginfod", "parse" and "cache".
	Meter *meter.Meter
	// Index, if not nil, starts a process that runs the job.
	Index func(object.IndexJob)
	// Warn is called with problems, once per cause.
	Warn func(err error)
	// Progress, if not nil, is a terminal that shows downloads.
	Progress io.Writer

	client    *debuginfod.Client
	local     symsrc.Finder        // that asks no server
	locator   *locate.Locator      // of the last Finder
	announcer debuginfod.Announcer // nil where no server is asked
}

// LeastMemory is the minimum of Options.Memory.
const LeastMemory = 1 << 20

// warn reports a problem.
func (o *Options) warn(message string) { o.Warn(errors.New(message)) }

// Finder returns a finder that looks on this machine first, and then asks servers. close cancels downloads.
func (o *Options) Finder() (f symsrc.Finder, close func(), err error) {
	o.Files.OnProblem, o.Servers.Warn, o.Servers.Progress = o.warn, o.Warn, o.Progress
	if dir := o.shareServers(); dir != "" {
		o.Files.CacheDir, o.Servers.Missed = dir, filepath.Join(dir, cache.MissedName) // llvm-symbolizer asks each time
	}
	o.takeStores()
	local, err := locate.New(o.Files)
	if err != nil {
		return nil, nil, err
	}
	client, err := debuginfod.New(o.Servers)
	if err != nil {
		return nil, nil, err
	}
	o.client = client
	f = o.Meter.Finder("locate", local)
	o.local, o.locator = f, local
	if client != nil {
		f = debuginfod.Wrap(f, client)
		o.announcer, _ = f.(debuginfod.Announcer)
		f = o.Meter.Finder("debuginfod", f)
	}
	if o.Around != nil {
		f = o.Around(f)
	}
	return f, func() {
		local.Await()
		client.Close()
		local.Close()
	}, nil
}

// Hurry makes the close of the last Finder, and Await, wait for no download and no search.
func (o *Options) Hurry() {
	o.client.Hurry()
	if o.locator != nil {
		o.locator.Hurry()
	}
}

// Await waits for downloads as the close of the last Finder does, which waits for none then, and for searches.
func (o *Options) Await() {
	if o.locator != nil {
		o.locator.Await()
	}
	o.client.Await()
}

// WithPrefix returns the build IDs that begin with some digits, of the files that the last Finder knows on this machine.
func (o *Options) WithPrefix(ctx context.Context, digits string) []symsrc.BuildID {
	return o.locator.WithPrefix(ctx, digits)
}

// takeStores makes the URLs among the symbols, and those of $_NT_SYMBOL_PATH, servers that are asked.
func (o *Options) takeStores() {
	for _, url := range debuginfod.StoresIn(os.Getenv("_NT_SYMBOL_PATH")) {
		if !slices.Contains(o.Servers.Stores, url) { // as it does in the second Finder
			o.Servers.Stores = append(o.Servers.Stores, url)
		}
	}
	o.Files.Symbols = slices.DeleteFunc(slices.Clone(o.Files.Symbols), func(place string) bool {
		is := debuginfod.IsStore(place)
		if is {
			o.Servers.Stores = append(o.Servers.Stores, place)
		}
		return is
	})
}

// takePackages sets Package to a file of split DWARF that is named among the symbols.
func (o *Options) takePackages() {
	o.Files.Symbols = slices.DeleteFunc(slices.Clone(o.Files.Symbols), func(path string) bool {
		is := locate.IsPackage(path)
		if is {
			o.Package = path
		}
		return is
	})
}

// Java returns the maps that give names of Java back: those that the user names, and those in the places of symbols. It must be
// called before Source, which takes maps among the symbols for files of another kind.
func (o *Options) Java(ctx context.Context) (*javamap.Maps, error) {
	files := javamap.Options{Files: slices.Clone(o.Maps), Wait: o.Files.Wait, Problem: o.warn}
	if kept := o.kept(); kept != nil {
		files.Cache = kept
	}
	o.Files.Symbols = slices.DeleteFunc(slices.Clone(o.Files.Symbols), func(path string) bool {
		is := javamap.Is(path)
		if is {
			files.Files = append(files.Files, path)
		}
		return is
	})
	files.Places = o.Files.Symbols
	return javamap.New(ctx, files)
}

// kept returns where indexes of maps are kept, nil for nowhere.
func (o *Options) kept() *diskcache.Kept {
	dir, err := o.Cache.Directory()
	if err != nil || o.Cache.Off || diskcache.Safe(dir) != nil {
		return nil
	}
	return diskcache.NewKept(dir)
}

// Scripts returns the source maps among the files and directories of symbols, and takes the former out of them.
func (o *Options) Scripts() *sourcemap.Maps {
	places := slices.Clone(o.Files.Symbols)
	o.Files.Symbols = slices.DeleteFunc(slices.Clone(o.Files.Symbols), sourcemap.IsMap)
	return sourcemap.New(sourcemap.Options{Places: places, Wait: o.Files.Wait, Kept: o.kept(), Problem: o.warn})
}

// Source returns a source that answers from the finder's files, and from the cache.
func (o *Options) Source() (src symsrc.Source, close func(), err error) {
	o.takePackages()
	finder, closeFinder, err := o.Finder()
	if err != nil {
		return nil, nil, err
	}
	if o.Package != "" {
		if _, err := os.Stat(o.Package); err != nil {
			closeFinder()
			return nil, nil, &symsrc.OptionError{Option: "chain.Package", Err: err}
		}
	}
	native := object.NewSource(finder)
	native.UsePackage(o.Package)
	native.UseMemory(cmp.Or(o.Memory, object.DefaultMemory))
	native.Warn(o.warn)
	if !o.Cache.Off {
		native.UseIndexes(o.Files.CacheDir, cache.ProgramIdentity(), o.Index)
	}
	engine := symsrc.Source(native)
	closeEngine := func() { native.WaitIndexes(); closeFinder() }
	if o.Programs.Wanted() {
		o.Programs.Rootfs, o.Programs.Warn = o.Files.Rootfs, o.warn
		o.Programs.DebugRoots = slices.Concat(o.Files.DebugRoots, o.Files.BuildIDDirs)
		program, err := addr2line.NewSource(finder, native, o.Programs)
		if err != nil {
			closeEngine()
			return nil, nil, err
		}
		closeNative := closeEngine
		engine, closeEngine = program, func() { program.Close(); closeNative() }
		o.Cache.Engine = program.Identity()
	}
	symbols := symfile.Wrap(engine, native)
	closeBehind := closeEngine
	engine, closeEngine = symbols, func() { symbols.Close(); closeBehind() }
	if o.announcer != nil {
		engine = ahead{engine, o.announcer}
	}
	engine = o.Meter.Source("parse", engine)
	if o.Cache.Off || o.NoAnswers || o.Package != "" {
		return engine, closeEngine, nil
	}
	o.Cache.Warn, o.Cache.Finder = o.Warn, finder
	if !o.Programs.Wanted() { // these take long to start
		o.Cache.Local, o.Cache.Packed = o.local, native.Packed
	}
	cached := cache.Wrap(engine, o.Cache)
	return o.Meter.Source("cache", cached), func() { closeEngine(); cached.Close() }, nil
}

// Texts returns the source files that the answers of Source name. Downloads end with those of Source.
func (o *Options) Texts() *sources.Sources {
	files := o.Sources
	files.Fetch = func(ctx context.Context, id symsrc.BuildID, path string) (file string, retry func() bool) {
		r := o.client.Fetch(ctx, id, debuginfod.Source(path))
		return r.Path, r.News
	}
	return sources.New(files)
}

// ProgramOf returns the program of a build that a server has, "" for none, and whether one that may have it could not be asked.
func (o *Options) ProgramOf(ctx context.Context, id symsrc.BuildID) (path string, unasked bool) {
	r := o.client.Fetch(ctx, id, debuginfod.Executable)
	return r.Path, r.Outcome == debuginfod.Failed || r.Outcome == debuginfod.Pending
}

// Local returns the last Finder without the servers.
func (o *Options) Local() symsrc.Finder { return o.local }

// Reading returns how many files of the trees of symbols the last Finder has read, about how many there are, 0 if that is not known, and
// whether it has read all.
func (o *Options) Reading() (files, of int64, done bool) { return o.locator.Reading() }

// SourceOf returns a source file of a build that a server has, "" for none.
func (o *Options) SourceOf(ctx context.Context, id symsrc.BuildID, path string) string {
	return o.client.Fetch(ctx, id, debuginfod.Source(path)).Path
}

// shareServers makes runs tell each other which servers do not answer, and returns the directory of the cache; "" for none.
func (o *Options) shareServers() (dir string) {
	dir, err := o.Cache.Directory()
	if err != nil || o.Cache.Off || diskcache.Safe(dir) != nil {
		return ""
	}
	o.Servers.Shunned = filepath.Join(dir, cache.ServersName)
	return dir
}

// ServerStates returns what is known of the servers that the last Finder asks.
func (o *Options) ServerStates() []debuginfod.State { return o.client.States() }

// LLVMSource returns a source that answers as llvm-symbolizer does: from build ID trees, without verification, and then from servers.
func (o *Options) LLVMSource() (src symsrc.Source, close func(), err error) {
	o.takePackages()
	o.takeStores()
	trees, err := locate.NewTrees(o.Files)
	if err != nil {
		return nil, nil, err
	}
	o.Servers.Warn, o.Servers.Progress = o.Warn, o.Progress
	o.shareServers()
	client, err := debuginfod.New(o.Servers)
	if err != nil {
		return nil, nil, err
	}
	if client != nil {
		trees.Fetch = func(ctx context.Context, id symsrc.BuildID) (path string, retry func() bool) {
			r := client.Fetch(ctx, id, debuginfod.Debuginfo)
			return r.Path, r.News
		}
	}
	engine := object.NewLLVMSource(trees)
	if o.SkipLineZero {
		engine.SkipLineZero()
	}
	engine.UsePackage(o.Package)
	engine.UseMemory(cmp.Or(o.Memory, object.DefaultMemory))
	engine.Warn(o.warn)
	return engine, client.Close, nil
}

// ahead is a source that asks servers in advance for the modules of expected queries.
type ahead struct {
	symsrc.Source
	announcer debuginfod.Announcer
}

// Prefetch announces the modules of the queries, and passes the queries on.
func (a ahead) Prefetch(ctx context.Context, qs []symsrc.Expected) (helps bool) {
	var modules []symsrc.Module
	seen := make(map[symsrc.Module]bool)
	for i := range qs {
		if m := qs[i].Module; !seen[m] {
			seen[m] = true
			modules = append(modules, m)
		}
	}
	a.announcer.Announce(modules)
	if p := symsrc.PrefetcherOf(a.Source); p != nil {
		p.Prefetch(ctx, qs)
	}
	return true
}

// Probe returns what the machine code around an address shows, if the wrapped source is a Prober.
func (a ahead) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	if p, ok := a.Source.(symsrc.Prober); ok {
		return p.Probe(ctx, q)
	}
	return symsrc.Probe{}
}
