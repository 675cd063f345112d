package markup

import (
	"bytes"
	"testing"
)

// FuzzNext checks the invariants of Next: elements are in order, in the line, and agree with its text.
func FuzzNext(f *testing.F) {
	for _, c := range malformed {
		f.Add([]byte(c.line))
	}
	f.Add([]byte("a {{{{bt:0:0x1}}}} <<<pc:0x1>>> {{{}}} {{{x {{{module:0:a:elf:ab}}} <<<<<<< HEAD"))
	f.Add([]byte("{{{bt:0:0x{{{bt:1:0x2}}}:ra}}} <<<symbol:{{{bt:1:0x2}}}>>>"))
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		for from := 0; ; {
			e, ok := Next(line, from)
			if !ok {
				break
			}
			checkElement(t, line, from, &e)
			from = e.End
		}
		if !bytes.Equal(before, line) {
			t.Error("the line was changed")
		}
	})
}

// checkElement checks an element that Next found from an offset on.
func checkElement(t *testing.T, line []byte, from int, e *Element) {
	open, closing := "{{{", "}}}"
	if e.Alias {
		open, closing = "<<<", ">>>"
	}
	if e.Start < from || e.End > len(line) || len(e.Name) == 0 {
		t.Fatalf("%+v from %d of %d bytes", e, from, len(line))
	}
	text := open + string(e.Name)
	if e.Body != nil {
		text += ":" + string(e.Body)
	}
	if text += closing; text != string(line[e.Start:e.End]) {
		t.Fatalf("%q, want %q", text, line[e.Start:e.End])
	}
	if bytes.Contains(e.Body, []byte(closing)) || e.Tag != tagOf(e.Name) {
		t.Fatalf("%+v", e)
	}
	if e.Body != nil && string(line[e.BodyStart:e.BodyStart+len(e.Body)]) != string(e.Body) {
		t.Fatalf("body at %d", e.BodyStart)
	}
	if e.Tag != Unknown && e.End-e.Start < maxInside {
		if d := differ(e); d != "" {
			t.Errorf("%s: %s", line[e.Start:e.End], d)
		}
	}
}

// FuzzFields compares the scanner with the grammar.
func FuzzFields(f *testing.F) {
	tags := []string{"bt", "pc", "data", "module", "mmap", "symbol", "hexdict", "dumpfile", "reset", "hexdict"}
	for i, body := range []string{"0:0x1:ra:from CFI", "0x1:pc", "00", "0:a:b.so:elf:abc:x", "0x1:16:load:010:rX:0:x", "a:b", "a:0x1:b:0", "a:b:c", "", "RIP: 0x6ee1 RSP: 0"} {
		f.Add(i, body)
	}
	f.Fuzz(func(t *testing.T, tag int, body string) {
		if tag < 0 || tag >= len(tags) || len(body) > maxInside/2 {
			return
		}
		if d := differ(inside(tags[tag], body)); d != "" {
			t.Errorf("%s:%s: %s", tags[tag], body, d)
		}
	})
}
