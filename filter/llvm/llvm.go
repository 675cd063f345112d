// Package llvm writes what `llvm-symbolizer --filter-markup` writes: its bytes for every input, of LLVM 22. Only
// markup is interpreted, none of the other formats of frames.
//
// Two things differ on purpose: lines leave as soon as the input pauses, and a module whose file is missing is looked
// for once. A line over 64 MiB leaves as it came, whatever stands in it.
//
//	llvm.go     what becomes of a line
//	liner.go    the filter as a stream.Liner, and lines that were seen before (known.go)
//	scan.go     elements, and the text between them
//	fields.go   their fields, and messages about them
//	context.go  modules and mappings, in an address space (space.go, maps.go)
//	resolve.go  addresses
//	render.go   what frames and names look like; sgr.go, colors
package llvm

import (
	"bytes"
	"context"
	"io"

	"qss-filter/filter/linecache"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Options say what a Filter does. The zero value of all but Symbols is the default.
type Options struct {
	// Symbols answers for addresses.
	Symbols symsrc.Source
	// Color highlights what replaces an element, and rewrites the log's own colors as llvm does. Without it they are
	// removed.
	Color bool
	// NoDemangle keeps the names of frames and variables as the file has them. Symbol elements are demangled always.
	NoDemangle bool
	Functions  FunctionNames
	// Basenames cuts the directories off source files, RelativeNames the compilation directory only.
	Basenames, RelativeNames bool
	// SkipLineZero asks for the line of the code before, for code without one; the source is to do that.
	SkipLineZero bool
	// Errors gets a message for each element that is malformed or cannot be resolved, before the lines that they are on
	// are written; nil drops it.
	Errors io.Writer
	// ErrorColor colors the messages.
	ErrorColor bool
	// Warn is told of faults of this program; nil drops them.
	Warn func(message string)
}

// FunctionNames tells by what names functions go in the style of llvm.
type FunctionNames uint8

const (
	// LinkageNames are those of the symbol table, and of the debug information for what is inlined.
	LinkageNames FunctionNames = iota
	// ShortNames are those of the debug information, without namespace, parameters and symbol table.
	ShortNames
	// NoNames leaves functions out.
	NoNames
)

// Filter carries the state of one log. It is a stream.Liner.
type Filter struct {
	opt     Options
	longest int // of the lines that are looked at, in bytes
	space   space
	info    info
	sgr     sgrState
	memo    memo
	known   linecache.Elements[known]
	showed  linecache.Outputs[struct{}]
	block   block
	// reached is how far Lines has come: what a panic over the next line must not cost.
	reached struct {
		out []byte
		n   int
	}
	careful bool // every line is looked at in full
	lines   int  // that were given to Lines or Skip
	warned  bool
	// unsure counts what makes a line other than what the same one will be: messages, changes of the context, and answers
	// that llvm gives but once.
	unsure int

	// text is the line at hand with its end, rest the part of it that was not scanned yet.
	text  []byte
	crlf  bool // its end, and that of the lines added to it
	rest  int
	nodes []node
	// element is the next element at or behind rest.
	element node
	// count is how many fields the element at hand has, and field the first of them; no element needs more.
	count int
	field [6]scan.Span
	// messages are those that were not written yet, ended is a last line with the end that it lacked.
	messages, ended []byte
}

// longest is the longest line, in bytes, that is looked at; llvm knows no limit.
const longest = 64 << 20

// New returns a filter. Options.Symbols must be set.
func New(o Options) *Filter {
	l := &Filter{opt: o, longest: longest, sgr: sgrState{on: o.Color, color: noColor}}
	l.space.reset()
	l.memo.init()
	l.known.Init()
	l.showed.Init()
	return l
}

// Line appends what becomes of one line. It always gets an end.
//
// The first context element decides what becomes of the line: what stands behind it is dropped, and what stands before
// it waits until it is known whether the element is shown at all.
func (l *Filter) Line(ctx context.Context, dst, line []byte) []byte {
	if n := len(line); n == 0 || line[n-1] != '\n' {
		l.ended = append(append(l.ended[:0], line...), '\n')
		line = l.ended
	}
	l.text, l.rest, l.nodes = line, 0, l.nodes[:0]
	l.element.whole.Start = -1
	l.crlf = bytes.HasSuffix(line, []byte("\r\n"))
	dst = l.sgr.reset(dst)
	for {
		n, ok := l.next()
		if !ok {
			break
		}
		if kind := contextKind(n.tag.Of(line)); kind != noContext {
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

// context lets a context element take effect.
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

// lineEnd is the end of the line at hand, and at the end of the stream of the last one: that of lines that are added.
func (l *Filter) lineEnd() string {
	if l.crlf {
		return "\r\n"
	}
	return "\n"
}
