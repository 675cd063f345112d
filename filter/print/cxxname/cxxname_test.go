package cxxname

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc/demangle"
)

func TestShorten(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"", ""}, {"main", "main"}, {"a::b(int)", "a::b(int)"},
		{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size() const", "std::string::size() const"},
		{"void f<std::__1::vector<int, std::__1::allocator<int>>>(std::__1::vector<int, std::__1::allocator<int>>&)",
			"void f<std::vector<int>>(std::vector<int>&)"},
		{"std::__ndk1::vector<int, std::__ndk1::allocator<int>>::push_back[abi:v160006](int&&)", "std::vector<int>::push_back(int&&)"},
		{"std::filesystem::__cxx11::path::~path()", "std::filesystem::path::~path()"},
		{"std::chrono::_V2::system_clock::now()", "std::chrono::system_clock::now()"},
		// Only what is the default goes.
		{"f(std::vector<int, my::allocator<int>>)", "f(std::vector<int, my::allocator<int>>)"},
		{"f(std::vector<int, std::allocator<char>>)", "f(std::vector<int, std::allocator<char>>)"},
		{"f(std::map<int, char, std::greater<int>, std::allocator<std::pair<int const, char>>>)", "f(std::map<int, char, std::greater<int>>)"},
		{"f(std::map<int, char, my::less<int>, my::allocator<int>>)", "f(std::map<int, char, my::less<int>, my::allocator<int>>)"},
		{"std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)", "std::_Vector_base<int, std::allocator<int>>::_M_allocate(unsigned long)"},
		{"my::std::vector<int, std::allocator<int>>", "my::std::vector<int, std::allocator<int>>"},
		{"my::std::__1::f()", "my::std::__1::f()"},
		{"f(std::basic_string<char, my::traits, std::allocator<char>>)", "f(std::basic_string<char, my::traits>)"},
		{"g(std::pmr::x, std::basic_string<char, std::char_traits<char>, std::pmr::polymorphic_allocator<char> >)", "g(std::pmr::x, std::pmr::string)"},
		// Boost.
		{"boost::variant<int, std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, boost::detail::variant::void_, " +
			"boost::detail::variant::void_>::which() const", "boost::variant<int, std::string>::which() const"},
		{"f(boost::mpl::vector<int, mpl_::na, mpl_::na, mpl_::na>)", "f(boost::mpl::vector<int>)"},
		{"f(boost::tuples::tuple<int, char, boost::tuples::null_type>)", "f(boost::tuples::tuple<int, char>)"},
		{"f(boost::unordered::unordered_map<int, long, boost::hash<int>, std::equal_to<int>, std::allocator<std::pair<int const, long> > >)",
			"f(boost::unordered::unordered_map<int, long>)"},
		{"f(my::vector<int, mpl_::na>)", "f(my::vector<int, mpl_::na>)"},
		// Copies of functions.
		{"f(int) (.isra.0)", "f(int)"}, {"f(int) (.isra.0.cold)", "f(int)"}, {"f(int) [clone .part.1] [clone .cold]", "f(int)"},
		{"f.isra.0", "f"}, {"f.part.0.constprop.12.cold", "f"}, {"f.llvm.8153402390175", "f"}, {"f.__uniq.123.llvm.4", "f"},
		{"f(int) (.resume)", "f(int) (.resume)"}, {"f(int) (.isra.resume)", "f(int) (.isra.resume)"},
		{"main.f", "main.f"}, {"f.0", "f.0"}, {".cold", ".cold"}, {"f.", "f."}, {"a.b.cold", "a.b.cold"},
		// Operators, expressions, lambdas.
		{"std::ostream& std::operator<< <std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char const*)",
			"std::ostream& std::operator<< <std::char_traits<char>>(std::ostream&, char const*)"},
		{"bool operator<<int>(A<int> const&)", "bool operator<<int>(A<int> const&)"},
		{"A<int>& operator<<<int>(A<int, std::vector<int, std::allocator<int>>>&)", "A<int>& operator<<<int>(A<int, std::vector<int>>&)"},
		{"a::operator()(std::vector<int, std::allocator<int>>) const", "a::operator()(std::vector<int>) const"},
		{"a::operator->(std::vector<int, std::allocator<int>>)", "a::operator->(std::vector<int>)"},
		{"a::operator<=>(std::vector<int, std::allocator<int>>)", "a::operator<=>(std::vector<int>)"},
		{"auto f<int>(int) -> std::vector<int, std::allocator<int>>", "auto f<int>(int) -> std::vector<int>"},
		{"f()::{lambda(std::vector<int, std::allocator<int> >)#1}::operator()(int) const", "f()::{lambda(std::vector<int>)#1}::operator()(int) const"},
		{"f<(E)1, std::vector<char, std::allocator<char>>>()", "f<(E)1, std::vector<char>>()"},
		{"f<(1 > 2)>(std::vector<int, std::allocator<int>>)", "f<(1 > 2)>(std::vector<int>)"},
		{"f<void (*)(std::vector<int, std::allocator<int> >)>()", "f<void (*)(std::vector<int>)>()"},
		// Other languages, and what is no name.
		{"<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop", "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop"},
		{"main.Map[go.shape.int,go.shape.string].func1", "main.Map[go.shape.int,go.shape.string].func1"},
		{"f<int", "f<int"}, {"f>int", "f>int"}, {"f(int>)<", "f(int>)<"}, {"std::", "std::"}, {"std::__1::", "std::"}, {"f[abi:", "f[abi:"},
		{strings.Repeat("a<", 1000), strings.Repeat("a<", 1000)},
	} {
		if got := Shorten(c.name); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if again := Shorten(c.want); again != c.want {
			t.Errorf("%s: again %s", c.want, again)
		}
	}
}

// FuzzShorten: whatever the name, shortening ends, makes it no longer (except for spaces after commas), and has nothing left
// to do after that.
func FuzzShorten(f *testing.F) {
	for _, name := range []string{"std::__1::vector<int, std::__1::allocator<int>>::f[abi:x]() (.cold)", "a<b<c>, (d > e)>(f) -> {g<'h'>}", "operator<<<a>"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		short := Shorten(name)
		if len(short) > len(name)+strings.Count(name, ",") {
			t.Errorf("%q becomes %q", name, short)
		}
		if again := Shorten(short); len(again) > len(short) {
			t.Errorf("%q becomes %q and that %q", name, short, again)
		}
	})
}

// spelled are types as source code has them.
var spelled = []string{
	"std::string", "std::wstring", "std::u16string", "std::u32string", "std::string_view", "std::pmr::string", "std::ostream&", "std::istream&",
	"std::stringstream&", "std::wostringstream&", "std::ofstream&", "std::ios&", "std::streambuf*", "std::regex", "std::vector<int>",
	"std::deque<std::string>", "std::list<char const*>", "std::forward_list<int>", "std::set<std::string>", "std::multiset<int*>",
	"std::map<std::string, std::vector<int>>", "std::multimap<int, std::map<int, int>>", "std::unordered_set<std::string>",
	"std::unordered_map<std::string, std::unique_ptr<int>>", "std::unordered_multimap<int, int>", "std::stack<int>", "std::queue<std::string>",
	"std::priority_queue<int>", "std::unique_ptr<std::map<int, int>>", "std::shared_ptr<std::string>", "std::map<int, int, std::greater<int>>",
	"std::function<void (std::string const&)>", "std::optional<std::string>", "std::variant<int, std::string>", "std::tuple<int, std::string>",
	"std::filesystem::path", "std::vector<std::string>::iterator&&", "std::array<std::string, 3ul>",
}

// TestShortenAgainstCompilers holds that the names which compilers give to functions come out as their arguments were written.
func TestShortenAgainstCompilers(t *testing.T) {
	for _, compiler := range []string{"g++", "clang++-22"} {
		if _, err := exec.LookPath(compiler); err != nil {
			t.Logf("skipped: %s is not installed", compiler)
			continue
		}
		dir := t.TempDir()
		source := "#include <bits/stdc++.h>\n#include <memory_resource>\n"
		for i, spelling := range spelled {
			source += fmt.Sprintf("void f%d(%s) {}\n", i, spelling)
		}
		file, object := filepath.Join(dir, "a.cc"), filepath.Join(dir, "a.o")
		if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(compiler, "-std=c++20", "-c", "-o", object, file).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", compiler, err, out)
		}
		symbols, err := exec.Command("nm", object).Output()
		if err != nil {
			t.Skipf("nm: %v", err)
		}
		found := map[string]string{}
		for line := range strings.Lines(string(symbols)) {
			long := demangle.Demangle(strings.Fields(line)[len(strings.Fields(line))-1])
			number, _, _ := strings.Cut(long, "(")
			found[number] = long
		}
		for i, spelling := range spelled {
			name := fmt.Sprintf("f%d", i)
			want := name + "(" + spelling + ")"
			if strings.HasSuffix(spelling, "iterator&&") { // a name inside gcc's library
				want = name + "(__gnu_cxx::__normal_iterator<std::string*, std::vector<std::string>>&&)"
			}
			if got := Shorten(found[name]); got != want {
				t.Errorf("%s: %s:\n got %s\nwant %s", compiler, found[name], got, want)
			}
		}
	}
}
