package command

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter/command/cli"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

func TestNamed(t *testing.T) {
	reason := errors.New("open none: no such file")
	dwp := &symsrc.OptionError{Option: "chain.Package", Err: reason}
	maps := &symsrc.OptionError{Option: "filter.Maps", Value: "m.txt", Err: reason}
	for _, c := range []struct {
		err  error
		want string
	}{
		{reason, "open none: no such file"},
		{dwp, "--dwp: open none: no such file"},
		{maps, "--maps m.txt: open none: no such file"},
		{fmt.Errorf("worker: %w", maps), "worker: --maps m.txt: open none: no such file"},
		{errors.Join(dwp, maps), "--dwp: open none: no such file\n--maps m.txt: open none: no such file"},
		{fmt.Errorf("%w and %w", reason, maps), "open none: no such file and --maps m.txt: open none: no such file"},
		{&cli.Misuse{Err: dwp}, "--dwp: open none: no such file"},
		{&symsrc.AvoidableError{Option: "importer.Kind", Err: reason}, "open none: no such file (--from-kind names the kind)"},
		{&symsrc.OptionError{Option: "addr2line.GNU", Err: &symsrc.AvoidableError{Option: "addr2line.Path", Err: reason}},
			"--backend: open none: no such file (--backend=PROGRAM names another)"},
		{&symsrc.OptionError{Option: "none.Such", Err: reason}, "none.Such: open none: no such file"},
	} {
		got := named(c.err)
		if got.Error() != c.want || !errors.Is(got, reason) {
			t.Errorf("%v: got %v, want %s", c.err, got, c.want)
		}
	}
}

// TestOptionFlags holds that each option which errors name has a flag, and that there are such flags.
func TestOptionFlags(t *testing.T) {
	var out bytes.Buffer
	p := Program
	p.Stdout = &out
	for _, c := range p.Commands {
		if _, err := p.Run(strings.Fields(c.Name + " --help=all")); err != nil {
			t.Fatal(err)
		}
	}
	for option, flag := range optionFlags {
		if !slices.Contains(HiddenFlags, flag) && !strings.Contains(out.String(), " --"+flag+" ") && !strings.Contains(out.String(), " --"+flag+"[") {
			t.Errorf("%s: there is no flag --%s", option, flag)
		}
	}
	for option, where := range options(t) {
		if optionFlags[option] == "" && optionAdvice[option] == "" {
			t.Errorf("%s: no flag is known for %s", where, option)
		}
	}
}

// options lists the options that errors in the sources name: as `Option: "package.Field"` or `wrong("Field", …)`.
func options(t *testing.T) map[string]string {
	found := map[string]string{}
	text := func(e ast.Expr) string {
		l, ok := e.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return ""
		}
		s, _ := strconv.Unquote(l.Value)
		return s
	}
	visit := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Option" && text(n.Value) != "" {
					found[text(n.Value)] = path
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "wrong" && text(n.Args[0]) != "" {
					found[file.Name.Name+"."+text(n.Args[0])] = path
				}
			}
			return true
		})
		return nil
	}
	for _, root := range []string{"filter", "symsrc"} {
		if err := filepath.WalkDir(root, visit); err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 20 {
		t.Errorf("only %d options are found: %v", len(found), found)
	}
	return found
}

// tally returns the counts of so many frames, of which some have no name.
func tally(frames, unnamed int) (t resolve.Tally) {
	for i := range frames {
		if i < unnamed {
			t.Count(resolve.NoSymbol)
		} else {
			t.Count(resolve.OK)
		}
	}
	return t
}

func TestSummary(t *testing.T) {
	for _, c := range []struct {
		s    resolve.Summary
		want string
	}{
		{resolve.Summary{Tally: tally(5, 4), Modules: []resolve.Unresolved{
			{Frames: 2, Module: "/lib/missing.so (BuildId: 0123abcd)", Reason: "NOT_FOUND: elf not found", Unstripped: true},
			{Frames: 1, Module: "/a.so", Reason: "NO_SYMBOL: the files are good, but no symbol covers the addresses"},
			{Frames: 1, Reason: "NO_MAPPING: no mapping covers the address"}}},
			"qss-filter: 4 of 5 frames have no name:\n" +
				"qss-filter:      2  /lib/missing.so (BuildId: 0123abcd): NOT_FOUND: elf not found; pass --symbols DIR where its unstripped file is\n" +
				"qss-filter:      1  /a.so: NO_SYMBOL: the files are good, but no symbol covers the addresses\n" +
				"qss-filter:      1  NO_MAPPING: no mapping covers the address\n"},
		{resolve.Summary{Tally: tally(9, 7), Forgotten: 7}, "qss-filter: 7 of 9 frames have no name:\n" +
			"qss-filter:      7  of modules that came before: there were too many to list\n"},
		{resolve.Summary{Tally: tally(2, 0)}, "qss-filter: all frames have names: 2\n"},
		{resolve.Summary{}, "qss-filter: no frames\n"},
		{resolve.Summary{Tally: tally(1, 0), NoSource: "/src/p.c"}, "qss-filter: all frames have names: 1\nqss-filter: none of the source files is there, the first is /src/p.c; pass --path-map DIR or FROM=TO\n"},
	} {
		var out strings.Builder
		if err := writeSummary(&out, c.s, &advice{}, nil); err != nil || out.String() != c.want {
			t.Errorf("%+v:\n got %q, %v\nwant %q", c.s, out.String(), err, c.want)
		}
		out.Reset()
		if err := writeSummary(&out, c.s, &advice{}, sgr.NewTheme(true)); err != nil || string(sgr.Uncolored(nil, []byte(out.String()))) != c.want ||
			strings.Contains(out.String(), "\x1b") != (c.want != "") {
			t.Errorf("%+v: in color %q, %v", c.s, out.String(), err)
		}
	}
}

// TestBrief holds the summary of a terminal: a line with the counts, and one with what is to be tried.
func TestBrief(t *testing.T) {
	missing := func(frames int, name, id string) resolve.Unresolved {
		build, _ := symsrc.ParseBuildID([]byte(id))
		return resolve.Unresolved{Frames: frames, Unstripped: true, Title: resolve.Title(symsrc.Module{Name: name, BuildID: build})}
	}
	tally := resolve.Tally{Frames: 21}
	tally.By[resolve.OK] = 12
	for _, c := range []struct {
		s    resolve.Summary
		want string
	}{
		{resolve.Summary{}, ""},
		{resolve.Summary{Tally: tally, Modules: []resolve.Unresolved{{Frames: 9}}}, "qss-filter: 9 of 21 frames have no name: qss-filter doctor 'a log'\n"},
		{resolve.Summary{Tally: tally, Modules: []resolve.Unresolved{{Frames: 4}, missing(3, "/lib/libfoo.so", "316c4e23688da05a"), missing(1, "b\x1b.so", "01")}},
			"qss-filter: 9 of 21 frames have no name: qss-filter doctor 'a log'\n" +
				"qss-filter: no symbols for libfoo.so (BuildId 316c4e23…) and 1 more: try --symbols DIR\n"},
		{resolve.Summary{Tally: tally, Modules: []resolve.Unresolved{missing(9, "b\x1b.so", "01")}},
			"qss-filter: 9 of 21 frames have no name: qss-filter doctor 'a log'\nqss-filter: no symbols for b\\x1b.so (BuildId 01): try --symbols DIR\n"},
	} {
		var out strings.Builder
		if err := writeBrief(&out, c.s, &advice{doctor: "qss-filter doctor 'a log'"}, nil); err != nil || out.String() != c.want {
			t.Errorf("%+v:\n got %q, %v\nwant %q", c.s, out.String(), err, c.want)
		}
	}
}
