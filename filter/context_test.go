package filter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
)

const contextLines = "{{{module:0:/a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n"

func TestContextStyles(t *testing.T) {
	const in = " {{{module:0:/a.so:elf:0123abcd}}}\r\n{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\nx {{{reset:begin}}} y\n{{{mmap:bad}}}\n{{{bt:0:0x1020:pc}}}\n"
	for style, want := range map[print.Context]string{
		print.ContextFold: " [[[ELF module #0x0 \"/a.so\"; BuildID=0123abcd [0x1000-0x10ff](rx)]]]\r\nx [[[reset:begin]]] y\n{{{mmap:bad}}}\n{{{bt:0:0x1020:pc}}}\n",
		print.ContextKeep: in,
		print.ContextDrop: "x  y\n{{{mmap:bad}}}\n{{{bt:0:0x1020:pc}}}\n",
	} {
		if got := feed(filter.Options{Context: style}, in); got != want {
			t.Errorf("style %d:\n got %q\nwant %q", style, got, want)
		}
	}
	frame := contextLines + "{{{bt:0:0x1020:pc}}}\n"
	const found = "    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)\n"
	if got := feed(filter.Options{Context: print.ContextDrop}, frame); got != found {
		t.Errorf("dropped context has no effect: %q", got)
	}
	if got := feed(filter.Options{Context: print.ContextKeep}, frame); got != contextLines+found {
		t.Errorf("kept context has no effect: %q", got)
	}
}

// TestContextBehindPrefixes holds that loggers' prefixes go with what is folded or dropped, and other words stay.
func TestContextBehindPrefixes(t *testing.T) {
	const p, q = "Nov 21 10:00:00 host a[1]: ", "Nov 21 10:00:01 host a[1]: "
	const other = "[00012.345][7][8][klog] INFO: "
	const module, text, readonly = "{{{module:0:/a.so:elf:0123abcd}}}", "{{{mmap:0x1000:0x100:load:0:rx:0x0}}}", "{{{mmap:0x2000:0x100:load:0:r:0x1000}}}"
	const words = q + "more: {{{mmap:0x3000:0x100:load:0:r:0x2000}}}\n"
	const frame, found = q + "{{{bt:0:0x1020:pc}}}\n", q + "    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)\n"
	const in = p + module + "\n" + q + "  " + text + readonly + "\n" + other + module + "\r\n" + other + "{{{mmap:bad}}}\n" + words + frame
	const fold = "[[[ELF module #0x0 \"/a.so\"; BuildID=0123abcd"
	for style, want := range map[print.Context]string{
		print.ContextFold: p + fold + " [0x1000-0x10ff](rx),[0x2000-0x20ff](r)]]]\n" + other + fold + "]]]\r\n" + other + "{{{mmap:bad}}}\n" +
			q + "more: [[[ELF module #0x0 \"/a.so\"; adds [0x3000-0x30ff](r)]]]\n" + found,
		print.ContextKeep: strings.TrimSuffix(in, frame) + found,
		print.ContextDrop: other + "{{{mmap:bad}}}\n" + q + "more: \n" + found,
	} {
		if got := feed(filter.Options{Context: style}, in); got != want {
			t.Errorf("style %d:\n got %q\nwant %q", style, got, want)
		}
	}
	coloured := "\x1b[32mI/a ( 1): " + module + "\x1b[0m\n"
	if got := feed(filter.Options{Context: print.ContextDrop}, coloured); got != "\x1b[32mI/a ( 1): \x1b[0m\n" {
		t.Errorf("escape sequences went with the line: %q", got)
	}
}

func TestDumpContext(t *testing.T) {
	var out bytes.Buffer
	f := filter.New(filter.Options{Symbols: &symbols{}, DumpContext: &out})
	for line := range strings.Lines("{{{reset}}}\n" + contextLines + "{{{bt:0:0x1020:pc}}}\n{{{reset}}}\n{{{module:7:b:elf:ff}}}\n{{{mmap:0xfffffffffffff000:0x1000:load:7:rw:0x10}}}\n") {
		f.Line(context.Background(), nil, []byte(line))
	}
	f.End()
	want := []string{
		`{"event":"reset","line":5,"process":"","modules":[{"id":0,"name":"/a.so","build_id":"0123abcd","file":"/lib/a.so",` +
			`"status":"OK","debug_status":"OK","mappings":[{"start":"0x1000","last":"0x10ff","mode":"rx","module_address":"0x0"}]}]}`,
		`{"event":"end","line":7,"process":"","modules":[{"id":7,"name":"b","build_id":"ff",` +
			`"mappings":[{"start":"0xfffffffffffff000","last":"0xffffffffffffffff","mode":"rw","module_address":"0x10"}]}]}`,
	}
	if got := out.String(); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("got\n%swant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestDumpfile(t *testing.T) {
	var seen []filter.Dumpfile
	o := filter.Options{OnDumpfile: func(d filter.Dumpfile) { seen = append(seen, d) }}
	const in = contextLines + "a {{{dumpfile:sancov:s.8675}}} b\n{{{dumpfile:x}}}\n<<<dumpfile:t:$(rm -rf /)>>>\n"
	const want = "[[[ELF module #0x0 \"/a.so\"; BuildID=0123abcd [0x1000-0x10ff](rx)]]]\na [[[dumpfile sancov \"s.8675\"]]] b\n{{{dumpfile:x}}}\n" +
		"[[[dumpfile t \"$(rm -rf /)\"]]]\n"
	if got := feed(o, in); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	if len(seen) != 2 || seen[0].Type != "sancov" || seen[0].Name != "s.8675" || seen[1].Name != "$(rm -rf /)" {
		t.Fatalf("told of %+v", seen)
	}
	var c struct {
		Modules []struct {
			BuildID string `json:"build_id"`
		}
	}
	if err := json.Unmarshal(seen[0].Context, &c); err != nil || len(c.Modules) != 1 || c.Modules[0].BuildID != "0123abcd" {
		t.Errorf("context %s: %v", seen[0].Context, err)
	}
	o.Style = print.Append
	if got := feed(o, in); got != in {
		t.Errorf("appending changed the log: %q", got)
	}
}
