package symsrc

import (
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

const (
	maxOutputLog = 16 // the library takes the limit of its output as a power of two
	maxOutput    = 1 << maxOutputLog
)

// demangleItanium demangles `_Z…` and `___Z…_block_invoke…`.
//
// The library reports hostile names by an error, but has internal checks that panic; such a panic is taken for an error
// too. A stack overflow cannot be caught: the limit on the name's length prevents it.
func demangleItanium(name string) (s string, ok bool) {
	defer func() {
		if recover() != nil {
			s, ok = "", false
		}
	}()
	if qualifierRun(name) > maxQualifiers || conversions(name) > maxConversions {
		return "", false
	}
	if name, ok = fixUnresolved(name); !ok {
		return "", false
	}
	ast, suffix, err := parseItanium(name)
	if err != nil {
		return "", false
	}
	s = demangle.ASTToString(ast, demangle.LLVMStyle, demangle.MaxLength(maxOutputLog))
	if len(s) >= maxOutput {
		return "", false
	}
	if strings.Contains(s, "operator<") {
		// The library keeps the brackets of `operator< <int>` apart; llvm does not.
		s = strings.NewReplacer("operator< <", "operator<<", "operator<< <", "operator<<<").Replace(s)
	}
	s = dropEmptyPacks(s)
	if suffix != "" {
		s += " (" + suffix + ")"
	}
	return s, true
}

// dropEmptyPacks takes out the commas that the library leaves around a pack without arguments: `tuple<int, >`.
func dropEmptyPacks(s string) string {
	if !strings.Contains(s, ", ,") && !strings.Contains(s, ", >") && !strings.Contains(s, "<, ") {
		return s
	}
	for strings.Contains(s, ", , ") {
		s = strings.ReplaceAll(s, ", , ", ", ")
	}
	s = strings.ReplaceAll(s, ", >", ">")
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "<, ")
		if out.WriteString(before); !found {
			return out.String()
		}
		out.WriteByte('<')
		if strings.HasSuffix(before, "operator") || strings.HasSuffix(before, "operator<") {
			out.WriteString(", ") // the name of an operator is an argument
		}
		s = after
	}
}

// Bounds on what the library's time grows with out of proportion: with the cube of the qualifiers in a row, of which types
// have up to three, and with two to the power of the nested conversion operators, which it parses in two ways each.
const (
	maxQualifiers  = 64
	maxConversions = 8
)

// qualifierRun returns the length of the longest run of qualifiers: the letters r, V and K, and Do and Dx of functions.
func qualifierRun(name string) int {
	longest, run := 0, 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == 'r' || c == 'V' || c == 'K':
			run++
		case c == 'D' && i+1 < len(name) && (name[i+1] == 'o' || name[i+1] == 'x'):
			i++
			run++
		default:
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// conversions counts what may be a conversion operator to a type with template parameters (`cvT_`, `cvPS0_`), or to one
// that itself holds such operators. Within identifiers there is little of that kind; OpenCV's namespace is `2cv3`.
func conversions(name string) int {
	count := 0
	for {
		_, after, ok := strings.Cut(name, "cv")
		if !ok || after == "" {
			return count
		}
		if c := after[0]; c >= 'A' && c <= 'Z' || c == 'r' || strings.HasPrefix(after, "cv") {
			count++
		}
		name = after
	}
}

// parseItanium parses a name and takes its clone suffixes (`.isra.0.cold`) off. Anything after a dot is one, as in llvm;
// the library wants lower-case letters and digits.
func parseItanium(name string) (ast demangle.AST, suffix string, err error) {
	ast, err = demangle.ToAST(name)
	if err != nil {
		at := errorOffset(err)
		if at <= 0 || at >= len(name) || name[at] != '.' {
			return nil, "", err
		}
		suffix = name[at:]
		if ast, err = demangle.ToAST(name[:at]); err != nil {
			return nil, "", err
		}
	}
	for {
		clone, ok := ast.(*demangle.Clone)
		if !ok {
			return ast, suffix, nil
		}
		ast, suffix = clone.Base, clone.Suffix+suffix
	}
}

// errorOffset reads the offset in the name off an error of the library ("… at 12"), -1 where it has none.
func errorOffset(err error) int {
	msg := err.Error()
	n, convErr := strconv.Atoi(msg[strings.LastIndexByte(msg, ' ')+1:])
	if convErr != nil {
		return -1
	}
	return n
}
