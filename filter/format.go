package filter

import (
	"errors"
	"flag"
)

// Format is what the command line says of the form of the output.
type Format struct {
	kind formatKind
	json JSONOptions
}

type formatKind uint8

const (
	asText formatKind = iota
	asJSON
)

// Register adds the flags that set x.
func (x *Format) Register(fs *flag.FlagSet) {
	Choice(fs, &x.kind, "format", "`FORM` of the output: text, or json: an object a line, as schema describes",
		"text", "json")
	fs.BoolVar(&x.json.FramesOnly, "frames-only", false, "with --format=json, leave lines out that hold nothing")
}

// Errors of Use.
var (
	errJSONInLLVM = errors.New("--format=json: the style of llvm is text: leave out one of the two")
	errJSONInTree = errors.New("--format=json: a tree of logs is told in tables and a summary (--report DIR): give the logs as files, or leave it out")
	errFramesOnly = errors.New("--frames-only: a log as text is never cut down: add --format=json, or leave it out")
)

// Use puts the form into options; tree is set where they are for a tree of logs, and llvm where they are for the style of llvm.
func (x *Format) Use(o *Options, tree, llvm bool) error {
	switch {
	case x.kind == asText && x.json.FramesOnly:
		return errFramesOnly
	case x.kind == asText:
		return nil
	case llvm:
		return errJSONInLLVM
	case tree:
		return errJSONInTree
	}
	o.JSON = &x.json
	return nil
}
