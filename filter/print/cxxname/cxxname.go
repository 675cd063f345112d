// Package cxxname writes C++ names as source code has them: without default template arguments, and with the short names of the
// standard library.
package cxxname

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"qss-filter/symsrc/demangle"
)

// Shorten returns a demangled C++ name as source code has it. It leaves out inline namespaces, ABI tags, default template
// arguments and the suffixes of copies that the compiler made, and writes the standard library's own short names:
//
//	std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >  →  std::string
//	std::__1::vector<int, std::__1::allocator<int>>::push_back[abi:v160006](int&&)   →  std::vector<int>::push_back(int&&)
//	f(int) (.isra.0.cold)                                                            →  f(int)
//
// A name that it cannot read to its end keeps its template arguments.
func Shorten(name string) string {
	if len(name) > maxShort {
		return name
	}
	name = dropInlineNamespaces(dropTags(dropClone(name)))
	if !strings.Contains(name, "<") || !strings.Contains(name, "std::") && !strings.Contains(name, "boost::") {
		return name
	}
	r := nameReader{s: name}
	if short := r.text(""); !r.bad && r.pos == len(name) {
		return short
	}
	return name
}

// maxShort is the length of the longest name that is shortened, in bytes.
const maxShort = 1 << 14

// dropClone cuts off the suffixes of copies: ` (.isra.0)`, ` [clone .isra.0]` or, after a C name, `.isra.0`.
func dropClone(name string) string {
	for _, form := range [...][2]string{{" (.", ")"}, {" [clone .", "]"}} {
		for strings.HasSuffix(name, form[1]) {
			at := strings.LastIndex(name, form[0])
			if at <= 0 || !demangle.IsCloneSuffix(name[at+len(form[0])-1:len(name)-1]) {
				break
			}
			name = name[:at]
		}
	}
	if at := strings.IndexByte(name, '.'); at > 0 && demangle.IsCloneSuffix(name[at:]) {
		name = name[:at]
	}
	return name
}

// dropTags removes ABI tags: libc++ puts one on every function, as [abi:v160006].
func dropTags(name string) string {
	for {
		before, rest, found := strings.Cut(name, "[abi:")
		_, after, closed := strings.Cut(rest, "]")
		if !found || !closed {
			return name
		}
		name = before + after
	}
}

// inlineNamespaces are the inline namespaces of the standard libraries: libc++ (of Android and Chromium, too) and libstdc++.
var inlineNamespaces = []string{"__1", "__2", "__ndk1", "__Cr", "__u", "__fs", "__cxx11", "_V2", "__7"}

// dropInlineNamespaces removes inline namespaces from the names that begin with std::.
func dropInlineNamespaces(name string) string {
	const std = "std::"
	var out strings.Builder
	for {
		at := strings.Index(name, std)
		if at < 0 {
			out.WriteString(name)
			return out.String()
		}
		inside := at > 0 && (isNameByte(name[at-1]) || name[at-1] == ':')
		out.WriteString(name[:at+len(std)])
		if name = name[at+len(std):]; inside {
			continue
		}
		for {
			part, rest, more := strings.Cut(name, "::")
			if !more || strings.ContainsFunc(part, func(r rune) bool { return r >= 0x80 || !isNameByte(byte(r)) }) {
				break
			}
			if !slices.Contains(inlineNamespaces, part) {
				out.WriteString(part + "::")
			}
			name = rest
		}
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// maxNesting is how deep brackets are followed.
const maxNesting = 100

// nameReader reads a demangled name, and returns it with short template arguments.
type nameReader struct {
	s     string
	pos   int
	depth int
	bad   bool
}

// text reads up to one of the bytes of stop outside of brackets, or to the end.
func (r *nameReader) text(stop string) string {
	if r.depth++; r.depth > maxNesting {
		r.bad = true
	}
	defer func() { r.depth-- }()
	var out []byte
	for r.pos < len(r.s) && !r.bad {
		c := r.s[r.pos]
		switch {
		case c == '>' && len(out) > 0 && out[len(out)-1] == '-': // the arrow before a type
		case strings.IndexByte(stop, c) >= 0:
			return string(out)
		case c == '(' || c == '[' || c == '{':
			out = append(out, r.group(c)...)
			continue
		case c == '<' && opensTemplate(out):
			out = r.template(out)
			continue
		case c == ')' || c == ']' || c == '}':
			r.bad = true
		case isNameByte(c):
			out = append(out, r.word()...)
			continue
		}
		out = append(out, c)
		r.pos++
	}
	if stop != "" {
		r.bad = true
	}
	return string(out)
}

// opensTemplate reports whether a `<` after that text opens a list, and is not an operator: `operator< <int>` has one of each.
func opensTemplate(before []byte) bool {
	return !bytes.HasSuffix(before, []byte(" ")) || bytes.HasSuffix(before, []byte("operator< ")) || bytes.HasSuffix(before, []byte("operator<< "))
}

// word reads an identifier, or the word operator with its sign.
func (r *nameReader) word() string {
	start := r.pos
	for r.pos < len(r.s) && isNameByte(r.s[r.pos]) {
		r.pos++
	}
	if r.s[start:r.pos] == "operator" {
		r.pos += len(operatorSign(r.s[r.pos:]))
	}
	return r.s[start:r.pos]
}

// operatorSign returns the sign that the text after the word operator begins with, if it has brackets.
func operatorSign(s string) string {
	for _, sign := range [...]string{"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<=", ">=", "<<", ">>", "<", ">"} {
		if !strings.HasPrefix(s, sign) {
			continue
		}
		// `operator<<int>(` is `operator<` with a template argument; `operator<<(` and `operator<<<int>(` are not.
		if rest := s[len(sign):]; sign == "<<" && rest != "" && rest[0] != '(' && rest[0] != '<' && rest[0] != ' ' {
			return "<"
		}
		return sign
	}
	return ""
}

// group reads a bracket with its contents.
func (r *nameReader) group(open byte) string {
	closing := map[byte]string{'(': ")", '[': "]", '{': "}"}[open]
	r.pos++
	inside := r.text(closing)
	r.pos++
	return string(open) + inside + closing
}

// template reads template arguments, and appends them to the name before them.
func (r *nameReader) template(out []byte) []byte {
	var args []string
	for r.pos < len(r.s) && r.s[r.pos] != '>' && !r.bad {
		r.pos++ // the bracket, or a comma
		args = append(args, strings.TrimSpace(r.text(",>")))
	}
	r.pos++
	start := len(out)
	for start > 0 && (isNameByte(out[start-1]) || out[start-1] == ':') {
		start--
	}
	name := string(out[start:])
	return append(out[:start], shortTemplate(name, args)...)
}

// templateDefaults are the default arguments of a template of C++23 or Boost. $0 is the first argument, $1 the second. needed
// is how many arguments have no default.
type templateDefaults struct {
	needed int
	args   []string
}

const pairAllocator = "std::allocator<std::pair<$0 const, $1>>"

var (
	ofAllocator = templateDefaults{1, []string{"std::allocator<$0>"}}
	ofTraits    = templateDefaults{1, []string{"std::char_traits<$0>"}}
	ofString    = templateDefaults{1, []string{"std::char_traits<$0>", "std::allocator<$0>"}}
	ofSet       = templateDefaults{1, []string{"std::less<$0>", "std::allocator<$0>"}}
	ofMap       = templateDefaults{2, []string{"std::less<$0>", pairAllocator}}
	ofHashSet   = templateDefaults{1, []string{"std::hash<$0>", "std::equal_to<$0>", "std::allocator<$0>"}}
	ofHashMap   = templateDefaults{2, []string{"std::hash<$0>", "std::equal_to<$0>", pairAllocator}}
	ofBoostSet  = templateDefaults{1, []string{"boost::hash<$0>", "std::equal_to<$0>", "std::allocator<$0>"}}
	ofBoostMap  = templateDefaults{2, []string{"boost::hash<$0>", "std::equal_to<$0>", pairAllocator}}
	ofDeque     = templateDefaults{1, []string{"std::deque<$0>"}}
)

var defaultsOf = map[string]templateDefaults{
	"std::vector": ofAllocator, "std::deque": ofAllocator, "std::list": ofAllocator, "std::forward_list": ofAllocator,
	"std::set": ofSet, "std::multiset": ofSet, "std::map": ofMap, "std::multimap": ofMap,
	"std::unordered_set": ofHashSet, "std::unordered_multiset": ofHashSet,
	"std::unordered_map": ofHashMap, "std::unordered_multimap": ofHashMap,
	"std::stack": ofDeque, "std::queue": ofDeque,
	"std::priority_queue": {1, []string{"std::vector<$0>", "std::less<$0>"}},
	"std::unique_ptr":     {1, []string{"std::default_delete<$0>"}},
	"std::match_results":  {1, []string{"std::allocator<std::sub_match<$0>>"}},
	"std::basic_regex":    {1, []string{"std::regex_traits<$0>"}},
	"std::basic_string":   ofString, "std::basic_string_view": ofTraits,
	"std::basic_ios": ofTraits, "std::basic_istream": ofTraits, "std::basic_ostream": ofTraits, "std::basic_iostream": ofTraits,
	"std::basic_streambuf": ofTraits, "std::basic_filebuf": ofTraits, "std::basic_ifstream": ofTraits,
	"std::basic_ofstream": ofTraits, "std::basic_fstream": ofTraits, "std::basic_stringbuf": ofString,
	"std::basic_istringstream": ofString, "std::basic_ostringstream": ofString, "std::basic_stringstream": ofString,
	"std::istreambuf_iterator": ofTraits, "std::ostreambuf_iterator": ofTraits,

	"boost::unordered_set": ofBoostSet, "boost::unordered_multiset": ofBoostSet,
	"boost::unordered_map": ofBoostMap, "boost::unordered_multimap": ofBoostMap,
	"boost::unordered::unordered_set": ofBoostSet, "boost::unordered::unordered_multiset": ofBoostSet,
	"boost::unordered::unordered_map": ofBoostMap, "boost::unordered::unordered_multimap": ofBoostMap,
	"boost::circular_buffer": ofAllocator, "boost::function": {1, []string{"std::allocator<void>"}},
	"boost::basic_format": ofString, "boost::basic_string_view": ofTraits, "boost::basic_string_ref": ofTraits,
	"boost::container::vector": {1, []string{"void", "void"}}, "boost::container::deque": {1, []string{"void", "void"}},
	"boost::container::list": {1, []string{"void"}}, "boost::container::set": {1, []string{"std::less<$0>", "void", "void"}},
	"boost::container::flat_set": {1, []string{"std::less<$0>", "void"}},
	"boost::container::map":      {2, []string{"std::less<$0>", "void", "void"}},
	"boost::container::flat_map": {2, []string{"std::less<$0>", "void"}},
}

// fillers stand for missing arguments at the end of the lists of Boost's templates from before C++11.
var fillers = map[string]bool{
	"mpl_::na": true, "boost::mpl::na": true, "boost::detail::variant::void_": true, "boost::tuples::null_type": true,
	"boost::fusion::void_": true, "boost::parameter::void_": true, "boost::asio::any_io_executor": true,
}

// aliases returns the short names of the standard library and of Boost for templates with these arguments.
var aliases = sync.OnceValue(func() map[string]string {
	all := map[string]string{
		"boost::basic_format<char>": "boost::format", "boost::basic_string_view<char>": "boost::string_view",
		"boost::basic_string_ref<char>": "boost::string_ref",
	}
	characters := map[string]string{"char": "", "wchar_t": "w", "char8_t": "u8", "char16_t": "u16", "char32_t": "u32"}
	for c, short := range characters {
		all["std::basic_string<"+c+">"] = "std::" + short + "string"
		all["std::basic_string_view<"+c+">"] = "std::" + short + "string_view"
		all["std::basic_string<"+c+", std::char_traits<"+c+">, std::pmr::polymorphic_allocator<"+c+">>"] = "std::pmr::" + short + "string"
	}
	for _, name := range []string{"ios", "istream", "ostream", "iostream", "streambuf", "filebuf", "ifstream", "ofstream", "fstream",
		"stringbuf", "istringstream", "ostringstream", "stringstream", "regex"} {
		for _, c := range []string{"char", "wchar_t"} {
			all["std::basic_"+name+"<"+c+">"] = "std::" + characters[c] + name
		}
	}
	return all
})

// shortTemplate returns a template with its arguments, which are short already.
func shortTemplate(name string, args []string) string {
	if strings.HasPrefix(name, "boost::") {
		for len(args) > 1 && fillers[args[len(args)-1]] {
			args = args[:len(args)-1]
		}
	}
	if d, ok := defaultsOf[name]; ok && len(args) <= d.needed+len(d.args) {
		for len(args) > d.needed && args[len(args)-1] == d.fill(args) {
			args = args[:len(args)-1]
		}
	}
	text := name + "<" + strings.Join(args, ", ") + ">"
	if short, ok := aliases()[text]; ok {
		return short
	}
	return text
}

// fill returns the default of the last of the arguments.
func (d *templateDefaults) fill(args []string) string {
	text := strings.ReplaceAll(d.args[len(args)-1-d.needed], "$0", args[0])
	if d.needed > 1 {
		text = strings.ReplaceAll(text, "$1", args[1])
	}
	return text
}
