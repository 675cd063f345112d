package filter_test

import (
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
)

type symbols = filtertest.Symbols

// feed runs lines through a filter one by one and returns all of its output.
func feed(o filter.Options, lines string) string {
	if o.Symbols == nil {
		o.Symbols = &symbols{}
	}
	return filtertest.Feed(filter.New(o), lines)
}

const id = " (BuildId: 0123abcd)"

func TestLine(t *testing.T) {
	for _, tc := range []struct {
		name string
		opt  filter.Options
		in   string
		want string
	}{
		{name: "one function", in: "    #0 0x7f20  (/a.so+0x20)" + id + "\n",
			want: "    #0 0x7f20 in plain /src/p.c:3:1  (/a.so+0x20)" + id + "\n"},
		{name: "inlined functions are counted on, and the frames below them too",
			in: "#0 0x7f10 (/a.so+0x10)" + id + "\n#1 0x7f21 main (/a.so+0x21)" + id + "\n#2 0x9999 (<unknown module>)\n#0 0x7f20 (/a.so+0x20)" + id + "\n",
			want: "#0 0x7f10 in inner<\"q\">(int) /src/inner.c:8:5 (/a.so+0x10)" + id + "\n" +
				"#1 0x7f10 in middle /src/wrap.c:6:10 (/a.so+0x10)" + id + "\n" +
				"#2 0x7f10 in outer /src/top.c:10 (/a.so+0x10)" + id + "\n" +
				"#3 0x7f21 in plain /src/p.c:3:1 (/a.so+0x21)" + id + "\n" +
				"#4 0x9999 (<unknown module>)\n#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)" + id + "\n"},
		{name: "gaps and stacks that begin late keep their distance",
			in: "#3 0x7f11 (/a.so+0x11)\r\n#7 0x7f21 (/a.so+0x21)\r\n",
			want: "#3 0x7f11 in inner<\"q\">(int) /src/inner.c:8:5 (/a.so+0x11)\r\n#4 0x7f11 in middle /src/wrap.c:6:10 (/a.so+0x11)\r\n" +
				"#5 0x7f11 in outer /src/top.c:10 (/a.so+0x11)\r\n#9 0x7f21 in plain /src/p.c:3:1 (/a.so+0x21)\r\n"},
		{name: "never renumber", opt: filter.Options{Renumber: print.RenumberNever}, in: "#0 0x7f10 (/a.so+0x10)\n#1 0x7f21 (/a.so+0x21)\n",
			want: "#0.1 0x7f10 in inner<\"q\">(int) /src/inner.c:8:5 (/a.so+0x10)\n#0.2 0x7f10 in middle /src/wrap.c:6:10 (/a.so+0x10)\n" +
				"#0 0x7f10 in outer /src/top.c:10 (/a.so+0x10)\n#1 0x7f21 in plain /src/p.c:3:1 (/a.so+0x21)\n"},
		{name: "numbers keep their width", in: "#00 0x7f10 (/a.so+0x10)\n",
			want: "#00 0x7f10 in inner<\"q\">(int) /src/inner.c:8:5 (/a.so+0x10)\n#01 0x7f10 in middle /src/wrap.c:6:10 (/a.so+0x10)\n" +
				"#02 0x7f10 in outer /src/top.c:10 (/a.so+0x10)\n"},
		{name: "append", opt: filter.Options{Style: print.Append}, in: "x #0 0x7f10 (/a.so+0x10) y\n#1 0x7f21 (/a.so+0x21)\n#2 0x1 (/missing.so+0x1)\n",
			want: "x #0 0x7f10 (/a.so+0x10) y\n  -> #0 0x7f10 in inner<\"q\">(int) /src/inner.c:8\n  -> #1 0x7f10 in middle /src/wrap.c:6\n" +
				"  -> #2 0x7f10 in outer /src/top.c:10\n#1 0x7f21 (/a.so+0x21)\n  -> #3 0x7f21 in plain /src/p.c:3\n#2 0x1 (/missing.so+0x1)\n"},
		{name: "replace", opt: filter.Options{Style: print.Replace}, in: "x #0 0x7f20 (/a.so+0x20)" + id + " y\n#1 0x1 (/missing.so+0x1)\n",
			want: "x #0 0x7f20 in plain /src/p.c:3:1 (a.so) y\n#1 0x1 (/missing.so+0x1)\n"},
		{name: "only a name is known", in: "#0 0x7f30 (/a.so+0x30)\n", want: "#0 0x7f30 in bare (/a.so+0x30)\n"},
		{name: "the line is not exact", in: "#0 0x7f50 (/a.so+0x50)\n",
			want: "#0 0x7f50 in near /src/n.c:4:2 (approximate) (/a.so+0x50)\n"},
		{name: "explain", opt: filter.Options{Explain: true}, in: "#0 0x1 (/lib/missing.so+0x1)" + id + " z\n#1 0x2 (/lib/a.so+0x2)" + id + "\n#2 0x7f21 (/a.so+0x21)\n",
			want: "#0 0x1 (/lib/missing.so+0x1)" + id + " [NOT_FOUND missing.so" + id + "] z\n" +
				"#1 0x2 (/lib/a.so+0x2)" + id + " [no symbol at 0x1 in a.so" + id + "]\n" +
				"#2 0x7f21 in plain /src/p.c:3:1 (/a.so+0x21) [unverified: the log has no build ID]\n"},
		{name: "explain in words", opt: filter.Options{Explain: true}, in: "#0 0x1 (/several.so+0x1)\n" + `{"m":"#1 0x2 (/mismatched.so+0x2)"}` + "\n",
			want: "#0 0x1 (/several.so+0x1) [UNKNOWN_ERROR several.so: 2 different files named f\\x1b]\n" +
				`{"m":"#1 0x2 (/mismatched.so+0x2) [MISMATCH_BUILD_ID mismatched.so: /x has \"fe\"]"}` + "\n"},
		{name: "a summary stays one sentence", in: "SUMMARY: AddressSanitizer: bad (/a.so+0x10)" + id + " \n",
			want: "SUMMARY: AddressSanitizer: bad inner<\"q\">(int) /src/inner.c:8:5 (inlined into middle /src/wrap.c:6, outer /src/top.c:10) (/a.so+0x10)" + id + " \n"},
		{name: "two frames on a line", in: "#0 0x7f10 (/a.so+0x10) #1 0x7f21 (/a.so+0x21) z\n",
			want: "#0 0x7f10 in inner<\"q\">(int) /src/inner.c:8:5 (inlined into middle /src/wrap.c:6, outer /src/top.c:10) (/a.so+0x10)" +
				" #1 0x7f21 in plain /src/p.c:3:1 (/a.so+0x21) z\n"},
		{name: "TSan", in: "    #0 <null> <null> (a+0x20)" + id + "\n", want: "    #0 in plain /src/p.c:3:1 (a+0x20)" + id + "\n"},
		{name: "name=value", in: "[frame=0 pc=0x1 module=/a.so offset=0x20 func=<null> src=<null>:0:0 (BuildId: 0123abcd)]\n",
			want: "[frame=0 pc=0x1 module=/a.so offset=0x20 func=plain src=/src/p.c:3:1 (BuildId: 0123abcd)]\n"},
		{name: "colours inside a frame stay", in: "\x1b[1m#0\x1b[0m \x1b[31m0x7f20\x1b[0m (\x1b[32m/a.so\x1b[0m+0x20) x\x1b[0m\n",
			want: "\x1b[1m#0\x1b[0m \x1b[31m0x7f20\x1b[0m in plain /src/p.c:3:1 (\x1b[32m/a.so\x1b[0m+0x20) x\x1b[0m\n"},
		{name: "a replaced name's colours stay", in: "#0 0x7f20 in \x1b[1mx\x1b[0m (/a.so+0x20)\n",
			want: "#0 0x7f20 in plain /src/p.c:3:1\x1b[1m\x1b[0m (/a.so+0x20)\n"},
		{name: "without the log's colours", opt: filter.Options{StripSGR: true}, in: "\x1b[1;31mred\x1b]0;title\a #0 0x7f20\x1b[m (/a.so+0x20)\x1b[0m\n\x1b[31mx\n",
			want: "red\x1b]0;title\a #0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)\nx\n"},
		{name: "inside JSON", in: `{"log":"  #0 0x7f10 (/a.so+0x10)\n","n":"#1"}` + "\n",
			want: `{"log":"  #0 0x7f10 in inner<\"q\">(int) /src/inner.c:8:5 (/a.so+0x10)\n  #1 0x7f10 in middle /src/wrap.c:6:10 (/a.so+0x10)\n` +
				`  #2 0x7f10 in outer /src/top.c:10 (/a.so+0x10)\n","n":"#1"}` + "\n"},
		{name: "the last line has no end", in: "#0 0x7f10 (/a.so+0x10)",
			want: "#0 0x7f10 in inner<\"q\">(int) /src/inner.c:8:5 (/a.so+0x10)\n#1 0x7f10 in middle /src/wrap.c:6:10 (/a.so+0x10)\n" +
				"#2 0x7f10 in outer /src/top.c:10 (/a.so+0x10)"},
		{name: "not a frame", in: "Fixes #12: 1+0x10) (see /a+0x1)\n\x00\xff#\r\n{{{nothing}}} <<<EOF\n", want: "Fixes #12: 1+0x10) (see /a+0x1)\n\x00\xff#\r\n{{{nothing}}} <<<EOF\n"},
	} {
		if got := feed(tc.opt, tc.in); got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// TestIdempotent holds that the filter leaves its own output alone.
func TestIdempotent(t *testing.T) {
	const log = "==1==ERROR: AddressSanitizer: x on address 0x1 at pc 0x7f11 bp 0x1 sp 0x1\n" +
		"    #0 0x7f10  (/a.so+0x10)" + id + "\n    #1 0x7f20  (/a.so+0x20)" + id + "\n    #2 0x7f30  (/a.so+0x30)" + id + "\n" +
		"    #3 0x7f50  (/a.so+0x50)" + id + "\n    #4 0x7f60  (/missing.so+0x60)" + id + "\n    #5 0x1\n" +
		"SUMMARY: AddressSanitizer: x (/a.so+0x10)" + id + " \n" +
		"#0 0x7f10 (/a.so+0x10)" + id + "\n#1 0x7f31 main (/a.so+0x31)" + id + "\n#2 0x7f99 (/a.so+0x99)\n" +
		"    #0 <null> <null> (a+0x10)" + id + "\n    #1 <null> <null> (a+0x20)" + id + "\n" +
		"[frame=0 pc=0x1 module=/a.so offset=0x10 func=<null> src=<null>:0:0 (BuildId: 0123abcd)]\n" + markupLog
	for _, o := range []filter.Options{{}, {Renumber: print.RenumberNever}, {Renumber: print.RenumberAlways}, {Style: print.Replace}} {
		once := feed(o, log)
		if twice := feed(o, once); twice != once {
			t.Errorf("%+v:\nonce  %q\ntwice %q", o, once, twice)
		}
	}
}

const markupLog = "{{{reset}}}\n{{{module:0:/a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n" +
	"{{{module:1:missing.so:elf:ffff}}}\n{{{mmap:0x2000:0x100:load:1:rx:0x0}}}\n" +
	"    {{{bt:0:0x1010:pc}}}\n    {{{bt:1:0x1021:ra}}}\n{{{bt:2:0x1031}}}\n{{{bt:3:0x2031}}}\n{{{bt:4:0x9000}}}\n"

func TestMarkup(t *testing.T) {
	const context = "{{{module:0:/a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n"
	const folded = "[[[ELF module #0x0 \"/a.so\"; BuildID=0123abcd [0x1000-0x10ff](rx)]]]\n"
	for _, tc := range []struct{ name, in, want string }{
		{"backtrace", markupLog,
			folded + "[[[ELF module #0x1 \"missing.so\"; BuildID=ffff [0x2000-0x20ff](rx)]]]\n" +
				"        #0.1  0x0000000000001010 inner<\"q\">(int) /src/inner.c:8:5 (/a.so+0x10)\n" +
				"        #0.2  0x0000000000001010 middle /src/wrap.c:6:10 (/a.so+0x10)\n" +
				"        #0    0x0000000000001010 outer /src/top.c:10 (/a.so+0x10)\n" +
				"        #1    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)\n" +
				"    #2    0x0000000000001030 bare ??:0 (/a.so+0x30)\n" +
				"    #3    0x0000000000002030 (missing.so+0x30) (BuildId: ffff)\n" +
				"{{{bt:4:0x9000}}}\n"},
		{"in a sentence", context + "crash at {{{pc:0x1010}}} in {{{symbol:_Z1fv}}} near {{{data:0x1044}}}, called by {{{bt:0:0x1010:pc}}}!\n",
			folded + "crash at inner<\"q\">(int)[/src/inner.c:8] in f() near counter+0x4, called by " +
				"inner<\"q\">(int) /src/inner.c:8:5 (inlined into middle /src/wrap.c:6, outer /src/top.c:10)!\n"},
		{"further fields do not count", "{{{symbol:_Z1fv:extra}}}|{{{symbol:a::b:extra}}}|{{{symbol:}}}|{{{symbol::_Z1fv}}}|{{{symbol}}}|<<<symbol:>>>|{{{reset:x:y}}}|\n" +
			context + "{{{pc:0x1010:pc:x}}}|{{{data:0x1044:x}}}|{{{dumpfile:t:C:/a}}}\nx {{{bt:1:0x1020:pc:}}}\n",
			"f()|a::b|||{{{symbol}}}|<<<symbol:>>>|[[[reset:x:y]]]|\n" + folded +
				"inner<\"q\">(int)[/src/inner.c:8]|counter+0x4|[[[dumpfile t \"C:/a\"]]]\nx plain /src/p.c:3:1\n"},
		{"names of Microsoft's compiler and of types", "{{{symbol:?f@@YAHH@Z}}} {{{symbol:.?AUA@@}}} {{{symbol:1C}}} {{{symbol:?}}}\n",
			"int __cdecl f(int) struct A `RTTI Type Descriptor Name' C ?\n"},
		{"behind a prefix and before a suffix", context + "[01040.461] 01885.02639> {{{bt:0:0x1010:pc}}} <\r\n",
			folded + "[01040.461] 01885.02639>     #0.1  0x0000000000001010 inner<\"q\">(int) /src/inner.c:8:5 (/a.so+0x10) <\r\n" +
				"[01040.461] 01885.02639>     #0.2  0x0000000000001010 middle /src/wrap.c:6:10 (/a.so+0x10) <\r\n" +
				"[01040.461] 01885.02639>     #0    0x0000000000001010 outer /src/top.c:10 (/a.so+0x10) <\r\n"},
		{"the alias", "<<<module:0:/a.so:elf:0123abcd>>>\n<<<mmap:0x1000:0x100:load:0:rx:0x0>>>\n<<<bt:0:0x1020:pc>>>\n",
			folded + "    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)\n"},
		{"text beside context is kept", "a {{{module:0:/a.so:elf:0123abcd}}} b\nc {{{mmap:0x1000:0x100:load:0:rx:0x0}}} d\n{{{bt:0:0x1020:pc}}}\ne {{{reset}}} f\n",
			"a [[[ELF module #0x0 \"/a.so\"; BuildID=0123abcd]]] b\nc [[[ELF module #0x0 \"/a.so\"; adds [0x1000-0x10ff](rx)]]] d\n" +
				"    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)\ne [[[reset]]] f\n"},
		{"reset clears", context + "{{{reset}}}\n{{{bt:0:0x1020:pc}}}\n{{{reset}}}\n", folded + "[[[reset]]]\n{{{bt:0:0x1020:pc}}}\n"},
		{"the newest mapping wins", context + "{{{module:1:missing:elf:ff}}}\n{{{mmap:0x1000:0x20:load:1:rx:0x0}}}\n{{{bt:0:0x1010:pc}}}\n{{{bt:1:0x1021:ra}}}\n",
			folded + "[[[ELF module #0x1 \"missing\"; BuildID=ff [0x1000-0x101f](rx)]]]\n" +
				"    #0    0x0000000000001010 (missing+0x10) (BuildId: ff)\n    #1    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)\n"},
		{"malformed elements stay", "{{{bt:x:0x1}}} {{{mmap:0x1:0x1:load:7:r:0x0}}}\n{{{module:0:a}}}\n", "{{{bt:x:0x1}}} {{{mmap:0x1:0x1:load:7:r:0x0}}}\n{{{module:0:a}}}\n"},
		{"beside malformed elements all stay", "{{{reset}}}{{{module:x}}} {{{mmap:0x1}}}\n{{{module:x}}}{{{module:0:a.so:elf:4567}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0}}}\n",
			"{{{reset}}}{{{module:x}}} {{{mmap:0x1}}}\n{{{module:x}}}{{{module:0:a.so:elf:4567}}}\n[[[ELF module #0x0 \"a.so\"; adds [0x1000-0x1fff](rx)]]]\n"},
		{"a dump has footnotes", context + "{{{hexdict:\r\n  RIP: 0x1010 RA: 0x1021 RSP: 0x9000 X: 0\r\n   }}} x\r\n",
			folded + "{{{hexdict:\r\n  RIP: 0x1010 RA: 0x1021 RSP: 0x9000 X: 0\r\n   }}} x\r\n" +
				"  [RIP] inner<\"q\">(int) /src/inner.c:8:5 (inlined into middle /src/wrap.c:6, outer /src/top.c:10)\r\n  [RA] plain /src/p.c:3:1\r\n"},
		{"a dump behind a prefix", "{{{module:0:/a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x100:load:0:rw:0x0}}}\n[1.0] zircon: {{{hexdict: A: 0x1020\n[1.0] zircon:   RBX: 0x1044\n[1.0] zircon: }}}\nnext\n",
			"[[[ELF module #0x0 \"/a.so\"; BuildID=0123abcd [0x1000-0x10ff](rw)]]]\n[1.0] zircon: {{{hexdict: A: 0x1020\n[1.0] zircon:   RBX: 0x1044\n[1.0] zircon: }}}\n" +
				"[1.0] zircon:  [RBX] counter+0x4\nnext\n"},
		{"a dump on one line", context + "{{{hexdict:RIP: 0x1020}}}\n", folded + "{{{hexdict:RIP: 0x1020}}}\n  [RIP] plain /src/p.c:3:1\n"},
		{"a dump behind words", context + "thread 1 regs: {{{hexdict:RIP: 0x1020}}} {{{symbol:_Z1fv}}} stack: {{{hexdict:RA:0x1021}}}\n",
			folded + "thread 1 regs: {{{hexdict:RIP: 0x1020}}} f() stack: {{{hexdict:RA:0x1021}}}\n  [RIP] plain /src/p.c:3:1\n  [RA] plain /src/p.c:3:1\n"},
		{"a dump behind a frame", context + "{{{bt:0:0x1020:pc}}} {{{hexdict:RIP:0x1020}}}\n",
			folded + "    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20) {{{hexdict:RIP:0x1020}}}\n  [RIP] plain /src/p.c:3:1\n"},
		{"a dump that ends behind a key", context + "at: {{{hexdict:RIP: 0x1020\nRSP:  }}}\n", folded + "at: {{{hexdict:RIP: 0x1020\nRSP:  }}}\n  [RIP] plain /src/p.c:3:1\n"},
		{"a dump before one that goes on", context + "{{{hexdict:RIP:0x1020}}}{{{hexdict:A:1\nRA:0x1021\n}}}\n",
			folded + "{{{hexdict:RIP:0x1020}}}{{{hexdict:A:1\nRA:0x1021\n}}}\n  [RIP] plain /src/p.c:3:1\n  [RA] plain /src/p.c:3:1\n"},
		{"a dump before one that never ends", context + "{{{hexdict:RIP:0x1020}}}{{{hexdict:A:1\nRA:0x1021\n{{{bt:0:0x1020:pc}}}",
			folded + "{{{hexdict:RIP:0x1020}}}{{{hexdict:A:1\nRA:0x1021\n  [RIP] plain /src/p.c:3:1\n    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)"},
		{"an unclosed dump", context + "{{{hexdict:\n RIP: 0x1020\n{{{bt:0:0x1020:pc}}}\n}}}\n",
			folded + "{{{hexdict:\n RIP: 0x1020\n    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)\n}}}\n"},
		{"a frame ends an unclosed dump", "{{{hexdict:\n A: 0x1\n#0 0x7f20 (/a.so+0x20)\n", "{{{hexdict:\n A: 0x1\n#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)\n"},
		{"dump and trigger without context", "{{{hexdict:\n  RIP: 0x1010\n}}}\n{{{dumpfile:a:b}}}\n", "{{{hexdict:\n  RIP: 0x1010\n}}}\n[[[dumpfile a \"b\"]]]\n"},
		{"addresses cut to 32 bits", "{{{module:0:/a.so:elf:0123abcd}}}\n{{{mmap:0x000000fffff000:0x2000:load:0:rx:0x0}}}\n{{{bt:0:0x000000fffff010:pc}}}\n",
			"[[[ELF module #0x0 \"/a.so\"; BuildID=0123abcd [0xfffff000-0x100000fff](rx)]]]\n" +
				"    #0.1  0x00000000fffff010 inner<\"q\">(int) /src/inner.c:8:5 (/a.so+0x10)\n    #0.2  0x00000000fffff010 middle /src/wrap.c:6:10 (/a.so+0x10)\n" +
				"    #0    0x00000000fffff010 outer /src/top.c:10 (/a.so+0x10)\n"},
		{"an address behind the end of 32 bits", "{{{module:0:/a.so:elf:0123abcd}}}\n{{{mmap:0x000000ffffffe0:0x1000:load:0:rx:0x0}}}\n{{{bt:0:0000000000000000:pc}}}\n",
			"[[[ELF module #0x0 \"/a.so\"; BuildID=0123abcd [0xffffffe0-0x100000fdf](rx)]]]\n    #0    0x0000000000000000 plain /src/p.c:3:1 (/a.so+0x20)\n"},
		{"messages are kept", context + "{{{bt:1:0x1021:sp 0x3f54}}}\n{{{bt:1:0x1020:pc:from CFI}}}\n",
			folded + "    #1    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20) sp 0x3f54\n" +
				"    #1    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20) from CFI\n"},
		{"inside JSON", context + `{"log":"{{{bt:0:0x1010:pc}}}\n"}` + "\n",
			folded + `{"log":"    #0.1  0x0000000000001010 inner<\"q\">(int) /src/inner.c:8:5 (/a.so+0x10)\n    #0.2  0x0000000000001010 middle /src/wrap.c:6:10 (/a.so+0x10)\n` +
				`    #0    0x0000000000001010 outer /src/top.c:10 (/a.so+0x10)\n"}` + "\n"},
	} {
		if got := feed(filter.Options{}, tc.in); got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// TestAdjust holds which logged addresses are moved back into the call.
func TestAdjust(t *testing.T) {
	const asan = "==1==ERROR: AddressSanitizer: x on address 0x1 at pc 0x1 bp 0x1 sp 0x1\n"
	const tsan = "WARNING: ThreadSanitizer: data race (pid=1)\n"
	const context = "{{{reset}}}\n{{{module:0:m:elf:ab}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n"
	for _, tc := range []struct {
		name string
		mode resolve.Adjust
		in   string
		want uint64
	}{
		{"markup without a suffix", resolve.AdjustAuto, context + "{{{bt:0:0x1100}}}\n", 0xff},
		{"markup ra", resolve.AdjustAuto, asan + context + "{{{bt:0:0x1100:ra}}}\n", 0xff},
		{"markup pc", resolve.AdjustAuto, context + "{{{bt:0:0x1100:pc}}}\n", 0x100},
		{"a pc element is exact", resolve.AdjustAuto, context + "at {{{pc:0x1100}}}\n", 0x100},
		{"ASan's markup lies in the call", resolve.AdjustAuto, asan + context + "{{{bt:1:0x1100}}}\n", 0x100},
		{"UBSan's too", resolve.AdjustAuto, "a.c:1:2: runtime error: x\n" + context + "{{{bt:1:0x1100}}}\n", 0x100},
		{"TSan's markup does not", resolve.AdjustAuto, tsan + context + "{{{bt:0:0x1100}}}\n", 0xff},
		{"a report ends with its summary", resolve.AdjustAuto, asan + "SUMMARY: AddressSanitizer: x\n" + context + "{{{bt:1:0x1100}}}\n", 0xff},
		{"its summary is part of it", resolve.AdjustAuto, asan + context + "SUMMARY: AddressSanitizer: x {{{bt:0:0x1100}}}\n", 0x100},
		{"none", resolve.AdjustNone, context + "{{{bt:1:0x1100:ra}}}\n", 0x100},
		{"ra", resolve.AdjustRA, asan + context + "{{{bt:1:0x1100}}}\n", 0xff},
		{"text: the first frame is exact", resolve.AdjustAuto, "#0 0x1 (/m+0x100)\n", 0x100},
		{"text: the others are return addresses", resolve.AdjustAuto, "#1 0x1 (/m+0x100)\n", 0xff},
		{"text: two blanks are the sanitizers' spelling", resolve.AdjustAuto, "#1 0x1  (/m+0x100)\n", 0x100},
		{"text: half symbolized, under a header", resolve.AdjustAuto, asan + "#1 0x1 in f (/m+0x100)\n", 0x100},
		{"text: TSan", resolve.AdjustAuto, "#1 <null> <null> (m+0x100)\n", 0x100},
		{"text: LLVM's own traces", resolve.AdjustAuto, " #0 0x00007f794a2b5fd3 llvm::f() (/m+0x100)\n", 0xff},
		{"text: none", resolve.AdjustNone, "#1 0x1 (/m+0x100)\n", 0x100},
		{"text: ra", resolve.AdjustRA, "#0 0x1 (/m+0x100)\n", 0xff},
	} {
		s := &symbols{}
		feed(filter.Options{Symbols: s, Adjust: tc.mode}, tc.in)
		if len(s.Asked) != 1 || s.Asked[0].Offset != tc.want {
			t.Errorf("%s: asked for %+v, want offset %#x", tc.name, s.Asked, tc.want)
		}
	}
}

// TestColour holds that the log's own colour goes on behind ours, over lines too.
func TestColour(t *testing.T) {
	p := &sgr.Palette{Func: "<F>", File: "<P>", Note: "<N>", Off: "<0>"}
	got := feed(filter.Options{Palette: p}, "\x1b[31mred\n#0 0x7f20 (/a.so+0x20) x\x1b[0m\n#1 0x7f21 (/a.so+0x21)\n")
	want := "\x1b[31mred\n#0 0x7f20 in <F>plain<0>\x1b[31m <P>/src/p.c:3:1<0>\x1b[31m (/a.so+0x20) x\x1b[0m\n" +
		"#1 0x7f21 in <F>plain<0> <P>/src/p.c:3:1<0> (/a.so+0x21)\n"
	if got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// TestWarn holds that malformed markup is told once, with line, column and caret.
func TestWarn(t *testing.T) {
	var said []string
	feed(filter.Options{Warn: func(m string) { said = append(said, m) }}, "x\n\n  {{{bt:0:12}}}\n  {{{bt:0:13}}}\n")
	if len(said) == 0 || !strings.HasPrefix(said[0], "line 3:11: ") || !strings.Contains(said[0], "\n          ^") {
		t.Errorf("said %q", said)
	}
}
