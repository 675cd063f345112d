package command

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"qss-filter/filter"
)

// filterFlags adds the flags that set the options of a filter.
func filterFlags(fs *flag.FlagSet, o *filter.Options) {
	choice(fs, &o.Style, "frames", "`HOW`: annotate (into the frame), append (below it), replace (in its place)",
		"annotate", "append", "replace")
	choice(fs, &o.Renumber, "renumber", "`WHEN` inlined functions count on: auto (not in markup), always, never",
		"auto", "always", "never")
	choice(fs, &o.Adjust, "adjust", "`HOW` to take addresses: auto (by evidence), none (exact), ra (return)",
		"auto", "none", "ra")
	choice(fs, &o.By, "by", "`WHAT` tells processes apart: auto, pid, host+pid, none (one address space)",
		"auto", "pid", "host+pid", "none")
	fs.Var(&o.Lookahead, "lookahead", "`LINES|TIME` that frames wait for a list of mappings below them (default: none)")
	choice(fs, &o.Context, "context", "`HOW` to show the lines that define modules: fold, keep, drop", "fold", "keep", "drop")
	fs.BoolVar(&o.Dedupe, "dedupe", false, "put [same as stack N, line L] in the place of a stack that was there before")
	fs.BoolVar(&o.StripSGR, "strip-sgr", false, "take the log's own colours out")
	fs.Func("source-context", "`N` lines of source code before and behind each frame's, below the frame", func(value string) error {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n > maxAround {
			return errors.New("want a number of lines, 1000 at most")
		}
		o.SourceLines = 2*int(n) + 1
		return nil
	})
	nameFlags(fs, &o.Names)
	fs.Var(&o.Links, "hyperlink-format", "`FORMAT` of links on paths, where colours are written: default, vscode, idea, …, a URL with {path}, none")
	fs.BoolVar(&o.Explain, "explain", false, "at each frame without a name, or with an unverified one, say why")
}

// maxAround bounds the lines of source before and after a frame's.
const maxAround = 1000

// nameFlags adds the flags of functions and paths as they are written.
func nameFlags(fs *flag.FlagSet, n *filter.Names) {
	fs.BoolVar(&n.Short, "short-names", false, "write std::string and std::vector<int> without default arguments, no clone suffixes")
	fs.Func("path-map", "`FROM=TO`: sources built below FROM are below TO; the longest FROM counts", func(value string) error {
		from, to, ok := strings.Cut(value, "=")
		if !ok || from == "" {
			return errors.New("want FROM=TO")
		}
		n.Map = append(n.Map, filter.PathMap{From: from, To: to})
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

// format is what the command line says of the form of the output.
type format struct {
	kind formatKind
	json filter.JSONOptions
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
	fs.BoolVar(&x.json.FramesOnly, "frames-only", false, "leave lines out that hold nothing")
}

// use puts the form into options.
func (x *format) use(o *filter.Options) {
	if x.kind == asJSON {
		o.JSON = &x.json
	}
}

// flags adds the flags of what a filter does beside its stream, and of the commands.
func (t *triggers) flags(fs *flag.FlagSet, x *filter.Extras) {
	fs.StringVar(&x.Maps, "maps", "", "`FILE` with mappings as in /proc/PID/maps, for processes that print none")
	fs.StringVar(&x.DumpContext, "dump-context", "", "`FILE` for modules and mappings as JSON, a line at each reset and at the end")
	fs.Func("on-dumpfile", "`TYPE=COMMAND`: run it with the context's file, type and name as $1 $2 $3", t.add)
}

// llvmFlags adds the flags of llvm-symbolizer, by their names there. Of two flags that contradict each other the last one counts.
func llvmFlags(fs *flag.FlagSet, o *filter.LLVMOptions) {
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

func setFunctions(o *filter.LLVMOptions, kind string) error {
	switch kind {
	case "linkage", "true":
		o.Functions = filter.LinkageNames
	case "short":
		o.Functions = filter.ShortNames
	case "none":
		o.Functions = filter.NoNames
	default:
		return fmt.Errorf("want linkage, short, none, not %q", kind)
	}
	return nil
}
