package filter_test

import (
	"context"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/symsrc"
)

// shopSymbols names code by its offset, or the one before it where a call returns: that of a shop, and of the libraries that it uses.
type shopSymbols struct{}

var shop = map[uint64][]symsrc.Frame{
	0x10: {{Func: "shop::Cart::total() const", File: "/src/shop/src/cart.cpp", Line: 16, Column: 3}},
	0x20: {{Func: "main", File: "/src/shop/src/main.cpp", Line: 7}},
	0x30: {
		{Func: "void std::__invoke<int, std::function<void (int)>>(int&&)", File: "/usr/include/c++/12/bits/invoke.h", Line: 61},
		{Func: "std::function<void (int)> std::for_each<int*, std::function<void (int)>>(int*, int*, std::function<void (int)>)", File: "/usr/include/c++/12/bits/stl_algo.h", Line: 3787},
	},
	0x40: {{Func: "__libc_start_call_main", File: "./csu/../sysdeps/nptl/libc_start_call_main.h", Line: 58}},
	0x50: {{Func: "_start"}},
	0x70: {{Func: "shop::price::h0123456789abcdef", File: "/src/shop/src/price.rs", Line: 4, Column: 25}, {Func: "shop::main::h0123456789abcdef", File: "/src/shop/src/main.rs", Line: 9}},
}

func (shopSymbols) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Frames: shop[(q.Offset+1)&^0xf], Files: &symsrc.Files{Elf: q.Module.Name}}
}

// TestBriefStacks shows stacks at a terminal: what is the program's own, what is held back and when it leaves, and what is counted.
func TestBriefStacks(t *testing.T) {
	t.Parallel()
	frame := func(n, at string) string {
		module := "/src/shop/app"
		if at == "0x40" {
			module = "/lib/libc.so.6"
		}
		return "    #" + n + " 0x00007f00000000" + at[2:] + " (" + module + "+" + at + ")" + id + "\n"
	}
	const maps = "7f0000000000-7f0000001000 r-xp 00000000 08:01 7 /src/shop/app\n"
	rust := func(n, at, name string) string {
		return "   " + n + ":     0x7f00000000" + at[:1] + "1 - " + name + "\n"
	}
	own := "    #0 0x7f0000000010 in shop::Cart::total() const src/cart.cpp:16:3 (app)\n"
	fault := "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n"
	for name, c := range map[string]struct{ in, want string }{
		"a fault, twice": {
			fault + frame("0", "0x10") + frame("1", "0x30") + frame("2", "0x20") + frame("3", "0x40") + frame("4", "0x50") + "\n" + fault + frame("0", "0x10"),
			fault + own + "    … 2 frames of libstdc++\n    #3 0x7f0000000020 in main src/main.cpp:7 (app)\n    … 2 frames of libc\n" +
				"[heap-use-after-free in shop::Cart::total src/cart.cpp:16:3 · shop::Cart::total--main · first time]\n\n" +
				fault + own + "[heap-use-after-free in shop::Cart::total src/cart.cpp:16:3 · shop::Cart::total · first time]\n",
		},
		"what the program has called stays": {
			frame("0", "0x50") + frame("1", "0x40") + frame("2", "0x30") + frame("3", "0x10"),
			"    … 3 frames of libc and libstdc++\n    #3 0x7f0000000030 in std::for_each<…> …/12/bits/stl_algo.h:3787 (app)\n" + strings.Replace(own, "#0", "#4", 1),
		},
		"none of the program's own": {
			frame("0", "0x30") + frame("1", "0x40"),
			"    #0 0x7f0000000030 in std::__invoke<…> …/12/bits/invoke.h:61 (app)\n    #1 0x7f0000000030 in std::for_each<…> …/12/bits/stl_algo.h:3787 (app)\n" +
				"    #2 0x7f0000000040 in __libc_start_call_main …/nptl/libc_start_call_main.h:58 (libc.so.6)\n",
		},
		"a log that lists inlined functions, with their places": {
			maps + rust("0", "70", "shop::price::h0123456789abcdef") + "             at /src/shop/src/price.rs:4:25\n" +
				rust("1", "70", "shop::main::h0123456789abcdef") + "             at ./src/other.rs:9\n" + rust("2", "70", "shop::price::h0123456789abcdef"),
			maps + "   0:     0x7f0000000071 in shop::price src/price.rs:4:25\n   1:     0x7f0000000071 in shop::main src/main.rs:9\n             at ./src/other.rs:9\n" +
				"   2:     0x7f0000000071 in shop::price src/price.rs:4:25\n",
		},
		"a log that lists the outermost function alone": {
			maps + rust("0", "70", "shop::main::h0123456789abcdef") + rust("1", "70", "shop::main::h0123456789abcdef"),
			maps + "   0.1:     0x7f0000000071 in shop::price src/price.rs:4:25\n   0:     0x7f0000000071 in shop::main src/main.rs:9\n" +
				"   1.1:     0x7f0000000071 in shop::price src/price.rs:4:25\n   1:     0x7f0000000071 in shop::main src/main.rs:9\n",
		},
		"a frame alone, and then all of them": {
			"Program received signal SIGSEGV, Segmentation fault.\n0x0000700000000000 in ?? ()\n#0  0x0000700000000000 in ?? ()\n" +
				"text\n" + frame("0", "0x10") + frame("0", "0x20"),
			"Program received signal SIGSEGV, Segmentation fault.\n0x0000700000000000 in ?? ()\n#0  0x0000700000000000 in ?? ()\n" +
				"text\n" + own + "[SIGSEGV in shop::Cart::total src/cart.cpp:16:3 · shop::Cart::total · first time]\n    #0 0x7f0000000020 in main src/main.cpp:7 (app)\n",
		},
		"times of a logger": {
			"11-20 15:58:12.003  9  9 I x : " + frame("0", "0x10") + "11-20 15:58:12.005  9  9 I x : " + frame("1", "0x30") + "11-20 15:58:12.006  9  9 I x : " + frame("2", "0x40"),
			"11-20 15:58:12.003  9  9 I x : " + own + "11-20 15:58:12.005  9  9 I x :     … 3 frames of libstdc++ and libc\n",
		},
		"no name": {
			frame("0", "0x10") + frame("1", "0x60") + "end\n",
			own + strings.TrimSuffix(frame("1", "0x60"), "\n") + " [no symbol]\nend\n",
		},
		"two stacks": {
			frame("0", "0x10") + frame("1", "0x40") + frame("2", "0x50") + frame("0", "0x10"),
			own + "    … 2 frames of libc\n" + own,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := filter.New(filter.Options{Symbols: shopSymbols{}, Screen: &print.Screen{Columns: 100, Roots: []string{"/src/shop"}}})
			var out []byte
			for line := range strings.Lines(c.in) {
				out = f.Line(t.Context(), out, []byte(line))
			}
			if out = f.Flush(out); string(out) != c.want {
				t.Errorf("got\n%s\nwant\n%s", out, c.want)
			}
		})
	}
	t.Run("the log pauses", func(t *testing.T) {
		t.Parallel()
		feed := filter.New(filter.Options{Symbols: shopSymbols{}, Screen: &print.Screen{Columns: 100}}).Feed()
		feed.Add(t.Context(), nil, []byte(frame("0", "0x10")))
		if held := feed.Add(t.Context(), nil, []byte(frame("1", "0x40"))); len(held) > 0 {
			t.Errorf("%q came before the stack goes on", held)
		}
		if rest := feed.Flush(nil); !strings.Contains(string(rest), "__libc_start_call_main") {
			t.Errorf("%q came when the log paused", rest)
		}
	})
}
