package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
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
func filterFlags(fs *flag.FlagSet, o *filter.Options) {
	choice(fs, &o.Style, "frames", "`HOW`: annotate (into the frame), append (below it), replace (in its place)",
		"annotate", "append", "replace")
	choice(fs, &o.Renumber, "renumber", "`WHEN` inlined functions get numbers of their own: auto (not in markup), always, never",
		"auto", "always", "never")
	choice(fs, &o.Adjust, "adjust", "`HOW` to take addresses: auto (by evidence), none (exact), ra (return)",
		"auto", "none", "ra")
	choice(fs, &o.By, "by", "`WHAT` tells processes apart: auto, pid, host+pid, none (one address space)",
		"auto", "pid", "host+pid", "none")
	fs.Var(&o.Lookahead, "lookahead", "`LINES|TIME` that frames wait for a list of mappings below them (default: none)")
	choice(fs, &o.Context, "context", "`HOW` to show the lines that define modules: fold, keep, drop", "fold", "keep", "drop")
	fs.BoolVar(&o.Dedupe, "dedupe", false, "write [same as stack N, line L] in place of a stack that was there before")
	fs.BoolVar(&o.StripSGR, "strip-sgr", false, "remove the log's own colors")
	fs.Func("source-context", "`N` lines of source code before and after each frame's, below the frame", func(value string) error {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n > maxAround {
			return errors.New("want a number of lines, 1000 at most")
		}
		o.SourceLines = 2*int(n) + 1
		return nil
	})
	nameFlags(fs, &o.Names)
	fs.Var(&o.Links, "hyperlink-format", "`FORMAT` of links on paths, where colors are written: default, vscode, idea, …, a URL with {path}, none")
	fs.BoolVar(&o.Explain, "explain", false, "at each frame without a name, or with an unverified one, say why")
}

// maxAround bounds the lines of source before and after a frame's.
const maxAround = 1000

// nameFlags adds the flags for how names of functions and paths are written.
func nameFlags(fs *flag.FlagSet, n *print.Names) {
	fs.BoolVar(&n.Short, "short-names", false, "write std::string and std::vector<int> without default arguments, no clone suffixes")
	fs.Func("path-map", "`FROM=TO`: sources built below FROM are below TO; the longest FROM counts", func(value string) error {
		from, to, ok := strings.Cut(value, "=")
		if !ok || from == "" {
			return errors.New("want FROM=TO")
		}
		n.Map = append(n.Map, print.PathMap{From: from, To: to})
		return nil
	})
	fs.Func("strip-prefix", "`DIR` not to be shown before the paths below it", func(value string) error {
		if value == "" {
			return errors.New("want a directory")
		}
		n.Strip = append(n.Strip, value)
		return nil
	})
}

// format is the format of the output.
type format struct {
	kind formatKind
	json jsonl.Options
}

type formatKind uint8

const (
	asText formatKind = iota
	asJSON
)

// register adds the flags that set x.
func (x *format) register(fs *flag.FlagSet) {
	choice(fs, &x.kind, "format", "`FORM` of the output: text, or json: an object a line, as schema describes",
		"text", "json")
	fs.BoolVar(&x.json.FramesOnly, "frames-only", false, "leave out lines that hold nothing")
}

// use sets the format in options.
func (x *format) use(o *filter.Options) {
	if x.kind == asJSON {
		o.JSON = &x.json
	}
}

// flags adds the flags of a filter's additional files, and of the user's commands.
func (t *triggers) flags(fs *flag.FlagSet, x *filter.Extras) {
	fs.StringVar(&x.Maps, "maps", "", "`FILE` with mappings as in /proc/PID/maps, for processes that print none")
	fs.StringVar(&x.DumpContext, "dump-context", "", "`FILE` for modules and mappings as JSON, a line at each reset and at the end")
	fs.Func("on-dumpfile", "`TYPE=COMMAND`: run it with the context's file, type and name as $1 $2 $3", t.add)
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
	fs.Var((*lingerValue)(&o.Linger), "linger", "`TIME` of silence after which processes that a command after -- has left behind are not waited for: "+
		"their next write fails, as into any pipe without a reader; forever waits until all have closed the output")
}

// treeFlags adds the flags of a tree of logs, and of reports.
func treeFlags(fs *flag.FlagSet, o *tree.Options) {
	fs.StringVar(&o.Input, "input-dir", "", "`DIR` of logs, with all below it, to be read at once")
	fs.StringVar(&o.Output, "output-dir", "", "`DIR` for what the logs become, in the same tree")
	fs.BoolVar(&o.Follow, "follow", false, "follow symbolic links out of --input-dir, and to directories")
	choice(fs, &o.Mode, "mode", "`MODE`: stack-only (NAME.stack.txt), rewrite (NAME.rewrite)", "stack-only", "rewrite")
	choice(fs, &o.Form, "rewrite", "`FORM` of rewritten logs: append (functions below their frame), replace (in its place)",
		"append", "replace")
	fs.StringVar(&o.Report, "report", "", "`DIR` for frames.tsv, elf_list.tsv, failed_frames.tsv, expanded_frames.tsv, summary.json")
	fs.StringVar(&o.SummaryJSON, "summary-json", "", "`FILE` for the summary as JSON, - for standard output")
	fs.Var((*jobs)(&o.Jobs), "jobs", "`NUMBER` of logs to read at once, or auto: one per core")
	fs.Var((*jobs)(&o.Jobs), "workers-symbol", "`NUMBER`: the same as --jobs")
	fs.Var((*jobs)(&o.Jobs), "workers-rewrite", "`NUMBER`: the same as --jobs")
	fs.BoolVar(&o.Group, "group", false, "count stacks with the same functions: groups.tsv, and in summary.json")
	fs.StringVar(&o.HTML, "html", "", "`FILE` for a page of all stacks, grouped, to be searched")
	fs.BoolVar(&o.Benchmark, "benchmark", false, "report at the end what the run took: time by stage, lines, look-ups, memory")
	fs.BoolVar(&o.Verbose, "verbose", false, "report each search for a module and what it found; in a tree, each log")
	fs.BoolVar(&o.ListModules, "list-modules", false, "print the modules of the logs and their build IDs, and nothing else")
	fs.BoolVar(&o.Check, "check", false, "the file found, its build ID, and MISMATCH")
	fs.BoolVar(&o.JSON, "json", false, "print JSON")
}

// importFlags adds the flags of inputs of other tools, except --by, which is also a flag of the filter; see byFlag.
func importFlags(fs *flag.FlagSet, o *importer.Options) {
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
	fs.DurationVar(&o.MinDuration, "min-duration", 0, "Scaler: hide calls that took less than `DURATION`")
	fs.Int64Var(&o.PID, "pid", 0, "ChopStiX: only the sessions of process `PID`")
	fs.IntVar(&o.Session, "session", 0, "ChopStiX: only session `N`, counted from 1")
	fs.BoolVar(&o.WriteCounts, "write-counts", false, "ChopStiX: fill the annotation tables of a copy, NAME.counts.db")
	fs.BoolVar(&o.InPlace, "in-place", false, "ChopStiX: fill those of the database itself")
	fs.StringVar(&o.Pprof, "pprof", "", "write the stacks to `FILE` for go tool pprof")
	fs.StringVar(&o.Folded, "folded", "", "write the stacks to `FILE` for flame graph tools")
}

// byFlag sets what samples are counted by. It passes other words to the filter's flag of the same name, which says how to distinguish
// processes; that may be nil.
type byFlag struct {
	by     *importer.By
	filter flag.Value
}

func (f byFlag) String() string {
	switch {
	case f.by != nil && *f.by != importer.ByNothing:
		return f.by.String()
	case f.filter != nil:
		return f.filter.String()
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
	const words = "want function, address, line, module for samples"
	if f.filter == nil {
		return errors.New(words)
	}
	if err := f.filter.Set(s); err != nil {
		return fmt.Errorf("%s; for processes %w", words, err)
	}
	return nil
}

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
	fs.Func("memory", "`SIZE` of the data of files that is kept in memory, such as 64M or 1G (default 256M)", func(value string) (err error) {
		if o.Memory, err = parseSize(value); err == nil && o.Memory < chain.LeastMemory {
			err = fmt.Errorf("want at least %dM", chain.LeastMemory>>20)
		}
		return err
	})
}

// locateFlags adds the flags for places of files.
func locateFlags(fs *flag.FlagSet, o *locate.Options) {
	list(fs, &o.Symbols, "symbols", "`DIR`: any tree with unstripped files, searched by build ID")
	list(fs, &o.BuildIDDirs, "build-id-dir", "`DIR` with xx/yyyy.debug files, as in /usr/lib/debug/.build-id")
	list(fs, &o.DebugRoots, "debug-root", "`DIR` like /usr/lib/debug, with .build-id or the paths of the log below")
	list(fs, &o.BreakpadDirs, "breakpad-dir", "`DIR`: a symbol store of Breakpad, NAME/DEBUGID/NAME.sym")
	list(fs, &o.IDsTxt, "ids-txt", "`FILE` of lines with a build ID and a path (ids.txt), or a symbol-index file")
	list(fs, &o.Rootfs, "rootfs", "`DIR`: root of the file system that the log's paths lie in (default /)")
	list(fs, &o.Objects, "obj", "`FILE`: one unstripped file")
	list(fs, &o.BuildIDDirs, "debug-file-directory", "`DIR`: same as --build-id-dir, /usr/lib/debug with --style=llvm if not given")
}

// debuginfodFlags adds the flags of debuginfod servers.
func debuginfodFlags(fs *flag.FlagSet, o *debuginfod.Options) {
	fs.Func("debuginfod-url", "`URL` of a debuginfod server, in place of $DEBUGINFOD_URLS", func(value string) error {
		if err := debuginfod.CheckURL(value); err != nil {
			return err
		}
		o.URLs = append(o.URLs, value)
		return nil
	})
	fs.BoolVar(&o.Off, "no-debuginfod", false, "ask no debuginfod server, whatever $DEBUGINFOD_URLS says")
	action(fs, "debuginfod", "ask the servers of $DEBUGINFOD_URLS, as is the default, after --no-debuginfod too", func() { o.Off = false })
	fs.Func("debuginfod-timeout", "`TIME` the output may wait for servers in all; downloads then go on (default 10s)",
		func(value string) error {
			d, err := time.ParseDuration(value)
			if seconds, e := strconv.ParseFloat(value, 64); e == nil {
				d, err = time.Duration(min(seconds*float64(time.Second), math.MaxInt64/2)), nil
			}
			if err != nil || d < 0 {
				return errors.New("want a time such as 30s or 5m, or 0 to wait for nothing")
			}
			o.Wait = cmp.Or(d, -1)
			return nil
		})
}

// cacheFlags adds the flags of the cache of answers.
func cacheFlags(fs *flag.FlagSet, o *cache.Options) {
	fs.StringVar(&o.Dir, "cache-dir", o.Dir, "`DIR` where answers are kept (default $XDG_CACHE_HOME/qss-filter or ~/.cache/qss-filter)")
	fs.StringVar(&o.Dir, "cache-db", o.Dir, "`DIR`: same as --cache-dir")
	fs.BoolVar(&o.Off, "no-cache", o.Off, "keep no answers and use none that were kept")
	fs.Func("cache-max", "`SIZE` of the cache on disk, such as 64M or 1G (default 256M)", func(value string) (err error) {
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
	fs.BoolVar(&o.LLVM, "llvm", false, "look addresses up with llvm-addr2line in place of the built-in reader")
	fs.BoolVar(&o.GNU, "gnu", false, "look addresses up with GNU addr2line in place of the built-in reader")
	const use = "`PREFIX` of the program's name, as in arm-linux-gnueabihf-"
	fs.StringVar(&o.Cross, "cross", "", use)
	fs.StringVar(&o.Cross, "c", "", use)
	fs.StringVar(&o.Path, "addr2line", "", "`PROGRAM` to look addresses up with")
}

// sourceFlags adds the flag for places of source files.
func sourceFlags(fs *flag.FlagSet, o *sources.Options) {
	fs.Func("source-root", "`DIR` that holds source files by the end of their paths", func(value string) error {
		if st, err := os.Stat(value); err != nil {
			return err
		} else if !st.IsDir() {
			return fmt.Errorf("%s is not a directory", value)
		}
		o.Roots = append(o.Roots, value)
		return nil
	})
}

// symbolizeFlags adds the flags of `symbolize`.
func symbolizeFlags(fs *flag.FlagSet, o *symbolize.Options) {
	fs.BoolVar(&o.JSON, "json", false, "print one JSON object per address")
	fs.BoolVar(&o.NoDemangle, "no-demangle", false, "keep the names of functions as the file has them")
}

// dumpFlags adds the flags of `dump-sym`.
func dumpFlags(fs *flag.FlagSet, o *dumpsym.Options) {
	fs.StringVar(&o.Output, "output", o.Output, "`FILE` to write, in place of standard output")
	fs.StringVar(&o.Name, "name", o.Name, "`NAME` of the program or library at run time (default: that of the file)")
}

// connectionFlags adds the flags for the connection to NATS servers.
func connectionFlags(fs *flag.FlagSet, c *worker.Connection) {
	fs.StringVar(&c.URLs, "nats", worker.DefaultURL, "`URL[,URL]` of NATS servers; tls://, user:password@ and tokens as NATS has them")
	fs.StringVar(&c.Credentials, "nats-creds", "", "`FILE` of credentials")
	fs.StringVar(&c.CA, "nats-ca", "", "`FILE` of certificates that servers are trusted by (PEM)")
	fs.StringVar(&c.Certificate, "nats-cert", "", "`FILE` of the client's certificate (PEM)")
	fs.StringVar(&c.Key, "nats-key", "", "`FILE` of the client's key (PEM)")
	fs.BoolVar(&c.LogJSON, "log-json", false, "write diagnostics as lines of JSON")
}

// workerFlags adds the flags of `worker`, except those of its filters.
func workerFlags(fs *flag.FlagSet, o *worker.Options) {
	connectionFlags(fs, &o.Connection)
	fs.StringVar(&o.Stream, "stream", "LOGS", "`NAME` of the stream with the lines; created if it does not exist")
	fs.StringVar(&o.In, "in", "logs.>", "`SUBJECT` of lines in that stream")
	fs.StringVar(&o.Key, "key", "", "`SUBJECT` whose wildcards tell processes apart, as logs.{host}.{pid}.* (default: all wildcards of --in)")
	fs.StringVar(&o.Out, "out", "annotated.>", "`SUBJECT` of annotated lines; > is the key")
	fs.StringVar(&o.OutStream, "out-stream", "", "`NAME` of the stream of annotated lines; created if it does not exist (default: from --out)")
	fs.StringVar(&o.Durable, "durable", "qss-filter", "`NAME` that the workers of a fleet share")
	fs.IntVar(&o.Partitions, "partitions", 16, "`N` partitions in streams that are created: as many workers can share the work")
	fs.IntVar(&o.Replicas, "replicas", 1, "`N` servers that keep what is created")
	fs.IntVar(&o.Parallel, "workers-per-host", 0, "`N` lines that are annotated at once (default: one per core)")
	fs.IntVar(&o.Filters, "filters", 4096, "`N` processes at most that are held in memory; the others are restored when they write again")
	o.Memory = worker.DefaultMemory
	fs.Var((*bytesValue)(&o.Memory), "filters-memory", "`SIZE` that these processes take at most, all together, such as 2G: beyond it those that have not written for longest are restored when they write again")
	fs.DurationVar(&o.Idle, "idle", time.Second, "`TIME` that a folded line and the like waits for what may still belong to it")
	fs.StringVar(&o.Metrics, "metrics", "", "`ADDRESS` to serve /metrics and /healthz at, such as :9464")
}

// workerCommon are the flags that the help of `worker` shows.
var workerCommon = []string{"nats", "nats-creds", "nats-ca", "log-json", "stream", "in", "key", "out", "durable", "partitions", "replicas",
	"workers-per-host", "filters", "filters-memory", "idle", "metrics", "symbols", "debuginfod-url", "rootfs", "frames", "help", "help-all"}

// publishFlags adds the flags of `publish`.
func publishFlags(fs *flag.FlagSet, o *worker.PublishOptions) {
	connectionFlags(fs, &o.Connection)
	fs.StringVar(&o.Subject, "subject", "logs.{host}.{pid}", "`SUBJECT` of lines; {host} and {pid} are taken from their prefixes")
	fs.StringVar(&o.Stream, "stream", "LOGS", "`NAME` of the stream, created if it does not exist")
	fs.StringVar(&o.Host, "host", "", "`NAME` of the machine, for lines that do not name one (default: this one)")
	fs.StringVar(&o.PID, "pid", "0", "`PID` for lines that do not name one")
	fs.IntVar(&o.Partitions, "partitions", 16, "`N` partitions in a stream that is created: as many workers can share the work")
	fs.IntVar(&o.Replicas, "replicas", 1, "`N` servers that keep a stream that is created")
}
