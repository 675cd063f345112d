// Package itanium demangles C++ symbols of the Itanium ABI, in two styles. LLVM is byte for byte what llvm's demangler writes,
// its slips included. Standard is written the same way, but reads a name as binutils' c++filt does: it binds template
// parameters in the scope in which they stand (template.go), and knows the names of old versions of gcc.
//
// A name becomes a graph of nodes, in one pass without backtracking (encoding.go, special.go, name.go, unqualified.go,
// closure.go, template.go, substitution.go, type.go, expression.go, operand.go, literal.go, unresolved.go; operator.go has
// the table of operators). The graph is shared where the name refers back, so what is written can be much longer than the
// name. It is written from the outside in (print*.go), with the pieces that C++ puts before a declared name apart from
// those after it.
//
// Facts are those of the Itanium C++ ABI, §5.1 (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling), and what
// llvm-cxxfilt and c++filt answer; the tests compare with both.
package itanium

import "sync"

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
