package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"qss-filter/symsrc/addr2line"
	"qss-filter/symsrc/cache"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/debuginfod"
	"qss-filter/symsrc/dumpsym"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/sources"
	"qss-filter/symsrc/symbolize"
)

// chainFlags adds the flags that every command has which looks for symbols.
func chainFlags(fs *flag.FlagSet, o *chain.Options) {
	locateFlags(fs, &o.Files)
	debuginfodFlags(fs, &o.Servers)
	cacheFlags(fs, &o.Cache)
	fs.Func("memory", "`SIZE` of what is kept of files in memory, such as 64M or 1G (default 256M)", func(value string) (err error) {
		if o.Memory, err = parseSize(value); err == nil && o.Memory < chain.LeastMemory {
			err = fmt.Errorf("want at least %dM", chain.LeastMemory>>20)
		}
		return err
	})
}

// locateFlags adds the flags that say where files are.
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

// debuginfodFlags adds the flags of the servers.
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
				return errors.New("want a time as 30s or 5m, 0 for no waiting")
			}
			o.Wait = cmp.Or(d, -1)
			return nil
		})
}

// cacheFlags adds the flags of the answers that are kept on disk.
func cacheFlags(fs *flag.FlagSet, o *cache.Options) {
	fs.StringVar(&o.Dir, "cache-dir", o.Dir, "`DIR` where answers are kept (default $XDG_CACHE_HOME/qss-filter or ~/.cache/qss-filter)")
	fs.StringVar(&o.Dir, "cache-db", o.Dir, "`DIR`: same as --cache-dir")
	fs.BoolVar(&o.Off, "no-cache", o.Off, "keep no answers and use none that were kept")
	fs.Func("cache-max", "`SIZE` of the cache on disk, such as 64M or 1G (default 256M)", func(value string) (err error) {
		if o.Max, err = parseSize(value); err == nil && o.Max < cache.LeastMax {
			err = fmt.Errorf("want at least %dM (--no-cache goes without)", cache.LeastMax>>20)
		}
		return err
	})
}

// cacheServer is the command line, after the program, of the process that serves the cache.
func cacheServer(dir string, max int64) []string {
	return []string{"cache", "serve", "--cache-dir", dir, "--cache-max", strconv.FormatInt(max, 10)}
}

// programFlags adds the flags of the programs that are asked in place of the program's own reader.
func programFlags(fs *flag.FlagSet, o *addr2line.Options) {
	fs.BoolVar(&o.LLVM, "llvm", false, "answer with llvm-addr2line in place of the own reader")
	fs.BoolVar(&o.GNU, "gnu", false, "answer with GNU addr2line in place of the own reader")
	const use = "`PREFIX` of the program's name, as in arm-linux-gnueabihf-"
	fs.StringVar(&o.Cross, "cross", "", use)
	fs.StringVar(&o.Cross, "c", "", use)
	fs.StringVar(&o.Path, "addr2line", "", "`PROGRAM` that answers")
}

// sourceFlags adds the flag that says where source files are.
func sourceFlags(fs *flag.FlagSet, o *sources.Options) {
	fs.Func("source-root", "`DIR` that holds source files by the end of their paths", func(value string) error {
		if st, err := os.Stat(value); err != nil {
			return err
		} else if !st.IsDir() {
			return fmt.Errorf("%s is no directory", value)
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
