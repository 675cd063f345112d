package itanium

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// expression prints expressions and literals.
func (w *printer) expression(n *node) {
	switch n.kind {
	case binary, prefix, postfix, subscript, memberOf, conditional, fold:
		w.operation(n)
	case call, newExpr, deleteExpr, cCast, cast, memberConversion, thrown, subobject:
		w.action(n)
	case braces, designated, ranged:
		w.initializer(n)
	case requires, requirement, typeRequirement, nestedRequirement:
		w.requirement(n)
	case integer, enumLit, stringLit, float:
		w.literal(n)
	case enclosing:
		w.text(n.text)
		w.open('(')
		w.print(n.a)
		w.close(')')
	case list:
		w.commas(n.list)
	case packSize:
		w.text("sizeof...")
		w.open('(')
		w.expand(n.a)
		w.close(')')
	case lambdaExpr:
		w.text("[]")
		if n.a.kind == closure {
			w.closureDeclarator(n.a)
		}
		w.text("{...}")
	case parameter:
		w.text("fp")
		w.text(n.text)
	case destructor:
		w.text("~")
		w.left(n.a)
	}
}

// operation prints operators and their operands.
func (w *printer) operation(n *node) {
	switch n.kind {
	case binary:
		w.binary(n)
	case prefix:
		w.text(n.text)
		w.operand(n.a, n.prec, false)
	case postfix:
		w.operand(n.a, n.prec, true)
		w.text(n.text)
	case subscript:
		w.operand(n.a, n.prec, false)
		w.open('[')
		w.operand(n.b, precDefault, false)
		w.close(']')
	case memberOf:
		w.operand(n.a, n.prec, true)
		w.text(n.text)
		w.operand(n.b, n.prec, false)
	case conditional:
		w.operand(n.a, n.prec, false)
		w.text(" ? ")
		w.operand(n.b, precDefault, false)
		w.text(" : ")
		w.operand(n.c, precAssign, true)
	case fold:
		w.fold(n)
	}
}

// binary prints a binary operator. Assignments are right-associative, and a > would end template arguments.
func (w *printer) binary(n *node) {
	paren := w.angle.brackets == 0 && (n.text == ">" || n.text == ">>")
	if paren {
		w.open('(')
	}
	assignment := n.prec == precAssign
	if assignment {
		w.operand(n.a, precOrIf, false)
	} else {
		w.operand(n.a, n.prec, true)
	}
	if n.text != "," {
		w.text(" ")
	}
	w.text(n.text)
	w.text(" ")
	w.operand(n.b, n.prec, assignment)
	if paren {
		w.close(')')
	}
}

// fold prints a right fold as `(pack op ... op operand)` and a left fold as `(operand op ... op pack)`; unary folds have no
// operand.
func (w *printer) fold(n *node) {
	left := n.flags&flagLeft != 0
	side := func(isPack bool) {
		if !isPack {
			w.operand(n.b, precCast, true)
			return
		}
		w.open('(')
		w.expand(n.a)
		w.close(')')
	}
	w.open('(')
	if !left || n.b != nil {
		side(!left)
		w.text(" ")
		w.text(n.text)
		w.text(" ")
	}
	w.text("...")
	if left || n.b != nil {
		w.text(" ")
		w.text(n.text)
		w.text(" ")
		side(left)
	}
	w.close(')')
}

// action prints calls, casts, and similar expressions.
func (w *printer) action(n *node) {
	if (n.kind == newExpr || n.kind == deleteExpr) && n.flags&flagGlobal != 0 {
		w.text("::")
	}
	switch n.kind {
	case call:
		if n.flags&flagParen != 0 {
			w.inParens(n.a)
		} else {
			w.print(n.a)
		}
		w.parens(n.list)
	case newExpr:
		w.text("new")
		w.arrayMark(n)
		if len(n.a.list) > 0 {
			w.parens(n.a.list)
		}
		w.text(" ")
		w.print(n.b)
		if len(n.c.list) > 0 {
			w.parens(n.c.list)
		}
	case deleteExpr:
		w.text("delete")
		w.arrayMark(n)
		w.text(" ")
		w.print(n.a)
	case cCast:
		w.inParens(n.a)
		w.parens(n.list)
	case cast:
		w.text(n.text)
		outside := w.openAngle()
		w.left(n.a)
		if !w.llvm {
			w.right(n.a)
		}
		w.closeAngle(outside)
		w.inParens(n.b)
	case memberConversion:
		w.inParens(n.a)
		w.inParens(n.b)
	case thrown:
		w.text("throw ")
		w.print(n.a)
	case subobject:
		w.print(n.a)
		w.text(".<")
		w.print(n.b)
		w.text(" at offset ")
		if n.text == "" {
			w.text("0")
		}
		w.signed(n.text)
		w.text(">")
	}
}

// inParens prints n in parentheses.
func (w *printer) inParens(n *node) {
	w.open('(')
	w.print(n)
	w.close(')')
}

// arrayMark prints the brackets of new[] and delete[].
func (w *printer) arrayMark(n *node) {
	if n.flags&flagArray != 0 {
		w.text("[]")
	}
}

// literal prints literals.
func (w *printer) literal(n *node) {
	switch n.kind {
	case integer:
		const longestSuffix = 3
		if len(n.suffix) > longestSuffix {
			w.text("(")
			w.text(n.suffix)
			w.text(")")
			w.signed(n.text)
			return
		}
		w.signed(n.text)
		w.text(n.suffix)
	case enumLit:
		w.inParens(n.a)
		w.signed(n.text)
	case stringLit:
		w.text(`"<`)
		w.print(n.a)
		w.text(`>"`)
	case float:
		w.float(n)
	}
}

// signed prints a number; a leading n is its minus sign.
func (w *printer) signed(number string) {
	if len(number) > 0 && number[0] == 'n' {
		w.text("-")
		number = number[1:]
	}
	w.text(number)
}

// floatTypes are the types of floating-point literals as c++filt prints them.
var floatTypes = map[flags]string{0: "(float)", flagDouble: "(double)", flagLongDouble: "(long double)"}

// float prints a floating-point number: the bytes, as c++filt does, or in style LLVM printf's %a with the suffix of the type.
func (w *printer) float(n *node) {
	if !w.llvm {
		w.text(floatTypes[n.flags])
		w.text("[")
		w.text(n.text)
		w.text("]")
		return
	}
	switch n.flags {
	case flagDouble:
		v, _ := strconv.ParseUint(n.text, 16, 64)
		w.text(formatDouble(v))
	case flagLongDouble:
		top, _ := strconv.ParseUint(n.text[:4], 16, 16)
		mantissa, _ := strconv.ParseUint(n.text[4:], 16, 64)
		w.text(formatExtended(uint16(top), mantissa))
		w.text("L")
	default:
		v, _ := strconv.ParseUint(n.text, 16, 32)
		w.text(formatDouble(math.Float64bits(float64(math.Float32frombits(uint32(v))))))
		w.text("f")
	}
}

// formatDouble formats the bits of an IEEE 754 double like printf's %a of glibc: subnormal numbers are not normalized.
func formatDouble(v uint64) string {
	const mantissaBits, bias, special = 52, 1023, 0x7ff
	mantissa := v & (1<<mantissaBits - 1)
	exponent := int(v>>mantissaBits) & special
	lead := "1"
	switch {
	case exponent == special:
		return notFinite(v>>63 != 0, mantissa != 0)
	case exponent == 0 && mantissa == 0:
		lead, exponent = "0", bias
	case exponent == 0:
		lead, exponent = "0", 1
	}
	return hexFloat(v>>63 != 0, lead, mantissa, mantissaBits/4, exponent-bias)
}

// formatExtended formats an 80-bit x87 number like printf's %La of glibc: the first hexadecimal digit of the mantissa, with the
// explicit integer bit, is before the point. top is the sign and the exponent.
func formatExtended(top uint16, mantissa uint64) string {
	const bias, special = 16383, 0x7fff
	negative := top>>15 != 0
	exponent := int(top & special)
	integerBit := mantissa>>63 != 0
	switch {
	case exponent == special && integerBit:
		return notFinite(negative, mantissa<<1 != 0)
	case exponent != 0 && !integerBit: // an encoding that is invalid for the processor
		return notFinite(negative, true)
	case mantissa == 0:
		return hexFloat(negative, "0", 0, 0, 0)
	case exponent == 0:
		exponent = 1
	}
	digit := strconv.FormatUint(mantissa>>60, 16)
	return hexFloat(negative, digit, mantissa&(1<<60-1), 15, exponent-bias-3)
}

func notFinite(negative, nan bool) string {
	s := "inf"
	if nan {
		s = "nan"
	}
	if negative {
		return "-" + s
	}
	return s
}

// hexFloat formats a hexadecimal floating-point number. The mantissa has the given number of hexadecimal digits after the
// point; trailing zeros are omitted.
func hexFloat(negative bool, lead string, mantissa uint64, digits, exponent int) string {
	var b strings.Builder
	if negative {
		b.WriteByte('-')
	}
	b.WriteString("0x")
	b.WriteString(lead)
	if mantissa != 0 {
		zeros := bits.TrailingZeros64(mantissa) / 4
		text := strconv.FormatUint(mantissa>>(4*zeros), 16)
		b.WriteByte('.')
		b.WriteString(strings.Repeat("0", digits-zeros-len(text)))
		b.WriteString(text)
	}
	b.WriteByte('p')
	if exponent >= 0 {
		b.WriteByte('+')
	}
	b.WriteString(strconv.Itoa(exponent))
	return b.String()
}
