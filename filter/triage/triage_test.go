package triage

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for function, want := range map[string]string{
		"main": "main",
		"ns::f(int, std::vector<int> const&) const":                                       "ns::f",
		"void ns::g<int, (ns::E)1>(int)":                                                  "ns::g",
		"std::vector<int, std::allocator<int> >::operator[](unsigned long)":               "std::vector::operator[]",
		"shop::Cart::total() const::'lambda'(shop::Item*)::operator()(shop::Item*) const": "shop::Cart::total::'lambda'::operator()",
		"shop::Cart::total() const::$_0::operator()(int) const":                           "shop::Cart::total::$_0::operator()",
		"ns::T::operator()(int) const":                                                    "ns::T::operator()",
		"ns::T<int>::operator<<(int)":                                                     "ns::T::operator<<",
		"operator new[](unsigned long)":                                                   "operator new[]",
		"ns::T::~T()":                                                                     "ns::T::~T",
		"(anonymous namespace)::f(int)":                                                   "f",
		"v8::`anonymous namespace'::f<0>":                                                 "v8::f",
		"main::{lambda(int)#1}::operator()(int) const":                                    "main::{lambda#1}::operator()",
		"_RNv::x::h147f73aa2703ef75":                                                      "_RNv::x",
		"std[e28293b1aa0f68bd]::panicking::panic_with_hook":                               "std::panicking::panic_with_hook",
		"core::ops::f::<i32, u8>":                                                         "core::ops::f",
		"<a::T as b::U>::f":                                                               "<a::T as b::U>::f",
		"_$LT$a..T$u20$as$u20$b..U$GT$::f::h50f7b755f1835a1b":                             "<a::T as b::U>::f",
		"a::f::_$u7b$$u7b$closure$u7d$$u7d$":                                              "a::f::{{closure}}",
		"a.b$C$d":                                                                         "a.b$C$d",
		"flate.(*compressor).deflate":                                                     "flate.(*compressor).deflate",
		"kernel_init+0xf8/0x120":                                                          "kernel_init",
		"test(_:_:) + 2066":                                                               "test",
		"abort+172":                                                                       "abort",
		"stub$8d185785d173e702d91e2893e143a6d9.cfi":                                       "stub",
		"work.cold":                        "work",
		"work.constprop.0.isra.1":          "work",
		"lib_step (kind=<optimized out>)":  "lib_step",
		"Tree::Build() [ui/tree.cc:107:3]": "Tree::Build",
		"non-virtual thunk to A::f()":      "A::f",
		"-[View drawRect:]":                "-[View drawRect:]",
		"operator<":                        "operator<",
		"main::$_1::operator()(int) const::'lambda'(int&) std::for_each<int*, int>(int*, int*)": "std::for_each",
		"std::ostream& operator<< <char>(std::ostream&)":                                        "operator<<",
		"bool ns::T::operator bool() const":                                                     "ns::T::operator bool",
		"f<":                                                                                    "f",
		"(((":                                                                                   "",
		"":                                                                                      "",
	} {
		if got := Name(function); got != want {
			t.Errorf("%s: %q, want %q", function, got, want)
		}
	}
}

// TestSuffixes compares what is left out of names with what expressions say of the same.
func TestSuffixes(t *testing.T) {
	suffixes := regexp.MustCompile(`(?:\+0x[0-9a-fA-F]+(?:/0x[0-9a-fA-F]+)?|\+[0-9]+|\.abi0| \+ (?:0x)?[0-9a-fA-F]+|(?: \[[^\]]*:\d+\])|` +
		`(?:\$[0-9a-f]{32})?\.cfi|(?:\.(?:cold|isra|part|constprop|llvm|lto_priv)(?:\.\d+)*)+)$`)
	hashes := regexp.MustCompile(`::h[0-9a-f]{16}$|\[[0-9a-f]{12,16}\]|\[abi:[^\]]*\]`)
	rust := regexp.MustCompile(`::h[0-9a-f]{16}$|\[[0-9a-f]{12,16}\]`)
	parts := strings.Split("f|+|0x|1f|/|.|cold|isra|lto_priv|12|abi0|.abi0| + | |[|]|ui/t.cc|:|56|$|8d185785d173e702d91e2893e143a6d9|.cfi|::h|147f73aa2703ef75|[e28293b1aa0f|[abi:|cxx11|g|", "|")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		name := ""
		for range 1 + rng.IntN(8) {
			name += parts[rng.IntN(len(parts))]
		}
		if got, want := withoutSuffix(name), suffixes.ReplaceAllString(name, ""); got != want {
			t.Fatalf("the suffix of %q: %q, want %q", name, got, want)
		}
		if got, want := withoutHashes(name, true), hashes.ReplaceAllString(name, ""); got != want {
			t.Fatalf("the hashes of %q: %q, want %q", name, got, want)
		}
		if got, want := WithoutHash(name), rust.ReplaceAllString(name, ""); got != want {
			t.Fatalf("the hashes of %q in Rust: %q, want %q", name, got, want)
		}
	}
}

func TestOwn(t *testing.T) {
	for _, c := range []struct {
		name, module, file string
		own                bool
	}{
		{"main", "/a.out", "/src/m.c", true},
		{"ns::malloc_stats", "/a.out", "", true},
		{"malloc", "/a.out", "", false},
		{"operator new(unsigned long)", "/a.out", "", false},
		{"__interceptor_memcpy", "/a.out", "", false},
		{"std::vector<int>::at(unsigned long)", "/a.out", "/usr/include/c++/12/bits/stl_vector.h", false},
		{"qsort", "/lib/x86_64-linux-gnu/libc.so.6", "", false},
		{"copy", "/a.out", "/b/llvm/compiler-rt/lib/asan/asan_rtl.cpp", false},
		{"runtime.gopanic", "/a.out", "", false},
		{"runtimeCheck", "/a.out", "", true},
		{"", "/lib/libc.so.6", "", false},
		{"core::ptr::drop_in_place", "/a.out", "", false},
		{"<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once", "/a.out", "", false},
		{"<dyn core::fmt::Debug as core::fmt::Debug>::fmt", "/a.out", "", false},
		{"<app::Shape as core::fmt::Debug>::fmt", "/a.out", "/home/u/app/src/main.rs", true},
		{"std[e28293b1aa0f68bd]::rt::lang_start_internal", "/a.out", "", false},
		{"_ZN4core9panicking5panic17h0123456789abcdefE", "/a.out", "", false},
		{"_RNvNtCs5dMOUFIi8ra_4core9panicking5panic", "/a.out", "", false},
		{"_RNvCs5dMOUFIi8ra_3app4main", "/a.out", "", true},
		{"std::vector<int>::at(unsigned long)", "/a.out", "/usr/include/c++/12/bits/stl_vector.h", false},
		{"fmt::detail::vformat", "/a.out", "/home/u/app/third_party/fmt/format.h", false},
		{"serde::de::f", "/a.out", "/home/u/.cargo/registry/src/index.crates.io-6f17d22bba15001f/serde-1.0/src/de.rs", false},
		{"net/http.(*conn).serve", "/a.out", "/opt/go/src/net/http/server.go", false},
		{"net/http.(*conn).serve", "/a.out", "net/http/server.go", false},
		{"main.handler", "/a.out", "/home/u/go/src/app/main.go", true},
		{"time.Sleep", "/a.out", "/home/u/time.py", true},
		{"<alloc::vec::Vec<app::Shape> as app::Area>::area", "/a.out", "", true},
		{"<T as core::convert::Into<U>>::into", "/a.out", "", false},
		{"<[T]>::sort", "/a.out", "", false},
		{"_ZN72_$LT$app..Shape$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE", "/a.out", "", true},
		{"_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0123456789abcdefE", "/a.out", "", false},
		{"_RNvXs5_NtNtCs5dMOUFIi8ra_4core3fmt3numlNtB7_5Debug3fmt", "/a.out", "", false},
		{"_$LT$std..sys_common..backtrace.._print..DisplayBacktrace$u20$as$u20$core..fmt..Display$GT$::fmt::h50f7b755f1835a1b", "", "", false},
		{"std::panicking::begin_panic::_$u7b$$u7b$closure$u7d$$u7d$::hf265b39b77351b6e", "", "", false},
		{"_$LT$app..Shape$u20$as$u20$core..fmt..Debug$GT$::fmt", "", "", true},
		{"__aeabi_memcpy", "", "", false},
		{"_swift_stdlib_reportFatalErrorInFile", "", "", false},
		{"core::Engine::run", "/a.out", "", true},
		{"core::fmt::run(int)", "/a.out", "/home/u/app/src/engine.cc", true},
		{"_ZN4core6Engine3runEv", "/a.out", "", true},
		{"_ZNSt6vectorIiSaIiEE2atEm", "/a.out", "", false},
		{"hashbrown::raw::f", "/a.out", "/rust/deps/hashbrown-0.15.2/src/raw/mod.rs", false},
		{"serde::de::f", "/a.out", "/usr/local/cargo/registry/src/index.crates.io-6f17d22bba15001f/serde-1.0/src/de.rs", false},
		{"github.com/x/y.F", "/a.out", "github.com/x/y@v1.2.3/f.go", false},
		{"f", "a.exe", `C:\src\app\vendor\x.c`, false},
		{"f", "a.exe", `C:\src\app\x.c`, true},
		{"", "/lib/libmine.so", "", true},
		{"f", `C:\Windows\System32\ntdll.dll`, "", false},
	} {
		if got := new(Rules).Own(c.name, c.module, c.file); got != c.own {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestRules holds that a pattern of the user counts more than the general rules, the last one most, and that what is above the root says nothing.
func TestRules(t *testing.T) {
	r := Rules{Root: "/usr/src/external/app", Patterns: []string{"third_party/ours/*", "!*_test.cc", "libmine*", "!libmine_gen.so"}}
	for _, c := range []struct {
		module, file string
		own          bool
	}{
		{"/a.out", "/usr/src/external/app/main.cc", true},
		{"/a.out", "/usr/src/external/app/vendor/x.c", false},
		{"/a.out", "/usr/src/external/other/main.cc", false},
		{"/a.out", "/usr/src/external/app/third_party/ours/x.c", true},
		{"/a.out", "/home/ci/app/third_party/ours/x.c", true},
		{"/a.out", "/usr/src/external/app/a_test.cc", false},
		{"/lib/libmine.so.1", "/home/ci/third_party/x.c", true},
		{"/lib/libmine_gen.so", "/home/ci/x.c", false},
	} {
		if got := r.Own("f", c.module, c.file); got != c.own {
			t.Errorf("%+v: %v", c, got)
		}
	}
	r = Rules{Patterns: []string{"/usr/lib/app/*", "!libtheirs*"}}
	for module, own := range map[string]bool{"/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0": false, "/usr/lib/app/libx.so": true, "/opt/app/libtheirs.so": false,
		"/home/u/build/libapp.so": true, "": true, `C:\Windows\System32\user32.dll`: false, `D:\app\app.dll`: true} {
		if got := r.OwnModule(module); got != own {
			t.Errorf("%s: %v", module, got)
		}
	}
}

func TestSignature(t *testing.T) {
	var s Signature
	for _, f := range []Frame{{Func: "abort", Module: "/lib/libc.so.6"}, {Func: "f<int>(int)"}, {Module: "/x/lib.so", At: 0x10, Located: true}, {}, {Func: "main"}, {Func: "late"}} {
		s.Add(&f, &Rules{})
	}
	if got := s.String(); got != "f--lib.so+0x10--main" {
		t.Errorf("got %s", got)
	}
	s = Signature{}
	s.Add(&Frame{Func: "abort"}, &Rules{})
	if got := s.String(); got != "abort" {
		t.Errorf("without a function of the program's own: %s", got)
	}
}

func TestRun(t *testing.T) {
	r := Begin(10, 0, true)
	if !r.Continue(11, 1, true) || r.Continue(12, 1, true) || r.Continue(12, 0, true) || r.Continue(12, 2, false) || !r.Continue(900, 3, true) || r.Line() != 900 {
		t.Errorf("with numbers: %+v", r)
	}
	r = Begin(10, 0, false)
	if !r.Continue(10+maxBetween, 0, false) || r.Continue(11+2*maxBetween, 0, false) {
		t.Errorf("without numbers: %+v", r)
	}
}

// TestHeadlines has the headline of each stack of a log, which begins at a line with STACK.
func TestHeadlines(t *testing.T) {
	for log, want := range map[string]string{
		"==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x6 at pc 0x1\nREAD of size 4 at 0x6 thread T0\nSTACK\nfreed by thread T0 here:\nSTACK\npreviously allocated by thread T0 here:\nSTACK\n\nSTACK\n":         "fault: heap-use-after-free READ 4; freed by: heap-use-after-free READ 4; allocated by: heap-use-after-free READ 4; : ",
		"==1==ERROR: AddressSanitizer: attempting double-free on 0x6 in thread T0:\nSTACK\n":                                                                                                                                     "fault: double-free",
		"==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x1 T0)\n==1==The signal is caused by a READ memory access.\nSTACK\n":                                                                                     "fault: SEGV",
		"WARNING: ThreadSanitizer: data race (pid=1)\n  Write of size 4 at 0x7 by thread T1:\nSTACK\n  Previous write of size 4 at 0x7 by main thread:\nSTACK\n  Thread T1 (tid=2, running) created by main thread at:\nSTACK\n": "fault: data race WRITE 4; previous access: data race WRITE 4; created by: data race WRITE 4",
		"==1==ERROR: LeakSanitizer: detected memory leaks\n\nDirect leak of 7 byte(s) in 1 object(s) allocated from:\nSTACK\n":                                                                                                   "allocated by: Direct leak",
		"a.cc:1:2: runtime error: signed integer overflow\nSTACK\n":                                                                                                                                                              "fault: signed integer overflow",
		"Fatal signal 11 (SIGSEGV), code 1\nsignal 11 (SIGSEGV), fault addr 0x0\nSTACK\n":                                                                                                                                        "fault: SIGSEGV",
		"thread 'main' panicked at src/m.rs:1:2:\nSTACK\n":                                                                                                                                                                       "fault: panic at src/m.rs:1:2:",
		"{\"log\":\"==1==ERROR: AddressSanitizer: stack-overflow on address 0x7\\n\"}\nSTACK\n":                                                                                                                                  "fault: stack-overflow",
		"==1== Invalid read of size 4\nSTACK\n==1==  Address 0x4 is 8 bytes inside a block of size 1,016 free'd\nSTACK\n==1==  Block was alloc'd at\nSTACK\n":                                                                    "fault: Invalid read of size 4; freed by: Invalid read of size 4; allocated by: Invalid read of size 4",
		"==1== Conditional jump or move depends on uninitialised value(s)\nSTACK\n==1== Invalid free() / delete / delete[] / realloc()\nSTACK\n":                                                                                 "fault: Conditional jump or move depends on uninitialised value(s); fault: Invalid free() / delete / delete[] / realloc()",
		"BUG: KASAN: out of bounds access in platform_match+0x104/0x1d8 at addr ffffffc0\nSTACK\nBUG: KASAN: slab-use-after-free in f+0x1/0x2\nSTACK\n":                                                                          "fault: out of bounds access; fault: slab-use-after-free",
		"SIGNATURE\nnothing of size here\nSTACK\n":              ": ",
		"SIGSEGV\n" + strings.Repeat("text\n", 200) + "STACK\n": ": ",
	} {
		var h Headlines
		var got []string
		number := 1
		for line := range strings.Lines(log) {
			h.Read(number, []byte(line))
			if line == "STACK\n" {
				about := h.Above(number)
				got = append(got, about.Kind+": "+about.Text)
			}
			number++
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q:\n%q, want\n%q", log, strings.Join(got, "; "), want)
		}
		h = Headlines{}
		h.Read(1, []byte(log))
		if h.Above(1 + strings.Count(log[:strings.Index(log, "STACK")], "\n")); strings.Contains(log, "SIGSEGV)") && h.said != 2 {
			t.Errorf("%q in one piece: the last line is %d", log, h.said)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, seed := range []string{"a<b>(c)::operator()(d) const", "<a as b>::c", "operator<<", "((", "`anonymous namespace'::f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, function string) {
		if name := Name(function); len(name) > len(function)+len("{anonymous}") {
			t.Errorf("%q: %q", function, name)
		}
		new(Rules).Own(function, function, function)
		var h Headlines
		h.Read(1, []byte(function))
		h.Above(1)
	})
}
