package filter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/resolve"
	"qss-filter/filter/stream"
)

// TestObjectsLive feeds a log into an open pipe, piece by piece: each object leaves as soon as its line would.
func TestObjectsLive(t *testing.T) {
	for name, o := range map[string]filter.Options{"plain": {}, "dedupe": {Dedupe: true}, "lookahead": {Lookahead: filter.Lookahead{Lines: 3, Time: time.Hour}}} {
		t.Run(name, func(t *testing.T) {
			in, w := io.Pipe()
			out := output{make(chan string, 100)}
			done := make(chan error, 1)
			o.Symbols, o.JSON = &symbols{}, &jsonl.Options{}
			go func() { done <- filter.New(o).Run(context.Background(), in, out) }()
			for _, step := range []struct{ send, want string }{
				{"plain text\n", `{"line":1,"text":"plain text"}` + "\n"},
				{"no end ", `{"line":2,"part":1,"more":true,"text":"no end ","end":""}` + "\n"},
				{"and on \xc3", `{"line":2,"part":2,"more":true,"text":"and on ","end":""}` + "\n"},
				{"\xa9\r\n", `{"line":2,"part":3,"text":"é","end":"\r\n"}` + "\n"},
				{"{{{symbol:main}}}", `{"line":3,"part":1,"more":true,"text":"{{{symbol:main}}}","end":"","context":[{"type":"symbol","function":"main","linkage_name":"main"}]}` + "\n"},
				{"\n", `{"line":3,"part":2,"text":""}` + "\n"},
				{"{{{bt:0:0x10", `{"line":4,"part":1,"more":true,"text":"{{{bt:0:0x10","end":""}` + "\n"},
				{"20}}}\n", `{"line":4,"part":2,"text":"20}}}"}` + "\n"},
				{"#0 0x7f20 (/a.so+0x20) (BuildId: 01)", `{"line":5,"part":1,"more":true,"text":"#0 0x7f20 (/a.so+0x20) (BuildId: 01)","end":"","frames":[{"kind":"stack","format":"sanitizer","number":0,` +
					`"text":"#0 0x7f20 (/a.so+0x20) (BuildId: 01)","address":"0x7f20","offset":"0x20","module":{"name":"/a.so","build_id":"01"},` +
					`"at":"0x20","space":"linked","back":0,"why":"first","status":"OK","functions":[{"function":"plain","file":"/src/p.c","line":3,"column":1}]}]}` + "\n"},
				{" behind it\nnext\n", `{"line":5,"part":2,"text":" behind it"}` + "\n" + `{"line":6,"text":"next"}` + "\n"},
			} {
				if o.Dedupe {
					step.want = strings.Replace(step.want, `{"line":5,"part":1`, `{"line":5,"signature":"plain","part":1`, 1)
				}
				if _, err := io.WriteString(w, step.send); err != nil {
					t.Fatal(err)
				}
				for got := ""; got != step.want; {
					if got += <-out.pieces; !strings.HasPrefix(step.want, got) {
						t.Fatalf("after %q came\n%s, want\n%s", step.send, got, step.want)
					}
				}
			}
			if _, err := io.WriteString(w, "cut"); err != nil {
				t.Fatal(err)
			}
			first := <-out.pieces
			w.Close()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if all := first + <-out.pieces; all != `{"line":7,"part":1,"more":true,"text":"cut","end":""}`+"\n"+`{"line":7,"part":2,"text":"","end":""}`+"\n" {
				t.Errorf("at the end came\n%s", all)
			}
		})
	}
}

// TestObjectsHeld holds what becomes of lines that others wait for, of elements that share a line, and of register dumps.
func TestObjectsHeld(t *testing.T) {
	const context = "{{{module:0:/a.so:elf:0123abcd}}}{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n"
	const stack = "#0 0x7f20 (/a.so+0x20)\n#1 0x7f31 (/a.so+0x31)\n"
	const list = "1000-2000 r-xp 00000000 08:01 7 /a.so\n"
	for _, c := range []struct {
		name string
		o    filter.Options
		log  string
		want []string // parts of the objects
	}{
		{"two of context", filter.Options{}, context, []string{`"context":[{"type":"module",`, `},{"type":"mapping","start":"0x1000","last":"0x10ff"`}},
		{"a reset, and a bad mapping", filter.Options{}, context + "{{{reset}}} {{{mmap:0x1:0x1:load:7:r:0x0}}}\n",
			[]string{`{"line":2,`, `"context":[{"type":"reset"},{"type":"malformed","reason":"mmap 0x1: unknown module ID 0x7"`}},
		{"several frames", filter.Options{}, context + "{{{bt:0:0x1010:pc}}} {{{data:0x1044}}} {{{pc:0x9}}}\n", []string{
			`"kind":"stack","format":"markup","number":0,"text":"{{{bt:0:0x1010:pc}}}","address":"0x1010"`, `"back":0,"why":"suffix","status":"OK"`,
			`{"function":"inner<\"q\">(int)","file":"/src/inner.c","line":8,"column":5,"inlined":true},{"function":"middle"`,
			`"kind":"variable","format":"markup","text":"{{{data:0x1044}}}","address":"0x1044"`, `"why":"tag","status":"OK","functions":[{"function":"counter","offset":"0x4"}]`,
			`{"kind":"sentence","format":"markup","text":"{{{pc:0x9}}}","address":"0x9","status":"NO_MAPPING","reason":"no mapping covers the address"}`}},
		{"registers", filter.Options{}, context + "{{{hexdict:\n  RIP: 0x1010\n RBX: 0x1\n LR: 0x1021 }}}\n", []string{`{"line":2,"text":"{{{hexdict:"}`, `{"line":3,"text":"  RIP: 0x1010"}`,
			`{"line":5,"text":" LR: 0x1021 }}}","frames":[{"kind":"register","format":"markup","register":"RIP","text":"0x1010","address":"0x1010","module":`,
			`{"kind":"register","format":"markup","register":"LR","text":"0x1021",`, `"at":"0x20","space":"linked","back":1,"why":"register","status":"OK"`}},
		{"a stack again", filter.Options{Dedupe: true}, stack + "x\n" + stack, []string{`{"line":1,`, `{"line":2,`, `{"line":3,"text":"x"}`, `{"line":4,"signature":"plain--bare","repeats":{"stack":1,"line":1,"lines":2}}`}},
		{"mappings below", filter.Options{Lookahead: filter.Lookahead{Lines: 9, Time: time.Hour}}, "    @ 0x1021 f\nx\n" + list + "y\n", []string{`{"line":1,`, `"hint":"f","module":{"name":"/a.so"},"at":"0x20","space":"file"`,
			`"unverified":true`, `{"line":2,"text":"x"}`, `{"line":3,`, `"context":[{"type":"mapping","start":"0x1000","last":"0x1fff","mode":"rx","at":"0x0","space":"file","name":"/a.so"}]`, `{"line":4,`}},
		{"a build ID elsewhere", filter.Options{}, "Module libfoo.so with build-id 67f5ab\n", []string{`"context":[{"type":"build_id","name":"libfoo.so","build_id":"67f5ab"}]`}},
		{"done, and unknown", filter.Options{}, "#0 0x1 in f /a.c:3 (/a.so+0x3)\n#1 0x2 (/missing.so+0x2)\n#2 0x3 (/a.so+0x99)\n", []string{`"status":"IN_LOG","reason":"the log names the function already"`,
			`"status":"NOT_FOUND","reason":"NOT_FOUND missing.so","detail":"elf not found"`, `"status":"NO_SYMBOL","reason":"no symbol at 0x98 in a.so"`}},
		{"--addresses", filter.Options{Adjust: resolve.AdjustRA}, "#0 0x7f21 (/a.so+0x21)\n", []string{`"at":"0x20","space":"linked","back":1,"why":"option"`}},
		{"a report", filter.Options{}, "==7==ERROR: AddressSanitizer: x\n    #1 0x7f20 (/a.so+0x20)\n", []string{`{"line":2,"process":"#7",`, `"back":0,"why":"header"`}},
		{"--path-map", filter.Options{Names: print.Names{Short: true, Map: []print.PathMap{{From: "/src", To: "/home"}}}}, "#0 0x7f21 (/a.so+0x20)\n", []string{`"functions":[{"function":"plain","file":"/home/p.c"`}},
		{"colours", filter.Options{}, "\x1b[1m#0 \x1b[0m0x7f20 (/a.so+0x20)\x1b[31m\n", []string{`{"line":1,"text":"\u001b[1m#0 \u001b[0m0x7f20 (/a.so+0x20)\u001b[31m"`, `"address":"0x7f20"`, `"status":"OK"`}},
		{"colours out", filter.Options{StripSGR: true}, "\x1b[1m#0 \x1b[0m0x7f20 (/a.so+0x20)\x1b[31m\n", []string{`{"line":1,"text":"#0 0x7f20 (/a.so+0x20)"`}},
	} {
		c.o.JSON = &jsonl.Options{}
		c.o.Symbols = &symbols{}
		rest := filtertest.Run(t, c.o, c.log)
		for _, part := range c.want {
			at := strings.Index(rest, part)
			if at < 0 {
				t.Errorf("%s: no %s in\n%s", c.name, part, filtertest.Run(t, c.o, c.log))
				break
			}
			rest = rest[at+len(part):]
		}
	}
}

// FuzzObjects holds that whatever comes, each line of the output is JSON, and that the log can be put together again from them.
func FuzzObjects(f *testing.F) {
	f.Add([]byte(markupLog))
	f.Add([]byte("\x00@\x00\xec\x00\xab\xe62")) // big-endian, without a byte order mark
	f.Add([]byte("#0 0x7f10 (/a.so+0x10)\r\n\xff\x00{\"log\":\"#2 0x7f30 (/a+0x30)\\n\"}\n{{{hexdict: A: 0x1010}}}\n\x1b[1m#1 0x"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out, log bytes.Buffer
		if err := filter.New(filter.Options{Symbols: &symbols{}, JSON: &jsonl.Options{}}).Run(context.Background(), bytes.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			end := "\n"
			o := struct {
				Text  string
				Bytes []byte `json:"text_base64"`
				End   *string
			}{End: &end}
			if err := json.Unmarshal(line, &o); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			if o.Bytes == nil {
				o.Bytes = []byte(o.Text)
			}
			log.WriteString(string(o.Bytes) + *o.End)
		}
		// JSON has the text of a log in UTF-16, not its bytes: TestUTF16.
		if !bytes.Equal(log.Bytes(), in) && !stream.IsUTF16(in) {
			t.Fatalf("%q becomes %q", in, log.Bytes())
		}
	})
}
