package itanium

// kind says what a node is; the comments name the fields that it uses. a, b and c may be nil only where they say so.
type kind uint8

const (
	// Names; the zero kind is the result of a failed step, which is never written.
	word        kind = iota + 1 // text
	nested                      // a::b
	local                       // a::b, in a function a, which has no constructors
	friend                      // a::friend b
	globalName                  // ::a
	module                      // text, a submodule of a (nil for none); flagPartition
	inModule                    // a, of module b
	tagged                      // a[abi:text]
	standard                    // text, one of the standard abbreviations; index is its place in the table
	expanded                    // the same, written out
	instance                    // a with the template arguments b
	constructor                 // of a; flagDestructor
	conversion                  // operator a
	userLiteral                 // operator"" a
	bindings                    // [list]
	unnamed                     // 'unnamedTEXT'
	closure                     // 'lambdaTEXT', template parameters a (a tail, nil), parameters list, requirement b (nil)
	function                    // return type a (nil), name b, parameters list, tail c (nil), flags
	tail                        // list, with flagConditions those of enable_if, and the requirement a (nil)
	object                      // this a, the parameter that is the object
	special                     // text before a
	inVtable                    // construction vtable for a-in-b
	suffixed                    // a, and text in parentheses

	// Templates.
	arguments    // <list>
	argumentPack // list
	declared     // a, after the declaration of its parameter
	invented     // text, the name of a parameter that has none
	pack         // list, of which an expansion writes one after the other
	expansion    // a for each element of the packs in it
	forward      // the template parameter number index of a level; a is its argument, nil until that is known
	typeDecl     // typename a
	conceptDecl  // concept b, parameter a
	valueDecl    // parameter a of type b
	templateDecl // parameter a with the parameters list, and the requirement b (nil)
	packDecl     // a...

	// Types.
	qualified    // a, flags
	vendor       // a text, with the arguments b (nil)
	objcProtocol // a<text>
	postfixed    // a text
	elaborated   // text a
	transformed  // text(a)
	pointer      // to a
	reference    // to a; flagRvalue
	member       // of class a, of type b
	array        // of a, dimension b (nil)
	vector       // of a, dimension b (nil)
	pixels       // a
	signature    // return type a, parameters list, exception specification b (nil), flags, text after them
	throws       // throw(list)
	noexcepts    // noexcept(a)
	bitInteger   // _BitInt(a); flagUnsigned

	// Expressions; prec has the precedence.
	binary      // a text b
	prefix      // text a
	postfix     // a text
	subscript   // a[b]
	memberOf    // a text b
	conditional // a ? b : c
	call        // a(list); flagParen
	cast        // text<a>(b)
	cCast       // (a)(list)
	enclosing   // text(a)
	list        // list, with commas
	packSize    // sizeof...(a)
	newExpr     // new(a: a list) c(list); flagGlobal, flagArray
	deleteExpr  // delete a; flagGlobal, flagArray
	braces      // a{list}, a may be nil
	designated  // .a = b, or [a] = b; flagArray
	ranged      // [a ... b] = c
	fold        // pack a, operator text, operand b (nil); flagLeft
	subobject   // a.<b at offset text>
	toMember    // (a)(b)
	requires    // requires (a: a list, nil for none) { list }
	requirement // a, type constraint b (nil); flagNoexcept
	typeWanted  // typename a
	needed      // requires a
	lambdaExpr  // []… a
	parameter   // fp text
	destructor  // ~a
	thrown      // throw a

	// Literals.
	integer  // text, of the type or with the suffix suffix
	enumLit  // (a)text
	stringIn // "<a>"
	float    // text is hex, flags its type
)

// flags qualify a node.
type flags uint8

const (
	isConst flags = 1 << iota
	isVolatile
	isRestrict
	isLvalue // of a function: f() &
	isRvalue // of a function: f() &&
	hasThis  // of a name, its first parameter is the object
)

// Others than functions and qualified types take these for what their kind says.
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
	busy    bool // it is being written: a forward reference or a reference that leads to itself
	params  bool // a template parameter is in it, which a substitution may bind to another argument
	level   int16
	index   int32
	a, b, c *node
	list    []*node
	text    string
	suffix  string

	// copy is what the node was copied to by the rebinding with the number run.
	copy *node
	run  int32
}

// blockSize is how many nodes are allocated at once.
const blockSize = 64

// make returns a node that lasts until the name is done.
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

// dependent reports whether a template parameter is in what n consists of. The signature and name of a function are bound
// to the function's own template, and those of a lambda to the lambda.
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

// word returns a node for a text.
func (p *parser) word(text string) *node { return p.make(node{kind: word, text: text}) }

// since takes what has been collected from mark on.
func (p *parser) since(mark int) []*node {
	from := len(p.lists)
	p.lists = append(p.lists, p.found[mark:]...)
	p.found = p.found[:mark]
	return p.lists[from:len(p.lists):len(p.lists)]
}
