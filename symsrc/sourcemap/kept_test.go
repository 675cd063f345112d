package sourcemap

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc/diskcache"
)

// answers returns what a map says of many places.
func answers(m *Map) string {
	var all strings.Builder
	fmt.Fprintf(&all, "%q %t %v\n", m.DebugID, m.compiled, m.offsets)
	for _, name := range slices.Sorted(maps.Keys(m.segments)) {
		fmt.Fprintf(&all, "%s: %s", name, answers(m.segments[name]))
	}
	for line := range 460 {
		for column := 0; column < 400; column += 3 {
			if o, ok := m.At(line, column); ok {
				fmt.Fprintf(&all, "%d:%d %+v\n", line, column, o)
			}
		}
	}
	return all.String()
}

// TestKept holds that a map says the same of all places when its index is kept, that the index is that of the file as it is, and that a
// damaged one is not used.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	if err := os.Mkdir(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := diskcache.NewKept(cache)
	for _, name := range []string{"testdata/metro/with-function-map.js.map", "testdata/scripts/estraverse.min.js.map", "testdata/ram/main.jsbundle.map"} {
		original, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Base(name))
		write := func(text string, at time.Time) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		body := strings.TrimSpace(string(original))
		body = body[:len(body)-1] + `,"x_more":"` + strings.Repeat(`\"{`, worthKept/3) + `"}`
		want, err := Parse(original)
		if err != nil {
			t.Fatal(err)
		}
		write(body, time.Now())
		index := func() []byte {
			m, err := openMap(path, kept)
			if err != nil || answers(m) != answers(want) {
				t.Fatalf("%s: %v: it says something else", name, err)
			}
			b, ok := m.encode()
			if !ok {
				t.Fatal("it has no index")
			}
			return b
		}
		first := index()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		of := &text{path: path, info: info}
		again, ok := of.decode(first)
		if !ok {
			t.Fatal("the index is not read")
		}
		if again.readMappings(); answers(again) != answers(want) {
			t.Fatalf("%s from the index: it says something else", name)
		}
		for cut := range len(first) {
			if _, ok := of.decode(first[:cut]); ok {
				t.Fatalf("an index of %d bytes is whole with %d", len(first), cut)
			}
		}
		write("{"+body[1:]+" ", time.Now().Add(time.Hour))
		if len(want.sections) > 0 && again.sections[0].of.text.read(span{0, 4}) != nil {
			t.Error("a text is read from a file that has changed")
		}
	}
}

// FuzzIndex holds that no index is a panic, neither when it is read nor when a place is asked for.
func FuzzIndex(f *testing.F) {
	original, err := os.ReadFile("testdata/scripts/flat.min.js.map")
	if err != nil {
		f.Fatal(err)
	}
	m, err := Parse(original)
	if err != nil {
		f.Fatal(err)
	}
	index, _ := m.encode()
	f.Add(index, uint16(0), uint16(30))
	f.Add(newCode([]byte("a\n"+strings.Repeat("é", step))).encode("id"), uint16(1), uint16(4000))
	info, err := os.Stat("testdata/scripts/flat.min.js.map")
	if err != nil {
		f.Fatal(err)
	}
	f.Add((&lexed{functions: []enclosing{{begin: 7, end: 9, name: 3}, {begin: 8, end: 9, class: 9}}}).appendTo(newCode([]byte("a\n")).encode("id")), uint16(1), uint16(8))
	f.Fuzz(func(t *testing.T, index []byte, line, column uint16) {
		of := &text{path: "testdata/scripts/flat.min.js.map", info: info}
		if m, ok := of.decode(index); ok {
			m.readMappings()
			m.At(int(line), int(column))
		}
		if c, _, ok := of.decodeCode(index, nil); ok {
			if c.lexed.readIndex(len(c.text)); c.lexed.done {
				enclosingAt(c.lexed.functions, int(column))
			}
			if r, ok := c.row(int(line)); ok {
				r.offset(int(column))
			}
		}
	})
}

// written returns the path of a new file with a script, and what the system says of it.
func written(t *testing.T, script string) (path string, info os.FileInfo) {
	path = filepath.Join(t.TempDir(), "main.js")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, info
}

// TestKeptCode holds that code says the same of its places when its index is kept, of which only pieces are read, and that a damaged one is
// not used.
func TestKeptCode(t *testing.T) {
	var script strings.Builder
	rng := rand.New(rand.NewPCG(3, 4))
	for _, length := range []int{0, 10, step, step + 1, 3*step - 1, 100_000, 7, 150_000} {
		for of := []string{"a", "bc;", "é", "中(", "🎉", "xyz.", "\xff"}[:3+rng.IntN(4)]; length > 0; length-- {
			script.WriteString(of[rng.IntN(len(of))])
		}
		script.WriteByte('\n')
	}
	script.WriteString(strings.Repeat("ascii,", 20_000) + "\n//# debugId=AB\n")
	path, info := written(t, script.String())
	want := newCode([]byte(script.String()))
	index := want.encode("ab")
	open := func() *code {
		c, id, ok := (&text{path: path, info: info}).decodeCode(index, nil)
		if !ok || id != "ab" {
			t.Fatalf("the index is not read: %q", id)
		}
		return c
	}
	for range 50 {
		c := open()
		for range 20 {
			n := rng.IntN(len(want.starts))
			r, ok := c.row(n)
			same, _ := want.row(n)
			if !ok || len(r.text) != len(same.text) {
				t.Fatalf("line %d has %d bytes, want %d", n, len(r.text), len(same.text))
			}
			for range 8 {
				column := rng.IntN(len(same.text) + 2)
				at, ok := r.offset(column)
				wantAt, wantOK := same.offset(column)
				if at != wantAt || ok != wantOK || parts(r.text, at) != parts(same.text, wantAt) {
					t.Fatalf("%d:%d is at %d, %v, want %d, %v", n, column, at, ok, wantAt, wantOK)
				}
				from := rng.IntN(len(r.text) + 1)
				to := from + rng.IntN(len(r.text)-from+1)
				if r.want(from, to); !bytes.Equal(r.text[from:to], same.text[from:to]) {
					t.Fatalf("line %d has another text from %d to %d", n, from, to)
				}
			}
		}
	}
	for cut := range len(index) {
		if _, _, ok := (&text{path: path, info: info}).decodeCode(index[:cut], nil); ok {
			t.Fatalf("an index of %d bytes is whole with %d", len(index), cut)
		}
	}
}

// TestKeptFunctions holds that the functions of a script, and the parents of its classes, are those of its text when they are in its index, which then
// takes no reading of that, and that a damaged index has none.
func TestKeptFunctions(t *testing.T) {
	var script strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&script, "class A%d extends B.c{m(a){return()=>a.b()}};const c%d=function d(){e(function(){f()})};\n", i, i)
	}
	path, info := written(t, script.String())
	index := newCode([]byte(script.String())).encode("")
	open := func(index []byte, keep func([]byte)) *code {
		c, _, ok := (&text{path: path, info: info}).decodeCode(index, keep)
		if !ok {
			t.Fatal("the index is not read")
		}
		return c
	}
	var kept []byte
	first := open(index, func(index []byte) { kept = index })
	first.findFunctions()
	want := functionsOf([]byte(script.String()))
	if !slices.Equal(first.lexed.functions, want) || len(want) < 12_000 {
		t.Fatalf("%d functions, want %d", len(first.lexed.functions), len(want))
	}
	again := open(kept, func([]byte) { t.Error("the same functions are kept again") })
	if !again.extended("c", "") || again.extended("B", "A1") {
		t.Error("classes have other parents")
	}
	if !again.lexed.done || !slices.Equal(again.lexed.functions, want) {
		t.Fatalf("%d functions are in the index, want %d", len(again.lexed.functions), len(want))
	}
	for i := range again.pieces.have {
		if again.pieces.have[i].Load() {
			t.Fatal("the script was read for them")
		}
	}
	for _, damaged := range [][]byte{kept[:len(kept)-1], append(slices.Clone(kept), 0)} {
		c := open(damaged, nil)
		if c.lexed.readIndex(len(c.text)); c.lexed.done {
			t.Fatal("functions are read of a damaged index")
		}
	}
}

// TestKeptChanged holds that frames of a large script, whose index is kept, have the places of the map that is there: those of the first
// frame's files if nothing has changed, and otherwise none until the files are opened again.
func TestKeptChanged(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	if err := os.Mkdir(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := diskcache.NewKept(cache)
	script := filepath.Join(dir, "main.js")
	old := time.Now().Add(-time.Hour)
	build := func(source string, at time.Time) { buildLarge(t, script, source, at) }
	build("a.ts", old)
	for i := range 2 {
		s := New(Options{Kept: kept}).Script(context.Background(), script)
		if s == nil {
			t.Fatal("no map")
		}
		for _, call := range []int{0, 77_777, 99_999} {
			if got := placeOfCall(s, call); got != fmt.Sprint("a.ts:", call+1) {
				t.Errorf("call %d is at %s", call, got)
			}
		}
		if i == 0 {
			time.Sleep(2100 * time.Millisecond) // the times of younger files identify none
		}
	}
	maps := New(Options{Kept: kept})
	s := maps.Script(context.Background(), script)
	if s.code.pieces == nil || s.m.pieces == nil {
		t.Fatal("the indexes are not used")
	}
	if got := placeOfCall(s, 5); got != "a.ts:6" {
		t.Errorf("the first frame is at %s", got)
	}
	build("b.ts", old.Add(time.Minute))
	if got := placeOfCall(s, 60_000); !strings.Contains(got, "has changed") {
		t.Errorf("after a build, a frame is at %s", got)
	}
	if got := placeOfCall(maps.Script(context.Background(), script), 60_000); got != "b.ts:60001" {
		t.Errorf("after a build, a frame is at %s", got)
	}
}

// buildLarge writes a script that calls a function on each of 100,000 lines of a source, and its map.
func buildLarge(t *testing.T, script, source string, at time.Time) {
	t.Helper()
	var code, mappings strings.Builder
	for i := range 100_000 {
		code.WriteString("call(a);")
		mappings.WriteString([]string{"AAAA", ",QACA"}[min(i, 1)])
	}
	for name, text := range map[string]string{script: code.String() + "\n//# sourceMappingURL=main.js.map\n",
		script + ".map": `{"version":3,"sources":["` + source + `"],"names":[],"mappings":"` + mappings.String() + `"}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// placeOfCall returns where the i-th call of a script of buildLarge is, or why that is not known.
func placeOfCall(s *Script, i int) string {
	a := s.At(Pack(0, uint32(i*8)))
	if len(a.Frames) == 0 {
		return a.Files.Note
	}
	return fmt.Sprint(filepath.Base(a.Frames[0].File), ":", a.Frames[0].Line)
}

// TestKeptReplaced holds that frames have the places of the build that was opened, or none, where another one takes its place while its files
// are open.
func TestKeptReplaced(t *testing.T) {
	script := filepath.Join(t.TempDir(), "main.js")
	next := filepath.Join(t.TempDir(), "main.js")
	buildLarge(t, script, "a.ts", time.Now().Add(-time.Hour))
	buildLarge(t, next, "b.ts", time.Now())
	s := New(Options{}).Script(context.Background(), script)
	if s == nil || s.code.pieces == nil || s.m.pieces == nil {
		t.Fatal("the files are not read as they are wanted")
	}
	if got := placeOfCall(s, 5); got != "a.ts:6" {
		t.Errorf("the first frame is at %s", got)
	}
	for _, of := range []string{"", mapEnd} {
		if err := os.Rename(next+of, script+of); err != nil {
			t.Fatal(err)
		}
	}
	const changed = "has changed"
	if got := placeOfCall(s, 30_000); got != "a.ts:30001" && !strings.Contains(got, changed) {
		t.Errorf("while the files are open, a frame is at %s", got)
	}
	for range 100 {
		if time.Sleep(openTime); s.m.text.isClosed() && s.code.pieces.of.isClosed() {
			break
		}
	}
	if got := placeOfCall(s, 90_000); !strings.Contains(got, changed) {
		t.Errorf("when they are closed, a frame is at %s", got)
	}
}

// isClosed reports whether the file is not open.
func (t *text) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.file == nil
}
