package llvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter/filtertest"
)

// demo is a module with inlined functions, at 0x10000; the places of interest are at 0x11130 (inlined twice), 0x11000 (a
// symbol without debug information) and 0x11200 (nothing).
const demo = `{{{module:1:a.so:elf:529039c4877f2b56918b2063129d06669b993be2}}}
{{{mmap:0x10000:0x8000:load:1:rx:0x0}}}
`

// cases are logs for the peer and this filter. The expected output is the peer's.
var cases = map[string][]string{
	"lines": {
		"", "\n", "\r", "\r\n", "a", "a\n", "a\r\n", "a\rb\n", "\n\n\n", "\xef\xbb\xbfa\xff\xfe\x00\v\n", strings.Repeat("x", 70000),
		strings.Repeat("long line ", 100000) + "\nshort", "a\x00b{{{symbol:_Z1fv}}}\x00", "{{{symbol:_Z3fo\x00ov}}}", "{{{symbol:f\x00v}}}",
	},
	"elements": {
		"{{{symbol:a{{{symbol:_Z1fv}}}", "{{{{symbol:x}}}}", "{{{}}}{{{symbol:_Z1fv}}}", "{{{:x}}}{{{symbol:_Z1fv}}}", "{{{}}}", "{{{}}", "{{{", "}}}",
		"{{{t}}}{{{t:}}}{{{t:a:}}}", "{{{symbol}}}{{{symbol:}}}{{{symbol:a:}}}", "{{{symbol: a }}}", "{{{symbol:a}b}}c}}}", "{{{hexdict:\n{{{symbol:_Z1fv}}}\n}}}",
		"{{{symbol:a\nb}}}", "{{{}}}}}}", "{{{:}}}", "{{{ }}}", "{{{\x1b[31m:x}}}", "{{{symbol:a}}}{{{symbol:b}}}", "{{{{{{symbol:a}}}}}}",
		"x{{{symbol:a}}}y{{{symbol:b}}}z", "{{{{{{}}}}}}",
	},
	"order": {
		demo + "x", "{{{module:1:a:elf:ab}}}{{{mmap:0x1:1:load:1:r:0}}}\n{{{pc:0x1}}}", demo + "{{{reset}}}{{{module:2:b:elf:ab}}}\n{{{mmap:0x1:1:load:2:r:0}}}",
		"text {{{symbol:_Z1fv}}} {{{module:1:a:elf:ab}}} behind\nnext", demo + "prefix {{{mmap:0x90000:0x10:load:1:r:0}}} behind\nnext",
		demo + "x\nprefix {{{mmap:0x90000:0x10:load:1:r:0}}} behind\nnext", demo + "prefix {{{reset}}} behind\nnext", "prefix {{{reset}}} behind\nnext",
		"prefix {{{module:1}}} behind\nnext", demo + "prefix {{{module:1:b:elf:ab}}} behind\n{{{mmap:0x90000:1:load:1:r:0}}}",
		demo + "prefix {{{mmap:0x10000:1:load:1:r:0}}} behind\n{{{mmap:0x90000:1:load:1:r:0}}}", "a{{{bt}}}b{{{pc}}}c{{{data}}}d", "{{{future:1}}}{{{hexdict:a:0}}}{{{dumpfile:a:b}}}",
		"a{{{Future}}}b{{{x1}}}c{{{a b}}}d{{{\x00}}}", "{{{bad!}}}{{{module:1:a:elf:ab}}}{{{bad!}}}", "{{{Module:1:a:elf:ab}}}", "\x1b[31m{{{mmap}}}\x1b[0m\nx",
		"\x1b[31m{{{reset}}}\nx", demo + "\x1b[31mred {{{mmap:0x90000:1:load:1:r:0}}}\nx", demo + "\x1b[31mred {{{reset}}}\nx",
	},
	"module lines": {
		demo, demo + "\n", demo + "\r\n", strings.TrimSuffix(demo, "\n"), strings.ReplaceAll(demo, "\n", "\r\n"), demo + "a\r\nb\n", "{{{module:1:a:elf:ab}}}\r\n", "{{{module:1:a:elf:ab}}}\nx\r\n",
		"{{{module:1:a:elf:ab}}}\n{{{mmap:0x3000:0x10:load:1:r:0}}}\n{{{mmap:0x1000:0x10:load:1:RW:0}}}\n{{{mmap:0x2000:0x10:load:1:rX:0}}}\n",
		"{{{module:1:a:elf:ab}}}\n{{{module:2:b:elf:cd}}}\n{{{mmap:0x1000:0x10:load:1:r:0}}}\n{{{mmap:0x2000:0x10:load:2:r:0}}}\n{{{mmap:0x3000:0x10:load:2:r:0}}}\n",
		"{{{module:1:a:elf:ab}}}\n{{{bad!}}}\n{{{mmap:0x1000:0x10:load:1:r:0}}}\n", "{{{module:1:a:elf:ab}}}\n{{{module:1:b:elf:ab}}}\n{{{mmap:0x1000:0x10:load:1:r:0}}}\n",
		"{{{module:1:a:elf:ab}}}\n{{{mmap:oops}}}\n{{{mmap:0x1000:0x10:load:1:r:0}}}\n", "{{{module:1:a:elf:ab}}}\n{{{reset}}}\n{{{reset}}}\nx", "{{{module:1:a:elf:ab}}}\n{{{reset:begin:x}}}\r\nx",
		"{{{module:1::elf:ab}}}\n", "{{{module:1:q\"q\":elf:AB}}}\n", "{{{module:1:a:elf:abc}}}\n", "{{{module:1:a\x1b[31m:elf:abc}}}\nx", "{{{mmap:0x1000:0x10:load:1:r:0}}}",
		"{{{module:1:a:elf:ab}}}\n{{{mmap:0x1000:0:load:1:r:0}}}\n{{{mmap:0x1000:0:load:1:w:0}}}\n{{{mmap:0x1000:0x10:load:1:x:0}}}\n{{{pc:0x1001}}}",
		"{{{module:1:a:elf:ab}}}\n{{{module:2:b:elf:ab}}}\n{{{mmap:0x1000:0:load:1:r:0}}}\n{{{mmap:0x1000:0:load:2:w:0}}}\nx",
		"{{{module:1:a:elf:ab}}}\n{{{mmap:0xfffffffffffff000:0x1000:load:1:r:0}}}\n{{{mmap:0xfffffffffffff000:0x800:load:1:w:0}}}\n{{{pc:0xfffffffffffff010}}}",
		"{{{module:1:a:elf:ab}}}\n{{{mmap:0xfffffffffffff000:0xfff:load:1:r:0}}}\n{{{pc:0xfffffffffffff010}}}",
		"{{{module:1:a:elf:ab}}}\n{{{mmap:0x1000:0xffffffffffffffff:load:1:r:0}}}\n{{{pc:0x2000}}}",
		"{{{module:1:a:elf:ab}}}\n{{{mmap:0x2000:0x1000:load:1:r:0}}}\n{{{mmap:0x1000:0x1001:load:1:r:0}}}\n{{{mmap:0x2fff:1:load:1:r:0}}}\n{{{mmap:0x1000:0x3000:load:1:r:0}}}\n{{{mmap:0x3000:1:load:1:r:0}}}\n",
	},
	"numbers": {
		"{{{module:0x10:a:elf:ab}}}\n{{{module:16:b:elf:ab}}}\n{{{module:020:c:elf:ab}}}\n{{{module:0b10000:d:elf:ab}}}\n{{{module:0o20:d:elf:ab}}}\n{{{module:0X10:d:elf:ab}}}\n{{{module:0B10000:d:elf:ab}}}",
		"{{{module:08:a:elf:ab}}}", "{{{module:+1:a:elf:ab}}}", "{{{module:-1:a:elf:ab}}}", "{{{module: 1:a:elf:ab}}}", "{{{module::a:elf:ab}}}", "{{{module:0x:a:elf:ab}}}", "{{{module:0O7:a:elf:ab}}}",
		"{{{module:18446744073709551615:a:elf:ab}}}", "{{{module:18446744073709551616:a:elf:ab}}}", "{{{module:1:a:elf:ab}}}\n{{{module:0xffffffffffffffff:a:elf:ab}}}", "{{{module:0xfffffffffffffffe:a:elf:ab}}}",
		"{{{module:02000000000000000000000:a:elf:ab}}}", "{{{module:01777777777777777777777:a:elf:ab}}}", "{{{module:0b:a:elf:ab}}}", "{{{module:00:a:elf:ab}}}", "{{{module:0_1:a:elf:ab}}}",
		demo + "{{{pc:0}}}{{{pc:000}}}{{{pc:0x0}}}{{{pc:0X1}}}{{{pc:1}}}{{{pc:0x}}}{{{pc: 0x1}}}{{{pc:0x1 }}}{{{pc:}}}{{{pc:0x00000000000000000000011130}}}{{{pc:0x1113}}}{{{pc:0x10000000000000000}}}{{{pc:0x1g}}}",
		demo + "{{{bt:007:0x11130}}}\n{{{bt:0x1:0x11130}}}\n{{{bt::0x11130}}}\n{{{bt:18446744073709551616:0x11130}}}\n{{{bt:18446744073709551615:0x11001:pc}}}\n{{{bt:12345:0x11001}}}\n{{{bt:99:0x11001}}}\n",
	},
	"module fields": {
		"{{{module:1:a:b.so:elf:ab}}}", "{{{module:1:a:macho:ab}}}", "{{{module:1:a::ab}}}", "{{{module:1:a:ELF:ab}}}", "{{{module:1:a:elf}}}", "{{{module:1:a}}}", "{{{module}}}", "{{{module:x:a:elf}}}", "{{{module:1:a:elf:ab:more:x}}}",
		"{{{module:1:a:elf:}}}", "{{{module:1:a:elf:0xab}}}", "{{{module:1:a:elf:zz}}}", "{{{module:1:a:elf:a}}}", "{{{module:1:a:elf:" + strings.Repeat("0123456789", 30) + "}}}",
		"{{{module:1:a:elf:ab}}}\n{{{mmap:0x1:1:load}}}\n{{{mmap:0x1:1}}}\n{{{mmap:1:1:load:1:r:0}}}\n{{{mmap:0x1:x:load:1:r:0}}}\n{{{mmap:0x1:1:Load:1:r:0}}}\n{{{mmap:0x1:1::1:r:0}}}\n{{{mmap:0x1:1:load:x:r:0}}}\n" +
			"{{{mmap:0x1:1:load:1:wr:0}}}\n{{{mmap:0x1:1:load:1::0}}}\n{{{mmap:0x1:1:load:1:rwxp:0}}}\n{{{mmap:0x1:1:load:1:r-x:0}}}\n{{{mmap:0x1:1:load:7:z:0}}}\n{{{mmap:0x1:1:load:7:r:z}}}\n{{{mmap:0x1:1:load:1:r:z}}}\n{{{mmap:0x1:1:load:1:r:0:more}}}\n" +
			"{{{mmap:0x11:1:load:1:R:0}}}\n{{{mmap:0x21:1:load:1:Wx:0}}}\n{{{mmap:0x31:1:load:1:rWx:0}}}\n{{{mmap:0x41:0b11:load:0x1:x:0}}}\n{{{mmap:0x51:1:load:1:rr:0}}}\n{{{mmap:0x61:1:load:1:r :0}}}\nx",
	},
	"symbol": {
		"{{{symbol:main}}} {{{symbol:_Z1fv}}} {{{symbol:__Z1fv}}} {{{symbol:___Z1fv_block_invoke}}} {{{symbol:____Z1fv_block_invoke}}} {{{symbol:_____Z1fv_block_invoke}}} {{{symbol:._Z1fv}}} {{{symbol:_._Z1fv}}} {{{symbol:.__Z1fv}}}",
		"{{{symbol:_Z1fv.cold}}} {{{symbol:_Z1fv.isra.0}}} {{{symbol:_Z1fv@@V_1}}} {{{symbol:_ZSaIiE}}} {{{symbol:_Z1fSaIiE}}} {{{symbol:1C}}} {{{symbol:3Foo}}} {{{symbol:i}}} {{{symbol:PKc}}} {{{symbol:N2ns1CE}}}",
		"{{{symbol:_ZN4core3fmt5Write9write_str17h0123456789abcdefE}}} {{{symbol:_ZN5alloc4sync16Arc$LT$T$C$A$GT$9drop_slow17h16ebd8cc52d77260E}}} {{{symbol:_RNvC1a1b}}} {{{symbol:__RNvC1a1b}}} {{{symbol:_RNvC1a1b.llvm.12}}}",
		"{{{symbol:_Z1fSt6vectorIiSaIiEE}}} {{{symbol:_D4core6thread6Thread3runMFZv}}} {{{symbol:_ZN1AC1Ev:x}}} {{{symbol:$s4main3fooyyF}}} {{{symbol:_Z}}} {{{symbol:_R}}} {{{symbol:_}}} {{{symbol:}}}",
	},
	"look-up": {
		demo + "{{{pc:0x11130}}} {{{pc:0x11130:ra}}} {{{pc:0x11130:pc}}} {{{pc:0x11130:xx}}} {{{pc:0x11130:}}} {{{pc:0x11131:ra:x}}} {{{pc:0x11130:xx:y}}} {{{pc:0x11130::}}}",
		demo + "{{{bt:0:0x11131}}}\n{{{bt:0:0x11131:ra}}}\n{{{bt:0:0x11130:pc}}}\n{{{bt:0:0x11130:xx}}}\n{{{bt:0:0x11130:}}}\n{{{bt:0:0x11130:pc:from CFI}}}\n{{{bt:0:0x11130:sp 0x1}}}\n{{{bt:0:0x11130:xx:y}}}",
		demo + "{{{data:0x11130}}} {{{data:0x11131}}} {{{data:0x14000}}} {{{data:0x14008}}} {{{data:0x10000}}} {{{data:0x11130:pc}}} {{{data:0x90000}}}",
		demo + "before {{{bt:3:0x11131}}} behind {{{bt:4:0x11131}}} end\r\nx", demo + "SUMMARY: use-after-free {{{bt:0:0x11001}}}", demo + "{{{bt:0:0}}} {{{bt:0:0x0:pc}}} {{{pc:0x1}}} {{{bt:00:0x90000}}} {{{bt:0:0x18000}}}\n{{{bt:0:0x18001}}}\n{{{pc:0x10000}}}{{{pc:0xffff}}}",
		demo + "{{{pc:0x11000}}} {{{bt:0:0x11001}}}\n{{{pc:0x11200}}} {{{bt:0:0x11201}}}\n{{{pc:0x13000}}} {{{bt:0:0x13001}}} {{{data:0x13000}}}\n",
		"{{{module:1:a:elf:529039c4877f2b56918b2063129d06669b993be2}}}\n{{{mmap:0x10000:0x1000:load:1:x:0x1000}}}\n{{{mmap:0x20000:0x1000:load:1:x:0xfffffffffffff000}}}\n{{{bt:1:0x10131}}}\n{{{bt:1:0x20131}}}",
		// A file that cannot be read, one that is not there, one of another build ID, a directory, damaged ones.
		"{{{module:1:a:elf:79cfdcf13ce8511c21410a61d5c90e8544ee0d49}}}\n{{{mmap:0x1000:0x1000:load:1:r:0}}}\n{{{bt:0:0x1001}}}\n{{{bt:0:0x1001}}} {{{pc:0x1000}}} {{{data:0x1000}}}.",
		"{{{module:1:a:elf:79cfdcf13ce8511c21410a61d5c90e8544ee0d49}}}\n{{{mmap:0x1000:0x1000:load:1:r:0}}}\n{{{data:0x1000}}} {{{data:0x1000}}}\n{{{reset}}}\n{{{module:1:b:elf:79cfdcf13ce8511c21410a61d5c90e8544ee0d49}}}\n{{{mmap:0x1000:0x1000:load:1:r:0}}}\n{{{bt:0:0x1001}}}",
		"{{{module:1:a:elf:abcd}}}\n{{{mmap:0x1000:0x1000:load:1:r:0}}}\n{{{bt:0:0x1001}}}\n{{{bt:0:0x1001}}} {{{pc:0x1000}}} {{{data:0x1000}}}.",
		"{{{module:1:a:elf:e046e9da93db5d6232ffc760b0cb25f05605b291}}}\n{{{mmap:0x10000:0x8000:load:1:r:0}}}\n{{{bt:0:0x11131}}}\n{{{pc:0x11140}}} {{{data:0x11140}}}.",
		"{{{module:1:a:elf:11}}}\n{{{mmap:0x10000:0x8000:load:1:r:0}}}\n{{{bt:0:0x11131}}}\n{{{pc:0x11140}}} {{{data:0x11140}}}.",
		"{{{module:1:a:elf:0d00}}}\n{{{module:2:a:elf:0d01}}}\n{{{module:3:a:elf:0d02}}}\n{{{module:4:a:elf:0d03}}}\n{{{mmap:0x10000:0x1000:load:1:r:0}}}\n{{{mmap:0x20000:0x1000:load:2:r:0}}}\n{{{mmap:0x30000:0x1000:load:3:r:0}}}\n{{{mmap:0x40000:0x1000:load:4:r:0}}}\n" +
			"{{{bt:0:0x10001}}}{{{bt:0:0x20001}}}{{{bt:0:0x30001}}}{{{bt:0:0x40001}}}\n{{{bt:0:0x10001}}}{{{pc:0x20001}}}{{{data:0x30001}}}{{{bt:0:0x40001}}}",
		"{{{module:1:a:elf:0d04}}}\n{{{module:2:a:elf:0d05}}}\n{{{module:3:a:elf:0d06}}}\n{{{mmap:0x10000:0x1000:load:1:r:0}}}\n{{{mmap:0x20000:0x1000:load:2:r:0}}}\n{{{mmap:0x30000:0x1000:load:3:r:0}}}\n" +
			"{{{bt:0:0x10001}}}{{{bt:0:0x20001}}}{{{bt:0:0x30001}}}\n{{{bt:0:0x10001}}}{{{pc:0x20001}}}{{{data:0x30001}}}",
	},
	"colors": {
		"\x1b[1mbold\x1b[31mred\x1b[0mplain\x1b[0m", "\x1b[31mred\nnext\n", "\x1b[1mbold", "\x1b[34m{{{symbol:_Z1fv}}}\x1b[36m{{{symbol:_Z1fv}}}", "\x1b[m\x1b[01m\x1b[1;31m\x1b[2m\x1b[38;5;1m\x1b[90m\x1b[40m\x1b[38m\x1b[29m",
		"\x1b[1m{{{symbol:f}}}x\x1b[32m{{{symbol:f}}}y\x1b[0m{{{symbol:f}}}", "{{{symbol:\x1b[31mf}}}", demo + "\x1b[1m\x1b[31m{{{bt:0:0x11131}}} {{{pc:0x11130}}} {{{data:0x11130}}} {{{bt:0:0x90000:x}}}\n{{{pc:0x90000}}}",
		"\x1b[31m{{{module:1:a:elf:ab}}}\n{{{mmap:0x1000:0x10:load:1:r:0}}}\n{{{mmap:0x2000:0x10:load:1:r:0}}}\nx", "\x1b[31m{{{module:1:a:elf:ab}}}", "\x1b[1m{{{module:1:a:elf:ab}}}\nplain\n", "\x1b[30m\x1b[33m\x1b[37m\x1b[35m",
		"\x1b", "\x1b[", "\x1b[3", "\x1b[31", "\x1b\x1b[31mx", "a\x1b[31m\r\nb", "\x1b[31m{{{hexdict:x}}}\x1b[0m", "\x1b[31mx{{{bad!}}}\ny", "\x1b[0m\x1b[0mx", demo + "\x1b[34m{{{bt:0:0x11131}}}", "\x1b[31m{{{}}}\x1b[0m{{{:}}}",
		"red \x1b[31m\nplain\nplain\n" + strings.Repeat("many lines\n", 20), demo + strings.Repeat("many lines\r\n", 20) + "last", "x\n" + demo + "\x1b[31m",
	},
	"real color log": {"\x1b[1m\x1b[31m==1==ERROR: \x1b[1m\x1b[0mx \x1b[1m\x1b[34m{{{pc:0x1}}}\x1b[1m\x1b[0m {{{bt:0:0x1}}}\n"},
}

// TestLLVMCases compares the peculiarities of llvm's filter one by one.
func TestLLVMCases(t *testing.T) {
	filtertest.NeedPeer(t)
	dirs := []string{filtertest.SampleTree(), oddTree(t)}
	for name, logs := range cases {
		t.Run(name, func(t *testing.T) {
			for _, log := range logs {
				for _, r := range []peerRun{plainRun, colorRun} {
					if !samePeer(t, filtertest.TreeSource(dirs...), r, dirs, log) {
						t.Logf("the log: %q", filtertest.Cut(log))
					}
				}
			}
		})
	}
}

// oddTree returns the path of a build-ID tree of bad files: 0d00 is a directory, 0d01 cut off in the header, 0d02 cut off after it,
// 0d03 of an unknown class, 0d04 and 0d05 archives, 0d06 text. 11 is a good file with another build ID.
func oddTree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	good, err := os.ReadFile(filepath.Join(filtertest.SampleTree(), ".build-id/52/9039c4877f2b56918b2063129d06669b993be2.debug"))
	if err != nil {
		t.Fatal(err)
	}
	class := append([]byte(nil), good...)
	class[4] = 9
	if err := os.MkdirAll(filepath.Join(dir, ".build-id/0d/00.debug"), 0o777); err != nil {
		t.Fatal(err)
	}
	for id, data := range map[string][]byte{"0d01": good[:40], "0d02": good[:100], "0d03": class, "0d04": []byte("!<arch>\n"),
		"0d05": []byte("!<thin>\n"), "0d06": []byte("some text\n"), "11": good} {
		path := filepath.Join(dir, ".build-id", id[:2]) + "/" + id[2:] + ".debug"
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLLVMErrorColor compares messages as they are on a terminal. The peer runs in script(1), which provides one.
func TestLLVMErrorColor(t *testing.T) {
	filtertest.NeedPeer(t)
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("script is not installed (Debian: bsdutils)")
	}
	log := `{{{bad1}}}
{{{symbol}}}{{{symbol:a:b}}}{{{pc}}}{{{pc:0:ra:x}}}{{{pc:x}}}{{{bt:0:0x1}}}{{{bt}}}{{{bt:0:0x1:pc:x}}}
{{{module:1:a}}}
{{{module:1:a:elf}}}
{{{module:1:a:elf:ab:c}}}
{{{module:1:a:elf:ab}}}
{{{mmap:0x1000:1:load:1:r:0:0}}}
{{{mmap:0x1000:1:load:1:r:0}}}
{{{mmap:0x1000:1:load:1:r}}}
{{{pc:0x1000}}}
{{{reset:1}}}
`
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(log), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("script", "-qec", filtertest.Peer+" --filter-markup --no-debuginfod <"+file+" >/dev/null", "/dev/null")
	cmd.Env = append(os.Environ(), "TERM=xterm")
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	_, got := byUs(t, filtertest.TreeSource("/usr/lib/debug"), peerRun{opt: Options{ErrorColor: true}}, log)
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
