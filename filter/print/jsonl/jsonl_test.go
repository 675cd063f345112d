package jsonl_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"qss-filter/filter/parse"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

var _ print.Printer = (*jsonl.Printer)(nil)

// answer is a frame's answer in a module.
func answer(functions ...symsrc.Frame) *resolve.Answer {
	m := &resolve.Module{Module: symsrc.Module{Name: "/a.so"}, Shown: "/a.so"}
	if len(functions) == 0 {
		m.Files = &symsrc.Files{ElfStatus: symsrc.NotFound}
	} else {
		m.Files = &symsrc.Files{}
	}
	return &resolve.Answer{Module: m, Offset: 0x20, Frames: functions}
}

// line prints a line with one frame.
func line(t *testing.T, p *jsonl.Printer, number int, text string, a *resolve.Answer) string {
	t.Helper()
	var parser parse.Parser
	l := parser.Line([]byte(text))
	if !parser.Next(l) || !parser.ReadFrames(l.Segment, true, true) || len(parser.Frames) != 1 {
		t.Fatalf("%q has %d frames", text, len(parser.Frames))
	}
	th := resolve.New(resolve.Options{}).Processes.Unnamed
	dst := p.Begin(nil, number, []byte(text))
	p.By(th, &parser.Prefix, l.Body)
	dst = p.Items(t.Context(), dst, th, l.Segment, []print.Item{{Frame: &parser.Frames[0], Answer: a}}, 0)
	return string(p.End(p.Text(dst, l.After)))
}

// TestObject holds what the object of a frame has.
func TestObject(t *testing.T) {
	p := jsonl.New(jsonl.Options{}, print.Names{})
	named := line(t, p, 7, "#3 0x7f21 (/a.so+0x21)\r\n", answer(symsrc.Frame{Func: "inner", File: "/a.c", Line: 3}, symsrc.Frame{Func: "outer"}))
	unnamed := line(t, p, 8, "#4 0x7f21 (/a.so+0x21)", answer())
	for i, object := range []string{named, unnamed} {
		if !strings.HasSuffix(object, "}\n") || !json.Valid([]byte(object)) {
			t.Fatalf("%q is no object on a line", object)
		}
		var got struct {
			Line   int
			Text   string
			Frames []struct {
				Number    int
				Address   string
				Status    string
				Functions []struct{ Function string }
			}
		}
		if err := json.Unmarshal([]byte(object), &got); err != nil {
			t.Fatal(err)
		}
		fr := got.Frames[0]
		if got.Line != 7+i || fr.Number != 3+i || fr.Address != "0x7f21" || fr.Status != []string{"OK", "NOT_FOUND"}[i] || len(fr.Functions) != 2*(1-i) {
			t.Errorf("%s", object)
		}
	}
	if !strings.Contains(named, `"end":"\r\n"`) {
		t.Errorf("the end of the line is not in %s", named)
	}
}

// TestAbandoned holds that a line that is given up has its text and nothing else, whether or not its object was begun, and once.
func TestAbandoned(t *testing.T) {
	text := []byte("#3 0x7f21 (/a.so+0x21)\n")
	const want = `{"line":1,"text":"#3 0x7f21 (/a.so+0x21)"}` + "\n"
	p := jsonl.New(jsonl.Options{}, print.Names{})
	if got := string(p.End(p.Abandon(nil, 1, text))); got != want {
		t.Errorf("before its begin: %s", got)
	}
	dst := p.Begin(nil, 1, text)
	p.Malformed(errors.New("bad"))
	if got := string(p.End(p.Abandon(dst, 1, text))); got != want {
		t.Errorf("after its begin: %s", got)
	}
}

// TestPieces holds that the pieces of a line are objects of valid UTF-8 that together are the line, though a piece ends inside a character.
func TestPieces(t *testing.T) {
	p := jsonl.New(jsonl.Options{}, print.Names{})
	out := p.Piece(nil, 4, []byte("a\xc3"), false)
	out = p.Piece(out, 4, []byte("\xa9b"), false)
	out = p.Piece(out, 4, []byte("c\r\n"), true)
	const want = `{"line":4,"part":1,"more":true,"text":"a","end":""}` + "\n" + `{"line":4,"part":2,"more":true,"text":"éb","end":""}` + "\n" +
		`{"line":4,"part":3,"text":"c","end":"\r\n"}` + "\n"
	if string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// TestFramesOnly holds that only lines that hold something leave, and that a callback gets them all the same.
func TestFramesOnly(t *testing.T) {
	p := jsonl.New(jsonl.Options{FramesOnly: true}, print.Names{})
	if got := p.End(p.Begin(nil, 1, []byte("plain\n"))); len(got)+len(p.Texts(nil, 2, []byte("a\nb\n")))+len(p.Piece(nil, 4, []byte("c"), true)) > 0 {
		t.Errorf("plain lines left: %s", got)
	}
	if got := line(t, p, 2, "#3 0x7f21 (/a.so+0x21)\n", answer()); !strings.HasPrefix(got, `{"line":2,`) {
		t.Errorf("a frame did not leave: %q", got)
	}
	var each []int
	p = jsonl.New(jsonl.Options{Each: func(l *record.Line) { each = append(each, l.Number) }}, print.Names{})
	p.Texts(nil, 1, []byte("a\nb\n"))
	if out := line(t, p, 3, "#3 0x7f21 (/a.so+0x21)\n", answer()); out != "" || len(each) != 3 {
		t.Errorf("wrote %q, called for %v", out, each)
	}
}
