// Command bench times qss-filter beside its peers, in turn and in the same run, and prints the medians with their ratio
// to the first row's, and the peak memory likewise. The first row has a cache that knows the answers, as people have. Ratios are what to quote: machines differ, and drift while they run.
//
//	go run ./testdata/bench                       every case
//	go run ./testdata/bench -mb 100 -n 3 pass     one case, with less text and fewer runs
//	go run ./testdata/bench -dir /var/tmp/b libc  all look-ups of libc, prepared files kept for the next run
//	go run ./testdata/bench -n 1 callers          other programs that start addr2line or llvm-symbolizer
//	go run ./testdata/bench -logs 'loghub/*.log' logs   logs without frames, each repeated
//	npm install --prefix /var/tmp/b @jridgewell/trace-mapping metro-symbolicate; go run ./testdata/bench -dir /var/tmp/b script scripts
//	go run ./testdata/bench -install              installs the peers and the objects first (Debian; 0.8 GB)
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	if slices.Contains(constantTools, filepath.Base(os.Args[0])) {
		answerAtOnce()
		return
	}
	flag.Parse()
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// needed are the packages of the peers and the objects; the kernel's is the newest one of its series.
const needed = `apt-get update -q && apt-get install -y -q --no-install-recommends binutils clang-22 elfutils g++ libc6-dbg libclang-rt-22-dev linux-perf lld-22 llvm-22 proguard-cli \
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
	os.Unsetenv("CI") // there no index is written
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
	if err := prime(found[0], lib.plainDir, log); err != nil {
		return err
	}
	chosen := func(names ...string) bool {
		return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(names, w) })
	}
	for _, c := range slices.Concat(cases, wordCases, triggerCases(), logCases(), contextCases, jsonCases, javaCases, scriptCases) {
		if !chosen(c.name) {
			continue
		}
		fmt.Printf("\n%s: %s\n", c.name, c.what)
		current = c.name
		if err := c.write(log, lib); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := compare(c.commands(log, lib)); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for _, l := range lookUps {
		for _, o := range found {
			if l.other != nil && l.other.only != "" && l.other.only != o.name {
				continue
			}
			if name := o.name + "-" + l.name; chosen(name, o.name, l.name) {
				fmt.Printf("\n%s: %s\n", name, l.what)
				current = name
				if err := l.run(o, dir, log); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	for _, c := range darwinCases {
		if chosen(c.name, "dsym") {
			fmt.Printf("\n%s: %s\n", c.name, c.what)
			current = c.name
			if err := runDarwin(dir, log, c.addresses, c.goal); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	tools, err := linkTools(scratch)
	if err != nil {
		return err
	}
	for _, c := range callers {
		if !chosen(c.name, "callers") {
			continue
		}
		fmt.Printf("\n%s: %s\n", c.name, c.what)
		current = c.name
		if err := c.run(dir, tools); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	printVerdicts()
	return nil
}

// verdicts are the rows of the table of goals, and current is the case of the next one.
var (
	verdicts [][4]string
	current  string
)

// printVerdicts prints what was aimed at in each case, what was reached, and whether that is enough.
func printVerdicts() {
	fmt.Print("\n| case | goal | figure | verdict |\n|---|---|---|---|\n")
	for _, v := range verdicts {
		fmt.Printf("| %s | %s | %s | %s |\n", v[0], v[1], v[2], v[3])
	}
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

// onceWord, as the first argument, makes this program run one command and nothing else.
const onceWord = "run-once"

// runOnce runs a command with a file as its input, and writes how long that took in ns, the CPU time of its processes in ns, and the
// largest resident set of any of them in KiB.
func runOnce(input string, argv []string) int {
	fail := func(err error) int {
		os.Stderr.WriteString("bench: " + argv[0] + ": " + err.Error() + "\n")
		return 1
	}
	in, err := os.Open(input)
	if err != nil {
		return fail(err)
	}
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return fail(err)
	}
	begin := time.Now()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{in.Fd(), out.Fd(), 2}})
	if err != nil {
		return fail(err)
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	if _, err := syscall.Wait4(pid, &status, 0, &usage); err != nil {
		return fail(err)
	}
	took := time.Since(begin)
	if status.ExitStatus() != 0 {
		return fail(os.NewSyscallError("exit status "+strconv.Itoa(status.ExitStatus()), syscall.ECHILD))
	}
	cpu := usage.Utime.Nano() + usage.Stime.Nano()
	os.Stdout.WriteString(strconv.FormatInt(took.Nanoseconds(), 10) + " " + strconv.FormatInt(cpu, 10) + " " + strconv.FormatInt(usage.Maxrss, 10) + "\n")
	return 0
}

// cacheVar is where qss-filter's cache is.
const cacheVar = "XDG_CACHE_HOME"

// command is one row of a comparison: a pipeline for the shell, or one process with a file as its input, so that the
// start of a shell is not measured with it.
type command struct {
	name, pipeline string
	argv, env      []string
	input          string
	cold           bool // the cache is emptied before each run
	floor          bool // a tool that takes no time is measured: what remains is its caller's own
	goal           goal
}

// measured is what a command took: times in ms, sorted, those of the processors likewise, and the largest resident set in KiB.
type measured struct {
	times, cpu []float64
	peak       int64
}

func (m *measured) median() float64 { return m.times[len(m.times)/2] }

// compare runs the commands in turn, A B C A B C …, after a warm-up of each. Quick ones are run more often.
func compare(commands []command) error {
	commands = slices.DeleteFunc(commands, func(c command) bool {
		tool, _, _ := strings.Cut(c.name, " ")
		if _, err := exec.LookPath(tool); err != nil && !strings.HasSuffix(c.name, alone) {
			fmt.Printf("  %-22s skipped: not installed (-install)\n", c.name)
			return true
		}
		return false
	})
	results := make([]measured, len(commands))
	begin := time.Now()
	for k := 0; k <= *runs || k <= 8**runs && time.Since(begin) < 2*time.Second; k++ {
		for i, c := range commands {
			took, cpu, rss, err := once(c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if k > 0 {
				results[i].times = append(results[i].times, took.Seconds()*1000)
				results[i].cpu = append(results[i].cpu, cpu.Seconds()*1000)
				results[i].peak = max(results[i].peak, rss)
			}
		}
	}
	for i, c := range commands {
		slices.Sort(results[i].times)
		slices.Sort(results[i].cpu)
		results[i].print(&c, &results[0], bound(commands, results, i))
	}
	return nil
}

// bound says which ratio to command i a tool that takes no time would reach: its caller's own time is that of the row with floor set.
func bound(commands []command, results []measured, i int) string {
	floor := slices.IndexFunc(commands, func(c command) bool { return c.floor })
	if floor < 0 {
		return ""
	}
	return fmt.Sprintf("; a tool that takes no time: %.2f ×", results[i].median()/results[floor].median())
}

// print writes the row of a command beside the first one's, and whether the goal against it is met. bound is written with it.
func (m *measured) print(c *command, first *measured, bound string) {
	ratio, memory := m.median()/first.median(), float64(first.peak)/float64(m.peak)
	fmt.Printf("  %-22s %9.1f ms (%.1f–%.1f)  cpu %9.1f ms  %6.2f ×  peak %6.1f MB", c.name, m.median(), m.times[0], m.times[len(m.times)-1],
		m.cpu[len(m.cpu)/2], ratio, float64(m.peak)/1024)
	if g := c.goal; g.times > 0 {
		fmt.Printf("  goal %.3g × %s", g.times, verdict(ratio >= g.times))
		row := func(goal, figure string, ok bool) {
			verdicts = append(verdicts, [4]string{current, goal, figure, verdict(ok)})
		}
		row(fmt.Sprintf("%.3g × %s", g.times, c.name), fmt.Sprintf("%.2f × (%.1f of %.1f ms)%s", ratio, first.median(), m.median(), bound), ratio >= g.times)
		if g.memory > 0 {
			fmt.Printf("; memory %.2f, goal %.3g %s", memory, g.memory, verdict(memory <= g.memory))
			row(fmt.Sprintf("memory %.3g × %s", g.memory, c.name), fmt.Sprintf("%.2f ×", memory), memory <= g.memory)
		}
	}
	fmt.Println()
}

func verdict(ok bool) string {
	if ok {
		return "met"
	}
	return "MISSED"
}

// once runs a command by way of a process that is small: the peak memory of a process includes what its parent had when
// it began.
func once(c command) (took, cpu time.Duration, rss int64, err error) {
	argv := c.argv
	if argv == nil {
		argv = []string{"/bin/sh", "-c", c.pipeline}
	}
	if argv[0], err = exec.LookPath(argv[0]); err != nil {
		return 0, 0, 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, 0, 0, err
	}
	settle()
	cmd := exec.Command(self, append([]string{onceWord, cmp.Or(c.input, os.DevNull)}, argv...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), c.env...), os.Stderr
	if c.cold {
		dir := os.Getenv(cacheVar) + "-cold"
		if err := os.RemoveAll(dir); err != nil {
			return 0, 0, 0, err
		}
		// With $CI neither an index is written nor a process stays, which would run beside the next command.
		cmd.Env = append(cmd.Env, cacheVar+"="+dir, "CI=true")
	}
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, 0, err
	}
	_, err = fmt.Sscan(string(out), &took, &cpu, &rss)
	return took, cpu, rss, err
}

// settle waits until the processes of qss-filter's cache have done what the runs before have left to them, which would run beside the next
// command: they take answers from files that end in .taken then, and write indexes, where an empty file stands until then.
func settle() {
	dir := filepath.Join(os.Getenv(cacheVar), "qss-filter")
	end := time.Now().Add(15 * time.Second)
	for quiet := 0; quiet < 3 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		taken, _ := filepath.Glob(filepath.Join(dir, "new", "*.taken"))
		indexes, _ := filepath.Glob(filepath.Join(dir, "index", "*"))
		if quiet++; len(taken) > 0 || slices.ContainsFunc(indexes, unwritten) {
			quiet = 0
		}
	}
}

// unwritten reports whether a file of the index is empty.
func unwritten(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0 && info.Name() != "lock"
}

// jsonCases are the logs of other cases as objects of JSON.
var jsonCases = []oneCase{
	{"pass-json", "plain text, as JSON", cases[0].write, bothForms},
	{"markup-json", "30 % bt frames of libc, 2,000 distinct, as JSON", cases[1].write, bothForms},
	{"frames-json", "30 % `#N addr (elf+off) (BuildId: id)` frames of libc, 2,000 distinct, as JSON", cases[2].write, bothForms},
}

// bothForms reads a log through a pipe as JSON, all of it and what holds anything, and as text.
func bothForms(log string, lib *libc) []command {
	through := func(flags string) string { return "cat " + log + " | " + ours(lib.plainDir) + flags + " >/dev/null" }
	return []command{
		{name: "qss-filter json", pipeline: through(" --json")},
		{name: "qss-filter frames-only", pipeline: through(" --json --only-stacks")},
		{name: "qss-filter text", pipeline: through(""), goal: goal{times: 0.33}},
	}
}

// contextCases are about markup in both styles: logs of little else than context, and frames beside text.
var contextCases = []oneCase{
	{"context", "20,000 resets, each with the modules and mappings of a new process", func(path string, lib *libc) error {
		return writeProcesses(path, lib, 0, true)
	}, bothStyles},
	{"restarts", "20,000 resets, each with the same modules and mappings", func(path string, lib *libc) error {
		return writeProcesses(path, lib, 0, false)
	}, bothStyles},
	{"crashes", "20,000 processes with ten bt frames each", func(path string, lib *libc) error {
		return writeProcesses(path, lib, 10, true)
	}, bothStyles},
	{"markup-llvm", "30 % bt frames of libc, 2,000 distinct, in the style of llvm", func(path string, lib *libc) error {
		return writeLog(path, lib, 30, markupFrames(lib.sample(2000)))
	}, bothStyles},
}

// bothStyles reads a log from a file in llvm's style, in the default one, and by llvm.
func bothStyles(log string, lib *libc) []command {
	own := bothOn(log, lib.plainDir)
	asLLVM := command{name: "qss-filter --style=llvm", argv: append(strings.Fields(ours(lib.plainDir)), "--style=llvm"), input: log}
	return []command{asLLVM, own[0], own[3]} // that style has no cache
}

// mapping is one of a module: its size, mode and address in the module.
type mapping struct {
	size, rel uint64
	mode      string
}

// aModule is one with four mappings, as linkers make them.
func aModule(name, id string, text, rest uint64) (string, string, []mapping) {
	return name, id, []mapping{{0x920, 0, "r"}, {text, 0x1000, "rx"}, {rest, 0x1000 + text, "r"}, {0x2c8, 0x2dc0 + text + rest, "rw"}}
}

// writeProcesses writes 20,000 processes of four modules, each laid out in memory anew where moved is set, and frames of the last
// module.
func writeProcesses(path string, lib *libc, frames int, moved bool) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	rng := rand.New(rand.NewPCG(5, 6))
	sample := lib.sample(200)
	for range 20000 {
		fmt.Fprint(w, "{{{reset}}}\n")
		base := uint64(0x7f0000000000)
		if moved {
			base += rng.Uint64N(1<<28) << 12
		}
		for id := range 3 {
			name, buildID, maps := aModule(
				[]string{"/usr/apps/org.example.test/bin/mainbin", "/usr/apps/org.example.test/lib/libdemo-1.2.3.so", "/lib/x86_64-linux-gnu/libm.so.6"}[id],
				fmt.Sprintf("%040x", 0x1234567890abcdef*uint64(id+1)), uint64(0x15000)<<id, uint64(0x7000)<<id)
			fmt.Fprintf(w, "{{{module:%d:%s:elf:%s}}}\n", id, name, buildID)
			at := base - uint64(id)<<24
			for _, m := range maps {
				fmt.Fprintf(w, "{{{mmap:%#x:%#x:load:%d:%s:%#x}}}\n", at+m.rel, m.size, id, m.mode, m.rel)
			}
		}
		at := base - 1<<28
		fmt.Fprintf(w, "{{{module:3:/lib/x86_64-linux-gnu/libc.so.6:elf:%s}}}\n", lib.id)
		fmt.Fprintf(w, "{{{mmap:%#x:%#x:load:3:r:0x0}}}\n", at, lib.low&^0xfff)
		fmt.Fprintf(w, "{{{mmap:%#x:%#x:load:3:rx:%#x}}}\n", at+lib.low&^0xfff, lib.high-lib.low&^0xfff, lib.low&^0xfff)
		fmt.Fprintf(w, "{{{mmap:%#x:0x12680:load:3:rw:%#x}}}\n", at+lib.high+0x2000, lib.high+0x2000)
		for n := range frames {
			fmt.Fprintf(w, "{{{bt:%d:%#x}}}\n", n, at+sample[rng.IntN(len(sample))])
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}
