package msvc

// qualifiers are the qualifiers of a type.
type qualifiers uint8

const (
	constQual qualifiers = 1 << iota
	volatile
	restrict
	unaligned
)

// typeForm tells types apart.
type typeForm uint8

const (
	plain     typeForm = iota // text alone: int
	tag                       // text and name: class A
	custom                    // name, whose qualifiers are not shown
	pointerTo                 // text is *, & or &&; to elem, a member of owner if that is set
	array                     // of elem
	function                  // elem is its result, nil for constructors
)

// typeNode is a type.
type typeNode struct {
	form  typeForm
	quals qualifiers
	text  string
	name  nameNode
	owner nameNode
	elem  *typeNode
	dims  []uint64
	sig   *signature
}

// signature is what a function has besides its result and its qualifiers.
type signature struct {
	class      membership
	convention string
	params     []*typeNode
	void       bool // no parameters at all
	variadic   bool
	noexcept   bool
	ref        string // " &", " &&" or none
	adjust     string // how a thunk moves `this`
	thunk      bool
}

// membership is where a function belongs.
type membership uint16

const (
	public membership = 1 << iota
	protected
	private
	global
	staticMember
	virtual
	externC
	bare           // has no type
	staticAdjust   // a thunk that adds a constant to `this`
	virtualAdjust  // a thunk that goes by the object's table, too
	virtualAdjustX // one with two more numbers
)

// nameNode is a qualified name, the outermost scope first.
type nameNode []*ident

// identRole tells identifiers apart.
type identRole uint8

const (
	named      identRole = iota // text
	structor                    // text (~ or none), then the class
	conversion                  // operator, then target
	stub                        // text, then of or name, and closing quotes
)

// ident is one part of a qualified name.
type ident struct {
	role   identRole
	text   string
	args   []arg
	isTmpl bool
	class  *ident
	target *typeNode
	of     *symbol
	name   nameNode
}

// arg is an argument of a template: a type, a name (of a template), a text (a number), or else a symbol.
type arg struct {
	typ     *typeNode
	name    nameNode
	text    string
	pointer bool
	sym     *symbol
	offsets []int64
}

// symbolKind tells symbols apart.
type symbolKind uint8

const (
	verbatim       symbolKind = iota // text
	untyped                          // name alone
	variable                         // access, name, type
	functionSymbol                   // name, type
	tableSymbol                      // quals, name, targets
)

// symbol is what a whole name stands for.
type symbol struct {
	kind   symbolKind
	text   string
	access string
	name   nameNode
	typ    *typeNode
	quals  qualifiers
	// targets are the bases that a table is for, the way to one of them.
	targets []nameNode
}
