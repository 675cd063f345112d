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

// unconfigured runs the tests, not the commands that they start as this program, without the configuration of the machine. No process
// outlives a test to write to a directory that the test removes.
type unconfigured struct{ *testing.M }

func (u unconfigured) Run() int {
	for name, value := range map[string]string{"QSS_FILTER_CONFIG": "", "CI": "1"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
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
			e.Setenv("CI", "1")
			// The machine's own settings must not decide what a test sees.
			for _, name := range []string{"NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "QSS_COLORS", "GITHUB_ACTIONS", "TF_BUILD", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY"} {
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

// module is the path of this module.
const module = "qss-filter"

// imports is who may import whom: of this module's packages, a package may import what stands here, and nothing else; * is all.
var imports = map[string]string{
	"":                         "filter/command",
	"ctxstate":                 "ctxstate/ordered markup symsrc",
	"filter":                   "ctxstate filter/corefile filter/frame filter/guard filter/linecache filter/mappings filter/match filter/parse filter/prefix filter/print filter/print/jsonl filter/record filter/resolve filter/scan filter/stream markup sgr symsrc symsrc/demangle symsrc/javamap symsrc/sourcemap symsrc/unpack",
	"ctxstate/ordered":         "",
	"filter/findings":          "filter/match filter/print filter/triage symsrc",
	"filter/tree":              "filter filter/guard filter/print filter/resolve filter/stream filter/triage symsrc symsrc/diskcache symsrc/locate symsrc/meter symsrc/unpack",
	"filter/triage":            "filter/match symsrc symsrc/demangle",
	"filter/child":             "filter/stream symsrc/diskcache",
	"filter/command":           "*",
	"filter/command/cli":       "sgr",
	"filter/corefile":          "symsrc",
	"filter/doctor":            "filter filter/match filter/print/jsonl filter/record filter/resolve filter/stream sgr symsrc symsrc/debuginfod symsrc/locate symsrc/unpack",
	"filter/filtertest":        "filter filter/stream symsrc symsrc/locate symsrc/object",
	"filter/frame":             "filter/match filter/scan symsrc",
	"filter/guard":             "",
	"filter/importer":          "filter filter/frame filter/parse filter/print filter/resolve symsrc symsrc/demangle",
	"filter/linecache":         "",
	"filter/live":              "",
	"filter/llvm":              "ctxstate/ordered filter/guard filter/linecache filter/match filter/print filter/scan filter/stream markup symsrc symsrc/demangle",
	"filter/mappings":          "filter/match filter/scan symsrc",
	"filter/prefix":            "filter/match filter/scan",
	"filter/prefix/prefixtest": "filter/prefix",
	"filter/print":             "ctxstate filter/frame filter/guard filter/parse filter/prefix filter/print/cxxname filter/record filter/resolve filter/scan filter/triage markup sgr symsrc symsrc/demangle",
	"filter/print/cxxname":     "symsrc/demangle",
	"filter/print/jsonl":       "ctxstate filter/frame filter/parse filter/prefix filter/print filter/record filter/resolve filter/scan markup symsrc",
	"filter/match":             "filter/scan sgr",
	"filter/parse":             "filter/frame filter/match filter/prefix filter/scan markup sgr symsrc",
	"filter/record":            "filter/scan symsrc",
	"filter/resolve":           "ctxstate filter/frame filter/guard filter/mappings filter/match filter/parse filter/prefix filter/scan filter/stream markup symsrc symsrc/demangle symsrc/javamap symsrc/retrace symsrc/sourcemap",
	"filter/scan":              "",
	"filter/stream":            "filter/match",
	"filter/worker":            "filter filter/resolve filter/prefix filter/stream symsrc symsrc/roots",
	"filter/worker/workertest": "",
	"markup":                   "filter/scan",
	"sgr":                      "",
	"symsrc":                   "symsrc/bin",
	"symsrc/addr2line":         "symsrc symsrc/bin symsrc/demangle symsrc/diskcache symsrc/locate",
	"symsrc/bin":               "",
	"symsrc/breakpad":          "symsrc symsrc/budget symsrc/demangle",
	"symsrc/budget":            "",
	"symsrc/cache":             "symsrc symsrc/diskcache",
	"symsrc/chain":             "symsrc symsrc/addr2line symsrc/cache symsrc/debuginfod symsrc/diskcache symsrc/javamap symsrc/locate symsrc/meter symsrc/object symsrc/sourcemap symsrc/sources symsrc/symfile",
	"symsrc/codeprobe":         "symsrc symsrc/bin symsrc/budget symsrc/demangle symsrc/elf symsrc/names",
	"symsrc/debuginfod":        "symsrc symsrc/diskcache symsrc/locate symsrc/roots",
	"symsrc/demangle":          "symsrc/bin symsrc/demangle/d symsrc/demangle/itanium symsrc/demangle/msvc symsrc/demangle/rust",
	"symsrc/demangle/d":        "",
	"symsrc/demangle/itanium":  "",
	"symsrc/demangle/msvc":     "",
	"symsrc/demangle/rust":     "",
	"symsrc/diskcache":         "symsrc/pages",
	"symsrc/dumpsym":           "symsrc symsrc/codeprobe symsrc/diskcache symsrc/dwarf symsrc/object",
	"symsrc/dwarf":             "symsrc symsrc/bin symsrc/budget symsrc/elf symsrc/names",
	"symsrc/elf":               "symsrc symsrc/bin symsrc/budget symsrc/elf/inflate symsrc/names symsrc/pages",
	"symsrc/elf/elftest":       "",
	"symsrc/elf/inflate":       "symsrc/pages",
	"symsrc/gopclntab":         "symsrc symsrc/bin symsrc/elf",
	"symsrc/gsym":              "symsrc symsrc/budget symsrc/demangle",
	"symsrc/javamap":           "symsrc symsrc/retrace",
	"symsrc/locate":            "symsrc symsrc/budget symsrc/diskcache symsrc/macho symsrc/unpack",
	"symsrc/index":             "symsrc symsrc/budget symsrc/names",
	"symsrc/macho":             "symsrc symsrc/bin symsrc/budget symsrc/codeprobe symsrc/elf",
	"symsrc/mapped":            "symsrc/pages",
	"symsrc/meter":             "symsrc",
	"symsrc/names":             "symsrc/bin symsrc/budget symsrc/demangle",
	"symsrc/object":            "symsrc symsrc/bin symsrc/budget symsrc/codeprobe symsrc/demangle symsrc/diskcache symsrc/dwarf symsrc/elf symsrc/gopclntab symsrc/index symsrc/macho symsrc/mapped symsrc/names",
	"symsrc/pages":             "",
	"symsrc/retrace":           "symsrc/mapped",
	"symsrc/sourcemap":         "symsrc symsrc/diskcache symsrc/mapped symsrc/pages",
	"symsrc/roots":             "",
	"symsrc/serve":             "symsrc",
	"symsrc/sources":           "symsrc",
	"symsrc/symbolize":         "symsrc symsrc/debuginfod symsrc/symbolize/batch",
	"symsrc/symbolize/atos":    "symsrc symsrc/macho symsrc/symbolize/batch",
	"symsrc/symbolize/batch":   "symsrc",
	"symsrc/symbolize/gnu":     "symsrc symsrc/bin symsrc/demangle symsrc/elf symsrc/symbolize/batch",
	"symsrc/symbolize/llvm":    "symsrc symsrc/bin symsrc/demangle symsrc/symbolize/batch",
	"symsrc/symbolize/peers":   "symsrc symsrc/cache symsrc/chain symsrc/debuginfod symsrc/sources symsrc/symbolize/batch",
	"symsrc/unpack":            "",
	"symsrc/symfile":           "symsrc symsrc/breakpad symsrc/budget symsrc/diskcache symsrc/gsym symsrc/mapped symsrc/pages",
}

// owners is which file alone, or the files of which folder, may import a library.
var owners = map[string]string{
	"github.com/alecthomas/participle": "markup/grammar.go",
	"github.com/aws/":                  "symsrc/debuginfod/",
	"github.com/creack/pty":            "filter/child/terminal_posix.go",
	"github.com/dgraph-io/badger":      "symsrc/cache/",
	"github.com/fatih/color":           "sgr/",
	"github.com/google/pprof":          "filter/importer/",
	"github.com/mattn/go-runewidth":    "sgr/width.go",
	"github.com/nats-io/":              "filter/worker/",
	"github.com/ncruces/go-sqlite3":    "filter/importer/",
	"github.com/pierrec/lz4":           "symsrc/unpack/",
	"github.com/spf13/pflag":           "filter/command/cli/",
	"golang.org/x/crypto/x509roots":    "symsrc/roots/",
	"golang.org/x/term":                "filter/command/cli/",
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
		rule, known := imports[strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")]
		allowed := strings.Fields(rule)
		if !known {
			t.Errorf("%s: no rule says what it may import", p.ImportPath)
		}
		for _, i := range p.Imports {
			if ours, ok := strings.CutPrefix(i, module+"/"); ok && rule != "*" && !slices.Contains(allowed, ours) {
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
		"filter/doctor":     "what it advises are command lines",
		"filter/filtertest": "it runs llvm-symbolizer, for tests",
		"filter/worker":     "it advises a command of NATS"}},
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
