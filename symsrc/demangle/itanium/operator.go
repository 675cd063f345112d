package itanium

// precedence of an expression; what binds less than its place allows is put in parentheses. Greater binds less.
type precedence uint8

const (
	precPrimary precedence = iota
	precPostfix
	precUnary
	precCast
	precPtrMem
	precMultiplicative
	precAdditive
	precShift
	precSpaceship
	precRelational
	precEquality
	precAnd
	precXor
	precIor
	precAndIf
	precOrIf
	precConditional
	precAssign
	precComma
	precDefault
)

// sort says what operands an operator has.
type sort uint8

const (
	opPrefix sort = iota
	opPostfix
	opBinary
	opArray
	opMember // flag: a function can have this name
	opNew    // flag: of arrays
	opDelete // flag: of arrays
	opCall   // flag: in parentheses, against look-up by arguments
	opCast
	opConditional
	opNameOnly
	opNamedCast
	opOf // flag: of a type

	opUnnameable = opNamedCast // from here on no function can have the name
)

// operator is one of the table.
type operator struct {
	code   string
	sort   sort
	flag   bool
	prec   precedence
	name   string // of its function
	symbol string // in expressions
}

// operators are those of ABI §5.1.3.
var operators = [...]operator{
	{"aN", opBinary, false, precAssign, "operator&=", "&="},
	{"aS", opBinary, false, precAssign, "operator=", "="},
	{"aa", opBinary, false, precAndIf, "operator&&", "&&"},
	{"ad", opPrefix, false, precUnary, "operator&", "&"},
	{"an", opBinary, false, precAnd, "operator&", "&"},
	{"at", opOf, true, precUnary, "", "alignof "},
	{"aw", opNameOnly, false, precPrimary, "operator co_await", ""},
	{"az", opOf, false, precUnary, "", "alignof "},
	{"cc", opNamedCast, false, precPostfix, "", "const_cast"},
	{"cl", opCall, false, precPostfix, "operator()", "()"},
	{"cm", opBinary, false, precComma, "operator,", ","},
	{"co", opPrefix, false, precUnary, "operator~", "~"},
	{"cp", opCall, true, precPostfix, "operator()", "()"},
	{"cv", opCast, false, precCast, "operator", ""},
	{"dV", opBinary, false, precAssign, "operator/=", "/="},
	{"da", opDelete, true, precUnary, "operator delete[]", ""},
	{"dc", opNamedCast, false, precPostfix, "", "dynamic_cast"},
	{"de", opPrefix, false, precUnary, "operator*", "*"},
	{"dl", opDelete, false, precUnary, "operator delete", ""},
	{"ds", opMember, false, precPtrMem, "operator.*", ".*"},
	{"dt", opMember, false, precPostfix, "operator.", "."},
	{"dv", opBinary, false, precAssign, "operator/", "/"}, // as llvm has it
	{"eO", opBinary, false, precAssign, "operator^=", "^="},
	{"eo", opBinary, false, precXor, "operator^", "^"},
	{"eq", opBinary, false, precEquality, "operator==", "=="},
	{"ge", opBinary, false, precRelational, "operator>=", ">="},
	{"gt", opBinary, false, precRelational, "operator>", ">"},
	{"ix", opArray, false, precPostfix, "operator[]", ""},
	{"lS", opBinary, false, precAssign, "operator<<=", "<<="},
	{"le", opBinary, false, precRelational, "operator<=", "<="},
	{"ls", opBinary, false, precShift, "operator<<", "<<"},
	{"lt", opBinary, false, precRelational, "operator<", "<"},
	{"mI", opBinary, false, precAssign, "operator-=", "-="},
	{"mL", opBinary, false, precAssign, "operator*=", "*="},
	{"mi", opBinary, false, precAdditive, "operator-", "-"},
	{"ml", opBinary, false, precMultiplicative, "operator*", "*"},
	{"mm", opPostfix, false, precPostfix, "operator--", "--"},
	{"na", opNew, true, precUnary, "operator new[]", ""},
	{"ne", opBinary, false, precEquality, "operator!=", "!="},
	{"ng", opPrefix, false, precUnary, "operator-", "-"},
	{"nt", opPrefix, false, precUnary, "operator!", "!"},
	{"nw", opNew, false, precUnary, "operator new", ""},
	{"oR", opBinary, false, precAssign, "operator|=", "|="},
	{"oo", opBinary, false, precOrIf, "operator||", "||"},
	{"or", opBinary, false, precIor, "operator|", "|"},
	{"pL", opBinary, false, precAssign, "operator+=", "+="},
	{"pl", opBinary, false, precAdditive, "operator+", "+"},
	{"pm", opMember, true, precPtrMem, "operator->*", "->*"},
	{"pp", opPostfix, false, precPostfix, "operator++", "++"},
	{"ps", opPrefix, false, precUnary, "operator+", "+"},
	{"pt", opMember, true, precPostfix, "operator->", "->"},
	{"qu", opConditional, false, precConditional, "operator?", ""},
	{"rM", opBinary, false, precAssign, "operator%=", "%="},
	{"rS", opBinary, false, precAssign, "operator>>=", ">>="},
	{"rc", opNamedCast, false, precPostfix, "", "reinterpret_cast"},
	{"rm", opBinary, false, precMultiplicative, "operator%", "%"},
	{"rs", opBinary, false, precShift, "operator>>", ">>"},
	{"sc", opNamedCast, false, precPostfix, "", "static_cast"},
	{"ss", opBinary, false, precSpaceship, "operator<=>", "<=>"},
	{"st", opOf, true, precUnary, "", "sizeof "},
	{"sz", opOf, false, precUnary, "", "sizeof "},
	{"te", opOf, false, precPostfix, "", "typeid "},
	{"ti", opOf, true, precPostfix, "", "typeid "},
}

// operatorAt finds an operator by its two letters: one more than its place in operators, 0 for none.
var operatorAt = func() (at [26][64]uint8) {
	for i, op := range operators {
		at[op.code[0]-'a'][op.code[1]-'@'] = uint8(i + 1)
	}
	return at
}()

// operator reads the letters of an operator, nil if none comes.
func (p *parser) operator() *operator {
	a, b := p.peek()-'a', p.peekAt(1)-'@'
	if a >= 26 || b >= 64 || operatorAt[a][b] == 0 {
		return nil
	}
	p.pos += 2
	return &operators[operatorAt[a][b]-1]
}
