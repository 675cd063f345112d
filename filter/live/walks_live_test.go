package live_test

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	symobject "qss-filter/symsrc/object"
)

// needTool skips a test for which a program is missing.
func needTool(t *testing.T, name, pkg string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed (Debian: %s)", name, pkg)
	}
}

// sourceOf is a source of the files in a directory, and of nothing but these and this machine's.
func sourceOf(t *testing.T, dir string) symsrc.Source {
	t.Helper()
	found, err := locate.New(locate.Options{Symbols: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	return symobject.NewSource(found)
}

// linkedAt turns an offset in a file into an address of the file, as readelf's list of segments says.
func linkedAt(t *testing.T, path string, off uint64) uint64 {
	t.Helper()
	out, err := exec.Command("readelf", "-lW", path).Output()
	if err != nil {
		t.Skipf("readelf: %v", err)
	}
	for _, m := range regexp.MustCompile(`(?m)^ +LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E`).FindAllStringSubmatch(string(out), -1) {
		if start, size := number(m[1]), number(m[3]); off >= start && off < start+size {
			return off - start + number(m[2])
		}
	}
	return 0
}

func number(text string) uint64 {
	v, _ := strconv.ParseUint(text, 0, 64)
	return v
}

// placesOf asks addr2line where instructions are: function and line.
func placesOf(t *testing.T, path string, at []uint64) (places []string) {
	t.Helper()
	var ask strings.Builder
	for _, a := range at {
		ask.WriteString("0x" + strconv.FormatUint(a, 16) + "\n")
	}
	cmd := exec.Command("addr2line", "-f", "-e", path)
	cmd.Stdin = strings.NewReader(ask.String())
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("addr2line: %v", err)
	}
	lines := strings.Split(string(out), "\n")
	for i := range at {
		place, _, _ := strings.Cut(lines[2*i+1], " ")
		function, _, _ := strings.Cut(lines[2*i], ".")
		places = append(places, function+" "+place[strings.LastIndexByte(place, ':')+1:])
	}
	return places
}

// innermost are the program's own frames in what the filter prints, function and line, the inlined ones left out.
var innermost = regexp.MustCompile(`(?:in |0x[0-9a-f]{16} )(\S+) \S*walks(?:_jni)?\.c:(\d+)`)

// compareFrames filters a log line by line, and compares each of its lines that has a place with that place.
func compareFrames(t *testing.T, source symsrc.Source, log []string, want map[int]string) {
	t.Helper()
	n := filtertest.Tally{Frames: len(want)}
	for i, text := range filtertest.LineByLine(t, filter.Options{Symbols: source}, log) {
		place, ok := want[i]
		if !ok {
			continue
		}
		m := innermost.FindStringSubmatch(text)
		if m == nil {
			n.Raw++
			t.Logf("line %d: %q has no name: want %s", i+1, text, place)
			continue
		}
		function, _, _ := strings.Cut(m[1], ".")
		if got := function + " " + m[2]; got != place {
			n.Wrong++
			t.Errorf("line %d: %q: got %s, want %s", i+1, log[i], got, place)
			continue
		}
		n.Right++
	}
	if t.Log(n.Row(t.Name())); n.Right == 0 || n.Right*100 < n.Frames*95 {
		t.Error("too few")
	}
}

// TestLiveStrace compares what strace -k prints of a program with what addr2line says: its offsets are those in the file.
func TestLiveStrace(t *testing.T) {
	needTool(t, "strace", "strace")
	version, _ := exec.Command("strace", "-V").Output()
	if !bytes.Contains(version, []byte("stack-trace=libunwind")) {
		t.Skip("this strace does not walk stacks by libunwind")
	}
	frame := regexp.MustCompile(`^ > (\S*/walks)\((\S*)\) \[(0x[0-9a-f]+)\]$`)
	for _, build := range filtertest.Builds {
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			needTool(t, build[0], build[0])
			dir := t.TempDir()
			w := walk(t, dir, build...)
			out, err := exec.Command("strace", "-k", "-e", "trace=write", w.Path).CombinedOutput()
			if err != nil && !bytes.Contains(out, []byte(" > ")) {
				t.Skipf("strace: %v\n%s", err, out)
			}
			log := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			interrupted := w.Interrupted()
			var at []uint64
			var lines []int
			for i, line := range log {
				if m := frame.FindStringSubmatch(line); m != nil {
					linked := linkedAt(t, w.Path, number(m[3]))
					if !interrupted[linked] {
						linked--
					}
					at, lines = append(at, linked), append(lines, i)
				}
			}
			compareFrames(t, sourceOf(t, dir), log, known(lines, placesOf(t, w.Path, at)))
		})
	}
}

// TestLivePerf compares what perf script prints with what addr2line says: each sample begins with the instruction that was
// interrupted, below the kernel's frames too, and goes on with return addresses.
func TestLivePerf(t *testing.T) {
	needTool(t, "perf", "linux-perf")
	frame := regexp.MustCompile(`^\t +([0-9a-f]+) .* \((\S*/walks)\)$`)
	for _, build := range [][]string{{"gcc", "-O1", "-fno-omit-frame-pointer"}, {"gcc", "-O0", "-no-pie"},
		{"clang-22", "-O1", "-fno-omit-frame-pointer", "--ld-path=/usr/bin/ld.lld-22"}} {
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			needTool(t, build[0], build[0])
			dir := t.TempDir()
			w := walk(t, dir, build...)
			data := filepath.Join(dir, "perf.data")
			if out, err := exec.Command("perf", "record", "-q", "-F", "997", "-g", "-o", data, w.Path, "spin").CombinedOutput(); err != nil {
				t.Skipf("perf record: %v\n%s", err, out)
			}
			out, err := exec.Command("perf", "script", "-i", data).Output()
			if err != nil {
				t.Skipf("perf script: %v", err)
			}
			log := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			var at []uint64
			var lines []int
			top := false
			for i, line := range log {
				if !strings.HasPrefix(line, "\t") || strings.HasSuffix(line, "([kernel.kallsyms])") {
					top = true
					continue
				}
				if m := frame.FindStringSubmatch(line); m != nil {
					linked := linkedAt(t, w.Path, number("0x"+m[1]))
					if !top {
						linked--
					}
					at, lines = append(at, linked), append(lines, i)
				}
				top = false
			}
			compareFrames(t, sourceOf(t, dir), log, known(lines, placesOf(t, w.Path, at)))
		})
	}
}

// TestLiveRuby compares the frames of a crash of Ruby that have an offset in the module, and no function, with llvm-symbolizer's answers.
func TestLiveRuby(t *testing.T) {
	needTool(t, "ruby", "ruby")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	found, err := locate.New(locate.Options{Rootfs: []string{"/"}})
	if err != nil {
		t.Fatal(err)
	}
	log := errorOutput("ruby", nil, "-e", "Process.kill(:SEGV, $$); sleep 1")
	_, maps, _ := strings.Cut(log, "* Process memory map:\n") // without them, the frame before may have been anything
	compared := 0
	for _, m := range regexp.MustCompile(`(?m)^(/\S+)\((0x[0-9a-f]+)\) \[(0x[0-9a-f]+)\](.*)$`).FindAllStringSubmatch(filtertest.Run(t, filter.Options{Symbols: symobject.NewSource(found)}, maps+log), -1) {
		if m[2] == m[3] {
			continue // Ruby has not read that file
		}
		out, err := exec.Command("llvm-symbolizer-22", "--obj="+m[1], "--output-style=GNU", "0x"+strconv.FormatUint(number(m[2])-1, 16)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if name, _, _ := strings.Cut(string(out), "\n"); name != "??" {
			if compared++; !strings.HasPrefix(m[4], " in "+name+" ") {
				t.Errorf("%s: want %s", m[0], name)
			}
		}
	}
	if compared == 0 {
		t.Skip("this Ruby prints no such frame")
	}
}

// TestLiveHsErr compares the report of a Java machine whose native code faults with the marks in the native code's source: the fault
// is right after a call, and many Java frames are between the native ones.
func TestLiveHsErr(t *testing.T) {
	needTool(t, "java", "default-jdk-headless")
	needTool(t, "javac", "default-jdk-headless")
	dir := t.TempDir()
	library := filepath.Join(dir, "libwalks.so")
	source, err := filepath.Abs("testdata/walks_jni.c")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-g", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-o", library, source).CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	if out, err := exec.Command("javac", "-d", dir, "testdata/Walks.java").CombinedOutput(); err != nil {
		t.Skipf("javac: %v\n%s", err, out)
	}
	report := filepath.Join(dir, "hs_err.log")
	exec.Command("java", "-Xint", "-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile="+report, "-cp", dir, "Walks", library).Run()
	text, err := os.ReadFile(report)
	if err != nil {
		t.Skipf("no report: %v", err)
	}
	code, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	marks := map[string]string{}
	for i, line := range strings.Split(string(code), "\n") {
		if _, function, ok := strings.Cut(line, "// hs_err: "); ok {
			marks[function] = function + " " + strconv.Itoa(i+1)
		}
	}
	log, want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), map[int]string{}
	for i, line := range log {
		if m := regexp.MustCompile(`C  \[libwalks\.so\+0x[0-9a-f]+\]  (\w+)\+0x`).FindStringSubmatch(line); m != nil && len(want) < 3 {
			want[i] = marks[m[1]]
		}
	}
	compareFrames(t, sourceOf(t, dir), log, want)
}

// stripped puts a copy of a program without symbols into a directory of its own, of the same name.
func stripped(t *testing.T, path string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	if out, err := exec.Command("strip", "-o", copied, path).CombinedOutput(); err != nil {
		t.Skipf("strip: %v\n%s", err, out)
	}
	return copied
}

// lowest returns the address of the first segment of a program: 0 for one that is position-independent.
func lowest(t *testing.T, path string) uint64 {
	t.Helper()
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD {
			return p.Vaddr &^ 0xfff
		}
	}
	return 0
}

// TestLiveDebuggers compares what gdb and eu-stack print of a program without symbols, where a signal came and in its handler, with
// what addr2line says: gdb's addresses are return addresses but for the first and what the signal interrupted, eu-stack's lie in the
// calls.
func TestLiveDebuggers(t *testing.T) {
	needTool(t, "gdb", "gdb")
	needTool(t, "eu-stack", "elfutils")
	mapped := regexp.MustCompile(`^ +0x([0-9a-f]+) +0x[0-9a-f]+ .* /\S*/walks$`)
	inGDB := regexp.MustCompile(`^#(\d+) +0x([0-9a-f]+) in \?\? \(\)$`)
	inCore := regexp.MustCompile(`^    \[[0-9a-f]+\]@0x([0-9a-f]+)\+0x([0-9a-f]+)$`)
	for _, build := range [][]string{{"gcc", "-O1"}, {"gcc", "-O2", "-no-pie"}, {"clang-22", "-O1", "--ld-path=/usr/bin/ld.lld-22"}} {
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			needTool(t, build[0], build[0])
			dir := t.TempDir()
			w := walk(t, dir, build...)
			program, low := stripped(t, w.Path), lowest(t, w.Path)
			core := filepath.Join(t.TempDir(), "core")
			args := []string{"-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set breakpoint pending on", "-ex", "break siglongjmp",
				"-ex", "run >/dev/null", "-ex", "info proc mappings", "-ex", "generate-core-file " + core}
			for range 8 {
				args = append(args, "-ex", "bt", "-ex", "continue")
			}
			out, err := exec.Command("gdb", append(args, program)...).CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("\n#0 ")) {
				t.Skipf("gdb: %v\n%s", err, out)
			}
			log := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			var first uint64
			var at []uint64
			var lines []int
			for i, line := range log {
				if m := mapped.FindStringSubmatch(line); m != nil && first == 0 {
					first = number("0x" + m[1])
				}
				if m := inGDB.FindStringSubmatch(line); m != nil && number("0x"+m[2])-first < 1<<20 {
					linked := number("0x"+m[2]) - first + low
					if m[1] != "0" && !strings.Contains(log[i-1], "<signal handler called>") {
						linked--
					}
					at, lines = append(at, linked), append(lines, i)
				}
			}
			source := sourceOf(t, dir)
			compareFrames(t, source, log, known(lines, placesOf(t, w.Path, at)))

			out, err = exec.Command("eu-stack", "-b", "--core="+core, "--executable="+program).CombinedOutput()
			if err != nil && !bytes.Contains(out, []byte("\n#0 ")) {
				t.Skipf("eu-stack: %v\n%s", err, out)
			}
			log, at, lines = strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), nil, nil
			for i, line := range log {
				if m := inCore.FindStringSubmatch(line); m != nil && number("0x"+m[1]) == first {
					at, lines = append(at, number("0x"+m[2])+low), append(lines, i)
				}
			}
			compareFrames(t, source, log, known(lines, placesOf(t, w.Path, at)))
		})
	}
}

// known returns the places by the index of their line, without those that addr2line does not know.
func known(lines []int, places []string) map[int]string {
	of := map[int]string{}
	for i, place := range places {
		if !strings.Contains(place, "?") && !strings.HasSuffix(place, " 0") {
			of[lines[i]] = place
		}
	}
	return of
}

// TestLiveRust compares the stack of a Rust program without symbols, which prints its own mappings, with what addr2line says: its
// addresses are return addresses.
func TestLiveRust(t *testing.T) {
	needTool(t, "rustc", "rustc")
	dir := t.TempDir()
	path := filepath.Join(dir, "walks")
	if out, err := exec.Command("rustc", "-g", "-O", "-C", "link-arg=-Wl,--build-id=sha1", "-o", path, "testdata/walks.rs").CombinedOutput(); err != nil {
		t.Skipf("rustc: %v\n%s", err, out)
	}
	cmd := exec.Command(stripped(t, path))
	cmd.Env = append(os.Environ(), "RUST_BACKTRACE=full")
	out, _ := cmd.CombinedOutput()
	log := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	mapped := regexp.MustCompile(`^([0-9a-f]+)-[0-9a-f]+ .* /\S*/walks$`)
	frame := regexp.MustCompile(`^ +\d+: +0x([0-9a-f]+) - `)
	var first uint64
	var at []uint64
	var lines []int
	for i, line := range log {
		if m := mapped.FindStringSubmatch(line); m != nil && first == 0 {
			first = number("0x" + m[1])
		}
		if m := frame.FindStringSubmatch(line); m != nil && number("0x"+m[1])-first < 16<<20 {
			at, lines = append(at, number("0x"+m[1])-first-1), append(lines, i)
		}
	}
	line := regexp.MustCompile(`\.rs:(\d+)`) // also of Rust's library
	filtered, n := filtertest.LineByLine(t, filter.Options{Symbols: sourceOf(t, dir)}, log), filtertest.Tally{Frames: len(at)}
	for i, place := range placesOf(t, path, at) {
		got, text := "?", filtered[lines[i]]
		if m := line.FindStringSubmatch(text); m != nil {
			got = m[1]
		}
		switch _, want, _ := strings.Cut(place, " "); {
		case !strings.Contains(text, " in "):
			n.Raw++
		case got == want:
			n.Right++
		default:
			n.Wrong++
			t.Errorf("%q: line %s, want %s", text, got, want)
		}
	}
	if t.Log(n.Row(t.Name())); n.Right < 3 || n.Right*100 < n.Frames*90 {
		t.Errorf("too few frames have names in\n%s", strings.Join(filtered, ""))
	}
}

// TestLiveRustListed holds that a function is written once where Rust's runtime, which has the debug information, lists all functions at an
// address itself: each frame keeps its own, at the place that the runtime says below it. Where it has symbols alone, nothing is left out.
func TestLiveRustListed(t *testing.T) {
	needTool(t, "rustc", "rustc")
	needTool(t, "objcopy", "binutils")
	dir := t.TempDir()
	path := filepath.Join(dir, "walks")
	if out, err := exec.Command("rustc", "-g", "-O", "-C", "link-arg=-Wl,--build-id=sha1", "-o", path, "testdata/walks.rs").CombinedOutput(); err != nil {
		t.Skipf("rustc: %v\n%s", err, out)
	}
	symbols := filepath.Join(t.TempDir(), "walks")
	if out, err := exec.Command("objcopy", "--strip-debug", path, symbols).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, out)
	}
	filtered := func(path string) (log, out []string) {
		cmd := exec.Command(path)
		cmd.Env = append(os.Environ(), "RUST_BACKTRACE=full")
		text, _ := cmd.CombinedOutput()
		log = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		return log, filtertest.LineByLine(t, filter.Options{Symbols: sourceOf(t, dir)}, log)
	}
	log, out := filtered(path)
	inlined, last := 0, ""
	for i, line := range out {
		if strings.Count(line, "\n") != 1 {
			t.Errorf("%q became %q", log[i], line)
		}
		address, _, named := strings.Cut(line, " in ")
		if _, address, _ = strings.Cut(address, ":"); !named || i+1 == len(log) {
			continue
		}
		if address == last {
			inlined++
		}
		last = address
		if place, ok := strings.CutPrefix(strings.TrimSpace(log[i+1]), "at "); ok && !strings.HasSuffix(line, " "+place+"\n") {
			t.Errorf("%q: the runtime says %s", line, place)
		}
	}
	if inlined == 0 {
		t.Errorf("no inlined function in\n%s", strings.Join(log, "\n"))
	}
	if log, out = filtered(symbols); strings.Count(strings.Join(out, ""), "\n") <= len(log) {
		t.Errorf("functions are left out in\n%s", strings.Join(out, ""))
	}
}
