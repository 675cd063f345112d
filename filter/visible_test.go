package filter_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// hostileSymbols name everything so that a terminal would obey, or not show it as it is.
type hostileSymbols struct{ *symbols }

func (s hostileSymbols) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	s.symbols.Frames(ctx, q)
	const bad = "\x1b[2J\u009b\x9b\u202e\u2066\u200e\u061c\u200b\u2028\ufeff\U000e0041\n"
	files := &symsrc.Files{Detail: "no " + bad, Note: bad}
	if q.Offset%3 == 0 {
		files.ElfStatus = symsrc.NotELF
		return symsrc.Answer{Files: files}
	}
	return symsrc.Answer{Files: files, Frames: []symsrc.Frame{
		{Func: "in" + bad, Linkage: "_Zin" + bad, File: "/src/" + bad + ".c", Line: 3}, {Func: "out" + bad, File: "/" + bad, Line: 4, Column: 1}}}
}

// obeyed returns the first place that a terminal would obey or hide.
func obeyed(text []byte) []byte {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || n == 1 && text[i] >= 0x80 && text[i] < 0xa0 {
			return text[max(0, i-40):min(len(text), i+40)]
		}
		i += n
	}
	return nil
}

// asciiLog is a log without control characters, whose escapes stand for some.
const asciiLog = `11-20 15:58:12.000   1   1 I app: start
00001000-00002000 r-xp 00000000 fe:00 7 /lib/m\033[2J\012\302\233.so
00003000-00004000 r-xp 00000000 fe:00 8 /lib/n\033c.so
    @             0x1010 (unknown)
    @             0x3014 (unknown)
#0 0x1011
{"log":"#0 0x1 (/lib/j\u001b[2J\u009b\u202e.so+0x10)\n#1 0x1 (/lib/j\u001b[2J.so+0x12)","x":1}
{"log":"{{{module:7:/k\u001b[2J\u202e.so:elf:ab}}}"}
{"log":"{{{mmap:0x7000:0x1000:load:7:rx:0x0}}}"}
{"log":"{{{bt:0:0x7010:pc}}} {{{bt:1:0x7012:m\u001b[2J}}} {{{data:0x7013}}} {{{symbol:_Z1f\u009b}}} {{{dumpfile:t:\u202e}}} {{{reset:\u001b}}}"}
{{{module:0:/a.so:elf:0123abcd}}}
{{{mmap:0x5000:0x100:load:0:rx:0x0}}}
{{{bt:0:0x5010:pc}}}
at {{{pc:0x5012}}} and {{{data:0x5014}}} by {{{bt:1:0x5013:pc}}}
{{{hexdict:RIP: 0x5010}}}
prog(f+0x10)[0x5012]
#0 0x5010 (/a.so+0x10)
#1 0x5012 (/a.so+0x12) (BuildId: abcd)
#0 0x5010 (/a.so+0x10)
#1 0x5012 (/a.so+0x12) (BuildId: abcd)
`

// TestNothingObeyed holds that a log without control characters stays without, whatever its escapes stand for and whatever the files
// that it names hold.
func TestNothingObeyed(t *testing.T) {
	for _, style := range []print.Style{print.Annotate, print.Append, print.Replace} {
		for _, fold := range []print.Context{print.ContextFold, print.ContextKeep} {
			for bits := range 1 << 4 {
				var told, dump bytes.Buffer
				o := filter.Options{Symbols: hostileSymbols{&symbols{}}, Style: style, Context: fold, DumpContext: &dump,
					Warn: func(m string) { told.WriteString(symsrc.VisibleLines(m) + "\n") }}
				o.Explain, o.Dedupe = bits&1 > 0, bits&2 > 0
				if bits&4 > 0 {
					o.JSON = &jsonl.Options{}
				}
				if bits&8 > 0 {
					o.Palette = sgr.NewPalette(true)
					if err := o.Links.Set("file"); err != nil {
						t.Fatal(err)
					}
				}
				f := filter.New(o)
				var out bytes.Buffer
				if err := f.Run(context.Background(), strings.NewReader(asciiLog), &out); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(&told, summary(f))
				text := out.Bytes()
				if o.Palette != nil { // these are the filter's own
					text = sgr.Uncolored(nil, text)
					text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\x1b]8;;"), nil), []byte("\x1b\\"), nil)
				}
				for name, text := range map[string][]byte{"output": text, "messages": told.Bytes(), "context": dump.Bytes()} {
					if bad := obeyed(text); bad != nil {
						t.Errorf("style %d, context %d, %04b: %s: %q", style, fold, bits, name, bad)
					}
				}
			}
		}
	}
}

// TestMapsEscapes holds that a path of a list of mappings is looked up as the file is called, and written as the log writes it.
func TestMapsEscapes(t *testing.T) {
	s := &symbols{}
	f := filter.New(filter.Options{Symbols: s, Explain: true})
	var out bytes.Buffer
	const log = "00001000-00002000 r-xp 00000000 fe:00 7 /lib/a\\040b\\033.so\n    @             0x1f99 (unknown)\n"
	if err := f.Run(context.Background(), strings.NewReader(log), &out); err != nil {
		t.Fatal(err)
	}
	if len(s.Asked) == 0 || s.Asked[0].Module.Name != "/lib/a b\x1b.so" {
		t.Errorf("asked for %+v", s.Asked)
	}
	if !strings.HasPrefix(out.String(), log[:len(log)-1]) || !strings.Contains(out.String(), `a\040b\033.so`+"]") || !strings.Contains(f.Summary().Modules[0].Module, `a\040b\033.so`) {
		t.Errorf("%s%v", out.String(), f.Summary())
	}
}
