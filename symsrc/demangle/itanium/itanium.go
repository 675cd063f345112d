// Package itanium demangles C++ symbols of the Itanium ABI, in two styles. LLVM is byte for byte what llvm's demangler writes,
// its slips included. Standard is written the same way, but reads a name as binutils' c++filt does: it binds template
// parameters in the scope in which they stand (template.go), and knows the names of old versions of gcc.
//
// A name becomes a graph of nodes (node.go), in one pass without backtracking (encoding.go, name.go, template.go, type.go,
// expression.go). The graph is shared where the name refers back, so what is written can be much longer than the
// name. It is written from the outside in (print*.go), with the pieces that C++ puts before a declared name apart from
// those after it.
//
// Facts are those of the Itanium C++ ABI, §5.1 (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling), and what
// llvm-cxxfilt and c++filt answer; the tests compare with both.
package itanium

import (
	"strings"
	"sync"
)

const (
	// maxName is the longest name that is read, in bytes. It bounds the depth of the parser.
	maxName = 4096
	// maxOutput is the longest readable form.
	maxOutput = 1 << 16
	// maxVisits bounds how many nodes are visited to rebind substitutions, and to write a name; pack expansions can visit many
	// that write nothing.
	maxVisits = 1 << 18
	// maxDepth bounds the depth in which nodes are visited. Forward references can lead in circles, each of them once.
	maxDepth = 1 << 14
	// keptNodes is the largest graph whose memory is kept for the next name.
	keptNodes = 1 << 12
	// maxNodes bounds the graph, which rebound substitutions can make much larger than the name.
	maxNodes = 1 << 17
)

// Style is how names are read and written.
type Style uint8

const (
	// Standard is llvm's way of writing, but right where llvm is not.
	Standard Style = iota
	// LLVM is what llvm's demangler writes, byte for byte.
	LLVM
)

var parsers = sync.Pool{New: func() any { return new(parser) }}

// Demangle returns the readable form of a symbol that begins with `_Z`, or with `___Z` for a block of Objective-C; one more
// underscore may stand before it. What follows a dot after the name is a clone's suffix and stands in parentheses:
// `f() (.cold)`. Demangle fails for names that are malformed or over 4096 bytes, for those whose readable form is over 64 KiB,
// and in the style LLVM for those that llvm fails for.
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
	case p.takes("_Z"), p.takes("__Z"):
	case p.takes("___Z"), p.takes("____Z"):
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

// block reads the function of a block: the encoding of what it stands in, `_block_invoke`, and a number.
func (p *parser) block() *node {
	n := p.encoding()
	if !p.takes("_block_invoke") {
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

// parser reads one name. A step that fails makes it bad and ends the input, so that every loop ends; what the steps return
// from then on means nothing.
type parser struct {
	s   string
	pos int
	bad bool

	subs  []*node // substitution candidates, ABI §5.1.8
	found []*node // elements of the lists being read

	// llvm is set for llvm's style, with its slips.
	llvm bool
	// rebindings counts the copies of substitutions that were made for other scopes.
	rebindings int32
	// visited counts the nodes that were visited for them.
	visited int
	// sawParam is set once a template parameter was read.
	sawParam bool

	scopes scopes
	// forwards are references to template arguments that come later in the name, unresolved as yet.
	forwards []*node
	// lambdaLevel is the level at which a lambda's parameter that has no argument is `auto`, -1 outside of lambdas.
	lambdaLevel int
	// permitForward is set in the type of a conversion operator, whose template arguments follow it.
	permitForward bool
	// plainParam is set where template arguments after a parameter are not the parameter's.
	plainParam bool
	// numbered is set in constraints, in which template parameters are written by their numbers.
	numbered bool
	// invented counts the names given to template parameters of each sort.
	invented [3]int

	// Memory, kept from name to name.
	blocks []*[blockSize]node
	used   int
	lists  []*node
	out    []byte
}

// begin makes ready for a name.
func (p *parser) begin(name string, style Style) {
	p.s, p.pos, p.bad = name, 0, false
	p.llvm, p.rebindings, p.visited, p.sawParam = style == LLVM, 0, 0, false
	p.lambdaLevel = -1
	p.permitForward, p.plainParam, p.numbered = false, false, false
	p.invented = [3]int{}
	p.scopes = scopes{levels: p.scopes.levels[:0], outer: p.scopes.outer[:0]}
}

// end drops what the name has left and reports whether the memory is worth keeping.
func (p *parser) end() bool {
	if p.used > keptNodes {
		return false
	}
	for at := 0; at < p.used; at += blockSize {
		clear(p.blocks[at/blockSize][:min(blockSize, p.used-at)])
	}
	p.used, p.s = 0, ""
	p.subs, p.found, p.forwards, p.lists = p.subs[:0], p.found[:0], p.forwards[:0], p.lists[:0]
	return true
}

// failed is the result of failed steps. It is shared and never changed.
var failed = new(node)

// fail makes the parser bad.
func (p *parser) fail() *node {
	p.bad, p.pos = true, len(p.s)
	return failed
}

// left is how many bytes are left.
func (p *parser) left() int { return len(p.s) - p.pos }

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.s) {
		return p.s[p.pos]
	}
	return 0
}

// peekAt is the byte k places on, 0 after the end.
func (p *parser) peekAt(k int) byte {
	if p.pos+k < len(p.s) {
		return p.s[p.pos+k]
	}
	return 0
}

// take takes c if it is next.
func (p *parser) take(c byte) bool {
	if p.pos < len(p.s) && p.s[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// takes takes text if it is next.
func (p *parser) takes(text string) bool {
	if strings.HasPrefix(p.s[p.pos:], text) {
		p.pos += len(text)
		return true
	}
	return false
}

// next reports whether text is next.
func (p *parser) next(text string) bool { return strings.HasPrefix(p.s[p.pos:], text) }

// more reports whether a list goes on: it ends with the byte end, which is taken, and where the parser is bad.
func (p *parser) more(end byte) bool { return !p.bad && !p.take(end) }

func isDigit(c byte) bool { return c-'0' < 10 }

// number reads digits, with an n before them for a negative number where that is allowed; "" if there are none.
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

// integer reads digits. Like llvm's, a number over 64 bits loses its high ones.
func (p *parser) integer() (n uint64, ok bool) {
	for isDigit(p.peek()) {
		n = n*10 + uint64(p.s[p.pos]-'0')
		p.pos++
		ok = true
	}
	return n, ok
}

// seqID reads a number of base 36.
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

// identifier reads a length and as many bytes, "" where there are not so many, or none.
func (p *parser) identifier() string {
	n, ok := p.integer()
	if !ok || n > uint64(p.left()) {
		return ""
	}
	from := p.pos
	p.pos += int(n)
	return p.s[from:p.pos]
}

// qualifiers reads CV qualifiers, in this order.
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
