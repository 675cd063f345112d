// Package llvm writes what `llvm-symbolizer --filter-markup` of LLVM 22 writes, byte for byte, for any input. It interprets only
// markup, none of the other formats of frames.
//
// Two things differ on purpose: lines leave as soon as the input pauses, and the file of a module is searched for once. Lines over
// 64 MiB leave as they came.
//
//	llvm.go     the Filter, and its output for a line
//	liner.go    the Filter as a stream.Liner
//	run.go      lines in the cache, and frames alone on their lines
//	known.go    the meaning of context elements for the cache
//	block.go    runs of context lines that are repeated
//	scan.go     the reader of the line at hand: elements, and the text between them
//	fields.go   their fields, and messages about them
//	context.go  modules and mappings
//	space.go    the address space
//	resolve.go  addresses
//	render.go   frames and names
//	sgr.go      colors
package llvm

import (
	"context"
	"io"

	"qss-filter/symsrc"
)

// Options are the settings of a Filter. Only Symbols must be set.
type Options struct {
	// Symbols answers for addresses.
	Symbols symsrc.Source
	// Color highlights the replacements of elements, and rewrites the log's own colors as llvm does. Without it the log's own
	// colors are removed.
	Color bool
	// NoDemangle keeps the names of frames and variables as the file has them. Symbol elements are always demangled.
	NoDemangle bool
	// Functions is which names of functions are shown.
	Functions FunctionNames
	// Basenames cuts the directories off source files. RelativeNames cuts only the compilation directory off.
	Basenames, RelativeNames bool
	// SkipLineZero asks for the line of the preceding code, for code without one. The source has to do that.
	SkipLineZero bool
	// Errors gets a message for each element that is malformed or cannot be resolved, before the element's line is written. nil
	// drops the messages.
	Errors io.Writer
	// ErrorColor colors the messages.
	ErrorColor bool
	// Warn is called with messages about faults of this program. nil drops them.
	Warn func(message string)
}

// FunctionNames is which names of functions are shown.
type FunctionNames uint8

const (
	// LinkageNames are the names of the symbol table and, for inlined functions, the linkage names of the debug information.
	LinkageNames FunctionNames = iota
	// ShortNames are the names of the debug information, without namespaces and parameters. The symbol table is not used.
	ShortNames
	// NoNames leaves functions out.
	NoNames
)

// Filter is the state of one log. It is a stream.Liner.
type Filter struct {
	opt     Options
	longest int // of the lines that are looked at, in bytes
	reader
	space  space
	info   info
	sgr    sgrState
	memo   memo
	known  known
	nodes  []node // of the line at hand, up to the place reached
	lines  int    // that were given to Lines or Skip
	warned bool
	// reached is how far Lines has come: a panic over the next line must not lose that.
	reached struct {
		out []byte
		n   int
	}
}

// longest is the length of the longest line, in bytes, that is looked at. llvm has no limit.
const longest = 64 << 20

// New returns a filter. Options.Symbols must be set.
func New(o Options) *Filter {
	l := &Filter{opt: o, longest: longest, sgr: sgrState{on: o.Color, color: noColor}, reader: reader{errors: o.Errors, errorColor: o.ErrorColor}}
	l.space.reset()
	l.memo.init()
	l.known.init(l)
	return l
}

// Line appends the output of one line. It always gets an end.
//
// Text after the first context element is dropped. Text before it waits until it is known whether the element is shown at all.
func (l *Filter) Line(ctx context.Context, dst, line []byte) []byte {
	l.begin(line)
	l.nodes = l.nodes[:0]
	dst = l.sgr.reset(dst)
	for {
		n, ok := l.next()
		if !ok {
			break
		}
		if kind := contextKind(n.tag.Of(l.text)); kind != noContext {
			return l.context(ctx, dst, kind, &n)
		}
		l.nodes = append(l.nodes, n)
	}
	dst = l.endInfo(dst)
	return l.waiting(ctx, dst)
}

// waiting writes what stands before the place reached.
func (l *Filter) waiting(ctx context.Context, dst []byte) []byte {
	for i := range l.nodes {
		dst = l.node(ctx, dst, &l.nodes[i])
	}
	return dst
}

// context applies a context element.
func (l *Filter) context(ctx context.Context, dst []byte, kind contextTag, n *node) []byte {
	l.unsure++
	l.split(n)
	switch kind {
	case mmapContext:
		return l.mmap(ctx, dst, n)
	case moduleContext:
		return l.module(ctx, dst, n)
	}
	if !l.fieldsExactly(n, 0) || l.space.empty() {
		return dst
	}
	dst = l.endInfo(dst)
	dst = l.waiting(ctx, dst)
	dst = l.raw(dst, n)
	l.space.reset()
	return append(dst, l.lineEnd()...)
}

// node writes one element, or the text between two.
func (l *Filter) node(ctx context.Context, dst []byte, n *node) []byte {
	text := n.whole.Of(l.text)
	if n.tag.Empty() {
		if n.sgr {
			return l.sgr.apply(dst, text)
		}
		return append(dst, text...)
	}
	tag := n.tag.Of(l.text)
	for _, c := range tag {
		if c < 'a' || c > 'z' {
			l.fail(n.tag.Start, "tags must be all lowercase characters")
			return dst
		}
	}
	l.split(n)
	switch string(tag) {
	case "symbol":
		return l.symbol(dst, n)
	case "pc":
		return l.pc(ctx, dst, n)
	case "bt":
		return l.bt(ctx, dst, n)
	case "data":
		return l.data(ctx, dst, n)
	}
	return append(dst, text...)
}
