// Command picture draws what a terminal shows of qss-filter's output, as SVG:
//
//	go run ./testdata/picture > testdata/picture.svg              the picture of the README
//	tmux capture-pane -e -p | go run ./testdata/picture -stdin    any text with colours
//
// The picture follows the reader's preference for dark or light; -theme fixes it.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

var (
	binary  = flag.String("bin", "", "draw the output of this qss-filter instead of one built here")
	stdin   = flag.Bool("stdin", false, "draw standard input")
	theme   = flag.String("theme", "", "dark or light, in place of what the reader prefers")
	columns = flag.Int("columns", 112, "width of the terminal")
)

// scene is what the picture shows, as it is typed in this directory; behind it stands what a terminal would have decided.
var (
	scene   = []string{"--rootfs", "../rootfs", "--source-root", "src", "--source-context", "1", "--explain", "crash.log"}
	decided = []string{"--color=always", "--summary=never", "--no-cache", "--no-debuginfod"}
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run() error {
	text, err := output()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(svg(lay(text, *columns), *columns, *theme))
	return err
}

// output returns the text to be drawn.
func output() ([]byte, error) {
	if *stdin {
		return io.ReadAll(os.Stdin)
	}
	if *binary == "" {
		dir, err := os.MkdirTemp("", "picture")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		*binary = filepath.Join(dir, "qss-filter")
		build := exec.Command("go", "build", "-o", *binary, ".")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("build (run this from the top of the repository): %w", err)
		}
	}
	cmd := exec.Command(*binary, slices.Concat(decided, scene)...)
	cmd.Dir = filepath.Join("testdata", "picture")
	cmd.Env, cmd.Stderr = append(os.Environ(), "QSS_COLORS=", "QSS_FILTER_CONFIG="), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", *binary, err)
	}
	return append([]byte("$ qss-filter "+strings.Join(scene, " ")+"\n"), out...), nil
}
