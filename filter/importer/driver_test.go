package importer

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"qss-filter/filter"
	"qss-filter/symsrc"
	"qss-filter/symsrc/elfdwarf"
	"qss-filter/symsrc/locate"
)

var update = flag.Bool("u", false, "write what the scripts print into them")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"import": func() { os.Exit(drive(os.Args[1:], false)) }, // as `qss-filter import INPUT`
		"from":   func() { os.Exit(drive(os.Args[1:], true)) },  // as `qss-filter --from INPUT`
		"filter": func() { os.Exit(driveFilter(os.Args[1:])) },  // as `qss-filter`
	})
}

// TestScript runs testdata/script/*.txtar. $DATA is testdata, $ROOTFS the demo's files.
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
			e.Setenv("ROOTFS", filepath.Join(data, "..", "..", "..", "testdata", "rootfs"))
			return nil
		},
	})
}

// flags reads a command line.
func flags(args []string) (o *Options, f *filter.Options, rest []string, err error) {
	var files locate.Options
	o, f = &Options{}, &filter.Options{}
	fs := flag.NewFlagSet("import", flag.ExitOnError)
	o.Register(fs)
	f.Register(fs)
	files.Register(fs)
	by := fs.Lookup("by")
	by.Value = o.ByValue(by.Value)
	_ = fs.Parse(args) // exits
	finder, err := locate.New(files)
	if err != nil {
		return o, f, nil, err
	}
	o.Symbols = elfdwarf.NewSource(finder)
	f.Symbols = o.Symbols
	return o, f, fs.Args(), nil
}

func drive(args []string, filtered bool) int {
	o, f, rest, err := flags(args)
	if err == nil {
		err = driveInput(rest[0], *o, *f, filtered)
	}
	for _, problem := range Problems(err) {
		fmt.Fprintln(os.Stderr, "qss-filter:", problem)
	}
	if err != nil {
		return 1
	}
	return 0
}

func driveInput(path string, o Options, f filter.Options, filtered bool) error {
	in, err := Detect(path, o)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if !filtered {
		return in.Lines(ctx, os.Stdout)
	}
	lines, err := Open(ctx, path, o)
	if err != nil {
		return err
	}
	defer lines.Close()
	return filter.New(f).Run(ctx, lines, os.Stdout)
}

func driveFilter(args []string) int {
	_, f, _, err := flags(args)
	if err == nil {
		err = filter.New(*f).Run(context.Background(), os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "qss-filter:", err)
		return 1
	}
	return 0
}

// rootfs is where the demo's files lie.
var rootfs = filepath.Join("..", "..", "testdata", "rootfs")

// symbols answers for the demo's files.
func symbols(t testing.TB, roots ...string) symsrc.Source {
	t.Helper()
	if len(roots) == 0 {
		roots = []string{rootfs}
	}
	finder, err := locate.New(locate.Options{Rootfs: roots})
	if err != nil {
		t.Fatal(err)
	}
	return elfdwarf.NewSource(finder)
}

// lines returns what an input prints.
func lines(t testing.TB, path string, o Options) (string, error) {
	t.Helper()
	r, err := Open(context.Background(), path, o)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}
