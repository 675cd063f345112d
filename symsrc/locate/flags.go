package locate

import "flag"

// Register adds the flags that set o.
func (o *Options) Register(fs *flag.FlagSet) {
	list := func(to *[]string, name, usage string) {
		fs.Func(name, usage, func(value string) error {
			*to = append(*to, value)
			return nil
		})
	}
	list(&o.Symbols, "symbols", "`DIR`: any tree with unstripped files, searched by build ID")
	list(&o.BuildIDDirs, "build-id-dir", "`DIR` with xx/yyyy.debug files, as in /usr/lib/debug/.build-id")
	list(&o.DebugRoots, "debug-root", "`DIR` like /usr/lib/debug, with .build-id or the paths of the log below")
	list(&o.BreakpadDirs, "breakpad-dir", "`DIR`: a symbol store of Breakpad, NAME/DEBUGID/NAME.sym")
	list(&o.IDsTxt, "ids-txt", "`FILE` of lines with a build ID and a path (ids.txt), or a symbol-index file")
	list(&o.Rootfs, "rootfs", "`DIR`: root of the file system that the log's paths lie in (default /)")
	list(&o.Objects, "obj", "`FILE`: one unstripped file")
	list(&o.BuildIDDirs, "debug-file-directory", "`DIR`: same as --build-id-dir, /usr/lib/debug with --style=llvm if not given")
}
