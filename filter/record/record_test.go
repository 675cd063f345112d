package record

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// TestAppendEscaped compares with encoding/json, which escapes other characters but means the same, for texts with every
// byte at every place of a word.
func TestAppendEscaped(t *testing.T) {
	var texts []string
	for c := range 256 {
		for at := range 17 {
			b := []byte("0123456789abcdefg")
			b[at] = byte(c)
			texts = append(texts, string(b), string(b[at:]))
		}
	}
	texts = append(texts, "", "é", "\xc3", "x\xe2\x82", "€€€€€", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\u2028", "日本語\x00\"\\\x7f", strings.Repeat("\x80", 20))
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := make([]byte, r.IntN(64))
		for i := range b {
			b[i] = " \"\\\n\x00\x1f\x7f\x80\xc3\xa9\xffabcdefgh"[r.IntN(19)]
		}
		texts = append(texts, string(b))
	}
	for _, text := range texts {
		got, valid := AppendEscaped(nil, text)
		var back string
		if err := json.Unmarshal([]byte(`"`+string(got)+`"`), &back); err != nil {
			t.Fatalf("%q: %v in %q", text, err, got)
		}
		want := strings.ToValidUTF8(text, "\ufffd")
		if valid {
			want = text
		} else if n := strings.Count(back, "\ufffd"); n < 1 || strings.ReplaceAll(back, "\ufffd", "") != strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\ufffd", "") {
			t.Errorf("%q becomes %q", text, back)
		} else {
			want = back
		}
		if back != want || valid != utf8.ValidString(text) {
			t.Errorf("%q becomes %q, %v; want %q", text, back, valid, want)
		}
		if bytes, _ := AppendEscaped([]byte("x"), []byte(text)); string(bytes) != "x"+string(got) {
			t.Errorf("%q: bytes become %q, the string %q", text, bytes, got)
		}
	}
}

// TestAppend is a table of objects.
func TestAppend(t *testing.T) {
	huge := strings.Repeat("n", 1_000_000)
	for _, c := range []struct {
		line Line
		want string
	}{
		{Line{Number: 1, Text: []byte("a"), End: []byte("\n")}, `{"line":1,"text":"a"}`},
		{Line{Number: 2, Text: []byte("\xff"), End: []byte("\r\n")}, `{"line":2,"text":"` + "\ufffd" + `","text_base64":"/w==","end":"\r\n"}`},
		{Line{Number: 3, Part: 1, More: true, Process: "h#1", Prefix: Prefix{Text: []byte("p "), Logger: "cri", PID: []byte("1")}},
			`{"line":3,"part":1,"more":true,"process":"h#1","prefix":{"logger":"cri","text":"p ","pid":"1"},"text":"","end":""}`},
		{Line{Number: 4, Repeats: Repeats{Stack: 2, Line: 3, Lines: 5}}, `{"line":4,"repeats":{"stack":2,"line":3,"lines":5}}`},
		{Line{Number: 5, End: []byte("\n"), Context: []Context{{Type: Reset}, {Type: Module, ID: 1, Name: "m", BuildID: "\x01"},
			{Type: Mapping, Name: "m", Start: 16, Last: 31, Mode: "rx", Space: symsrc.InFile}, {Type: Mapping, Start: 16, Last: 15},
			{Type: BuildID, Name: "l", BuildID: "\x02"}, {Type: Dumpfile, Word: "t", Name: "n"}, {Type: Symbol, Word: "_Z1fv", Name: "f()"},
			{Type: Malformed, Word: "bad", Column: 3}}},
			`{"line":5,"text":"","context":[{"type":"reset"},{"type":"module","id":"0x1","name":"m","build_id":"01"},` +
				`{"type":"mapping","start":"0x10","last":"0x1f","mode":"rx","at":"0x0","space":"file","name":"m"},` +
				`{"type":"mapping","start":"0x10","at":"0x0","space":"linked","name":""},{"type":"build_id","name":"l","build_id":"02"},` +
				`{"type":"dumpfile","dump_type":"t","name":"n"},{"type":"symbol","function":"f()","linkage_name":"_Z1fv"},` +
				`{"type":"malformed","reason":"bad","column":3}]}`},
		{Line{Number: 6, End: []byte("\n"), Process: "#1", Frames: []Frame{
			{Kind: Variable, Process: "#1", Text: []byte("d"), Located: true, At: 255, Why: "tag", Status: "OK", Functions: []symsrc.Frame{{Func: huge, Offset: 2}}},
			{Number: 7, Numbered: true, Process: "#2", Module: symsrc.Module{Name: "a.apk", Member: "l.so", InArchive: 16}, Status: "NO_SYMBOL", Reason: "no", Detail: "d", Hint: []byte("h")},
			{Process: "#1", Status: "OK", Unverified: true, Functions: []symsrc.Frame{{Func: "i", Linkage: "_i", File: "f\xff", Line: 1, Column: 2}, {File: "g", Approx: true}}}}},
			`{"line":6,"process":"#1","text":"","frames":[{"kind":"variable","text":"d","module":{"name":""},"at":"0xff","space":"linked","back":0,"why":"tag","status":"OK","functions":[{"function":"` + huge + `","offset":"0x2"}]},` +
				`{"kind":"stack","number":7,"process":"#2","text":"","hint":"h","module":{"name":"a.apk","member":"l.so","in_archive":"0x10"},"status":"NO_SYMBOL","reason":"no","detail":"d"},` +
				`{"kind":"stack","text":"","status":"OK","unverified":true,"functions":[{"function":"i","linkage_name":"_i","file":"f` + "\ufffd" + `","file_base64":"Zv8=","line":1,"column":2,"inlined":true},{"file":"g","approximate":true}]}]}`},
	} {
		if got := string(c.line.Append(nil)); got != c.want+"\n" {
			t.Errorf("line %d:\n%.2000s want\n%.2000s", c.line.Number, got, c.want)
		}
	}
}

// TestAppendTexts numbers lines and keeps their ends.
func TestAppendTexts(t *testing.T) {
	got := string(AppendTexts(nil, []byte("a\n\r\n\nb"), 9, ""))
	want := `{"line":9,"text":"a"}` + "\n" + `{"line":10,"text":"","end":"\r\n"}` + "\n" + `{"line":11,"text":""}` + "\n" + `{"line":12,"text":"b","end":""}` + "\n"
	if got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

// TestAppendTextsRandom holds that lines of all kinds, written at once, are those that are written one by one.
func TestAppendTextsRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	kinds := []string{"plain", "a line of some length that is plain, too, and needs more than one look", "é", "日本語の長い行日本語の長い行", "\xe2\x82", "\xff", "\"", "\\", "\t", "\r", "\x00",
		"\x7f", "\r\n", "\n", "\n", "\n", ""}
	for range 3000 {
		var lines, want []byte
		for range r.IntN(30) {
			lines = append(lines, kinds[r.IntN(len(kinds))]...)
		}
		first := []int{1, 8, 95, 99_990}[r.IntN(4)]
		number, input := first, []string{"", "a.log", "\"\xff"}[r.IntN(3)]
		for line := range bytes.Lines(lines) {
			l := Line{Number: number, Input: input}
			l.Text, l.End = scan.CutEnd(line)
			want = l.Append(want)
			number++
		}
		if got := AppendTexts(nil, lines, first, input); !bytes.Equal(got, want) {
			t.Fatalf("%q becomes\n%s, want\n%s", lines, got, want)
		}
	}
}

// TestPlain holds that both searches find what stands first of what does not stand for itself.
func TestPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		text := bytes.Repeat([]byte{'x'}, r.IntN(150))
		for range r.IntN(4) {
			if len(text) > 0 {
				text[r.IntN(len(text))] = byte(r.IntN(256))
			}
		}
		for _, high := range []uint8{0, highBit} {
			want := bytes.IndexFunc(text, func(c rune) bool { return c < 0x20 || c == '"' || c == '\\' || c == 0x7f })
			if want < 0 {
				want = len(text)
			}
			if at := slices.IndexFunc(text[:want], func(c byte) bool { return c&high != 0 }); at >= 0 {
				want = at
			}
			if got, portable := plain(text, high), plainPortable(text, high); got != want || portable != want {
				t.Fatalf("%q, %#x: found at %d, by the portable search at %d, want %d", text, high, got, portable, want)
			}
		}
	}
}

func BenchmarkAppendTexts(b *testing.B) {
	lines := []byte(strings.Repeat("2026-11-20T15:58:12.000000001Z stdout F a line of a log as they are, of some 100 bytes or so each\n", 1000))
	var dst []byte
	b.SetBytes(int64(len(lines)))
	for b.Loop() {
		dst = AppendTexts(dst[:0], lines, 1, "")
	}
}
