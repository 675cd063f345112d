package sourcemap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// TestPositions compares where positions come from with what @jridgewell/trace-mapping has said, for maps that esbuild and terser have made
// of packages of others.
func TestPositions(t *testing.T) {
	maps, err := filepath.Glob("testdata/scripts/*.map")
	if err != nil || len(maps) < 2 {
		t.Fatal(maps, err)
	}
	for _, path := range maps {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		rows, err := os.ReadFile(strings.TrimSuffix(path, ".map") + ".tsv")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for row := range strings.Lines(string(rows)) {
			fields := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
			line, _ := strconv.Atoi(fields[0])
			column, _ := strconv.Atoi(fields[1])
			got := ""
			if o, ok := m.At(line-1, column); ok {
				got = fmt.Sprintf("%s\t%d\t%d", o.Source, o.Line, o.Column)
			} else {
				got = "\t0\t0"
			}
			if want := strings.Join(fields[2:], "\t"); got != want {
				t.Errorf("%s %d:%d is %q, want %q", path, line, column, got, want)
			}
			n++
		}
		if n < 100 {
			t.Errorf("%s: %d positions", path, n)
		}
	}
}

// TestFunctions compares the names of functions with those of metro-symbolicate's own tests.
func TestFunctions(t *testing.T) {
	text, err := os.ReadFile("testdata/metro/with-function-map.js.map")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line, column int
		want         string
	}{
		{427, 174, "/js/RKJSModules/segmented/biz.js:5:module.exports.throwSmthInner"},
		{426, 200, "/js/RKJSModules/segmented/glo.js:7:module.exports.throwSmth"},
		{425, 311, "/js/RKJSModules/bar.js:14:makeItThrowInner"},
		{425, 253, "/js/RKJSModules/bar.js:10:makeItThrow"},
		{425, 206, "/js/RKJSModules/bar.js:5:import.then$argument_0"},
	} {
		o, _ := m.At(c.line-1, c.column-1)
		if got := fmt.Sprintf("%s:%d:%s", o.Source, o.Line, o.Function); got != c.want {
			t.Errorf("%d:%d is %s, want %s", c.line, c.column, got, c.want)
		}
	}
}

// FuzzParse holds that a map of any content ends in time, and that no position of it is a panic.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/spec/*.map", "testdata/metro/*.map", "testdata/ram/*.map"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if text, err := os.ReadFile(path); err == nil && len(text) < 4<<10 {
				f.Add(text, uint16(0), uint16(3))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, line, column uint16) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		if o, ok := m.At(int(line), int(column)); ok && (o.Line < 1 || o.Column < 0) {
			t.Errorf("%+v", o)
		}
		for _, segment := range []string{"", "7"} {
			part := (&Script{m: m, files: &symsrc.Files{DebugStatus: symsrc.OK}}).module(segment, int(column))
			if part == nil {
				continue
			}
			if a := part.At(Pack(uint32(line), 17)); len(a.Frames) > 0 && a.Frames[0].Line < 1 {
				t.Errorf("%+v", a)
			}
		}
	})
}

// FuzzFields holds that the fields of an object are found as encoding/json finds them, where that reads the text.
func FuzzFields(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":1,"b":[1,{"c":"}"}],"d":"\\\""}`, ` { "a" : null , "a":"x" } `, `{"a"`, `[]`, `{"a":1}x`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := fieldsOf(text, span{0, len(text)}, map[string]*list{"a": {}})
		var want map[string]rawValue
		if !valid(text, &want) {
			return
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %v, %d fields, want %d", text, err, len(got), len(want))
		}
		for name, value := range want {
			if strings.TrimSpace(string(got[name].of(text))) != string(value) {
				t.Errorf("%q: %s is %q, want %q", text, name, got[name].of(text), value)
			}
		}
	})
}

type rawValue = json.RawMessage

// valid reports whether encoding/json reads an object.
func valid(text []byte, into *map[string]rawValue) bool {
	return json.Unmarshal(text, into) == nil && *into != nil
}

// FuzzRun holds that mappings are those that their numbers make, read one by one.
func FuzzRun(f *testing.F) {
	f.Add([]byte("AAAA,IACA,gBAAgB,KACDA;AACA,OAAO,QAAQ,D,UA+/////DAA;;;CAAC"))
	f.Add([]byte("AAAA,CAAC,,CAAC,CAAC,CAAC,CAAC"))
	f.Add([]byte("AAAA,CAAD,CADA,DAAA,CAAC"))
	f.Fuzz(func(t *testing.T, text []byte) {
		want, ok := slowly(text)
		var s state
		_, got, err := s.run(text, 0, len(text), []segment{})
		if ok != (err == nil) {
			t.Fatalf("%q: %v, want %t", text, err, ok)
		}
		if ok && !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	})
}

// slowly decodes mappings. ok is false for what are none.
func slowly(text []byte) (all []segment, ok bool) {
	var at segment
	for line, of := range bytes.Split(text, []byte(";")) {
		at.generatedLine, at.generatedColumn = int32(line), 0
		if len(of) == 0 {
			continue
		}
		for one := range bytes.SplitSeq(of, []byte(",")) {
			var fields []int32
			for i := 0; i < len(one); {
				n, end, ok := number(one, i)
				if !ok {
					return nil, false
				}
				fields, i = append(fields, n), end
			}
			if len(fields) != 1 && len(fields) != 4 && len(fields) != 5 {
				return nil, false
			}
			to := []*int32{&at.generatedColumn, &at.source, &at.line, &at.column, &at.name}
			for i, n := range fields {
				if *to[i] += n; *to[i] < 0 {
					return nil, false
				}
			}
			is := at
			if len(fields) == 1 {
				is.source = -1
			}
			all = append(all, is)
		}
	}
	return all, true
}
