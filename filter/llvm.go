package filter

import (
	"bytes"
	"context"
	"io"

	"qss-filter/filter/frame"
	"qss-filter/symsrc"
)

// LLVMOptions ask for the style of `llvm-symbolizer --filter-markup`: its bytes for every input, of LLVM 22. Only
// markup is interpreted, none of the other formats of frames.
//
// Two things differ on purpose: lines leave as soon as the input pauses, and a module whose file is missing is looked
// for once. A line over 64 MiB leaves as it came, whatever stands in it.
type LLVMOptions struct {
	// Color highlights what replaces an element, and rewrites the log's own colours as llvm does. Without it they are
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
	// ErrorColor colours the messages.
	ErrorColor bool
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

// llvmStyle carries the state of one stream.
type llvmStyle struct {
	opt     LLVMOptions
	longest int // of the lines that are looked at, in bytes
	symbols symsrc.Source
	space   llvmSpace
	info    llvmInfo
	sgr     llvmSGR
	memo    llvmMemo
	known   knownContext[llvmKnown]
	showed  shownLines[struct{}]
	block   llvmBlock
	reached *progress // of the step at hand
	careful bool      // every line is looked at in full
	// unsure counts what makes a line other than what the same one will be: messages, changes of the context, and answers
	// that llvm gives but once.
	unsure int

	// text is the line at hand with its end, rest the part of it that was not scanned yet.
	text  []byte
	crlf  bool // its end, and that of the lines added to it
	rest  int
	nodes []llvmNode
	// element is the next element at or behind rest.
	element llvmNode
	// count is how many fields the element at hand has, and field the first of them; no element needs more.
	count int
	field [6]frame.Span
	// messages are those that were not written yet, ended is a last line with the end that it lacked.
	messages, ended []byte
}

func newLLVMStyle(o Options) *llvmStyle {
	l := &llvmStyle{opt: *o.LLVM, longest: longestLLVM, symbols: o.Symbols, sgr: llvmSGR{on: o.LLVM.Color, colour: noColour}}
	l.space.reset()
	l.memo.init()
	l.known.init()
	l.showed.init()
	return l
}

// line appends what becomes of one line. It always gets an end.
//
// The first context element decides what becomes of the line: what stands behind it is dropped, and what stands before
// it waits until it is known whether the element is shown at all.
func (l *llvmStyle) line(ctx context.Context, dst, line []byte) []byte {
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
func (l *llvmStyle) waiting(ctx context.Context, dst []byte) []byte {
	for i := range l.nodes {
		dst = l.node(ctx, dst, &l.nodes[i])
	}
	return dst
}

// context lets a context element take effect.
func (l *llvmStyle) context(ctx context.Context, dst []byte, kind llvmContext, n *llvmNode) []byte {
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
func (l *llvmStyle) node(ctx context.Context, dst []byte, n *llvmNode) []byte {
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
func (l *llvmStyle) lineEnd() string {
	if l.crlf {
		return "\r\n"
	}
	return "\n"
}

// pending reports whether a module's line is open, or a colour: then the next line has something to begin with.
func (l *llvmStyle) pending() bool { return l.info.open || !l.sgr.plain() }

// pass writes what must stand before lines that are copied as they are: what is open ends as on the first of them.
func (l *llvmStyle) pass(dst, lines []byte) []byte {
	if l.pending() {
		l.crlf = bytes.HasSuffix(lines[:bytes.IndexByte(lines, '\n')+1], []byte("\r\n"))
		dst = l.sgr.reset(dst)
		dst = l.endInfo(dst)
	}
	return dst
}

// flush ends the stream: what is open is closed as on the line before.
func (l *llvmStyle) flush(dst []byte) []byte {
	l.report()
	dst = l.endInfo(dst)
	return l.sgr.reset(dst)
}
