package triage

import (
	"strings"

	"qss-filter/symsrc/demangle"
)

// Name returns the name of a function without what differs from build to build, or says nothing of the place: parameters and their
// values, the arguments of templates, the type that is returned, unnamed namespaces, offsets, the hashes of Rust, and the source that some
// tools append.
func Name(function string) string {
	name := strings.TrimSpace(function)
	if name == "" || strings.HasPrefix(name, "-[") || strings.HasPrefix(name, "+[") { // Objective-C
		return name
	}
	name = demangle.Unescape(name)
	name = withoutHashes(withoutSuffix(name), true)
	for _, begin := range [...]string{"non-virtual thunk to ", "virtual thunk to ", "decltype(auto) "} {
		name = strings.TrimPrefix(name, begin)
	}
	if strings.Contains(name, "anonymous") {
		name = unnamed.Replace(name)
	}
	if name = withoutArguments(name); strings.Contains(name, " ") {
		name = inMethod.Replace(name)
	}
	for _, end := range [...]string{" const", " volatile", "&", " at", " [clone"} {
		name = strings.TrimRight(strings.TrimSuffix(name, end), " ")
	}
	name = withoutType(name)
	if short := strings.ReplaceAll(name, "{anonymous}::", ""); short != "" {
		name = short
	}
	return name
}

// unnamed replaces the spellings of an unnamed namespace by one that has no parentheses.
var unnamed = strings.NewReplacer("(anonymous namespace)", "{anonymous}", "`anonymous namespace'", "{anonymous}",
	"`anonymous-namespace'", "{anonymous}")

// inMethod leaves out what a method is declared with where a name goes on inside of it: `total() const::'lambda'()` is a function of total.
var inMethod = strings.NewReplacer(" const::", "::", " volatile::", "::", " const &::", "::", " const&::", "::", " const &&::", "::", " const&&::", "::",
	" &::", "::", " &&::", "::")

// withoutSuffix leaves out what follows a name: `+0x67c`, ` + 1090`, ` [ui/tree.cc:56:21]`, `.cold`, `.isra.0`,
// `$8d185785d173e702d91e2893e143a6d9.cfi`.
func withoutSuffix(name string) string {
	if in, ok := strings.CutSuffix(name, "]"); ok {
		if rest := strings.TrimRight(in, decimals); rest != in && strings.HasSuffix(rest, ":") {
			from := strings.LastIndexByte(rest, ']') + 1
			if at := strings.Index(rest[from:], " ["); at >= 0 {
				return name[:from+at]
			}
		}
		return name
	}
	if short, ok := strings.CutSuffix(name, ".cfi"); ok {
		if at := len(short) - 33; at >= 0 && short[at] == '$' && strings.Trim(short[at+1:], "0123456789abcdef") == "" {
			return short[:at]
		}
		return short
	}
	if short, ok := strings.CutSuffix(name, ".abi0"); ok {
		return short
	}
	if short, ok := strings.CutSuffix(strings.TrimRight(name, decimals), "+"); ok && name[len(name)-1] != '+' {
		return short
	}
	if rest := strings.TrimRight(name, hexadecimals); rest != name {
		if short, ok := strings.CutSuffix(strings.TrimSuffix(rest, "0x"), " + "); ok {
			return short
		}
		if in, ok := strings.CutSuffix(rest, "/0x"); ok { // the size of the function
			if rest = strings.TrimRight(in, hexadecimals); rest == in {
				return name
			}
		}
		if short, ok := strings.CutSuffix(rest, "+0x"); ok {
			return short
		}
	}
	return withoutClones(name)
}

const (
	decimals     = "0123456789"
	hexadecimals = decimals + "abcdefABCDEF"
)

// withoutClones leaves out what compilers append to the names of parts and variants of a function.
func withoutClones(name string) string {
	begin := len(name)
	for rest := name; ; {
		dot := strings.LastIndexByte(rest, '.')
		if dot < 0 {
			return name[:begin]
		}
		switch part := rest[dot+1:]; part {
		case "cold", "isra", "part", "constprop", "llvm", "lto_priv":
			begin = dot
		default:
			if part == "" || strings.Trim(part, decimals) != "" {
				return name[:begin]
			}
		}
		rest = rest[:dot]
	}
}

// withoutHashes leaves out those of Rust: `::h147f73aa2703ef75` at the end, and `[e28293b1aa0f68bd]` after the name of a crate; and the ABI
// tags of C++ if asked to.
func withoutHashes(name string, tags bool) string {
	const digits, last = "0123456789abcdef", len("::h147f73aa2703ef75")
	if at := len(name) - last; at >= 0 && name[at:at+3] == "::h" && strings.Trim(name[at+3:], digits) == "" {
		name = name[:at]
	}
	var short []byte
	kept := 0
	for at := 0; ; at++ {
		open := strings.IndexByte(name[at:], '[')
		if open < 0 {
			break
		}
		at += open
		in := name[at+1:]
		n := len(in) - len(strings.TrimLeft(in, digits))
		if tags && strings.HasPrefix(in, "abi:") {
			n = max(n, strings.IndexByte(in, ']'))
		} else if n < 12 || n > 16 {
			continue
		}
		if strings.HasPrefix(in[n:], "]") {
			short = append(short, name[kept:at]...)
			at += n + 1
			kept = at + 1
		}
	}
	if kept == 0 {
		return name
	}
	return string(append(short, name[kept:]...))
}

// WithoutHash returns the name of a function of Rust without its hash, or those of its crates.
func WithoutHash(name string) string { return withoutHashes(name, false) }

// withoutArguments leaves out what stands in angle brackets and in parentheses, unless it is part of the name: `operator()`, `operator<<`,
// `<T as Trait>::f` of Rust, `pkg.(*T).f` of Go.
func withoutArguments(name string) string {
	if !strings.ContainsAny(name, "<(") {
		return strings.TrimSpace(name)
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		if word := operatorAt(name, i); word != "" {
			b.WriteString(word)
			i += len(word)
			continue
		}
		c := name[i]
		if c != '<' && c != '(' {
			b.WriteByte(c)
			i++
			continue
		}
		end := closing(name, i)
		if keptBrackets(name, i, end) {
			b.WriteString(name[i:end])
		} else if c == '<' && strings.HasSuffix(b.String(), "::") { // the turbofish of Rust
			text := strings.TrimSuffix(b.String(), "::")
			b.Reset()
			b.WriteString(text)
		}
		i = end
	}
	return strings.TrimSpace(b.String())
}

// keptBrackets reports whether brackets are part of the name, and not those of arguments.
func keptBrackets(name string, at, end int) bool {
	if name[at] == '<' {
		return at == 0 && strings.HasPrefix(name[end:], "::")
	}
	return strings.HasPrefix(name[at:], "(*") && at > 0 && name[at-1] == '.' && strings.HasPrefix(name[end:], ".")
}

// operatorAt returns the operator whose name begins at name[at], as `operator()` or `operator<<=`.
func operatorAt(name string, at int) string {
	const word = "operator"
	rest := name[at:]
	if !strings.HasPrefix(rest, word) || at > 0 && isWord(name[at-1]) {
		return ""
	}
	for _, sign := range [...]string{"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"} {
		if strings.HasPrefix(rest[len(word):], sign) {
			return rest[:len(word)+len(sign)]
		}
	}
	return ""
}

func isWord(c byte) bool { return c == '_' || c-'0' <= 9 || c|0x20-'a' < 26 }

// closing returns the index after the bracket that closes the one at name[at], or the length if there is none.
func closing(name string, at int) int {
	depth := 0
	for i := at; i < len(name); i++ {
		if word := operatorAt(name, i); word != "" {
			i += len(word) - 1
			continue
		}
		switch name[i] {
		case '<', '(':
			depth++
		case '>', ')':
			if name[i] == '>' && i > 0 && name[i-1] == '-' {
				continue
			}
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(name)
}

// withoutType leaves out the type that is returned, which stands before the name of a function made from a template.
func withoutType(name string) string {
	if strings.HasPrefix(name, "<") {
		return name
	}
	if i := strings.LastIndex(name, "operator"); i >= 0 && (i == 0 || !isWord(name[i-1])) {
		sign := name[i+len("operator"):]
		if end := strings.LastIndexByte(sign, ' '); end > 0 && !isWord(sign[0]) && sign[0] != ' ' { // a lambda of operator() is returned
			return sign[end+1:]
		}
		return name[strings.LastIndexByte(name[:i], ' ')+1:]
	}
	return name[strings.LastIndexByte(name, ' ')+1:]
}
