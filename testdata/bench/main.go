// Command bench times qss-filter beside its peers, in turn and in the same run, and prints the medians with their ratio
// to the first row's, and the peak memory likewise. The first row has a cache that knows the answers, as people have. Ratios are what to quote: machines differ, and drift while they run.
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
)

var (
	runs    = flag.Int("n", 5, "counted runs of each command")
	mb      = flag.Int("mb", 500, "size of the logs of the throughput cases, in MB")
	install = flag.Bool("install", false, "install the peers and the objects with apt-get first")
	keep    = flag.String("dir", "", "keep the prepared objects in this directory")
	binary  = flag.String("bin", "", "measure this qss-filter instead of one built here")
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == onceWord {
		os.Exit(runOnce(os.Args[2], os.Args[3:]))
	}
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
	os.Setenv(cacheVar, filepath.Join(scratch, "cache"))
	os.Setenv("PATH", scratch+":"+os.Getenv("PATH"))
	dir := *keep
	if dir == "" {
		dir = scratch
	}
	found, err := installed()
	if err != nil {
		return err
	}
	lib := &libc{object: found[0]}
	if lib.plainDir, err = lib.variant(dir, "plain"); err != nil {
		return err
	}
	log := filepath.Join(scratch, "log")
	chosen := func(names ...string) bool {
		return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(names, w) })
	}
	for _, c := range slices.Concat(cases, contextCases, jsonCases) {
		if !chosen(c.name) {
			continue
		}
		fmt.Printf("\n%s: %s\n", c.name, c.what)
		if err := c.write(log, lib); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := compare(c.commands(log, lib)); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for _, l := range lookUps {
		for _, o := range found {
			if name := o.name + "-" + l.name; chosen(name, o.name, l.name) {
				fmt.Printf("\n%s: %s\n", name, l.what)
				if err := l.run(o, dir, log); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return nil
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
