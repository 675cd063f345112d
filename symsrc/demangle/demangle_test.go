package demangle

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestDemangle(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		// Not mangled, or of an unsupported kind.
		{"", ""}, {"_", "_"}, {"_Z", "_Z"}, {"_R", "_R"}, {"__Z", "__Z"}, {"main", "main"}, {"_start", "_start"}, {"_exit", "_exit"},
		{"_Zzz", "_Zzz"}, {"_D3foo3barFZv", "_D3foo3barFZv"}, {"$s4main3fooyyF", "$s4main3fooyyF"},
		{"?f@@YAHH@Z", "f(int)"}, {"?", "?"}, {"?nonsense", "?nonsense"}, {"_Dmain", "D main"}, {"_GLOBAL__sub_I_a.cc", "_GLOBAL__sub_I_a.cc"}, {"_Z1fv@@V_1", "_Z1fv@@V_1"},
		{"_Z1f$x", "_Z1f$x"}, {"___Z1fv", "___Z1fv"}, {"_R0NvC1a1b", "_R0NvC1a1b"}, {"_RNvC1a1bX", "_RNvC1a1bX"},
		// C++.
		// A template in a namespace, in an unresolved name: S2_ is the template in the compiler's numbering of substitutions.
		{"_ZSt14__relocate_a_1IccENSt9enable_ifIXsr3std24__is_bitwise_relocatableIT_EE5valueEPS1_E4typeES2_S2_S2_RSaIT0_E",
			"std::enable_if<std::__is_bitwise_relocatable<char>::value, char*>::type std::__relocate_a_1<char, char>(char*, char*, char*, std::allocator<char>&)"},
		{"_Z1fv", "f()"}, {"_Z1f", "f"}, {"__Z1fv", "f()"}, {"_ZL3foov", "foo()"},
		{"_ZN2ns1C1mEi", "ns::C::m(int)"}, {"_ZTV3Foo", "vtable for Foo"}, {"_ZGVZ1fvE1x", "guard variable for f()::x"},
		{"_ZThn8_N1C1mEv", "non-virtual thunk to C::m()"},
		{"_ZGTtNSt11logic_errorD0Ev", "transaction clone for std::logic_error::~logic_error()"},
		{"_Z1fSt6vectorIiSaIiEE", "f(std::vector<int, std::allocator<int>>)"},
		{"_ZlsIiEvT_", "void operator<<<int>(int)"}, {"_ZltIiEbT_S0_", "bool operator<<int>(int, int)"},
		{"___Z1fv_block_invoke", "invocation function for block in f()"},
		{"____Z1fv_block_invoke_2", "invocation function for block in f()"},
		// Clone suffixes.
		{"_Z1fv.cold", "f() (.cold)"}, {"_Z1fv.isra.0.cold", "f() (.isra.0.cold)"},
		{"_Z1fv.constprop.0.isra.3", "f() (.constprop.0.isra.3)"}, {"_Z1fv.123", "f() (.123)"}, {"_Z1fv.", "f() (.)"},
		{"_Z1fv.Foo", "f() (.Foo)"}, {"_RNvC1a1b.llvm.12", "a::b (.llvm.12)"},
		// Unresolved names are not substitution candidates.
		{"_ZSt4swapI1AENSt9enable_ifIXsr6__and_ISt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS4_ESt18is_move_assignableIS4_EEE5valueEvE4typeERS4_SD_",
			"std::enable_if<__and_<std::__not_<std::__is_tuple_like<A>>, std::is_move_constructible<A>, std::is_move_assignable<A>>::value, void>::type std::swap<A>(A&, A&)"},
		{"_ZN1n1fIiEENS_2efIXsr3fooIT_EE5valueEvE4typeERS2_", "n::ef<foo<int>::value, void>::type n::f<int>(int&)"},
		{"_ZN4absr5helloIiEEvNS_1AES1_", "void absr::hello<int>(absr::A, absr::A)"},
		// Template arguments with the declarations of their parameters, which refer to earlier parameters; c++filt does not support these.
		{"_ZL4readIjTnNSt9enable_ifIXsr3stdE13is_unsigned_vIT_EEiE4typeELi0EES1_R1A", "unsigned int read<unsigned int, 0>(A&)"},
		{"_Z1fIJicETpTyJbEEvDpT_", "void f<int, char, bool>(int, char)"},
		// Legacy Rust.
		{"_ZN4core3fmt5Write9write_str17h0123456789abcdefE", "core::fmt::Write::write_str::h0123456789abcdef"},
		{"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17hc40408cb99586221E",
			"std::sys::backtrace::__rust_begin_short_backtrace::hc40408cb99586221"},
		{"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h147f73aa2703ef75E", "std::rt::lang_start::{{closure}}::h147f73aa2703ef75"},
		{"_ZN5alloc4sync16Arc$LT$T$C$A$GT$9drop_slow17h16ebd8cc52d77260E.llvm.1364", "alloc::sync::Arc<T,A>::drop_slow::h16ebd8cc52d77260 (.llvm.1364)"},
		{"_ZN70_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17hbdfc3ca063717bcaE",
			"<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop::hbdfc3ca063717bca"},
		{"_ZN5E.foo1x17hbdfc3ca063717bcaE", "E.foo::x::hbdfc3ca063717bca"},
		{"_ZN6a$XX$b17hbdfc3ca063717bcaE", "a$XX$b::hbdfc3ca063717bca"}, {"_ZN7a$u1f$b17hbdfc3ca063717bcaE", "a$u1f$b::hbdfc3ca063717bca"},
		{"_ZN7a$uxx$b17hbdfc3ca063717bcaE", "a$uxx$b::hbdfc3ca063717bca"},
		{"_ZN1a17h0000000000000000Ev", "a::h0000000000000000()"}, // a hash has at least five different digits
		// Rust v0.
		{"_RNvC1a1b", "a::b"}, {"__RNvC1a1b", "a::b"}, {"_RNvC6_123foo3bar", "123foo::bar"},
		{"_RNCNvC1a1b0", "a::b::{closure#0}"}, {"_RNCNCNvC1a1b00B3_", "a::b::{closure#0}::{closure#0}"},
		{"_RNvNCNvNtCsjrHSEGnQ3l9_3std9panicking12default_hook011FIRST_PANIC", "std::panicking::default_hook::{closure#0}::FIRST_PANIC"},
		{"_RNSC1a1f", "a::{shim:f#0}"}, {"_RNKC1as_0", "a::{K#1}"},
		{"_RINvC1a1bhKj7f_E", "a::b::<u8, 127>"}, {"_RIC1aKln7f_KlnffE", "_RIC1aKln7f_KlnffE"}, {"_RIC1aKb1_Kc61_Kc27_Kc1f4a9_KpE", `a::<true, 'a', '\'', '\u{1f4a9}', _>`},
		{"_RIC1aKo1234567890abcdef0_E", "a::<0x1234567890abcdef0>"}, {"_RIC1aKj01_E", "_RIC1aKj01_E"},
		{"_RIC1aRSeQL_ATlEj3_E", "a::<&[str], &mut [(i32,); 3]>"},
		{"_RMC0INtC1a1SpE", "<a::S<_>>"}, {"_RYNtC1a1SNtC1a1T", "<a::S as a::T>"},
		{"_RIC1aFUKCjEuFG_RL0_hEL0_E", "_RIC1aFUKCjEuFG_RL0_hEL0_E"},
		{"_RIC1aFUKCjEuFK6systemEzE", `a::<unsafe extern "C" fn(usize), extern "system" fn() -> !>`},
		{"_RIC1aFG_RL0_hEuE", "a::<for<'a> fn(&'a u8)>"}, {"_RIC1aDNtC1a1TEL_E", "a::<dyn a::T>"},
		{"_RIC1aDINtC1a1TjEp6OutputhNtC1a4SendEL_E", "a::<dyn a::T<usize, Output = u8> + a::Send>"},
		{"_RNvC1au5a_6ja", "a::aĭ"}, {"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y", "utf8_idents::საჭმელად_გემრიელი_სადილი"},
		{"_RIC1aTTB2_EEE", "a::<((i8,),)>"}, {"_RB_", "_RB_"}, {"_RC0", "_RC0"},
	} {
		if got := Demangle(c.name); got != c.want {
			t.Errorf("Demangle(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

// TestEmptyPacks compares names with empty packs, and with operators whose text looks like one, with llvm.
func TestEmptyPacks(t *testing.T) {
	names := []string{
		"_Z1fIJEEviDpT_", "_Z1fIJEEvDpT_i", "_Z1fIJEEvPFviDpT_E", "_Z1fIJEEv1AIJXspT_EEE",
		"_Z1fIiJEEvSt5tupleIJDpT0_iEE", "_Z1fIiJEEvSt5tupleIJiDpT0_iEE", "_Z1fIiJEEvSt5tupleIJiDpT0_EE", "_Z1fIiJEEvSt5tupleIJDpT0_EE",
		"_Z1fIiJEJEEvSt5tupleIJiDpT0_DpT1_cEE", "_Z1fIXadL_ZltRK1AS2_EEiEvv", "_Z1fIXadL_ZlsRK1AS2_EEiEvv", "_Z1fIXadL_ZcmRK1AS2_EEiEvv",
	}
	for i, want := range llvmDemangled(t, names) {
		if got := Demangle(names[i]); got != want {
			t.Errorf("%s\n got %s\nwant %s", names[i], got, want)
		}
	}
}

func TestType(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"1C", "C"}, {"3Foo", "Foo"}, {"N2ns1CE", "ns::C"}, {"St9exception", "std::exception"},
		{"St6vectorIiSaIiEE", "std::vector<int, std::allocator<int>>"}, {"SaIcE", "std::allocator<char>"},
		{"NSt3_V214error_categoryE", "std::_V2::error_category"}, {"N12_GLOBAL__N_11AE", "(anonymous namespace)::A"},
		{"PKc", "char const*"}, {"PKPKc", "char const* const*"}, {"PK1C", "C const*"}, {"P3Foo", "Foo*"}, {"PN2ns1CE", "ns::C*"},
	} {
		if got := Type(c.name); got != c.want {
			t.Errorf("Type(%q) = %q, want %q", c.name, got, c.want)
		}
	}
	for _, name := range strings.Fields(`i x f foo main Pi Px PP PK KV K1C K1f P1C P1 P O R r So Ss Sa St S_ Sax RKc Rc Null NaN1
		N1A N2ns1C NE NotE StE St1 SIE SaI 3Fo 3Foov 3Foo.cold 1 12 99bottles 0x12 FvvE T_ _Z1fv _ZTI1C malloc operator<
		Print PKEY PKCS7 Point3 PK1 V8 St7 pthread_create SSL_read N64 NT_GNU_BUILD_ID Sleep S3 S3Put P2P P256 P4d 1C@V`) {
		if got := Type(name); got != name {
			t.Errorf("Type(%q) = %q", name, got)
		}
	}
	if got := Type(""); got != "" {
		t.Errorf("Type(\"\") = %q", got)
	}
}

// llvmDemangled returns llvm's readable forms of names.
func llvmDemangled(t *testing.T, names []string) []string {
	t.Helper()
	tool, err := exec.LookPath("llvm-cxxfilt-22")
	if err != nil {
		t.Skip("llvm-cxxfilt-22 is not installed")
	}
	cmd := exec.Command(tool)
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(bytes.TrimSuffix(out, []byte("\n"))), "\n")
}

// symbolNames returns the names in the dynamic symbol table of the first of paths that exists.
func symbolNames(t testing.TB, paths ...string) []string {
	t.Helper()
	i := slices.IndexFunc(paths, func(p string) bool { _, err := os.Stat(p); return err == nil })
	if i < 0 {
		t.Skipf("none of %q is installed", paths)
	}
	f, err := elf.Open(paths[i])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, "_") {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func libstdcxx(t testing.TB) []string {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return symbolNames(t, "/usr/lib/"+arch+"-linux-gnu/libstdc++.so.6", "/usr/lib64/libstdc++.so.6")
}

// TestDemangleLibstdcxx compares with llvm. Transaction clones are the only kind of name that llvm does not demangle.
func TestDemangleLibstdcxx(t *testing.T) {
	names := libstdcxx(t)
	want := llvmDemangled(t, names)
	for i, name := range names {
		if got := Demangle(name); got != want[i] && !strings.HasPrefix(name, "_ZGTt") {
			t.Errorf("%s\n got %s\nwant %s", name, got, want[i])
		}
	}
	t.Logf("%d names", len(names))
}

// TestLLVM checks the names for which LLVM differs from Demangle. TestMSVCLive, TestD and compareNames compare with llvm itself.
func TestLLVM(t *testing.T) {
	for _, c := range []struct{ name, frame, symbol string }{
		{"", "", ""}, {".", ".", "."}, {"main", "main", "main"}, {"_Z1fv", "f()", "f()"}, {"__Z1fv", "f()", "f()"}, {"___Z1fv", "___Z1fv", "f()"},
		{"____Z1fv_block_invoke", "invocation function for block in f()", "invocation function for block in f()"},
		{"_____Z1fv_block_invoke", "_____Z1fv_block_invoke", "invocation function for block in f()"},
		{"._Z1fv", ".f()", ".f()"}, {".__Z1fv", ".f()", ".f()"}, {"_._Z1fv", "_._Z1fv", "_._Z1fv"}, {"_Z1fv@@V1", "_Z1fv@@V1", "_Z1fv@@V1"},
		{"_Z3fo\x00ov", "fo", "fo"}, {"_RNvC1a1b", "a::b", "a::b"}, {"__RNvC1a1b", "__RNvC1a1b", "a::b"},
		{"_ZGTtNSt11logic_errorD0Ev", "_ZGTtNSt11logic_errorD0Ev", "_ZGTtNSt11logic_errorD0Ev"},
		{"_ZN6a$LT$b1x17hbdfc3ca063717bcaE", "a$LT$b::x::hbdfc3ca063717bca", "a$LT$b::x::hbdfc3ca063717bca"},
	} {
		if got := LLVM(c.name, false); got != c.frame {
			t.Errorf("LLVM(%q, false) = %q, want %q", c.name, got, c.frame)
		}
		if got := LLVM(c.name, true); got != c.symbol {
			t.Errorf("LLVM(%q, true) = %q, want %q", c.name, got, c.symbol)
		}
	}
}
