package filter

import (
	"flag"
	"fmt"
	"slices"
	"strings"
)

// Register adds the flags that set o.
func (o *Options) Register(fs *flag.FlagSet) {
	Choice(fs, &o.Style, "frames", "`HOW`: annotate (into the frame), append (below it), replace (in its place)",
		"annotate", "append", "replace")
	Choice(fs, &o.Renumber, "renumber", "`WHEN` inlined functions count on: auto (not in markup), always, never",
		"auto", "always", "never")
	o.registerContext(fs)
	Choice(fs, &o.Context, "context", "`HOW` to show the lines that define modules: fold, keep, drop", "fold", "keep", "drop")
	fs.BoolVar(&o.Dedupe, "dedupe", false, "put [same as stack N, line L] in the place of a stack that was there before")
	fs.BoolVar(&o.StripSGR, "strip-sgr", false, "take the log's own colours out")
	o.registerSources(fs)
	o.Names.register(fs)
	fs.Var(&o.Links, "hyperlink-format", "`FORMAT` of links on paths, where colours are written: default, vscode, idea, …, a URL with {path}, none")
	fs.BoolVar(&o.Explain, "explain", false, "at each frame without a name, or with an unverified one, say why")
}

// registerContext adds those flags that say how addresses are found in the log's mappings.
func (o *Options) registerContext(fs *flag.FlagSet) {
	Choice(fs, &o.Adjust, "adjust", "`HOW` to take addresses: auto (by evidence), none (exact), ra (return)",
		"auto", "none", "ra")
	Choice(fs, &o.By, "by", "`WHAT` tells processes apart: auto, pid, host+pid, none (one address space)",
		"auto", "pid", "host+pid", "none")
	fs.Var(&o.Lookahead, "lookahead", "`LINES|TIME` that frames wait for a list of mappings below them (default: none)")
}

// oneOf is a flag whose values are words; the number of the word is what it sets.
type oneOf[T ~uint8] struct {
	to    *T
	words []string
}

// Choice adds a flag that is one of words; the first one is the default, and to takes the word's number.
func Choice[T ~uint8](fs *flag.FlagSet, to *T, name, usage string, words ...string) {
	fs.Var(oneOf[T]{to, words}, name, usage)
}

func (c oneOf[T]) String() string {
	if c.to == nil {
		return ""
	}
	return c.words[*c.to]
}

// Words are what the flag may be.
func (c oneOf[T]) Words() []string { return c.words }

func (c oneOf[T]) Set(value string) error {
	i := slices.Index(c.words, value)
	if i < 0 {
		return fmt.Errorf("want %s", strings.Join(c.words, ", "))
	}
	*c.to = T(i)
	return nil
}
