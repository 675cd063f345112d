package sourcemap

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// oneMap has `x();` in the first line of a script come from line 7 of a.ts.
const oneMap = `{"version":3,"sources":["../src/a.ts"],"names":[],"mappings":"AAMA"`

// TestScript holds how the map of a script is found, and what is said of it.
func TestScript(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const end = "}"
	inline := base64.StdEncoding.EncodeToString([]byte(oneMap + end))
	beside := write("dist/beside.js", "x();\n")
	write("dist/beside.js.map", oneMap+end)
	named := write("dist/named.js", "x();\n//# sourceMappingURL=maps/n.map\n")
	write("dist/maps/n.map", oneMap+end)
	outside := write("dist/outside.js", "x();\n//# sourceMappingURL=../../etc/n.map\n")
	own := write("dist/own.js", "x();\n//# sourceMappingURL=data:application/json;base64,"+inline+"\n")
	same := write("dist/same.js", "x();\n//# debugId=85314830-023F-4CF1-A267-535F4E37BB17\n")
	write("dist/same.js.map", oneMap+`,"debugId":"85314830-023f-4cf1-a267-535f4e37bb17"`+end)
	other := write("dist/other.js", "x();\n//# debugId=11111111-023f-4cf1-a267-535f4e37bb17\n")
	write("dist/other.js.map", oneMap+`,"debugId":"85314830-023f-4cf1-a267-535f4e37bb17"`+end)
	damaged := write("dist/damaged.js", "x();\n")
	write("dist/damaged.js.map", `{"version":3,"sources":[],"mappings":"AAMA"}`)
	write("maps/app-1a2b.js.map", oneMap+end)
	write("maps/1/twice.js.map", oneMap+`,"debugId":"1"`+end)
	write("maps/2/twice.js.map", oneMap+`,"debugId":"2"`+end)
	write("maps/1/index.js.map", oneMap+end)
	write("maps/2/index.js.map", `{"version":3,"sources":["../src/b.ts"],"names":[],"mappings":"AAMA"}`)
	write("maps/1/copy.js.map", oneMap+end)
	write("maps/2/copy.js.map", oneMap+end)
	write("maps/dist/late.js.map", `{"version":3,"sources":["../src/late.js","webpack://app/./lib/late.js"],"names":[],"mappings":"AAMA"}`)
	write("maps/node_modules/p/dist/main.js.map", oneMap+end)
	write("maps/dist/main.js.map", `{"version":3,"sources":["../src/b.ts"],"names":[],"mappings":"AAMA"}`)
	write("maps/only/changed.js.map", oneMap+end)
	write("maps/only/changed.js", "x();\n")
	changed := write("here/changed.js", "x(); // as it is here\n")
	source := filepath.ToSlash(filepath.Join(dir, "src/a.ts"))
	for _, c := range []struct {
		name, script       string
		file               string
		status             symsrc.Status
		unverified, absent bool
	}{
		{"beside it", beside, source, symsrc.OK, true, false},
		{"as a URL", "file://" + filepath.ToSlash(beside), source, symsrc.OK, true, false},
		{"named by it", named, filepath.ToSlash(filepath.Join(dir, "dist/src/a.ts")), symsrc.OK, true, false},
		{"named outside of its tree", outside, "", 0, false, true},
		{"in it", own, source, symsrc.OK, true, false},
		{"of its debug ID", same, source, symsrc.OK, false, false},
		{"of another debug ID", other, "", symsrc.MismatchBuildID, true, false},
		{"damaged", damaged, "", 0, false, true},
		{"below a place", "https://example.com/assets/app-1a2b.js?v=2", source, symsrc.OK, true, false},
		{"two below places", "/srv/twice.js", "", 0, false, true},
		{"two below places, without debug IDs", "/srv/index.js", "", 0, false, true},
		{"twice the same below places", "/srv/copy.js", filepath.ToSlash(filepath.Join(dir, "maps/src/a.ts")), symsrc.OK, true, false},
		{"a source of the map", "/srv/src/late.js", "", 0, false, true},
		{"a source of the map, in a URL", "/srv/lib/late.js", "", 0, false, true},
		{"the script, whose source has its name", "/srv/dist/late.js", filepath.ToSlash(filepath.Join(dir, "maps/src/late.js")), symsrc.OK, true, false},
		{"the same without a directory", "late.js", "", 0, false, true},
		{"of a package", "/srv/node_modules/p/dist/main.js", filepath.ToSlash(filepath.Join(dir, "maps/node_modules/p/src/a.ts")), symsrc.OK, true, false},
		{"of no package", "/srv/dist/main.js", filepath.ToSlash(filepath.Join(dir, "maps/src/b.ts")), symsrc.OK, true, false},
		{"of another package", "/srv/node_modules/q/dist/main.js", "", 0, false, true},
		{"of other directories", "/srv/2/twice.js", filepath.ToSlash(filepath.Join(dir, "maps/src/a.ts")), symsrc.OK, true, false},
		{"another one here", changed, "", 0, false, true},
		{"nowhere", "/srv/none.js", "", 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			maps := New(Options{Places: []string{filepath.Join(dir, "maps")}})
			s := maps.Script(context.Background(), c.script)
			if s == nil || c.absent {
				if (s == nil) != c.absent {
					t.Fatalf("found %v", s)
				}
				return
			}
			a := s.At(Pack(0, 0))
			if a.Files.DebugStatus != c.status || a.Files.Unverified != c.unverified {
				t.Errorf("%+v", a.Files)
			}
			if file := fileOf(a); file != c.file {
				t.Errorf("from %s, want %s", file, c.file)
			}
			if a := s.At(Pack(7, 0)); len(a.Frames) > 0 {
				t.Errorf("a line that is not there is from %+v", a.Frames)
			}
		})
	}
}

// TestPackagePlace holds that the map of a package is that of a script outside of packages only if the user has named the package: from
// within it, or from elsewhere.
func TestPackagePlace(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"node_modules/p", "node_modules/@s/p"} {
		path := filepath.Join(dir, p, "dist/main.js.map")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"version":3,"sources":["`+p+`.ts"],"names":[],"mappings":"AAMA"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		place, within, script string
		found                 bool
	}{
		{"node_modules/p", "", "/srv/p/dist/main.js", true},
		{".", "node_modules/p", "/srv/p/dist/main.js", true},
		{"..", "node_modules/p/dist", "/srv/p/dist/main.js", true},
		{"node_modules/p/dist/main.js.map", "", "/srv/p/dist/main.js", true},
		{"node_modules/@s/p", "", "/srv/p/dist/main.js", true},
		{"node_modules/p", "", "/srv/node_modules/p/dist/main.js", true},
		{"node_modules/p", "", "/srv/node_modules/q/dist/main.js", false},
		{"node_modules", "", "/srv/p/dist/main.js", false},
		{".", "node_modules", "/srv/p/dist/main.js", false},
		{"node_modules/@s", "", "/srv/p/dist/main.js", false},
		{".", "node_modules/@s", "/srv/p/dist/main.js", false},
		{".", "", "/srv/p/dist/main.js", false},
	} {
		place := c.place
		if c.within != "" {
			t.Chdir(filepath.Join(dir, c.within))
		} else {
			place = filepath.Join(dir, place)
		}
		if got := New(Options{Places: []string{place}}).Script(context.Background(), c.script); (got != nil) != c.found {
			t.Errorf("%s in %q, %s: found %v", c.place, c.within, c.script, got != nil)
		}
	}
}

// TestRebuilt has a script built again while its log is read.
func TestRebuilt(t *testing.T) {
	script := filepath.Join(t.TempDir(), "app.js")
	build := func(source, code string) {
		for path, text := range map[string]string{script: code, script + ".map": `{"version":3,"sources":["` + source + `"],"names":[],"mappings":"AAMA"}`} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	maps := New(Options{})
	at := func() symsrc.Answer {
		if s := maps.Script(context.Background(), script); s != nil {
			return s.At(Pack(0, 0))
		}
		return symsrc.Answer{}
	}
	if a := at(); a.Files != nil {
		t.Fatalf("a script that is not there has %+v", a.Files)
	}
	build("one.ts", "x();")
	maps.known[script].at = time.Time{}
	first := at()
	if filepath.Base(fileOf(first)) != "one.ts" || !first.Frames[0].Unverified {
		t.Errorf("the first build: %+v", first.Frames)
	}
	if first.Files.Watch.Look() {
		t.Error("it has changed before it was built again")
	}
	build("second.ts", "y();\n//# sourceMappingURL=app.js.map\n")
	if !first.Files.Watch.Look() {
		t.Fatal("the second build is not seen")
	}
	if second := at(); filepath.Base(fileOf(second)) != "second.ts" || second.Frames[0].Unverified {
		t.Errorf("the second build: %+v", second.Frames)
	}
}

// TestLater has a map appear below a place after the first frame.
func TestLater(t *testing.T) {
	dir := t.TempDir()
	maps := New(Options{Places: []string{dir}})
	if s := maps.Script(context.Background(), "/srv/app.js"); s != nil {
		t.Fatal("there is a map already")
	}
	if err := os.WriteFile(filepath.Join(dir, "app.js.map"), []byte(oneMap+"}"), 0o644); err != nil {
		t.Fatal(err)
	}
	maps.searched.at = time.Time{}
	for range 1000 {
		maps.known["/srv/app.js"].at = time.Time{}
		if s := maps.Script(context.Background(), "/srv/app.js"); s != nil {
			if fileOf(s.At(Pack(0, 0))) == "" {
				t.Error("it has no such place")
			}
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the map is not found")
}

// fileOf returns the file of an answer, with its place checked.
func fileOf(a symsrc.Answer) string {
	if len(a.Frames) != 1 || a.Frames[0].Line != 7 || a.Frames[0].Column != 1 {
		return ""
	}
	return a.Frames[0].File
}

// TestComposed follows the maps of three programs: what tsc has made was bundled by rollup, and made small by terser. The wanted places are
// those that Node.js has for the same throws with --enable-source-maps, where esbuild alone has bundled the sources; terser has one column
// less exact. A source that is not what its map is of ends the way.
func TestComposed(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/composed")); err != nil {
		t.Fatal(err)
	}
	at := func(column uint32) (place string, unverified bool) {
		s := New(Options{}).Script(context.Background(), filepath.Join(dir, "out/out.js"))
		if s == nil {
			t.Fatal("no map")
		}
		a := s.At(Pack(0, column-1))
		if len(a.Frames) != 1 {
			return "", false
		}
		fr := &a.Frames[0]
		at, err := filepath.Rel(dir, fr.File)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s:%d:%d", filepath.ToSlash(at), fr.Line, fr.Column), fr.Unverified
	}
	for column, want := range map[uint32]string{544: "src/cart.ts:42:11", 134: "src/cart.ts:12:11", 310: "src/cart.ts:25:22", 303: "src/cart.ts:25:8",
		411: "src/cart.ts:30:22", 505: "src/cart.ts:40:12", 815: "src/main.ts:7:28", 715: "src/cart.ts:60:16", 698: "src/cart.ts:59:35", 795: "src/main.ts:7:5"} {
		if got, unverified := at(column); got != want || unverified {
			t.Errorf("column %d: %s %t, want %s", column, got, unverified, want)
		}
	}
	for _, c := range []struct{ path, want string }{{"build/cart.js", "build/cart.js:9:15"}, {"bundle/bundle.js", "bundle/bundle.js:11:15"}} {
		path := filepath.Join(dir, filepath.FromSlash(c.path))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append([]byte("\n"), text...), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, _ := at(134); got != c.want {
			t.Errorf("with another %s: %s, want %s", c.path, got, c.want)
		}
	}
}

// TestComposedCircle has maps that name each other's scripts.
func TestComposedCircle(t *testing.T) {
	dir := t.TempDir()
	for name, of := range map[string]string{"a.js": "b.js", "b.js": "a.js", "c.js": "c.js"} {
		for path, text := range map[string]string{name: "x();\n//# sourceMappingURL=" + name + ".map\n", name + ".map": `{"version":3,"sources":["` + of + `"],"names":[],"mappings":"AAAA"}`} {
			if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"a.js", "c.js"} {
		s := New(Options{}).Script(context.Background(), filepath.Join(dir, name))
		if s == nil {
			t.Fatal(name, "has no map")
		}
		if a := s.At(Pack(0, 0)); len(a.Frames) != 1 {
			t.Errorf("%s: %+v", name, a.Frames)
		}
	}
}

// TestRAMBundle compares the places of frames in the modules of a RAM bundle and of its segment with those that metro-symbolicate prints. The
// map is Metro 0.84.6's, without its own modules, and again as that of a segment; the frames are those of V8 in the bundle's modules.
func TestRAMBundle(t *testing.T) {
	read := func(name string) []string {
		text, err := os.ReadFile(filepath.Join("testdata/ram", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	maps := New(Options{Places: []string{"testdata/ram"}})
	at := func(script string, line, column int) symsrc.Answer {
		if s := maps.Script(context.Background(), script); s != nil {
			return s.At(Pack(uint32(line-1), uint32(column-1)))
		}
		return symsrc.Answer{}
	}
	want := read("metro.txt")
	for i, fr := range read("frames.txt") {
		_, place, _ := strings.Cut(fr, "@")
		var line, column int
		fields := strings.Split(place, ":")
		if _, err := fmt.Sscan(fields[1], &line); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(fields[2], &column); err != nil {
			t.Fatal(err)
		}
		a := at(fields[0], line, column)
		if len(a.Frames) != 1 || !a.Frames[0].Unverified {
			t.Fatalf("%s: %+v", fr, a)
		}
		_, its, _ := strings.Cut("@"+strings.TrimPrefix(want[i], "@"), "@")
		if got := fmt.Sprintf("%s:%d:%s", a.Frames[0].File, a.Frames[0].Line, a.Frames[0].Func); got != its {
			t.Errorf("%s is at %s, metro-symbolicate has %s", fr, got, its)
		}
	}
	// What is behind the end of a module is not in the next one, and what has no module in none.
	for _, c := range []struct {
		script string
		line   int
	}{{"0.js", 14}, {"0.js", 19}, {"3.js", 12}, {"1.js", 6}, {"4.js", 6}, {"seg-7_1.js", 6}, {"seg-8.js", 189}, {"seg-8_3.js", 6}, {"seg-.js", 6}, {"+3.js", 6}, {"dist/3.js", 6}} {
		if a := at(c.script, c.line, 22); len(a.Frames) > 0 {
			t.Errorf("%s:%d is at %+v", c.script, c.line, a.Frames)
		}
	}
	// Of a chunk that has a map of its own, that counts.
	dir := t.TempDir()
	for name, text := range map[string]string{"main.jsbundle.map": strings.Join(read("main.jsbundle.map"), "\n"),
		"3.js.map": `{"version":3,"sources":["a.ts"],"names":[],"mappings":";;;;;AAMA"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	maps = New(Options{Places: []string{dir}})
	if got := fileOf(at("3.js", 6, 1)); got != filepath.ToSlash(filepath.Join(dir, "a.ts")) {
		t.Errorf("a chunk is from %s", got)
	}
	// The bundle beside the map is no text of a script.
	if err := os.WriteFile(filepath.Join(dir, "main.jsbundle"), append(bytes.Clone(ramBundle), "text"...), 0o644); err != nil {
		t.Fatal(err)
	}
	maps = New(Options{Places: []string{dir}})
	if a := at("0.js", 6, 18); len(a.Frames) != 1 || a.Frames[0].File != "/app/index.js" {
		t.Errorf("beside the bundle, a module is from %+v", a)
	}
}

// TestComment holds that the URL of a map is found that is longer than what is read of a script's end, and that one in the text of another script is not
// the script's own: bundlers put those in strings, far from the end.
func TestComment(t *testing.T) {
	const url = "# sourceMappingURL=data:application/json;base64,"
	inline, code := strings.Repeat("QUJD", 4000), strings.Repeat("f(1);\n", 4000)
	for text, want := range map[string]string{
		code + "//" + url + inline + "==\r\n//# debugId=AB\n": strings.TrimPrefix(url, "# sourceMappingURL=") + inline + "==",
		`eval("g();//` + url + `QUJD");` + "\n" + code:        "",
		code + "//# sourceMappingURL=a.js.map\n":              "a.js.map",
	} {
		path := filepath.Join(t.TempDir(), "a.js")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := comment(path, int64(len(text))); got != want {
			t.Errorf("%.60q: %.60q, want %.60q", text, got, want)
		}
	}
}
