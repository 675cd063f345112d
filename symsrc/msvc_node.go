package symsrc

// msQuals are the qualifiers of a type.
type msQuals uint8

const (
	msConst msQuals = 1 << iota
	msVolatile
	msRestrict
	msUnaligned
)

// msForm tells types apart.
type msForm uint8

const (
	msPlain    msForm = iota // text alone: int
	msTag                    // text and name: class A
	msCustom                 // name, whose qualifiers are not shown
	msPointer                // text is *, & or &&; to elem, a member of owner if that is set
	msArray                  // of elem
	msFunction               // elem is its result, nil for constructors
)

// msType is a type.
type msType struct {
	form  msForm
	quals msQuals
	text  string
	name  msName
	owner msName
	elem  *msType
	dims  []uint64
	sig   *msSignature
}

// msSignature is what a function has besides its result and its qualifiers.
type msSignature struct {
	class      msClass
	convention string
	params     []*msType
	void       bool // no parameters at all
	variadic   bool
	noexcept   bool
	ref        string // " &", " &&" or none
	adjust     string // how a thunk moves `this`
	thunk      bool
}

// msClass is where a function belongs.
type msClass uint16

const (
	msPublic msClass = 1 << iota
	msProtected
	msPrivate
	msGlobal
	msStatic
	msVirtual
	msExternC
	msBare           // has no type
	msStaticAdjust   // a thunk that adds a constant to `this`
	msVirtualAdjust  // a thunk that goes by the object's table, too
	msVirtualAdjustX // one with two more numbers
)

// msName is a qualified name, the outermost scope first.
type msName []*msIdent

// msRole tells identifiers apart.
type msRole uint8

const (
	msNamed      msRole = iota // text
	msStructor                 // text (~ or none), then the class
	msConversion               // operator, then target
	msStub                     // text, then of or name, and closing quotes
)

// msIdent is one part of a qualified name.
type msIdent struct {
	role   msRole
	text   string
	args   []msArg
	isTmpl bool
	class  *msIdent
	target *msType
	of     *msSymbol
	name   msName
}

// msArg is an argument of a template: a type, a name (of a template), a text (a number), or else a symbol.
type msArg struct {
	typ     *msType
	name    msName
	text    string
	pointer bool
	sym     *msSymbol
	offsets []int64
}

// msKind tells symbols apart.
type msKind uint8

const (
	msVerbatim msKind = iota // text
	msUntyped                // name alone
	msVariable               // access, name, type
	msFunc                   // name, type
	msTable                  // quals, name, targets
)

// msSymbol is what a whole name stands for.
type msSymbol struct {
	kind   msKind
	text   string
	access string
	name   msName
	typ    *msType
	quals  msQuals
	// targets are the bases that a table is for, the way to one of them.
	targets []msName
}
