// Command bench times qss-filter beside its peers, in turn and in the same run, and prints the medians with their ratio
// to the first row's, and the peak memory likewise. Ratios are what to quote: machines differ, and drift while they run.
//
//	go run ./testdata/bench                       every case
//	go run ./testdata/bench -mb 100 -n 3 pass     one case, with less text and fewer runs
//	go run ./testdata/bench -dir /var/tmp/b libc  all look-ups of libc, prepared files kept for the next run
//	go run ./testdata/bench -install              installs the peers and the objects first (Debian; 0.8 GB)
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

var (
	runs    = flag.Int("n", 5, "counted runs of each command")
	mb      = flag.Int("mb", 500, "size of the logs of the throughput cases, in MB")
	install = flag.Bool("install", false, "install the peers and the objects with apt-get first")
	keep    = flag.String("dir", "", "keep the prepared objects in this directory")
	binary  = flag.String("bin", "", "measure this qss-filter instead of one built here")
)

func main() {
	flag.Parse()
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// needed are the packages of the peers and the objects; the kernel's is the newest one of its series.
const needed = `apt-get update -q && apt-get install -y -q --no-install-recommends binutils llvm-22 elfutils libc6-dbg \
	python3.11-dbg libstdc++6-12-dbg ceph-osd-dbg \
	$(apt-cache search --names-only '^linux-image-6\.1\.0-[0-9]+-cloud-amd64-dbg$' | cut -d' ' -f1 | sort -V | tail -n 1)`

func run(wanted []string) error {
	if *install {
		if err := shell(needed); err != nil {
			return fmt.Errorf("install the peers: %w", err)
		}
	}
	scratch, err := os.MkdirTemp("", "qss-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := build(scratch); err != nil {
		return err
	}
	os.Setenv("PATH", scratch+":"+os.Getenv("PATH"))
	dir := *keep
	if dir == "" {
		dir = scratch
	}
	found, err := installed()
	if err != nil {
		return err
	}
	cases := append(throughput(found[0], dir), start(found[0], dir))
	for _, o := range found {
		cases = append(cases, lookUps(o, dir)...)
	}
	for _, c := range cases {
		if len(wanted) > 0 && !slices.ContainsFunc(wanted, c.is) {
			continue
		}
		if err := c.run(filepath.Join(scratch, c.name+".log")); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// is tells whether the word names the case, its object, or what is asked of that.
func (c oneCase) is(word string) bool {
	return c.name == word || strings.HasPrefix(c.name, word+"-") || c.name == c.object.name+"-"+word
}

// run makes the case's log and compares its commands.
func (c oneCase) run(log string) error {
	if err := c.write(log); err != nil {
		return err
	}
	defer os.Remove(log)
	commands, err := c.commands(log)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s: %s\n", c.name, c.what)
	return compare(commands, c.goals)
}

// build makes the programs that are measured.
func build(dir string) error {
	if *binary == "" {
		if err := shell("CGO_ENABLED=0 go build -o " + filepath.Join(dir, "qss-filter") + " ."); err != nil {
			return fmt.Errorf("build (run this from the top of the repository): %w", err)
		}
	} else if path, err := filepath.Abs(*binary); err != nil {
		return err
	} else if err := os.Symlink(path, filepath.Join(dir, "qss-filter")); err != nil {
		return err
	}
	const hello = "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"hello\\n\") }\n"
	source := filepath.Join(dir, "hello.go")
	if err := os.WriteFile(source, []byte(hello), 0o644); err != nil {
		return err
	}
	return shell("CGO_ENABLED=0 go build -o " + filepath.Join(dir, "hello") + " " + source)
}

func shell(line string) error {
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
