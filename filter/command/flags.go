package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/child"
	"qss-filter/filter/importer"
	"qss-filter/filter/llvm"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/tree"
	"qss-filter/filter/worker"
	"qss-filter/symsrc/addr2line"
	"qss-filter/symsrc/cache"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/debuginfod"
	"qss-filter/symsrc/dumpsym"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/sources"
	"qss-filter/symsrc/symbolize"
)

// filterFlags adds the flags that set the options of a filter.
func filterFlags(fs *flag.FlagSet, o *filter.Options, roots *sources.Options) {
	addressFlags(fs, o)
	fs.Var(&formValue{to: &o.Style}, "frames", "how to print a frame with a name, as `FORM`: auto (full in a pipe), full, append, short")
	shapeFlags(fs, o, roots)
	fs.BoolVar(&o.Dedupe, "dedupe", false, "write [same as stack N, line L] in place of a stack that was there before")
	fs.Var(&o.Links, "hyperlink-format", "`FORMAT` of links on paths, where colors are written: default, vscode, idea, …, a URL with {path}, none")
}

// shapeFlags adds the flags for the shape of lines, in a pipe and in files.
func shapeFlags(fs *flag.FlagSet, o *filter.Options, roots *sources.Options) {
	choice(fs, &o.Context, "modules", "`HOW` to show the lines that define modules: fold, show, hide", "fold", "show", "hide")
	fs.BoolVar(&o.StripSGR, "strip-ansi", false, "remove the log's own colors")
	fs.Func("source", "show source code, with `N` lines before and after that of a frame", func(value string) error {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n > maxAround {
			return errors.New("want a number of lines, 1000 at most")
		}
		o.SourceLines = 2*int(n) + 1
		return nil
	})
	fs.Func("path-map", "`FROM=TO|DIR`: sources that were built below FROM lie below TO; FROM= leaves FROM out of paths; DIR is searched by the ends of paths",
		pathMap(&o.Names, roots))
	fs.BoolVar(&o.Explain, "explain", false, "say at each frame that no file names why")
}

// addressFlags adds the flags for how addresses and processes are understood.
func addressFlags(fs *flag.FlagSet, o *filter.Options) {
	choice(fs, &o.Adjust, "addresses", "are logged addresses exact or return addresses? `WHAT` is auto (by evidence), exact, return",
		"auto", "exact", "return")
	choice(fs, &o.By, "process-key", "`WHAT` identifies a process: auto, pid, host+pid, none (one address space)",
		"auto", "pid", "host+pid", "none")
	fs.BoolVar(&o.Insist, "trust-files", false, "name frames by files that the log contradicts, or that nothing proves; the names are marked (unverified)")
	fs.Var(&o.Lookahead, "lookahead", "`LINES|TIME`: delay frames up to so many lines, or so long, for a memory map that is printed later")
}

// formValue is --frames.
type formValue struct {
	to   *print.Style
	word string
}

// forms are the values of --frames. auto is full in a pipe.
var forms = map[string]print.Style{"auto": print.Annotate, "full": print.Annotate, "append": print.Append, "short": print.Replace}

// Words returns the allowed values.
func (*formValue) Words() []string { return []string{"auto", "full", "append", "short"} }

func (f *formValue) String() string { return cmp.Or(f.word, "auto") }

func (f *formValue) Set(value string) error {
	style, ok := forms[value]
	if !ok {
		return errors.New("want " + strings.Join(f.Words(), ", "))
	}
	*f.to, f.word = style, value
	return nil
}

// maxAround bounds the lines of source before and after a frame's, and around is their number without a value.
const (
	maxAround = 1000
	around    = "2"
)

// pathMap returns a function that adds a mapping FROM=TO of paths, FROM= for a directory that is not shown, or DIR in which sources are
// searched.
func pathMap(n *print.Names, roots *sources.Options) func(value string) error {
	return func(value string) error {
		from, to, ok := strings.Cut(value, "=")
		switch {
		case from == "":
			return errors.New("want FROM=TO, or a directory of sources")
		case !ok && addRoot(roots, value) != nil:
			return errors.New("want FROM=TO, or a directory of sources")
		case !ok:
		case to == "":
			n.Strip = append(n.Strip, from)
		default:
			n.Map = append(n.Map, print.PathMap{From: from, To: to})
		}
		return nil
	}
}

// format is the format of the output.
type format struct {
	isJSON bool
	json   jsonl.Options
}

// register adds the flags that set x.
func (x *format) register(fs *flag.FlagSet) {
	fs.BoolVar(&x.isJSON, "json", false, "write a JSON object for each line (see help json)")
	fs.BoolVar(&x.json.FramesOnly, "only-stacks", false, "leave out lines without frames, modules and mappings")
}

// use sets the format in options.
func (x *format) use(o *filter.Options) {
	if x.isJSON {
		o.JSON = &x.json
	} else {
		o.OnlyStacks = x.json.FramesOnly
	}
}

// coreFlag is another name of --maps, which knows core files by their content: it is what other programs call their flag. Help does not
// show it.
const coreFlag = "core"

// mapsFlags adds the flag of the file with mappings.
func mapsFlags(fs *flag.FlagSet, x *filter.Extras) {
	fs.StringVar(&x.Maps, "maps", "", "read the memory map of a process from `FILE`: as in /proc/PID/maps, or an ELF core file")
	fs.StringVar(&x.Maps, coreFlag, "", "read mappings from `FILE`: the same as --maps")
}

// flags adds the flags of a filter's additional files, and of the user's commands.
func (t *triggers) flags(fs *flag.FlagSet, x *filter.Extras) {
	mapsFlags(fs, x)
	fs.StringVar(&x.DumpContext, "dump-context", "", "write the modules and mappings to `FILE` as JSON, when the modules of a process are replaced (a reset) and at the end")
	fs.Func("on-dumpfile", "`TYPE=COMMAND`: run COMMAND for each dumpfile element of TYPE; $1, $2, $3 are the file of modules, the type, the name", t.add)
}

// llvmFlags adds the flags of llvm-symbolizer, with the same names. If two flags contradict each other, the last one counts.
func llvmFlags(fs *flag.FlagSet, o *llvm.Options) {
	nothing := func() {}
	const demangle = "demangle function names (as is the default)"
	action(fs, "demangle", demangle, func() { o.NoDemangle = false })
	action(fs, "d", demangle, func() { o.NoDemangle = false }) // as QSS has it
	action(fs, "no-demangle", "keep the names of functions as their files have them", func() { o.NoDemangle = true })
	fs.Var(boolValue(func(kind string) error { return setFunctions(o, kind) }), "functions",
		"`KIND` of function names: linkage (the default), short (without namespace and parameters), none")
	action(fs, "basenames", "source files without their directories", func() { o.Basenames, o.RelativeNames = true, false })
	action(fs, "relativenames", "source files without the compilation directory", func() { o.Basenames, o.RelativeNames = false, true })
	action(fs, "skip-line-zero", "the line of the code before, for code that has none, in place of 0", func() { o.SkipLineZero = true })
	action(fs, "inlines", "no effect: inlined functions are always shown", nothing)
	action(fs, "no-inlines", "no effect, as in llvm's filter", nothing)
}

func setFunctions(o *llvm.Options, kind string) error {
	switch kind {
	case "linkage", "true":
		o.Functions = llvm.LinkageNames
	case "short":
		o.Functions = llvm.ShortNames
	case "none":
		o.Functions = llvm.NoNames
	default:
		return fmt.Errorf("want linkage, short, none, not %q", kind)
	}
	return nil
}

// childFlags adds the flag of a command after --.
func childFlags(fs *flag.FlagSet, o *child.Options) {
	o.Linger = child.DefaultLinger
	fs.Var((*lingerValue)(&o.Linger), "linger", "after the command exits, read its background processes until they are silent for `TIME`; forever waits for their end")
}

// treeFlags adds the flags of a tree of logs.
func treeFlags(fs *flag.FlagSet, o *tree.Options) {
	fs.StringVar(&o.Output, "output", "", "write what the logs become below `DIR`, with the reports")
	fs.BoolVar(&o.Follow, "follow-links", false, "follow symbolic links out of the tree, and to directories")
	fs.BoolVar(&o.Follow, oldFollow, false, "the same as --follow-links")
	o.Form = tree.Full
	choice(fs, &o.Form, "frames", "how to print a frame with a name, as `FORM`: full, short, append (names below the line)", "append", "short", "full")
	list(fs, &o.Include, "include", "read only files that match `GLOB`, such as *.log, even if they are source code")
	list(fs, &o.Exclude, "exclude", "do not read files and directories that match `GLOB`")
	fs.StringVar(&o.Report, "report", "", "write the tables and the page of stacks to directory `PATH`, not to that of --output, or findings to file .sarif or .json")
	fs.Var((*jobs)(&o.Jobs), "jobs", "read `NUMBER` logs at once; auto is one for each core")
	fs.BoolVar(&o.Benchmark, "stats", false, "report at the end what the run took: time by stage")
	fs.BoolVar(&o.Verbose, "verbose", false, "report each search for a module, and each log that is done")
}

// oldFollow is another name of --follow-links, which help does not show: the filter's --follow follows a log that grows.
const oldFollow = "follow"

// seedFlags adds the names that QSS has for the flags of a tree of logs.
func seedFlags(fs *flag.FlagSet, o *tree.Options) {
	fs.StringVar(&o.Input, "input-dir", "", "`DIR` of logs")
	fs.StringVar(&o.Output, "output-dir", "", "`DIR`: the same as --output")
	choice(fs, &o.Mode, "mode", "`MODE`: stack-only, rewrite", "stack-only", "rewrite")
	fs.Var((*jobs)(&o.Jobs), "workers-symbol", "`NUMBER`: the same as --jobs")
	fs.Var((*jobs)(&o.Jobs), "workers-rewrite", "`NUMBER`: the same as --jobs")
	fs.BoolVar(&o.Benchmark, "benchmark", false, "the same as --stats")
}

// seedTreeFlags are the flags of seedFlags, which help does not show.
var seedTreeFlags = []string{"input-dir", "output-dir", "mode", "workers-symbol", "workers-rewrite", "benchmark"}

// runFlags adds the flags for reports on a run of the filter.
func runFlags(fs *flag.FlagSet, o *tree.Options) {
	fs.StringVar(&o.Report, "report", "", "write tables of all frames and a page of all stacks to directory `PATH`, or findings to file .sarif or .json")
	fs.BoolVar(&o.Benchmark, "stats", false, "report at the end what the run took: the same as --summary=stats")
	fs.BoolVar(&o.Verbose, "verbose", false, "report each search for a module and what it found")
}

// importFlags adds the flags of inputs of other tools.
func importFlags(fs *flag.FlagSet, o *importer.Options) {
	fs.Var(byFlag{&o.By}, "by", "`WHAT` samples are counted by: function, address, line, module")
	fs.Func("from-kind", "`KIND` of input: scaler, perflow, chopstix; decided by content without it", func(s string) error {
		if !slices.Contains(importer.Kinds, s) {
			return errors.New("want " + strings.Join(importer.Kinds, ", "))
		}
		o.Kind = s
		return nil
	})
	fs.Var((*offsetsFlag)(&o.Offsets), "offsets",
		"PerFlow: print library + 0xoffset instead of names; --offsets=map-start counts from the mapping, as PerFlow does")
	fs.Func("from-threads", "Scaler: only the threads `ID,...`, hexadecimal as in the names of their files", func(ids string) (err error) {
		o.Threads, err = threads(ids)
		return err
	})
	fs.Var((*timeValue)(&o.MinDuration), "min-duration", "Scaler: hide calls that took less than `DURATION`")
	fs.Int64Var(&o.PID, "pid", 0, "ChopStiX: only the sessions of process `PID`")
	fs.IntVar(&o.Session, "session", 0, "ChopStiX: only session `N`, counted from 1")
	fs.BoolVar(&o.WriteCounts, "write-counts", false, "ChopStiX: fill the annotation tables of a copy, NAME.counts.db")
	fs.BoolVar(&o.InPlace, "in-place", false, "ChopStiX: fill the annotation tables of the database itself")
	profileFlags(fs, o)
}

// profileFlags adds the flags for profiles.
func profileFlags(fs *flag.FlagSet, o *importer.Options) {
	fs.StringVar(&o.Pprof, "pprof", "", "write the stacks to `FILE` for go tool pprof")
	fs.StringVar(&o.Folded, "folded", "", "write the stacks to `FILE` for flame graph tools")
}

// byFlag sets what samples are counted by.
type byFlag struct{ by *importer.By }

func (f byFlag) String() string {
	if f.by != nil && *f.by != importer.ByNothing {
		return f.by.String()
	}
	return ""
}

func (f byFlag) Set(s string) error {
	for by := importer.ByFunction; by <= importer.ByModule; by++ {
		if s == by.String() {
			*f.by = by
			return nil
		}
	}
	return errors.New("want " + strings.Join(countedBy, ", "))
}

// countedBy are the values of byFlag.
var countedBy = []string{"function", "address", "line", "module"}

// threads reads a list of hexadecimal thread IDs.
func threads(list string) (ids []uint64, err error) {
	for id := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(id), "0x"), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("thread %q is not a hexadecimal number", id)
		}
		ids = append(ids, v)
	}
	return ids, nil
}

// offsetsFlag is --offsets, with or without a value.
type offsetsFlag importer.Offsets

// IsBoolFlag allows the flag without a value.
func (f *offsetsFlag) IsBoolFlag() bool { return true }

func (f *offsetsFlag) String() string {
	return [...]string{importer.NoOffsets: "", importer.InModule: "true", importer.FromMapStart: "map-start"}[*f]
}

func (f *offsetsFlag) Set(s string) error {
	switch s {
	case "true":
		*f = offsetsFlag(importer.InModule)
	case "map-start":
		*f = offsetsFlag(importer.FromMapStart)
	case "false":
		*f = offsetsFlag(importer.NoOffsets)
	default:
		return errors.New("want map-start, or no value")
	}
	return nil
}

// chainFlags adds the flags of every command that looks for symbols.
func chainFlags(fs *flag.FlagSet, o *chain.Options) {
	locateFlags(fs, &o.Files)
	debuginfodFlags(fs, &o.Servers)
	cacheFlags(fs, &o.Cache)
}

// locateFlags adds the flags for places of files.
func locateFlags(fs *flag.FlagSet, o *locate.Options) {
	list(fs, &o.Symbols, "symbols", "search `PATH` for symbols: any tree, file, archive or store")
	list(fs, &o.Rootfs, "rootfs", "look for the paths of the log below `DIR` [default: /]")
	list(fs, &o.DebugRoots, "debug-root", "`DIR` like /usr/lib/debug, as QSS has it")
	list(fs, &o.Objects, "obj", "`FILE`: one unstripped file, as llvm has it")
	list(fs, &o.BuildIDDirs, "debug-file-directory", "`DIR` of build IDs, as llvm has it")
}

// javaFlags adds the flag for maps of names of Java.
func javaFlags(fs *flag.FlagSet, o *chain.Options) {
	const usage = "deobfuscate Java with `FILE`, a mapping.txt of R8 or ProGuard"
	for _, name := range append([]string{"mapping"}, mappingNames...) {
		list(fs, &o.Maps, name, usage)
	}
}

// mappingNames are other names of --mapping, which help does not show: that of before, and what other programs call it.
var mappingNames = []string{"map", "proguard"}

// otherSymbolFlags are flags of chainFlags that help does not show: the names that QSS and llvm have for them.
var otherSymbolFlags = []string{"debug-root", "obj", "debug-file-directory", "no-debuginfod", "cache-db", "llvm", "gnu", "c", "dwp"}

// debuginfodFlags adds the flags of debuginfod servers.
func debuginfodFlags(fs *flag.FlagSet, o *debuginfod.Options) {
	fs.Func("debuginfod", "`URL|off`: ask the debuginfod server at URL, not those of $DEBUGINFOD_URLS; off asks none", func(value string) error {
		switch value {
		case "off":
			o.Off = true
			return nil
		case "on":
			o.Off = false
			return nil
		}
		if !strings.Contains(value, "://") {
			return errors.New("want off, or a URL such as https://debuginfod.debian.net")
		}
		if err := debuginfod.CheckURL(value); err != nil {
			return err
		}
		o.Off, o.URLs = false, append(o.URLs, value)
		return nil
	})
	action(fs, "no-debuginfod", "the same as --debuginfod=off, as llvm has it", func() { o.Off = true })
	fs.Func("debuginfod-timeout", "wait for servers no longer than `TIME` in all; downloads go on after it [default: 10s, 50ms for a pipe or command]",
		func(value string) error {
			d, err := parseTime(value)
			if err != nil {
				return errors.New("want a time such as 30s or 5m, or 0 to wait for nothing")
			}
			o.Wait = cmp.Or(d, -1)
			return nil
		})
}

// cacheFlags adds the flags of the cache of answers.
func cacheFlags(fs *flag.FlagSet, o *cache.Options) {
	fs.StringVar(&o.Dir, "cache-dir", o.Dir, "cache results below `DIR` [default: ~/.cache/qss-filter]")
	fs.StringVar(&o.Dir, "cache-db", o.Dir, "`DIR`: same as --cache-dir")
	fs.BoolVar(&o.Off, "no-cache", o.Off, "neither read nor write the cache")
	fs.Func("cache-max", "cache at most `SIZE`, such as 64M or 1G [default: 256M]", func(value string) (err error) {
		if o.Max, err = parseSize(value); err == nil && o.Max < cache.LeastMax {
			err = fmt.Errorf("want at least %dM (--no-cache turns the cache off)", cache.LeastMax>>20)
		}
		return err
	})
}

// cacheServer returns the arguments of the process that serves the cache.
func cacheServer(dir string, max int64) []string {
	return []string{"cache", "serve", "--cache-dir", dir, "--cache-max", strconv.FormatInt(max, 10)}
}

// programFlags adds the flags of programs that replace the built-in reader.
func programFlags(fs *flag.FlagSet, o *addr2line.Options) {
	fs.Func("backend", "`llvm|gnu|PROGRAM`: let another program look addresses up: llvm-addr2line, addr2line, or one like them", func(value string) error {
		o.LLVM, o.GNU, o.Path = value == "llvm", value == "gnu", ""
		if value == "" {
			return errors.New("want llvm, gnu or a program")
		}
		if !o.LLVM && !o.GNU {
			o.Path, o.LLVM = value, strings.Contains(filepath.Base(value), "llvm")
			o.GNU = !o.LLVM
		}
		return nil
	})
	action(fs, "llvm", "the same as --backend=llvm, as QSS has it", func() { o.LLVM, o.GNU = true, false })
	action(fs, "gnu", "the same as --backend=gnu, as QSS has it", func() { o.LLVM, o.GNU = false, true })
	fs.StringVar(&o.Cross, "c", "", "`PREFIX` of the program's name, as QSS has it")
}

// sourceFlags adds the flag for places of source files.
func sourceFlags(fs *flag.FlagSet, o *sources.Options) {
	fs.Func("source-root", "search source files below `DIR` by the end of their paths: the same as --path-map DIR", func(value string) error { return addRoot(o, value) })
}

// addRoot adds a directory in which source files are searched.
func addRoot(o *sources.Options, dir string) error {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return errors.New("want a directory of sources")
	}
	o.Roots = append(o.Roots, dir)
	return nil
}

// symbolizeFlags adds the flags of `symbolize`.
func symbolizeFlags(fs *flag.FlagSet, o *symbolize.Options) {
	fs.BoolVar(&o.JSON, "json", false, "print a JSON object for each address")
	fs.BoolVar(&o.NoDemangle, "no-demangle", false, "keep the names of functions as the file has them")
}

// dumpFlags adds the flags of `dump-sym`.
func dumpFlags(fs *flag.FlagSet, o *dumpsym.Options) {
	fs.StringVar(&o.Output, "output", o.Output, "`FILE` to write, in place of standard output")
	fs.StringVar(&o.Name, "name", o.Name, "`NAME` of the program or library at run time [default: that of the file]")
}

// connectionFlags adds the flags for the connection to NATS servers.
func connectionFlags(fs *flag.FlagSet, c *worker.Connection) {
	fs.StringVar(&c.URLs, "nats", worker.DefaultURL, "`URL[,URL]` of NATS servers; tls://, user:password@ and tokens as NATS has them")
	fs.StringVar(&c.Credentials, "nats-creds", "", "`FILE` of credentials")
	fs.StringVar(&c.CA, "nats-ca", "", "`FILE` with the certificates of authorities to trust (PEM)")
	fs.StringVar(&c.Certificate, "nats-cert", "", "`FILE` of the client's certificate (PEM)")
	fs.StringVar(&c.Key, "nats-key", "", "`FILE` of the client's key (PEM)")
	fs.BoolVar(&c.LogJSON, "log-json", false, "write diagnostics as lines of JSON")
}

// workerFlags adds the flags of `worker`, except those of its filters.
func workerFlags(fs *flag.FlagSet, o *worker.Options) {
	connectionFlags(fs, &o.Connection)
	fs.StringVar(&o.Stream, "stream", "LOGS", "`NAME` of the stream with the lines; created if it does not exist")
	fs.StringVar(&o.In, "in", "logs.>", "`SUBJECT` of lines in that stream")
	fs.StringVar(&o.Key, "key", "", "`SUBJECT` whose wildcards tell processes apart, as logs.{host}.{pid}.* [default: all wildcards of --in]")
	fs.StringVar(&o.Out, "out", "annotated.>", "`SUBJECT` of annotated lines; > stands for the key")
	fs.StringVar(&o.OutStream, "out-stream", "", "`NAME` of the stream of annotated lines; created if it does not exist [default: from --out]")
	fs.StringVar(&o.Durable, "durable", "qss-filter", "`NAME` that the workers of a fleet share")
	fs.IntVar(&o.Partitions, "partitions", 16, "`N` partitions in streams that are created: as many workers can share the work")
	fs.IntVar(&o.Replicas, "replicas", 1, "`N` servers that keep what is created")
	fs.IntVar(&o.Parallel, "workers-per-host", 0, "annotate `N` lines at once [default: one for each core]")
	fs.IntVar(&o.Filters, "filters", 4096, "hold at most `N` processes in memory; the others are restored when they write again")
	o.Memory = worker.DefaultMemory
	fs.Var((*bytesValue)(&o.Memory), "filters-memory", "hold at most `SIZE` of them, such as 2G; those that have been silent longest go first")
	o.Idle = time.Second
	fs.Var((*timeValue)(&o.Idle), "idle", "hold a line for `TIME` where the next one may belong to it")
	fs.StringVar(&o.Metrics, "metrics", "", "`ADDRESS` to serve /metrics, /healthz and /readyz at, such as :9464")
}

// workerCommon are the flags that the help of `worker` shows.
var workerCommon = []string{"nats", "nats-creds", "nats-ca", "log-json", "stream", "in", "key", "out", "durable", "partitions", "replicas",
	"workers-per-host", "filters", "filters-memory", "idle", "metrics", "symbols", "debuginfod", "rootfs", "frames", "h", "help"}

// publishFlags adds the flags of `publish`.
func publishFlags(fs *flag.FlagSet, o *worker.PublishOptions) {
	connectionFlags(fs, &o.Connection)
	fs.StringVar(&o.Subject, "subject", "logs.{host}.{pid}", "`SUBJECT` of lines; {host} and {pid} are taken from their prefixes")
	fs.StringVar(&o.Stream, "stream", "LOGS", "`NAME` of the stream, created if it does not exist")
	fs.StringVar(&o.Host, "host", "", "`NAME` of the machine, for lines that do not name one [default: this one]")
	fs.StringVar(&o.PID, "pid", "0", "`PID` for lines that do not name one")
	fs.IntVar(&o.Partitions, "partitions", 16, "`N` partitions in a stream that is created: as many workers can share the work")
	fs.IntVar(&o.Replicas, "replicas", 1, "`N` servers that keep a stream that is created")
}
