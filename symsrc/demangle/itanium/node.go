package itanium

// kind is the kind of a node. The comments say what is printed for it, in terms of the node's fields. The fields a, b and c are
// nil only where the comment says so.
type kind uint8

const (
	// Names. The zero kind is that of failed, which is never printed.
	word               kind = iota + 1 // text
	nested                             // a::b
	local                              // a::b, where a is the enclosing function; it has no constructors
	friend                             // a::friend b
	globalName                         // ::a
	module                             // text, a submodule of a (nil for none); flagPartition
	inModule                           // a, of module b
	tagged                             // a[abi:text]
	standard                           // the standard abbreviation standards[index]
	expanded                           // the expanded form of standards[index]
	instance                           // a with the template arguments b
	constructor                        // of a; flagDestructor
	conversion                         // operator a
	userLiteral                        // operator"" a
	structuredBinding                  // [list]
	unnamed                            // 'unnamedTEXT'
	closure                            // 'lambdaTEXT', template parameters a (a tail or nil), parameters list, constraint b (or nil)
	function                           // return type a (or nil), name b, parameters list, tail c (or nil), flags
	tail                               // list, the conditions of enable_if if flagConditions is set; constraint a (or nil)
	explicitObject                     // this a, the explicit object parameter
	special                            // text before a
	constructionVtable                 // construction vtable for a-in-b
	suffixed                           // a, and text in parentheses

	// Templates.
	arguments    // <list>
	argumentPack // list
	declared     // a, an argument that follows the declaration of its parameter
	invented     // text, the invented name of a parameter
	pack         // list, of which an expansion prints one element after the other
	expansion    // a, once for each element of the packs in it
	forward      // the template parameter with a level and an index; a is its argument, nil until that is known
	typeDecl     // typename a
	conceptDecl  // concept b, parameter a
	valueDecl    // parameter a of type b
	templateDecl // parameter a with the parameters list, and the constraint b (or nil)
	packDecl     // a...

	// Types.
	qualified    // a, flags
	vendor       // a text, with the arguments b (or nil)
	objcProtocol // a<text>
	postfixed    // a text
	elaborated   // text a
	transformed  // text(a)
	pointer      // to a
	reference    // to a; flagRvalue
	member       // of class a, of type b
	array        // of a, dimension b (or nil)
	vector       // of a, dimension b (or nil)
	pixelVector  // a
	signature    // return type a, parameters list, exception specification b (or nil), flags, text after them
	throwSpec    // throw(list)
	noexceptSpec // noexcept(a)
	bitInt       // _BitInt(a); flagUnsigned

	// Expressions. The field prec is their precedence.
	binary            // a text b
	prefix            // text a
	postfix           // a text
	subscript         // a[b]
	memberOf          // a text b
	conditional       // a ? b : c
	call              // a(list); flagParen
	cast              // text<a>(b)
	cCast             // (a)(list)
	enclosing         // text(a)
	list              // list, separated by commas
	packSize          // sizeof...(a)
	newExpr           // new(a: a list) c(list); flagGlobal, flagArray
	deleteExpr        // delete a; flagGlobal, flagArray
	braces            // a{list}, a may be nil
	designated        // .a = b, or [a] = b; flagArray
	ranged            // [a ... b] = c
	fold              // pack a, operator text, operand b (or nil); flagLeft
	subobject         // a.<b at offset text>
	memberConversion  // (a)(b)
	requires          // requires (a: a list or nil) { list }
	requirement       // a, type constraint b (or nil); flagNoexcept
	typeRequirement   // typename a
	nestedRequirement // requires a
	lambdaExpr        // []… a
	parameter         // fp text
	destructor        // ~a
	thrown            // throw a

	// Literals.
	integer   // text; suffix is the suffix or, if it is longer than 3 bytes, the type
	enumLit   // (a)text
	stringLit // "<a>"
	float     // text is the value in hexadecimal, flags is the type
)

// flags qualify a node.
type flags uint8

const (
	isConst flags = 1 << iota
	isVolatile
	isRestrict
	isLvalue // of a function: f() &
	isRvalue // of a function: f() &&
	hasThis  // of a name: the first parameter is the explicit object parameter
)

// Flags of the other kinds of nodes. They share bits, because their meaning depends on the kind.
const (
	flagPartition = flags(1 << iota)
	flagGlobal
	flagArray
	flagNoexcept
	flagDouble
	flagLongDouble
	flagConditions = flagPartition
	flagParen      = flagPartition
	flagLeft       = flagPartition
	flagDestructor = flagPartition
	flagUnsigned   = flagPartition
	flagRvalue     = flagPartition
)

// node is one part of a name.
type node struct {
	kind    kind
	flags   flags
	prec    precedence
	busy    bool // it is being printed; detects forward references and references that lead to themselves
	params  bool // it contains a template parameter, which a substitution may bind to another argument
	level   int16
	index   int32
	a, b, c *node
	list    []*node
	text    string
	suffix  string

	// copy is the copy of the node that was made by the rebinding with the number run.
	copy *node
	run  int32
}

// blockSize is the number of nodes that are allocated at once.
const blockSize = 64

// make returns a copy of n that is valid until the end of the name.
func (p *parser) make(n node) *node {
	at := p.used / blockSize
	if at == len(p.blocks) {
		p.blocks = append(p.blocks, new([blockSize]node))
	}
	to := &p.blocks[at][p.used%blockSize]
	p.used++
	*to = n
	if !p.llvm && p.sawParam {
		to.params = to.params || to.dependent()
	}
	return to
}

// dependent reports whether a part of n contains a template parameter. Those in the signature and the name of a function are
// bound to the function's own template, and those in a lambda to the lambda.
func (n *node) dependent() bool {
	if n.kind == function || n.kind == closure {
		return false
	}
	if n.a != nil && n.a.params || n.b != nil && n.b.params || n.c != nil && n.c.params {
		return true
	}
	for _, of := range n.list {
		if of.params {
			return true
		}
	}
	return false
}

// word returns a node that prints as text.
func (p *parser) word(text string) *node { return p.make(node{kind: word, text: text}) }

// popList removes the elements from mark on from pending and returns them.
func (p *parser) popList(mark int) []*node {
	from := len(p.lists)
	p.lists = append(p.lists, p.pending[mark:]...)
	p.pending = p.pending[:mark]
	return p.lists[from:len(p.lists):len(p.lists)]
}
