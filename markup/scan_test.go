package markup

import (
	"fmt"
	"strings"
	"testing"
)

// elements returns the elements of a line as text: span, tag and body.
func elements(s string) (found []string) {
	line := []byte(s)
	for from := 0; ; {
		e, ok := Next(line, from)
		if !ok {
			return found
		}
		body := "-"
		if e.Body != nil {
			body = string(line[e.BodyStart : e.BodyStart+len(e.Body)])
		}
		found = append(found, fmt.Sprintf("%d-%d %s %s", e.Start, e.End, e.Name, body))
		from = e.End
	}
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{"plain text } } }", nil},
		{"{{{reset}}}", []string{"0-11 reset -"}},
		{"{{{reset:begin}}}", []string{"0-17 reset begin"}},
		{"{{{reset:}}}", []string{"0-12 reset "}},
		{"a {{{bt:0:0x1}}} b {{{bt:1:0x2:ra}}}", []string{"2-16 bt 0:0x1", "19-36 bt 1:0x2:ra"}},
		{"{{{future:1}}}{{{f}}}", []string{"0-14 future 1", "14-21 f -"}},
		// Single and double braces are part of a field; the first three close.
		{"{{{symbol:a}b}}c}}}}", []string{"0-19 symbol a}b}}c"}},
		{"{{{symbol:a{b{{c}}}", []string{"0-19 symbol a{b{{c"}},
		// An opening that is not closed, or has an invalid tag, is text.
		{"{{{bt:0:0x1}} {{{pc:0x2", nil},
		{"{{{}}}{{{symbol:_Z1fv}}}", []string{"6-24 symbol _Z1fv"}},
		{"{{{:x}}}{{{symbol:_Z1fv}}}", []string{"8-26 symbol _Z1fv"}},
		{"{{{Bt:0:0x1}}} {{{b1:}}} {{{ bt:0:0x1}}}", nil},
		{"{{{{bt:0:0x1}}}}", []string{"1-15 bt 0:0x1"}},
		{"{{{{{{{bt:0:0x1}}}}}}}", []string{"4-18 bt 0:0x1"}},
		{"{{{x {{{bt:0:0x1}}}", []string{"5-19 bt 0:0x1"}},
		{"{{{X:{{{bt:0:0x1}}}", []string{"5-19 bt 0:0x1"}},
		{"{{{bt:0:0x1 and then {{{bt:1:0x2}}}", []string{"21-35 bt 1:0x2"}},
		// An opening in a well-formed element is a part of it; in a malformed one it begins another element.
		{"{{{symbol:a{{{symbol:_Z1fv}}}", []string{"0-29 symbol a{{{symbol:_Z1fv"}},
		{"{{{bt:0:0x{{{bt:1:0x2}}}:ra}}}", []string{"10-24 bt 1:0x2"}},
		{"{{{future:{{{data:0x2}}}", []string{"10-24 data 0x2"}},
		{"{{{future:{{{Data:0x2}}}", nil},
		{"{{{mmap:0x1:{{{mmap:0x1:1:load:0:r:0}}}", []string{"12-39 mmap 0x1:1:load:0:r:0"}},
		// A malformed element without an inner one is returned, for the error message.
		{"{{{bt:zero:0x1}}}", []string{"0-17 bt zero:0x1"}},
	} {
		if got := elements(c.line); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.line, got, c.want)
		}
	}
}

func TestNextAlias(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"<<<bt:0:0x1>>>", []string{"0-14 bt 0:0x1"}},
		{"<<<<bt:0:0x1:ra>>>>", []string{"1-18 bt 0:0x1:ra"}},
		{"<<<reset>>> <<<module:0:a.so:elf:ab>>>", []string{"0-11 reset -", "12-38 module 0:a.so:elf:ab"}},
		{"<<<mmap:0x1000:16:load:0:rx:0x0>>>", []string{"0-34 mmap 0x1000:16:load:0:rx:0x0"}},
		{"<<<symbol:_Z1fv>>> <<<data:0x1>>>", []string{"0-18 symbol _Z1fv", "19-33 data 0x1"}},
		{"<<<pc:0x1>>><<<hexdict:a:0x1>>><<<dumpfile:a:b>>>",
			[]string{"0-12 pc 0x1", "12-31 hexdict a:0x1", "31-49 dumpfile a:b"}},
		{"<<<bt:0:0x1>>> {{{bt:1:0x2}}} <<<pc:0x3>>>",
			[]string{"0-14 bt 0:0x1", "15-29 bt 1:0x2", "30-42 pc 0x3"}},
		{"{{{x <<<bt:0:0x1>>>", []string{"5-19 bt 0:0x1"}},
		{"<<<bt:0:0x1 {{{bt:1:0x2}}} >>>", []string{"12-26 bt 1:0x2"}},
		{"<<<symbol:{{{bt:1:0x2}}}>>>", []string{"10-24 bt 1:0x2"}},
		{"<<<bt:0:<<<bt:0:0x1>>>", []string{"8-22 bt 0:0x1"}},
		// Other text.
		{"<<<<<<< HEAD", nil},
		{">>>>>>> branch", nil},
		{"cat <<<EOF >>>out", nil},
		{"cat <<<reset", nil},
		{"f<<<data>>>(x)", nil},
		{"f<<<symbol>>> <<<symbol:>>>", nil},
		{"std::vector<std::vector<std::vector<bt>>> x = 1 <<<bt>>>;", nil},
		{"kernel<<<pc:grid, block>>>(a)", nil},
		{"<<<hexdict:RIP: 0x1>>><<<hexdict: A: 0x1  B:0 >>>", []string{"0-22 hexdict RIP: 0x1", "22-49 hexdict  A: 0x1  B:0 "}},
		{"<<<hexdict:RIP: 1>>> <<<hexdict:a b: 0x1>>> <<<hexdict:a: 0x1:b>>> <<<hexdict: >>> <<<hexdict:a: 0x1 b>>> <<<hexdict:: 0x1>>>", nil},
		{"<<<future:1>>> <<<bt:0:1>>> <<<dumpfile:a>>> <<<hexdict:a>>>", nil},
	} {
		got := elements(c.line)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.line, got, c.want)
		}
	}
	if e, _ := Next([]byte("<<<bt:0:0x1>>>"), 0); !e.Alias || e.Tag != BT {
		t.Error("Alias is not set", e)
	}
	if e, _ := Next([]byte("{{{bt:0:0x1}}}"), 0); e.Alias {
		t.Error("Alias is set", e)
	}
}

func TestContextual(t *testing.T) {
	for name, want := range map[string]struct {
		tag        Tag
		contextual bool
	}{
		"reset": {Reset, true}, "module": {Module, true}, "mmap": {MMap, true}, "bt": {BT, false}, "pc": {PC, false},
		"data": {Data, false}, "symbol": {Symbol, false}, "hexdict": {Hexdict, false}, "dumpfile": {Dumpfile, false},
		"b": {Unknown, false}, "resets": {Unknown, false},
	} {
		e, ok := Next([]byte("{{{"+name+":x}}}"), 0)
		if !ok || e.Tag != want.tag || e.Contextual() != want.contextual {
			t.Errorf("%s: %v %v %v", name, ok, e.Tag, e.Contextual())
		}
	}
}

func TestNextFrom(t *testing.T) {
	line := []byte("{{{bt:0:0x1}}} {{{bt:1:0x2}}}")
	for from, want := range map[int]int{-5: 0, 0: 0, 1: 15, 15: 15, 16: -1, len(line): -1, len(line) + 9: -1} {
		e, ok := Next(line, from)
		if !ok {
			e.Start = -1
		}
		if e.Start != want {
			t.Errorf("from %d: %d, want %d", from, e.Start, want)
		}
	}
}

// TestNextAcrossWindows checks openings at all offsets around the end of a window.
func TestNextAcrossWindows(t *testing.T) {
	for _, element := range []string{"{{{bt:0:0x1}}}", "<<<bt:0:0x1>>>"} {
		for pad := window - 5; pad < window+5; pad++ {
			if e, ok := Next([]byte(strings.Repeat("<", 2)+strings.Repeat(" ", pad-2)+element), 0); !ok || e.Start != pad {
				t.Errorf("%s after %d bytes: %v %d", element, pad, ok, e.Start)
			}
		}
	}
}

// TestNextHostile checks that the time for long lines of openings is linear; otherwise the test would not end.
func TestNextHostile(t *testing.T) {
	for _, unit := range []string{"{", "{{{x", "{{{x:", "{{{bt:0:0x1{{{", "<<<bt:", "<<<module:0:", "{{{module:0:", "{{{}}}", "<<<reset>>>", "{{{a}}}"} {
		for _, tail := range []string{"", "}}}", ">>>", "}}}>>>"} {
			elements(strings.Repeat(unit, 1<<20/len(unit)) + tail)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	line := []byte("1234 I/x: {{{bt:7:0x7fff12345678:ra:from CFI}}} <<<pc:0x1:pc>>> {{{data:0}}} <<<<<<< {{{x")
	if n := testing.AllocsPerRun(100, func() {
		for from := 0; ; {
			e, ok := Next(line, from)
			if !ok {
				return
			}
			from = e.End
			var err error
			switch e.Tag {
			case BT:
				_, err = e.BT()
			case PC:
				_, err = e.PC()
			case Data:
				_, err = e.Data()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
