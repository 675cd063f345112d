package msvc

// qualifiers are the qualifiers of a type.
type qualifiers uint8

const (
	constQual qualifiers = 1 << iota
	volatile
	restrict
	unaligned
)

// typeForm is the kind of a type. The comments say which fields of typeNode it uses.
type typeForm uint8

const (
	plain     typeForm = iota // text alone: int
	tag                       // text and name: class A
	custom                    // name; its qualifiers are not printed
	pointerTo                 // text is *, & or &&; it points to elem, a member of owner unless that is nil
	array                     // of elem
	function                  // elem is the return type, nil for constructors and destructors
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

// signature is the type of a function except its return type and its qualifiers.
type signature struct {
	class      funcClass
	convention string
	params     []*typeNode
	void       bool // no parameters at all
	variadic   bool
	noexcept   bool
	ref        string // ref-qualifier: " &", " &&" or ""
	adjust     string // readable form of the adjustment that a thunk applies to `this`
	thunk      bool
}

// funcClass is the set of attributes that the class of a function encodes.
type funcClass uint16

const (
	public funcClass = 1 << iota
	protected
	private
	global
	staticMember
	virtual
	externC
	noParamList    // the function has no parameter list
	staticAdjust   // a thunk that adds a constant to `this`
	virtualAdjust  // a thunk that also reads the vtordisp field
	virtualAdjustX // one that also reads the vbtable
)

// nameNode is a qualified name, the outermost scope first.
type nameNode []*ident

// identRole is the kind of an identifier. The comments say what is printed.
type identRole uint8

const (
	named      identRole = iota // text
	structor                    // constructor or destructor: text ("" or ~), then the class
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

// arg is an argument of a template: a type, a name (of a template), a text (a number), or otherwise a symbol.
type arg struct {
	typ     *typeNode
	name    nameNode
	text    string
	pointer bool
	sym     *symbol
	offsets []int64
}

// symbolKind is the kind of a symbol. The comments say which fields of symbol it uses.
type symbolKind uint8

const (
	verbatim       symbolKind = iota // text
	untyped                          // name alone
	variable                         // access, name, type
	functionSymbol                   // name, type
	tableSymbol                      // quals, name, targets
)

// symbol is the entity that a complete name refers to.
type symbol struct {
	kind   symbolKind
	text   string
	access string
	name   nameNode
	typ    *typeNode
	quals  qualifiers
	// targets is the path to the base class that a table is for.
	targets []nameNode
}
