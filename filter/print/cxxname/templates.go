package cxxname

import "strings"

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

// aliases are the short names of the standard library and of Boost for templates with these arguments.
var aliases = func() map[string]string {
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
}()

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
	if short, ok := aliases[text]; ok {
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
