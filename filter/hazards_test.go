package filter_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print"
	"qss-filter/filter/stream"
)

// TestHazards is a table of what logs do to frames; what is not said to change must not. F stands for a frame that
// resolves, and R for what it becomes.
func TestHazards(t *testing.T) {
	const module = "/usr/lib/liba.so"
	f := "#0 0x7f0000001000 (" + module + "+0x1000)"
	r := "#0 0x7f0000001000 in " + module + "@1000 (" + module + "+0x1000)"
	later := strings.Replace(r, "@1000", "@fff", 1) // without machine code, not the first frame: a return address
	long := strings.Repeat("x", 70<<10)
	cat := "11-20 15:58:12.000  4711  4712 I wrap.sh : "
	for _, tc := range []struct{ name, in, want string }{
		{"CRLF", "a\r\n" + f + "\r\nb\r\n", "a\r\n" + r + "\r\nb\r\n"},
		{"NUL", "\x00" + f + "\x00\n\x00\n", "\x00" + r + "\x00\n\x00\n"},
		{"invalid UTF-8", "\xff\xfe\x80 " + f + " \xc3\n\xed\xa0\x80\n", "\xff\xfe\x80 " + r + " \xc3\n\xed\xa0\x80\n"},
		{"UTF-16", "\xff\xfe#\x000\x00 \x000\x00x\x007\x00\n\x00", "\xff\xfe#\x000\x00 \x000\x00x\x007\x00\n\x00"},
		{"no last newline", "a\n" + f, "a\n" + r},
		{"nothing but a newline", "\n", "\n"},
		{"a line over 64 KiB", long + " " + f + " " + long + "\n" + f + "\n", long + " " + r + " " + long + "\n" + r + "\n"},
		{"a progress bar", "10%\r20%\r" + f + "\r100%\n", "10%\r20%\r" + r + "\r100%\n"},
		{"torn writers", "#0 0x55#1 0x55d1 (/usr/lib/liba#0 0x7f00 (" + "\n", "#0 0x55#1 0x55d1 (/usr/lib/liba#0 0x7f00 (" + "\n"},
		{"logcat's lines, which are too short to be parts", cat + "#7 0x7f0000001000 (/usr/lib/li\n" + cat + "ba.so+0x1000)\n", cat + "#7 0x7f0000001000 (/usr/lib/li\n" + cat + "ba.so+0x1000)\n"},
		{"CRI's parts", "2026-11-20T15:58:12.000000001Z stderr P #0 0x7f0000001000 (/usr/lib/li\n2026-11-20T15:58:12.000000001Z stderr F ba.so+0x1000)\n",
			"2026-11-20T15:58:12.000000001Z stderr P #0 0x7f0000001000 (/usr/lib/li\n2026-11-20T15:58:12.000000001Z stderr F ba.so+0x1000) in " + module + "@1000\n"},
		{"a whole frame in a CRI part", "2026-11-20T15:58:12.000000001Z stderr P " + f + " .\n", "2026-11-20T15:58:12.000000001Z stderr P " + r + " .\n"},
		{"a CRI part that may go on", "2026-11-20T15:58:12.000000001Z stderr P " + f + "\n", "2026-11-20T15:58:12.000000001Z stderr P " + f + "\n"},
		{"numbers with gaps", strings.Replace(f, "#0", "#5", 1) + "\n" + strings.Replace(f, "#0", "#9", 1) + "\n" + strings.Replace(f, "#0", "#9", 1) + "\n",
			strings.Replace(later, "#0", "#5", 1) + "\n" + strings.Replace(later, "#0", "#9", 1) + "\n" + strings.Replace(later, "#0", "#9", 1) + "\n"},
		{"ANSI in the frame", "\x1b[1m#0\x1b[0m \x1b[34m0x7f0000001000\x1b[0m (\x1b[4m" + module + "\x1b[0m+0x1000)\x1b[31m!\n",
			"\x1b[1m#0\x1b[0m \x1b[34m0x7f0000001000\x1b[0m in " + module + "@1000 (\x1b[4m" + module + "\x1b[0m+0x1000)\x1b[31m!\n"},
		{"OSC 8", "\x1b]8;;file:///x\x1b\\" + f + "\x1b]8;;\x1b\\\n", "\x1b]8;;file:///x\x1b\\" + r + "\x1b]8;;\x1b\\\n"},
		{"odd paths", "#0 0x1000 (/a b/c+d (1)/l:i.so+0x1000)\n", "#0 0x1000 in /a b/c+d (1)/l:i.so@1000 (/a b/c+d (1)/l:i.so+0x1000)\n"},
		{"signed hex", "#0 0xffffffff81000000 (" + module + "+0xffffffffffffffff)\n", "#0 0xffffffff81000000 in " + module + "@ffffffffffffffff (" + module + "+0xffffffffffffffff)\n"},
		{"a number over 64 bits", "#0 0x1000 (" + module + "+0x11112222333344445)\n", "#0 0x1000 (" + module + "+0x11112222333344445)\n"},
		{"half a frame", "#0 0x1000 (" + module + "+\n#0 0x1000 (\n#0 0x\n#\n{{{\n{{{bt\n{{{bt:0:0x\n", "#0 0x1000 (" + module + "+\n#0 0x1000 (\n#0 0x\n#\n{{{\n{{{bt\n{{{bt:0:0x\n"},
		{"done already", "    #1 0x555d3ae43aff in name tools/perf/build-id.c:110:8\n" + r + "\n", "    #1 0x555d3ae43aff in name tools/perf/build-id.c:110:8\n" + r + "\n"},
	} {
		if got := filtertest.Run(t, filter.Options{Symbols: addresses{}}, tc.in); got != tc.want {
			t.Errorf("%s:\n got %.300q\nwant %.300q", tc.name, got, tc.want)
		}
		if again := filtertest.Run(t, filter.Options{Symbols: addresses{}}, tc.want); again != tc.want && tc.name != "signed hex" {
			t.Errorf("%s, filtered twice:\n got %.300q\nwant %.300q", tc.name, again, tc.want)
		}
	}
}

// TestReuse holds that the newest mapping and the newest module win, where a range or a module's number is used again.
func TestReuse(t *testing.T) {
	log := "{{{reset}}}\n{{{module:0:/a.so:elf:01}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n{{{bt:0:0x1100:pc}}}\n" +
		"{{{module:1:/b.so:elf:02}}}\n{{{mmap:0x1000:0x1000:load:1:rx:0x8000}}}\n{{{bt:0:0x1100:pc}}}\n" +
		"{{{module:0:/c.so:elf:03}}}\n{{{mmap:0x5000:0x1000:load:0:rx:0x0}}}\n{{{bt:0:0x5100:pc}}}\n{{{reset}}}\n{{{bt:0:0x5100:pc}}}\n"
	out := filtertest.Run(t, filter.Options{Symbols: addresses{}, Context: print.ContextDrop}, log)
	for i, want := range []string{"/a.so@100", "/b.so@8100", "/c.so@100", "{{{bt:0:0x5100:pc}}}"} {
		if lines := strings.Split(out, "\n"); len(lines) < 5 || !strings.Contains(lines[i], want) {
			t.Errorf("line %d: no %s in\n%s", i, want, out)
		}
	}
}

// TestHostileLines holds that lines made to take long or to break something pass.
func TestHostileLines(t *testing.T) {
	for name, unit := range map[string]string{
		"braces": "{{{", "elements": "{{{bt:0:0x1}}}", "hashes": "#0 ", "open frames": "#0 0x1 (/a", "offsets": "+0x1)", "brackets": "[0x",
		"JSON": `{"a":"`, "escapes": "\x1b[", "backslashes": "\\", "at": "    @     0x1 ", "Itanium": "_ZN1aI", "pc": " pc 1 ", "maps": "1000-2000 r-xp ", "quotes": `"`,
		"fields": "module=/a offset=0x1 ", "unknown": "[unknown] (", "tizen": "] + 0x1", "colons": "==1==ERROR: ", "long": "[ 11-20 ",
	} {
		line := strings.Repeat(unit, (64<<10)/len(unit)) + "\n"
		var out bytes.Buffer
		f := filter.New(filter.Options{Symbols: nothing{}})
		if err := f.Run(t.Context(), stream.Steady(io.MultiReader(strings.NewReader(line), strings.NewReader(line))), &out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.End()
		if got := out.String(); got != line+line && !strings.Contains(name, "elements") {
			t.Errorf("%s: %s", name, fmt.Sprintf("%.80q, want %.80q", got, line))
		}
	}
}
