package main

import (
	"encoding/json"
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"qss-filter/filter/worker/workertest"
)

var update = flag.Bool("update", false, "write what the scripts print into them")

func TestMain(m *testing.M) {
	testscript.Main(unconfigured{m}, map[string]func(){"qss-filter": main, "llvm-symbolizer": main, "nats-server": workertest.Main})
}

// unconfigured runs the tests, not the commands that they start as this program, without the configuration of the machine.
type unconfigured struct{ *testing.M }

func (u unconfigured) Run() int {
	if err := os.Setenv("QSS_FILTER_CONFIG", ""); err != nil {
		panic(err)
	}
	if signal.Ignored(syscall.SIGHUP) { // as under nohup: the commands of tests are to have the default
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	return u.M.Run()
}

// TestScript runs testdata/script/*.txtar: one script per feature, with the built command. $DATA is testdata.
func TestScript(t *testing.T) {
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		UpdateScripts: *update,
		Dir:           filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", data)
			e.Setenv("IMPORT", filepath.Join(data, "..", "filter", "importer", "testdata"))
			e.Setenv("NATS", freeURL(t))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			// The machine's own settings must not decide what a test sees.
			for _, name := range []string{"NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "QSS_COLORS"} {
				e.Setenv(name, "")
			}
			return nil
		},
	})
}

// freeURL is where a script's server can listen.
func freeURL(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "nats://" + l.Addr().String()
}

// TestNoServer holds that the server which tests talk to is no part of the program.
func TestNoServer(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "nats-server") {
		t.Error("the program has a NATS server in it")
	}
}

// imports is who may import whom: a package may import of ours what stands here, and nothing else.
var imports = map[string][]string{
	"qss-filter":                 {"qss-filter/filter/command"},
	"qss-filter/filter/command":  {"*"},
	"qss-filter/filter/scan":     {},
	"qss-filter/markup":          {"qss-filter/filter/scan"},
	"qss-filter/sgr":             {},
	"qss-filter/filter/prefix":   {"qss-filter/filter/scan"},
	"qss-filter/filter/frame":    {"qss-filter/filter/scan", "qss-filter/symsrc"},
	"qss-filter/filter/mappings": {"qss-filter/filter/scan", "qss-filter/symsrc"},
	"qss-filter/ctxstate":        {"qss-filter/markup", "qss-filter/filter/mappings", "qss-filter/symsrc"},
	"qss-filter/symsrc":          {},
	"qss-filter/symsrc/demangle": {"qss-filter/symsrc/demangle/d", "qss-filter/symsrc/demangle/itanium", "qss-filter/symsrc/demangle/msvc",
		"qss-filter/symsrc/demangle/rust"},
	"qss-filter/symsrc/demangle/d":       {},
	"qss-filter/symsrc/demangle/itanium": {},
	"qss-filter/symsrc/demangle/msvc":    {},
	"qss-filter/symsrc/demangle/rust":    {},
	"qss-filter/symsrc/locate":           {"qss-filter/symsrc", "qss-filter/symsrc/diskcache", "qss-filter/symsrc/budget"},
	"qss-filter/symsrc/sources":          {"qss-filter/symsrc"},
	"qss-filter/symsrc/meter":            {"qss-filter/symsrc"},
	"qss-filter/symsrc/symbolize":        {"qss-filter/symsrc"},
	"qss-filter/symsrc/names":            {"qss-filter/symsrc/bin", "qss-filter/symsrc/budget", "qss-filter/symsrc/demangle"},
	"qss-filter/symsrc/elf":              {"qss-filter/symsrc", "qss-filter/symsrc/bin", "qss-filter/symsrc/budget", "qss-filter/symsrc/elf/inflate", "qss-filter/symsrc/names"},
	"qss-filter/symsrc/elf/elftest":      {},
	"qss-filter/symsrc/dwarf":            {"qss-filter/symsrc", "qss-filter/symsrc/bin", "qss-filter/symsrc/budget", "qss-filter/symsrc/elf", "qss-filter/symsrc/names"},
	"qss-filter/symsrc/codeprobe":        {"qss-filter/symsrc", "qss-filter/symsrc/bin", "qss-filter/symsrc/budget", "qss-filter/symsrc/demangle", "qss-filter/symsrc/elf", "qss-filter/symsrc/names"},
	"qss-filter/symsrc/gopclntab":        {"qss-filter/symsrc", "qss-filter/symsrc/bin", "qss-filter/symsrc/elf"},
	"qss-filter/symsrc/object": {"qss-filter/symsrc", "qss-filter/symsrc/budget", "qss-filter/symsrc/codeprobe", "qss-filter/symsrc/demangle", "qss-filter/symsrc/diskcache", "qss-filter/symsrc/dwarf",
		"qss-filter/symsrc/elf", "qss-filter/symsrc/gopclntab", "qss-filter/symsrc/mapped", "qss-filter/symsrc/names"},
	"qss-filter/symsrc/elf/inflate": {},
	"qss-filter/symsrc/bin":         {},
	"qss-filter/filter/record":      {"qss-filter/symsrc"},
	"qss-filter/filter": {"qss-filter/filter/record", "qss-filter/markup", "qss-filter/ctxstate", "qss-filter/sgr", "qss-filter/symsrc", "qss-filter/symsrc/demangle",
		"qss-filter/filter/frame", "qss-filter/filter/mappings", "qss-filter/filter/prefix", "qss-filter/filter/scan"},
	"qss-filter/filter/batch":             {"qss-filter/filter", "qss-filter/symsrc", "qss-filter/symsrc/diskcache", "qss-filter/symsrc/locate"},
	"qss-filter/filter/child":             {"qss-filter/filter", "qss-filter/symsrc/diskcache"},
	"qss-filter/filter/command/cli":       {"qss-filter/sgr"},
	"qss-filter/filter/doctor":            {"qss-filter/filter", "qss-filter/filter/record", "qss-filter/sgr", "qss-filter/symsrc"},
	"qss-filter/filter/importer":          {"qss-filter/filter", "qss-filter/symsrc", "qss-filter/symsrc/demangle"},
	"qss-filter/filter/worker":            {"qss-filter/filter", "qss-filter/filter/prefix", "qss-filter/symsrc"},
	"qss-filter/filter/worker/workertest": {},
	"qss-filter/filter/prefix/prefixtest": {"qss-filter/filter/prefix"},
	"qss-filter/symsrc/addr2line":         {"qss-filter/symsrc", "qss-filter/symsrc/diskcache", "qss-filter/symsrc/demangle", "qss-filter/symsrc/locate"},
	"qss-filter/symsrc/cache":             {"qss-filter/symsrc", "qss-filter/symsrc/diskcache"},
	"qss-filter/symsrc/diskcache":         {},
	"qss-filter/symsrc/debuginfod":        {"qss-filter/symsrc", "qss-filter/symsrc/diskcache", "qss-filter/symsrc/locate"},
	"qss-filter/symsrc/chain": {"qss-filter/symsrc", "qss-filter/symsrc/diskcache", "qss-filter/symsrc/addr2line", "qss-filter/symsrc/cache", "qss-filter/symsrc/debuginfod",
		"qss-filter/symsrc/object", "qss-filter/symsrc/locate", "qss-filter/symsrc/meter", "qss-filter/symsrc/sources", "qss-filter/symsrc/symfile"},
	"qss-filter/symsrc/breakpad": {"qss-filter/symsrc", "qss-filter/symsrc/demangle", "qss-filter/symsrc/budget"},
	"qss-filter/symsrc/budget":   {},
	"qss-filter/symsrc/dumpsym":  {"qss-filter/symsrc", "qss-filter/symsrc/codeprobe", "qss-filter/symsrc/diskcache", "qss-filter/symsrc/dwarf", "qss-filter/symsrc/object"},
	"qss-filter/symsrc/gsym":     {"qss-filter/symsrc", "qss-filter/symsrc/demangle", "qss-filter/symsrc/budget"},
	"qss-filter/symsrc/symfile":  {"qss-filter/symsrc", "qss-filter/symsrc/diskcache", "qss-filter/symsrc/breakpad", "qss-filter/symsrc/budget", "qss-filter/symsrc/gsym", "qss-filter/symsrc/mapped"},
	"qss-filter/symsrc/mapped":   {},
}

// owners is which file alone, or the files of which folder, may import a library.
var owners = map[string]string{
	"github.com/alecthomas/participle": "markup/grammar.go",
	"github.com/creack/pty":            "filter/child/terminal_posix.go",
	"github.com/dgraph-io/badger":      "symsrc/cache/",
	"github.com/fatih/color":           "sgr/",
	"github.com/google/pprof":          "filter/importer/",
	"github.com/nats-io/":              "filter/worker/",
	"github.com/spf13/pflag":           "filter/command/cli/",
	"golang.org/x/term":                "filter/command/cli/",
	"zombiezen.com/go/sqlite":          "filter/importer/",
}

// TestImports holds the structure: data goes one way, and each library has one place.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	top, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			Imports         []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		allowed, known := imports[p.ImportPath]
		if !known {
			t.Errorf("%s: no rule says what it may import", p.ImportPath)
		}
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "qss-filter/") && !slices.Contains(allowed, "*") && !slices.Contains(allowed, i) {
				t.Errorf("%s must not import %s", p.ImportPath, i)
			}
		}
		for _, file := range p.GoFiles {
			checkOwners(t, top, filepath.Join(p.Dir, file))
		}
	}
}

// checkOwners tells of a library that file imports though another file owns it.
func checkOwners(t *testing.T, top, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(top, file)
	if err != nil {
		t.Fatal(err)
	}
	for library, owner := range owners {
		if strings.Contains(string(text), `"`+library) && !strings.HasPrefix(filepath.ToSlash(name), owner) {
			t.Errorf("%s imports %s, which belongs in %s", name, library, owner)
		}
	}
}

// commandOnly is what only command does, and the packages that may do it too, with the reason.
var commandOnly = []struct {
	what   string
	is     func(n ast.Node) bool
	others map[string]string
}{
	{"import flag", importOf("flag"), nil},
	{"import os/signal", importOf("os/signal"), map[string]string{
		"filter/child": "it passes signals on to the command that it runs, and stops and goes on with it: that is what it is for"}},
	{"end the program", calls("os", "Exit"), map[string]string{
		"": "it is the program", "filter/worker/workertest": "it is the program of a server, for tests"}},
	{"start a shell", hasText(regexp.MustCompile(`^/bin/sh$`)), map[string]string{
		"filter/child": "as execvp(3) does, for a script that names no interpreter"}},
	{"name a flag", hasText(regexp.MustCompile(`(^|[ (=])--[a-z]`)), map[string]string{
		"filter/doctor": "what it advises are command lines",
		"filter/worker": "it advises a command of NATS"}},
}

// importOf matches the import of a package.
func importOf(path string) func(ast.Node) bool {
	return func(n ast.Node) bool {
		i, ok := n.(*ast.ImportSpec)
		return ok && i.Path.Value == strconv.Quote(path)
	}
}

// calls matches a function of a package.
func calls(of, name string) func(ast.Node) bool {
	return func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != name {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == of
	}
}

// hasText matches a string.
func hasText(want *regexp.Regexp) func(ast.Node) bool {
	return func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return false
		}
		text, err := strconv.Unquote(l.Value)
		return err == nil && want.MatchString(text)
	}
}

// TestCommandOnly holds that libraries know no flags and no signals, and end nothing: that is command's.
func TestCommandOnly(t *testing.T) {
	used := map[string]bool{}
	for _, root := range []string{"main.go", "filter", "markup", "sgr", "ctxstate", "symsrc"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			folder := filepath.ToSlash(filepath.Dir(path))
			if folder == "." {
				folder = ""
			}
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
				strings.HasPrefix(folder+"/", "filter/command/") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				for _, rule := range commandOnly {
					if n == nil || !rule.is(n) {
						continue
					}
					if _, may := rule.others[folder]; may {
						used[rule.what+" "+folder] = true
					} else {
						t.Errorf("%s must not %s: that is command's", path, rule.what)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, rule := range commandOnly {
		for folder := range rule.others {
			if !used[rule.what+" "+folder] {
				t.Errorf("%s does not %s: take it out of the list", folder, rule.what)
			}
		}
	}
}
