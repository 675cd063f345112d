package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"qss-filter": main})
}

// TestScript runs testdata/script/*.txtar: one script per feature, with the built command. $DATA is testdata.
func TestScript(t *testing.T) {
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", data)
			// The machine's own settings must not decide what a test sees.
			for _, name := range []string{"NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"} {
				e.Setenv(name, "")
			}
			return nil
		},
	})
}

// imports is who may import whom: a package may import of ours what stands here, and nothing else.
var imports = map[string][]string{
	"qss-filter":                         {"*"},
	"qss-filter/markup":                  {},
	"qss-filter/sgr":                     {},
	"qss-filter/filter/prefix":           {},
	"qss-filter/filter/frame":            {},
	"qss-filter/ctxstate":                {"qss-filter/markup"},
	"qss-filter/symsrc":                  {},
	"qss-filter/symsrc/locate":           {"qss-filter/symsrc"},
	"qss-filter/symsrc/elfdwarf":         {"qss-filter/symsrc", "qss-filter/symsrc/elfdwarf/inflate"},
	"qss-filter/symsrc/elfdwarf/inflate": {},
	"qss-filter/filter": {"qss-filter/markup", "qss-filter/ctxstate", "qss-filter/sgr", "qss-filter/symsrc",
		"qss-filter/filter/frame", "qss-filter/filter/prefix"},
}

// owners is which file alone may import a library.
var owners = map[string]string{
	"github.com/alecthomas/participle": "markup/grammar.go",
	"github.com/fatih/color":           "sgr/palette.go",
	"github.com/spf13/pflag":           "main.go",
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
		if strings.Contains(string(text), `"`+library) && filepath.ToSlash(name) != owner {
			t.Errorf("%s imports %s, which belongs in %s", name, library, owner)
		}
	}
}
