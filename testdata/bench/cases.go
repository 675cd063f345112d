package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// llvm and ours are the two filters with the same directory of debug files.
func llvm(dir string) string {
	return "llvm-symbolizer-22 --filter-markup --no-debuginfod --debug-file-directory=" + dir
}

// ours uses the cache, as people do, in a directory of this run; what it does without and with an empty one are rows of their own.
func ours(dir string) string { return "qss-filter --symbols " + dir }

// withCaches puts a command behind itself with an empty cache and with none. A cache may cost a tenth.
func withCaches(c command) []command {
	cold, none := c, c
	cold.name, cold.cold = c.name+" cold", true
	none.name, none.goal = c.name+" --no-cache", goal{times: 0.9}
	none.pipeline = strings.Replace(c.pipeline, "qss-filter ", "qss-filter --no-cache ", 1)
	if c.argv != nil {
		none.argv = slices.Insert(slices.Clone(c.argv), 1, "--no-cache")
	}
	return []command{c, cold, none}
}

// oneCase is a log and the commands that read it.
type oneCase struct {
	name, what string
	write      func(path string, lib *libc) error
	commands   func(log string, lib *libc) []command
}

// goal is what a peer's time should be at least as a multiple of ours, and our peak memory at most of its.
type goal struct{ times, memory float64 }

// cases are those where time goes by the text's size, and the start.
var cases = []oneCase{
	{"pass", "plain text through a pipe", func(path string, lib *libc) error { return writeLog(path, lib, 0, nil) }, func(log string, lib *libc) []command {
		commands := throughPipe(log, lib)
		for i := range commands {
			switch commands[i].name {
			case "cat":
				commands[i].goal.times = 0.8
			case "rg":
				commands[i].goal.times = 1
			}
		}
		return commands
	}},
	{"markup", "30 % bt frames of libc, 2,000 distinct", func(path string, lib *libc) error {
		return writeLog(path, lib, 30, markupFrames(lib.sample(2000)))
	}, throughPipe},
	{"frames", "30 % `#N addr (elf+off) (BuildId: id)` frames of libc, 2,000 distinct", func(path string, lib *libc) error {
		return writeLog(path, lib, 30, pairFrames(lib.object, lib.sample(2000)))
	}, func(log string, lib *libc) []command { return throughPipe(log, lib)[:5] }},
	{"start", "no input: start-up alone", func(path string, _ *libc) error { return os.WriteFile(path, nil, 0o644) },
		func(log string, lib *libc) []command {
			hello := command{name: "hello", argv: []string{"hello"}, goal: goal{times: 0.4}}
			return append(bothOn(log, lib.plainDir), hello)
		}},
}

// throughPipe reads a log through a pipe.
func throughPipe(log string, lib *libc) []command {
	return append(withCaches(command{name: "qss-filter", pipeline: "cat " + log + " | " + ours(lib.plainDir) + " >/dev/null"}),
		command{name: "cat", pipeline: "cat " + log + " | cat >/dev/null"},
		command{name: "rg", pipeline: "cat " + log + " | { rg --passthru no.such.text >/dev/null || test $? = 1; }"},
		command{name: "llvm-symbolizer-22", pipeline: "cat " + log + " | " + llvm(lib.plainDir) + " >/dev/null", goal: goal{30, 0.4}})
}

// bothOn reads a log from a file, with the debug files below dir.
func bothOn(log, dir string) []command {
	return append(withCaches(command{name: "qss-filter", argv: strings.Fields(ours(dir)), input: log}),
		command{name: "llvm-symbolizer-22", argv: strings.Fields(llvm(dir)), input: log})
}

// writeLog writes a log of lines of logcat of which percent are taken from frames.
func writeLog(path string, o *libc, percent int, frames []string) error {
	return writeLines(path, o, percent, frames, func(rng *rand.Rand, i int) string {
		return fmt.Sprintf("11-21 10:%02d:%02d.%03d  1201  %d I ActivityManager: Start proc %d:com.example.app%d/u0a%d for service status=200 took=%dms\n",
			i/60%60, i%60, i%1000, 1201+i%7, i%30000, i%100, i%300, rng.IntN(1000))
	})
}

// writeLines writes a log of ordinary lines of which percent are taken from frames.
func writeLines(path string, o *libc, percent int, frames []string, ordinary func(rng *rand.Rand, i int) string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprint(w, o.context())
	if percent == 0 {
		w.Reset(file)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for size, i := 0, 0; size < *mb*1000*1000; i++ {
		line := ""
		if rng.IntN(100) < percent {
			line = frames[rng.IntN(len(frames))]
		} else {
			line = ordinary(rng, i)
		}
		size += len(line)
		if _, err := w.WriteString(line); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// object is a file with debug information from a Debian package, and what is made of it.
type object struct {
	name, pack string
	shipped    string // where the package has it
	id         string // its build ID
	low, high  uint64 // .text
	functions  []elf.Symbol
}

// objects are those that spread from small to large, from C to heavily inlined C++. The package of the kernel is named
// after its version: any that is installed will do.
var objects = []object{
	{name: "libc", pack: "libc6-dbg"},
	{name: "python", pack: "python3.11-dbg"},
	{name: "libstdcxx", pack: "libstdc++6-12-dbg"},
	{name: "vmlinux", pack: "linux-image-6.1.0-*-amd64-dbg"},
	{name: "ceph", pack: "ceph-osd-dbg"},
}

var hasDebug = regexp.MustCompile(`(\.debug|/vmlinux-[^/]*|\.so[.0-9]*)$`)

// find looks for the largest file of the package that has debug information.
func (o *object) find() error {
	list := "dpkg-query -L $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' '" + o.pack + "' | sed -n 's/^installed //p' | head -n 1)"
	out, err := exec.Command("/bin/sh", "-c", list+" 2>/dev/null").Output()
	if err != nil {
		return fmt.Errorf("%s is not installed", o.pack)
	}
	largest := int64(0)
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size() > largest && hasDebug.MatchString(path) {
			o.shipped, largest = path, st.Size()
		}
	}
	if o.shipped == "" {
		return fmt.Errorf("%s has no file with debug information", o.pack)
	}
	return o.read()
}

// read takes from the file what logs are made of.
func (o *object) read() error {
	f, err := elf.Open(o.shipped)
	if err != nil {
		return err
	}
	defer f.Close()
	text, note := f.Section(".text"), f.Section(".note.gnu.build-id")
	if note == nil {
		note = f.Section(".notes") // the kernel's
	}
	if text == nil || note == nil {
		return fmt.Errorf("%s has no .text or no build ID", o.shipped)
	}
	data, err := note.Data()
	if err != nil {
		return err
	}
	_, id, found := strings.Cut(string(data), "\x03\x00\x00\x00GNU\x00")
	if !found || len(id) < 20 {
		return fmt.Errorf("%s has no build ID", o.shipped)
	}
	o.id, o.low, o.high = hex.EncodeToString([]byte(id[:20])), text.Addr, text.Addr+text.Size
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf("%s: %w", o.shipped, err)
	}
	o.functions = slices.DeleteFunc(symbols, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || s.Value < o.low || s.Value+s.Size > o.high
	})
	if len(o.functions) == 0 {
		return fmt.Errorf("%s has no functions", o.shipped)
	}
	return nil
}

// variants are the forms of an object: with plain sections, the same without .debug_aranges, and with sections packed.
var variants = map[string][]string{
	"plain":     {"objcopy", "--decompress-debug-sections"},
	"noaranges": {"objcopy", "--decompress-debug-sections", "--remove-section=.debug_aranges"},
	"zlib":      {"objcopy", "--compress-debug-sections=zlib"},
}

// variant makes a form of the object in a directory of its own below dir, as xx/yyyy.debug below .build-id, unless it is
// there from an earlier run.
func (o *object) variant(dir, form string) (root string, err error) {
	root = filepath.Join(dir, o.name+"-"+form)
	path := o.path(root)
	if _, err := os.Stat(path); err == nil {
		return root, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	made := path + ".part"
	out, err := exec.Command(variants[form][0], append(variants[form][1:], o.shipped, made)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("objcopy %s (Debian: binutils): %w: %s", o.shipped, err, out)
	}
	return root, errors.Join(age(made), os.Rename(made, path))
}

// alone returns the object below root under a build ID that no file of this machine has, so that nothing is found where root is not named, and
// the directory of it.
func (o *object) alone(dir, root string) (*object, string, error) {
	id, err := hex.DecodeString(o.id)
	if err != nil {
		return nil, "", err
	}
	other := bytes.Clone(id)
	for i := range other {
		other[i] ^= 0xff
	}
	copied := *o
	copied.id = hex.EncodeToString(other)
	to := filepath.Join(dir, o.name+"-alone")
	path := copied.path(to)
	if _, err := os.Stat(path); err == nil {
		return &copied, to, nil
	}
	data, err := os.ReadFile(o.path(root))
	if err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, "", err
	}
	made := path + ".part"
	return &copied, to, errors.Join(os.WriteFile(made, bytes.ReplaceAll(data, id, other), 0o644), age(made), os.Rename(made, path))
}

// age sets the modification time of a file to two days ago, since new files have no index.
func age(path string) error {
	then := time.Now().AddDate(0, 0, -2)
	return os.Chtimes(path, then, then)
}

// path is where the object lies below a directory of debug files.
func (o *object) path(root string) string {
	return filepath.Join(root, ".build-id", o.id[:2], o.id[2:]+".debug")
}

// sample returns n addresses of .text, the same ones in every run.
func (o *object) sample(n int) []uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	addrs := make([]uint64, n)
	for i := range addrs {
		addrs[i] = o.low + rng.Uint64N(o.high-o.low)
	}
	return addrs
}

// inFunctions returns an address in each of n random functions.
func (o *object) inFunctions(n int) []uint64 {
	rng := rand.New(rand.NewPCG(5, 6))
	addrs := make([]uint64, n)
	for i := range addrs {
		s := &o.functions[rng.IntN(len(o.functions))]
		addrs[i] = s.Value + rng.Uint64N(s.Size)
	}
	return addrs
}

// loadBase is what addresses in memory are above those in the file; those of the kernel wrap.
const loadBase uint64 = 0x7f0000000000

// context returns the lines that say where the object lies in memory.
func (o *object) context() string {
	return fmt.Sprintf("{{{reset}}}\n{{{module:0:/lib/%s:elf:%s}}}\n{{{mmap:%#x:%#x:load:0:rx:%#x}}}\n", o.name, o.id, loadBase+o.low, o.high-o.low, o.low)
}

// markupFrames returns the addresses as frames of symbolizer markup.
func markupFrames(addrs []uint64) []string {
	var lines []string
	for i, a := range addrs {
		lines = append(lines, fmt.Sprintf("{{{bt:%d:%#x:pc}}}\n", i%20, loadBase+a))
	}
	return lines
}

// pairFrames writes them as sanitizers write frames.
func pairFrames(o *object, addrs []uint64) []string {
	var lines []string
	for i, a := range addrs {
		lines = append(lines, fmt.Sprintf("    #%d %#x  (/lib/%s+%#x) (BuildId: %s)\n", i%20, loadBase+a, o.name, a, o.id))
	}
	return lines
}

// write makes a log of frames alone.
func (o *object) write(path string, addrs []uint64) error {
	return os.WriteFile(path, []byte(o.context()+strings.Join(markupFrames(addrs), "")), 0o644)
}

// libc is the C library, of which the logs of text are made.
type libc struct {
	*object
	plainDir string // where its debug file with plain sections lies
}

// installed returns the objects that are there, and prints which are not.
func installed() (found []*object, err error) {
	for i := range objects {
		o := &objects[i]
		if err := o.find(); err != nil {
			fmt.Printf("%s: skipped: %v (-install)\n", o.name, err)
			continue
		}
		found = append(found, o)
	}
	if len(found) == 0 {
		return nil, errors.New("nothing to measure with: this needs a Debian machine")
	}
	return found, nil
}

// lookUp is what a new process is asked about one object.
type lookUp struct {
	name, what string
	form       string // of the object
	addrs      func(*object) []uint64
	goal       goal // against llvm
	peers      func(path string, addr uint64) []command
	other      *question // what is asked if not markup; nil if it is
}

// question is a form of the same addresses that is not markup: what is written to the log, and the commands that answer it. Only
// one object may be asked.
type question struct {
	only     string
	write    func(o *object, log string, addrs []uint64) error
	commands func(o *object, root, log string) []command
}

// lookUps are asked about every object. The time of packed sections is that of unpacking.
var lookUps = []lookUp{
	{"cold", "one address", "plain", inFunctions(1), goal{20, 0.4}, otherTools, nil},
	{"noaranges", "one address, without .debug_aranges", "noaranges", inFunctions(1), goal{12, 0.4}, nil, nil},
	{"cold-zlib", "one address, sections packed by zlib", "zlib", inFunctions(1), goal{4, 0.4}, otherTools, nil},
	{"1000", "1,000 functions", "plain", inFunctions(1000), goal{4, 0.4}, nil, nil},
	{"1000-zlib", "1,000 functions, sections packed by zlib", "zlib", inFunctions(1000), goal{2, 0.4}, nil, nil},
	{"100k", "100,000 random addresses", "plain", func(o *object) []uint64 { return o.sample(100000) }, goal{5, 0.4}, nil, nil},
	{"warm", "1,000 functions from the cache, the files gone", "plain", inFunctions(1000), goal{4, 0.4}, nil, nil},
	{"100k-one-core", "100,000 random addresses on one core", "plain", func(o *object) []uint64 { return o.sample(100000) }, goal{3.5, 0.4}, nil, nil},
	{"symbolize", "1,000 functions, as addresses on standard input", "plain", inFunctions(1000), goal{4, 0.4}, nil, &symbolized},
	{"symbolize-100k", "100,000 random addresses on standard input", "plain", func(o *object) []uint64 { return o.sample(100000) }, goal{5, 0.4}, nil, &symbolized},
	{"job", "10,000 `#N addr (elf+off) (BuildId: id)` frames in 500 stacks, 603 distinct; llvm has the addresses", "plain",
		func(o *object) []uint64 { return repeated(o.inFunctions(603), 10000) }, goal{times: 4}, nil, &job},
	{"job-distinct", "the same, 10,000 distinct", "plain", inFunctions(10000), goal{times: 4}, nil, &job},
}

// symbolized are addresses for programs that read them.
var symbolized = question{
	write: (*object).writeAddresses,
	commands: func(o *object, root, log string) []command {
		path := o.path(root)
		return []command{
			{name: "qss-filter", argv: []string{"qss-filter", "symbolize", "-e", path}, input: log},
			{name: "llvm-symbolizer-22", argv: []string{"llvm-symbolizer-22", "--no-debuginfod", "--obj=" + path}, input: log},
			{name: "eu-addr2line", argv: []string{"eu-addr2line", "-i", "-f", "-C", "-e", path}, input: log, goal: goal{times: 1}},
		}
	},
}

// job is what QSS does for a log of stacks: to name its frames, in a stream or in a tree of logs. llvm reads their addresses, since it
// does not read such frames.
var job = question{
	only: "python",
	write: func(o *object, log string, addrs []uint64) error {
		stacks, tree := pairFrames(o, addrs), log+".tree"
		for i := 0; i < len(stacks); i += 20 {
			stacks[i] = fmt.Sprintf("thread %d stopped\n%s", i/20, stacks[i])
		}
		text := []byte(strings.Join(stacks, ""))
		if err := os.MkdirAll(tree, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tree, "log"), text, 0o644); err != nil {
			return err
		}
		if err := o.writeAddresses(log+".addresses", addrs); err != nil {
			return err
		}
		return os.WriteFile(log, text, 0o644)
	},
	commands: func(o *object, root, log string) []command {
		return []command{
			{name: "qss-filter", argv: strings.Fields(ours(root)), input: log},
			{name: "llvm-symbolizer-22", argv: []string{"llvm-symbolizer-22", "--no-debuginfod", "--obj=" + o.path(root)}, input: log + ".addresses"},
			{name: "qss-filter tree", argv: []string{"qss-filter", "tree", log + ".tree", "-o", log + ".out", "--symbols", root}},
		}
	},
}

// repeated returns n of the addresses, in a random order, the same one in every run.
func repeated(addrs []uint64, n int) []uint64 {
	rng := rand.New(rand.NewPCG(7, 8))
	list := make([]uint64, n)
	for i := range list {
		list[i] = addrs[rng.IntN(len(addrs))]
	}
	return list
}

// writeAddresses writes a file of one address a line.
func (o *object) writeAddresses(path string, addrs []uint64) error {
	var text []byte
	for _, a := range addrs {
		text = fmt.Appendf(text, "%#x\n", a)
	}
	return os.WriteFile(path, text, 0o644)
}

func inFunctions(n int) func(*object) []uint64 {
	return func(o *object) []uint64 { return o.inFunctions(n) }
}

// otherTools returns those that take an address on the command line, and a program that does nothing.
func otherTools(path string, addr uint64) []command {
	list := []command{{name: "hello", argv: []string{"hello"}}}
	for _, tool := range []string{"eu-addr2line", "addr2line"} {
		argv := []string{tool, "-i", "-f", "-C", "-e", path, fmt.Sprintf("%#x", addr)}
		list = append(list, command{name: tool, argv: argv, goal: goal{times: 1}})
	}
	return list
}

// primed are the directories of objects that have been asked about.
var primed = make(map[string]bool)

// prime asks about an object so that its index is written, and waits for that: people's files are not asked about for the first time.
func prime(o *object, root, log string) error {
	indexes := filepath.Join(os.Getenv(cacheVar), "qss-filter", "index", "[0-9a-f]*")
	// An index that is being written is an empty file.
	written := func() (n int, err error) {
		names, err := filepath.Glob(indexes)
		for _, name := range names {
			if st, err := os.Stat(name); err == nil && st.Size() > 0 {
				n++
			}
		}
		return n, err
	}
	before, err := written()
	if err != nil || primed[root] {
		return err
	}
	primed[root] = true
	if err := o.write(log, o.inFunctions(10)); err != nil {
		return err
	}
	if err := shell(ours(root) + " " + log + " >/dev/null"); err != nil {
		return err
	}
	for range 3000 {
		if now, err := written(); err != nil || now > before {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("no index of %s was written within five minutes", root)
}

// run makes the form of the object and the log, and compares the commands.
func (l *lookUp) run(o *object, dir, log string) error {
	root, err := o.variant(dir, l.form)
	if err != nil {
		return err
	}
	if l.name == "warm" {
		if o, root, err = o.alone(dir, root); err != nil {
			return err
		}
	}
	addrs := l.addrs(o)
	if err := prime(o, root, log); err != nil {
		return err
	}
	if q := l.other; q != nil {
		if err := q.write(o, log, addrs); err != nil {
			return err
		}
		commands := q.commands(o, root, log)
		commands[1].goal = l.goal
		return compare(commands)
	}
	if err := o.write(log, addrs); err != nil {
		return err
	}
	commands := bothOn(log, root)
	commands[3].goal = l.goal
	if large := o.name == "vmlinux" || o.name == "ceph"; large && l.name == "cold" {
		commands[3].goal.times = 12
	} else if large && l.name == "1000" {
		commands[3].goal.times = 6
	}
	if l.name == "100k-one-core" {
		for i := range commands[:3] {
			commands[i].env = []string{"GOMAXPROCS=1"}
		}
	}
	if l.name == "warm" {
		const cached = "qss-filter"
		if err := shell(cached + " --symbols " + root + " " + log + " >/dev/null"); err != nil {
			return err
		}
		empty := filepath.Join(dir, "empty") // in place of the files that are installed
		if err := os.MkdirAll(empty, 0o777); err != nil {
			return err
		}
		commands[0].argv = strings.Fields(cached + " --rootfs " + empty)
		commands = slices.Delete(commands, 1, 2) // nothing is found with an empty cache; the files are read with none
	}
	if l.peers != nil {
		commands = append(commands, l.peers(o.path(root), addrs[0])...)
	}
	return compare(commands)
}
