// Package itanium demangles C++ symbols of the Itanium ABI, in two styles. LLVM is byte for byte the output of llvm's demangler,
// including its errors. Standard has the same spelling, but resolves names as binutils' c++filt does: it binds template parameters
// in the scope in which they occur (template.go), and it supports the names of old versions of gcc.
//
// A name is parsed into a graph of nodes (node.go), in one pass without backtracking (encoding.go, name.go, template.go,
// type.go, expression.go). Substitutions share nodes, so the readable form can be much longer than the name. The graph is
// printed from the outside in (print*.go); the part of a declarator before the declared name is printed separately from the
// part after it.
//
// The sources are the Itanium C++ ABI, §5.1 (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling), and the output of
// llvm-cxxfilt and c++filt; the tests compare with both.
package itanium

import (
	"strings"
	"sync"
)

const (
	// maxName is the longest name that is demangled, in bytes. It bounds the depth of the parser.
	maxName = 4096
	// maxOutput is the longest readable form, in bytes.
	maxOutput = 1 << 16
	// maxVisits bounds the number of nodes visited to rebind substitutions, and to print a name. Pack expansions can visit
	// many nodes that print nothing.
	maxVisits = 1 << 18
	// maxDepth bounds the recursion of the printer. Forward references can form cycles.
	maxDepth = 1 << 14
	// keptNodes is the size of the largest graph whose memory is kept for the next name.
	keptNodes = 1 << 12
	// maxNodes bounds the size of the graph, because rebinding can make it much larger than the name.
	maxNodes = 1 << 17
)

// Style selects how names are demangled.
type Style uint8

const (
	// Standard has llvm's spelling without llvm's errors.
	Standard Style = iota
	// LLVM is the output of llvm's demangler, byte for byte.
	LLVM
)

var parsers = sync.Pool{New: func() any { return new(parser) }}

// Demangle returns the readable form of a symbol that begins with `_Z`, or with `___Z` for the block function of an
// Objective-C block; one additional leading underscore is accepted. A clone suffix, which begins with a dot, is written in
// parentheses: `f() (.cold)`. Demangle returns false for names that are malformed or longer than 4096 bytes, for names whose
// readable form is longer than 64 KiB, and, in style LLVM, for names that llvm cannot demangle.
func Demangle(name string, style Style) (string, bool) {
	if len(name) > maxName {
		return "", false
	}
	p := parsers.Get().(*parser)
	p.begin(name, style)
	var text string
	root := p.symbol()
	ok := !p.bad && p.pos == len(p.s)
	if ok {
		w := printer{out: p.out[:0], packIndex: noPack, packCount: noPack, llvm: p.llvm}
		w.print(root)
		p.out = w.out[:0]
		if ok = !w.bad && len(w.out) <= maxOutput; ok {
			text = string(w.out)
		}
	}
	if p.end() {
		parsers.Put(p)
	}
	return text, ok
}

// symbol reads a whole symbol.
func (p *parser) symbol() *node {
	switch {
	case p.takeString("_Z"), p.takeString("__Z"):
	case p.takeString("___Z"), p.takeString("____Z"):
		return p.block()
	default:
		return p.fail()
	}
	n := p.encoding()
	if p.peek() == '.' {
		n = p.make(node{kind: suffixed, a: n, text: p.s[p.pos:]})
		p.pos = len(p.s)
	}
	return n
}

// block reads the function of a block: the encoding of the enclosing function, `_block_invoke`, and an optional number.
func (p *parser) block() *node {
	n := p.encoding()
	if !p.takeString("_block_invoke") {
		return p.fail()
	}
	underscore := p.take('_')
	if p.number(false) == "" && underscore {
		return p.fail()
	}
	if p.peek() == '.' {
		p.pos = len(p.s)
	}
	return p.make(node{kind: special, a: n, text: "invocation function for block in "})
}

// parser parses one name. On an error it sets bad and skips the rest of the input, so that every loop ends; the nodes returned
// after an error are meaningless.
type parser struct {
	s   string
	pos int
	bad bool

	subs    []*node // substitution candidates, ABI §5.1.8
	pending []*node // stack of the elements of lists that are being read; see popList

	// llvm is set for style LLVM.
	llvm bool
	// rebindings counts the substitutions that were copied for another scope.
	rebindings int32
	// visited counts the nodes that were visited to copy them.
	visited int
	// sawParam is set after the first template parameter.
	sawParam bool

	scopes scopes
	// forwards are the unresolved references to template arguments that come later in the name.
	forwards []*node
	// lambdaLevel is the level at which a template parameter without an argument is an `auto` parameter of a lambda; -1 outside
	// of lambdas.
	lambdaLevel int
	// permitForward is set in the type of a conversion operator, which may refer to template arguments that follow it.
	permitForward bool
	// plainParam is set where template arguments after a template parameter do not belong to it.
	plainParam bool
	// numbered is set in constraints, in which template parameters are written as in the mangled name.
	numbered bool
	// invented counts the names invented for template parameters: of types, values and templates.
	invented [3]int

	// Memory that is reused for the next name.
	blocks []*[blockSize]node
	used   int
	lists  []*node
	out    []byte
}

// begin prepares the parser for a name.
func (p *parser) begin(name string, style Style) {
	p.s, p.pos, p.bad = name, 0, false
	p.llvm, p.rebindings, p.visited, p.sawParam = style == LLVM, 0, 0, false
	p.lambdaLevel = -1
	p.permitForward, p.plainParam, p.numbered = false, false, false
	p.invented = [3]int{}
	p.scopes = scopes{levels: p.scopes.levels[:0], outer: p.scopes.outer[:0]}
}

// end clears the state of the parser and reports whether its memory is small enough to be kept.
func (p *parser) end() bool {
	if p.used > keptNodes {
		return false
	}
	for at := 0; at < p.used; at += blockSize {
		clear(p.blocks[at/blockSize][:min(blockSize, p.used-at)])
	}
	p.used, p.s = 0, ""
	p.subs, p.pending, p.forwards, p.lists = p.subs[:0], p.pending[:0], p.forwards[:0], p.lists[:0]
	return true
}

// failed is the node returned after an error. It is shared and never modified.
var failed = new(node)

// fail sets bad and skips the rest of the input.
func (p *parser) fail() *node {
	p.bad, p.pos = true, len(p.s)
	return failed
}

// remaining returns the number of unread bytes.
func (p *parser) remaining() int { return len(p.s) - p.pos }

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.s) {
		return p.s[p.pos]
	}
	return 0
}

// peekAt returns the byte at offset k from the current position, or 0 after the end.
func (p *parser) peekAt(k int) byte {
	if p.pos+k < len(p.s) {
		return p.s[p.pos+k]
	}
	return 0
}

// take consumes c if it is next and reports whether it was.
func (p *parser) take(c byte) bool {
	if p.pos < len(p.s) && p.s[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// takeString consumes text if it is next and reports whether it was.
func (p *parser) takeString(text string) bool {
	if strings.HasPrefix(p.s[p.pos:], text) {
		p.pos += len(text)
		return true
	}
	return false
}

// hasPrefix reports whether text is next.
func (p *parser) hasPrefix(text string) bool { return strings.HasPrefix(p.s[p.pos:], text) }

// more reports whether a list has another element. The list ends with the byte end, which is consumed, or after an error.
func (p *parser) more(end byte) bool { return !p.bad && !p.take(end) }

func isDigit(c byte) bool { return c-'0' < 10 }

// number reads decimal digits; if negative is set, an n may precede them. It returns "" if there are no digits.
func (p *parser) number(negative bool) string {
	from := p.pos
	if negative {
		p.take('n')
	}
	if !isDigit(p.peek()) {
		return ""
	}
	for isDigit(p.peek()) {
		p.pos++
	}
	return p.s[from:p.pos]
}

// integer reads decimal digits. Overflow beyond 64 bits is ignored, as in llvm.
func (p *parser) integer() (n uint64, ok bool) {
	for isDigit(p.peek()) {
		n = n*10 + uint64(p.s[p.pos]-'0')
		p.pos++
		ok = true
	}
	return n, ok
}

// seqID reads a base-36 number, <seq-id> of ABI §5.1.8.
func (p *parser) seqID() (n uint64, ok bool) {
	for {
		switch c := p.peek(); {
		case isDigit(c):
			n = n*36 + uint64(c-'0')
		case c >= 'A' && c <= 'Z':
			n = n*36 + uint64(c-'A') + 10
		default:
			return n, ok
		}
		p.pos++
		ok = true
	}
}

// identifier reads a length and that many bytes. It returns "" if there is no length or too few bytes.
func (p *parser) identifier() string {
	n, ok := p.integer()
	if !ok || n > uint64(p.remaining()) {
		return ""
	}
	from := p.pos
	p.pos += int(n)
	return p.s[from:p.pos]
}

// qualifiers reads CV-qualifiers, which have this order.
func (p *parser) qualifiers() (q flags) {
	if p.take('r') {
		q |= isRestrict
	}
	if p.take('V') {
		q |= isVolatile
	}
	if p.take('K') {
		q |= isConst
	}
	return q
}
