package filter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/record"
	"qss-filter/filter/stream"
)

// schema is what objects are held against.
var schema = sync.OnceValue(func() *jsonschema.Schema {
	text, err := jsonschema.UnmarshalJSON(strings.NewReader(record.Schema))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("record.json", text); err != nil {
		panic(err)
	}
	return c.MustCompile("record.json")
})

// jsonObject is what a test wants of a line.
type jsonObject struct {
	Line    int
	Part    int
	More    bool
	Text    *string
	Base64  []byte `json:"text_base64"`
	End     *string
	Process string
	Prefix  struct{ Text, Logger, PID, TID, Tag string }
	Context []struct {
		Type, Name, Start, Last, At, Reason string
		BuildID                             string `json:"build_id"`
		Function                            string
	}
	Frames []struct {
		Kind, Text, Status, Reason, Why, At, Register, Process, Hint string
		Number, Back                                                 int
		Functions                                                    []struct {
			Function, File, Offset string
			Line, Column           int
			Inlined, Approximate   bool
		}
	}
	Repeats struct{ Stack, Line, Lines int }
}

// objects reads an output, and holds each line of it against the schema.
func objects(t *testing.T, name, out string) (list []jsonObject) {
	t.Helper()
	if out != "" && !strings.HasSuffix(out, "\n") {
		t.Fatalf("%s: the last object has no end", name)
	}
	for line := range strings.Lines(out) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatalf("%s: %v in %.300q", name, err, line)
		}
		if err := schema().Validate(value); err != nil {
			t.Fatalf("%s: %v in %.1000s", name, err, line)
		}
		var o jsonObject
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%s: %v in %.300q", name, err, line)
		}
		list = append(list, o)
	}
	return list
}

// log puts the log together again.
func log(list []jsonObject) string {
	var b bytes.Buffer
	for i := range list {
		o := &list[i]
		if o.Base64 != nil {
			b.Write(o.Base64)
		} else if o.Text != nil {
			b.WriteString(*o.Text)
		}
		if o.End == nil {
			b.WriteByte('\n')
		} else {
			b.WriteString(*o.End)
		}
	}
	return b.String()
}

// TestObjectsOfSamples holds for every sample log, in the shapes that logs come in, that each object fits the schema, that the
// log can be put together again from them, that numbers and processes are there, and that every name is one that the filter
// writes as text, too.
func TestObjectsOfSamples(t *testing.T) {
	frames, named := 0, 0
	for name, text := range filtertest.Samples(t) {
		annotated := filtertest.Run(t, filter.Options{}, text)
		for shape, in := range map[string]string{
			"as it is": text, "CRLF": strings.ReplaceAll(text, "\n", "\r\n"), "no last end": strings.TrimRight(text, "\n"),
			"not UTF-8": "\xff\x00\xed\xa0\x80" + strings.ReplaceAll(text, " ", "\xc3 "), "JSON": `{"a":"` + text,
		} {
			if testing.Short() && shape != "as it is" {
				continue
			}
			list := objects(t, name+" "+shape, filtertest.Run(t, filter.Options{JSON: &jsonl.Options{}}, in))
			if got := log(list); got != in {
				t.Errorf("%s %s: %s", name, shape, firstDifference(got, in))
			}
			for i, o := range list {
				if o.Line != i+1 {
					t.Fatalf("%s %s: object %d is of line %d", name, shape, i+1, o.Line)
				}
				for _, fr := range o.Frames {
					frames++
					if fr.Status == "OK" && shape == "as it is" {
						named++
						for _, fn := range fr.Functions {
							if !strings.Contains(annotated, fn.Function) || !strings.Contains(annotated, fmt.Sprintf("%s:%d", fn.File, fn.Line)) && fn.File != "" && fr.Kind != "variable" {
								t.Errorf("%s: %s %s:%d is not in the text", name, fn.Function, fn.File, fn.Line)
							}
						}
					}
				}
			}
		}
		all := objects(t, name, filtertest.Run(t, filter.Options{JSON: &jsonl.Options{}}, text))
		some := objects(t, name, filtertest.Run(t, filter.Options{JSON: &jsonl.Options{FramesOnly: true}}, text))
		all = slices.DeleteFunc(all, func(o jsonObject) bool { return len(o.Frames)+len(o.Context) == 0 })
		if len(some) != len(all) {
			t.Errorf("%s: %d objects with frames only, want %d", name, len(some), len(all))
		}
		for _, o := range []filter.Options{{Dedupe: true}, {Lookahead: filter.Lookahead{Lines: 500, Time: time.Minute}}, {StripSGR: true}, {Style: print.Append}} {
			o.JSON = &jsonl.Options{}
			objects(t, name, filtertest.Run(t, o, text))
		}
	}
	if frames < 400 || named < 200 {
		t.Errorf("only %d frames, %d with names", frames, named)
	}
}

// TestObjectsOfPieces holds that the log can be put together again whatever pieces it comes in, with lines of any length.
func TestObjectsOfPieces(t *testing.T) {
	const long = 3 << 20
	in := "first\n" + strings.Repeat("é", long) + "\r\n" + strings.Repeat("\x00\xff", long/2) + "\n#0 0x7010 (/a+0x10)\n" + strings.Repeat("x", long)
	for name, read := range map[string]func(string) string{
		"whole": func(s string) string {
			return filtertest.Run(t, filter.Options{Symbols: nothing{}, JSON: &jsonl.Options{}}, s)
		},
		"halves": func(s string) string {
			var out bytes.Buffer
			f := filter.New(filter.Options{Symbols: nothing{}, JSON: &jsonl.Options{}})
			if err := f.Run(t.Context(), stream.Steady(iotest.HalfReader(strings.NewReader(s))), &out); err != nil {
				t.Fatal(err)
			}
			return out.String()
		},
	} {
		list := objects(t, name, read(in))
		if got := log(list); got != in {
			t.Errorf("%s: %s", name, firstDifference(got, in))
		}
		lines := map[int]int{}
		for i, o := range list {
			lines[o.Line]++
			if o.More && (len(list) == i+1 || list[i+1].Line != o.Line || list[i+1].Part != o.Part+1) {
				t.Errorf("%s: no part follows part %d of line %d", name, o.Part, o.Line)
			}
			if o.Part > 0 && o.Base64 != nil && o.Line == 2 {
				t.Errorf("%s: a character of line 2 is cut", name)
			}
			if len(*o.Text) > 7<<20 {
				t.Errorf("%s: an object of %d bytes", name, len(*o.Text))
			}
		}
		if len(lines) != 5 || lines[1] != 1 || lines[4] != 1 || lines[2] < 2 {
			t.Errorf("%s: objects by line: %v", name, lines)
		}
	}
}

// TestObjectsGolden compares what the samples of one kind of log each become, as objects, with what was looked at once.
func TestObjectsGolden(t *testing.T) {
	logs := filtertest.Samples(t)
	for _, name := range []string{"asan-clang22-markup.log", "asan-gcc12-uaf.log", "glog-check.log", "tsan-clang22.log", "glibc-backtrace-maps.log"} {
		path := filepath.Join("../testdata/golden/json", strings.TrimSuffix(name, ".log")+".ndjson")
		got := filtertest.Run(t, filter.Options{JSON: &jsonl.Options{}}, logs[name])
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: %s", name, firstDifference(got, string(want)))
		}
		objects(t, path, string(want))
	}
}

// TestSchemaNames holds that a field for the bytes of another has that other one beside it in the schema.
func TestSchemaNames(t *testing.T) {
	var s struct {
		Properties map[string]any
		Defs       map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(record.Schema), &s); err != nil {
		t.Fatal(err)
	}
	check := func(where string, names map[string]any) {
		for name := range maps.Keys(names) {
			if of, ok := strings.CutSuffix(name, "_base64"); ok && names[of] == nil {
				t.Errorf("%s: %s is of nothing", where, name)
			}
		}
	}
	check("line", s.Properties)
	for where, d := range s.Defs {
		check(where, d.Properties)
	}
}
