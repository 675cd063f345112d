package command_test

import (
	"flag"
	"os"
	"os/signal"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"qss-filter/filter/command"
	"qss-filter/filter/worker/workertest"
)

var update = flag.Bool("update", false, "draw the README's picture again")

func TestMain(m *testing.M) {
	program := func() { os.Exit(command.Main(os.Args[1:])) }
	testscript.Main(atTop{m}, map[string]func(){"qss-filter": program, "llvm-symbolizer": program, "nats-server": workertest.Main})
}

// atTop runs the tests, not the commands that they start as this program, at the top of the tree, where README and testdata are,
// and without the configuration of the machine. No process outlives a test to write to a cache that the test removes.
type atTop struct{ *testing.M }

func (a atTop) Run() int {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	for name, value := range map[string]string{"QSS_FILTER_CONFIG": "", "CI": "1", "GITHUB_ACTIONS": "", "TF_BUILD": ""} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if signal.Ignored(os.Interrupt) { // as in the background of a script: the commands of tests are to have the default
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	return a.M.Run()
}
