package filtertest

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Walked program has printed its mappings and the stacks that the compiler's unwinder walks; see testdata/walks.c.
type Walked struct {
	// Path is that of the program.
	Path   string
	maps   []string
	spaces map[string]*walkedFile
	stacks []walkedStack
	// addr2line is the program that is asked for the truth.
	addr2line string
	truth     map[uint64]place // by the address of the instruction in the program's own address space
}

// File says where a file is mapped.
type walkedFile struct {
	path                   string
	first                  uint64 // of its mappings
	text, textEnd, textOff uint64 // the executable one, and its offset in the file
	low                    uint64 // the lowest address of its segments
	pie                    bool
	machine                elf.Machine
}

type walkedStack struct {
	scene  string
	frames []walkedFrame
}

type walkedFrame struct {
	pc    uint64
	exact bool // the instruction is at pc, and otherwise before it
	in    *walkedFile
}

// Place is the innermost function at an address, and its line.
type place struct {
	function string
	line     int
}

// linked returns the address in the file's own address space.
func (f *walkedFrame) linked() uint64 { return f.pc - f.in.first + f.in.low }

// at returns where the instruction is, or a byte of it.
func (f *walkedFrame) at() uint64 { return f.linked()&^f.thumb() - f.back() }

// thumb returns the bit that is set in addresses of Thumb code, and 0 for other machines.
func (f *walkedFrame) thumb() uint64 {
	if f.in != nil && f.in.machine == elf.EM_ARM {
		return 1
	}
	return 0
}

// inFile returns the offset in the file.
func (f *walkedFrame) inFile() uint64 { return f.pc - f.in.text + f.in.textOff }

// back returns how far before pc a byte of the instruction is.
func (f *walkedFrame) back() uint64 {
	if f.exact {
		return 0
	}
	return 1
}

// moved returns how far before pc an emitter is that moves return addresses to the call: as compiler-rt's sanitizer_stacktrace.h has it
// in GetPreviousInstructionPc.
func (f *walkedFrame) moved() uint64 {
	switch {
	case f.exact || f.in == nil:
		return f.back()
	case f.in.machine == elf.EM_AARCH64:
		return 4
	case f.in.machine == elf.EM_ARM:
		return f.pc - (f.pc-3)&^1
	case f.in.machine == elf.EM_RISCV:
		return 2
	}
	return 1
}

// Walk builds a program of testdata/walks.c, which source is the path of, in a directory, and runs it.
func Walk(t *testing.T, source, dir string, command ...string) *Walked {
	t.Helper()
	path := filepath.Join(dir, "walks")
	args := append(command[1:], "-g", "-fno-optimize-sibling-calls", "-Wl,--build-id=sha1", "-o", path, source)
	if out, err := exec.Command(command[0], args...).CombinedOutput(); err != nil {
		t.Skipf("%v: cannot be built: %v\n%s", command, err, out)
	}
	linkLibrary(t, path)
	out, err := exec.Command(path).Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	w := &Walked{Path: path, spaces: map[string]*walkedFile{}, truth: map[uint64]place{}, addr2line: "addr2line"}
	for line := range strings.Lines(string(out)) {
		kind, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch kind {
		case "M":
			w.addMap(t, text)
		case "S":
			w.stacks = append(w.stacks, walkedStack{scene: text})
		case "F":
			w.addFrame(t, text)
		}
	}
	w.findTruth(t)
	return w
}

// linkLibrary links a file to the name that libraryName returns.
func linkLibrary(t *testing.T, path string) {
	t.Helper()
	if err := os.Symlink(path, filepath.Join(filepath.Dir(path), libraryName(path))); err != nil {
		t.Fatal(err)
	}
}

func (w *Walked) addMap(t *testing.T, text string) {
	w.maps = append(w.maps, text)
	var start, end, off, inode uint64
	var mode, device, path string
	fmt.Sscanf(text, "%x-%x %s %x %s %d %s", &start, &end, &mode, &off, &device, &inode, &path)
	if !strings.HasPrefix(path, "/") {
		return
	}
	f := w.spaces[path]
	if f == nil {
		e, err := elf.Open(path)
		if err != nil {
			return
		}
		f = &walkedFile{path: path, first: start, pie: e.Type == elf.ET_DYN, low: ^uint64(0), machine: e.Machine}
		for _, p := range e.Progs {
			if p.Type == elf.PT_LOAD {
				f.low = min(f.low, p.Vaddr&^0xfff)
			}
		}
		e.Close()
		w.spaces[path] = f
	}
	if strings.Contains(mode, "x") && f.text == 0 {
		f.text, f.textEnd, f.textOff = start, end, off
	}
}

func (w *Walked) addFrame(t *testing.T, text string) {
	var f walkedFrame
	var exact int
	if _, err := fmt.Sscanf(text, "%x %d", &f.pc, &exact); err != nil {
		t.Fatal(err)
	}
	f.exact = exact != 0
	for _, file := range w.spaces {
		if f.pc >= file.text && f.pc < file.textEnd {
			f.in = file
		}
	}
	s := &w.stacks[len(w.stacks)-1]
	s.frames = append(s.frames, f)
}

// findTruth asks addr2line for the instructions of the program's own frames.
func (w *Walked) findTruth(t *testing.T) {
	var addrs []uint64
	var ask strings.Builder
	for _, s := range w.stacks {
		for _, f := range s.frames {
			if f.in != nil && f.in.path == w.Path {
				for _, exact := range []bool{true, false} {
					f.exact = exact
					at := f.at()
					addrs = append(addrs, at)
					fmt.Fprintf(&ask, "%#x\n", at)
				}
			}
		}
	}
	cmd := exec.Command(w.addr2line, "-f", "-a", "-e", w.Path)
	cmd.Stdin = strings.NewReader(ask.String())
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("%s: %v", w.addr2line, err)
	}
	lines := strings.Split(string(out), "\n")
	for i, at := range addrs {
		line, _, _ := strings.Cut(lines[3*i+2], " ")
		n, _ := strconv.Atoi(line[strings.LastIndexByte(line, ':')+1:])
		function, _, _ := strings.Cut(lines[3*i+1], ".")
		w.truth[at] = place{function, n}
	}
}

// Cross builds a program of testdata/walks.c for another machine, and makes stacks of it: of return addresses, those after the calls that
// objdump finds in the program's own functions.
func Cross(t *testing.T, source, dir, triple string, options ...string) *Walked {
	t.Helper()
	path := filepath.Join(dir, "walks")
	args := append(options, "-g", "-fno-optimize-sibling-calls", "-Wl,--build-id=sha1", "-o", path, source)
	if out, err := exec.Command(triple+"-gcc", args...).CombinedOutput(); err != nil {
		t.Skipf("%s-gcc: cannot build: %v\n%s", triple, err, out)
	}
	linkLibrary(t, path)
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const base = 0x2aaaa000
	w := &Walked{Path: path, spaces: map[string]*walkedFile{}, truth: map[uint64]place{}, addr2line: triple + "-addr2line"}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD {
			start := p.Vaddr &^ 0xfff
			if e.Type == elf.ET_DYN {
				start += base
			}
			mode := "r--p"
			if p.Flags&elf.PF_X != 0 {
				mode = "r-xp"
			}
			w.addMap(t, fmt.Sprintf("%08x-%08x %s %08x fe:00 1234    %s", start, (start+p.Memsz+p.Vaddr&0xfff+0xfff)&^0xfff, mode, p.Off&^0xfff, path))
		}
	}
	out, err := exec.Command(triple+"-objdump", "-d", "--no-show-raw-insn", path).Output()
	if err != nil {
		t.Skipf("%s-objdump: %v", triple, err)
	}
	w.addCalls(string(out), w.spaces[path])
	w.findTruth(t)
	return w
}

// walkFunctions are the functions of testdata/walks.c.
var walkFunctions = []string{"walk", "handler", "leaf", "middle", "deep", "faulty", "aftercall", "nowayback", "compare", "sorted", "raised",
	"pointed", "environment", "work", "spin", "run", "main"}

// addCalls makes stacks of eight calls each.
func (w *Walked) addCalls(code string, in *walkedFile) {
	function := regexp.MustCompile(`^[0-9a-f]+ <([^>.]+).*>:$`)
	call := regexp.MustCompile(`^ *[0-9a-f]+:\s+(blx?|blr|jalr?|call)\b`)
	next := regexp.MustCompile(`^ *([0-9a-f]+):`)
	thumb := regexp.MustCompile(`(?m)^ *[0-9a-f]+[26ae]:\s`).MatchString(code[max(0, strings.Index(code, "<main>:")):]) // half-words
	own, called := false, false
	for line := range strings.Lines(code) {
		line = strings.TrimRight(line, "\n")
		if m := function.FindStringSubmatch(line); m != nil {
			own = slices.Contains(walkFunctions, m[1])
			called = false
			continue
		}
		m := next.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if at, err := strconv.ParseUint(m[1], 16, 64); err == nil && own && called {
			f := walkedFrame{pc: at - in.low + in.first, in: in}
			if in.machine == elf.EM_ARM && thumb {
				f.pc |= 1
			}
			if len(w.stacks) == 0 || len(w.stacks[len(w.stacks)-1].frames) == 8 {
				w.stacks = append(w.stacks, walkedStack{scene: "calls"})
			}
			s := &w.stacks[len(w.stacks)-1]
			s.frames = append(s.frames, f)
		}
		called = call.MatchString(line)
	}
}

// Interrupted returns the addresses of the program's instructions at which signals came.
func (w *Walked) Interrupted() map[uint64]bool {
	at := map[uint64]bool{}
	for _, s := range w.stacks {
		for _, f := range s.frames {
			if f.exact && f.in != nil && f.in.path == w.Path {
				at[f.linked()] = true
			}
		}
	}
	return at
}

// page collects the log that an emitter writes of a program's stacks, and which line is which frame.
type Page struct {
	w     *Walked
	lines []string
	of    map[int]walkedFrame // by the number of the line
}

func (p *Page) text(format string, args ...any) {
	p.lines = append(p.lines, strings.Split(fmt.Sprintf(format, args...), "\n")...)
}

func (p *Page) frame(f walkedFrame, format string, args ...any) {
	p.text(format, args...)
	p.of[len(p.lines)] = f
}

// Emitter writes stacks as some program does.
type Emitter struct {
	Name string
	maps bool // a list of mappings comes first
	head string
	each func(p *Page, i int, f walkedFrame)
	// interrupted is set if the first frame is what was interrupted.
	interrupted bool
	// stack, if not nil, writes what comes before each stack.
	stack func(p *Page, s *walkedStack)
}

// Tally counts an emitter's frames of the program.
type Tally struct{ Frames, Right, Raw, Wrong int }

// Add adds another tally.
func (t *Tally) Add(o Tally) {
	t.Frames, t.Right, t.Raw, t.Wrong = t.Frames+o.Frames, t.Right+o.Right, t.Raw+o.Raw, t.Wrong+o.Wrong
}

// RowHead is the head of a table of rows.
var RowHead = fmt.Sprintf("%-44s %6s %6s %6s %6s", "emitter", "frames", "right", "raw", "wrong")

// Row returns the tally as a row of a table, without a newline.
func (t Tally) Row(emitter string) string {
	return fmt.Sprintf("%-44s %6d %6d %6d %6d", emitter, t.Frames, t.Right, t.Raw, t.Wrong)
}

// Report returns a table of tallies by the names of their emitters, and the sum of all.
func Report(title string, of map[string]Tally) (table string, all Tally) {
	var b strings.Builder
	b.WriteString(title + "\n" + RowHead + "\n")
	for i := range Emitters {
		n := of[Emitters[i].Name]
		b.WriteString(n.Row(Emitters[i].Name) + "\n")
		all.Add(n)
	}
	return b.String() + all.Row("all"), all
}

// Log returns what the emitter writes.
func (p *Page) Log() string { return strings.Join(p.lines, "\n") + "\n" }

// Count compares what the filter makes of a page, as JSON, with the truth. Each wrong frame is an error of the test. The first object is
// of the page's first line, which need not be the log's.
func (p *Page) Count(t *testing.T, name, output string) (n Tally) {
	t.Helper()
	before := -1
	functions := map[int]place{}
	why := map[int]string{}
	for line := range strings.Lines(output) {
		var l struct {
			Line   int
			Frames []struct {
				Why, Reason string
				Functions   []struct {
					Function string
					Line     int
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if before < 0 {
			before = l.Line - 1
		}
		if l.Line -= before; len(l.Frames) == 0 {
			continue
		}
		why[l.Line] = l.Frames[0].Reason
		if len(l.Frames[0].Functions) > 0 {
			f := l.Frames[0].Functions[0]
			function, _, _ := strings.Cut(f.Function, ".")
			functions[l.Line], why[l.Line] = place{function, f.Line}, l.Frames[0].Why
		}
	}
	for line, f := range p.of {
		if f.in == nil || f.in.path != p.w.Path {
			continue
		}
		n.Frames++
		got, named := functions[line]
		want := p.w.truth[f.at()]
		switch {
		case !named:
			if n.Raw++; n.Raw == 1 {
				t.Logf("%s: line %d stays as it is: %s: %s", name, line, p.lines[line-1], why[line])
			}
		case got == want, want.line == 0 && got.function == want.function:
			n.Right++
		default:
			n.Wrong++
			t.Errorf("%s: line %d: %s: %v (%s), want %v", name, line, p.lines[line-1], got, why[line], want)
		}
	}
	return n
}

// Writes returns the page of an emitter.
func (e *Emitter) Writes(w *Walked) *Page {
	p := &Page{w: w, of: map[int]walkedFrame{}}
	if e.maps {
		p.text("%s", strings.Join(w.maps, "\n"))
	}
	if e.head != "" {
		p.text("%s", e.head)
	}
	for _, s := range w.stacks {
		if e.stack != nil {
			e.stack(p, &s)
		}
		for i, f := range s.frames {
			f.exact = f.exact || i == 0 && e.interrupted
			e.each(p, i, f)
		}
		p.text("")
	}
	return p
}

// Builds are how testdata/walks.c is built.
var Builds = [][]string{
	{"gcc", "-O0"}, {"gcc", "-O2"}, {"gcc", "-O1", "-no-pie"}, {"gcc", "-O3", "-fuse-ld=gold"}, {"gcc", "-O2", "-flto", "-no-pie"},
	{"clang-22", "-O0", "--ld-path=/usr/bin/ld.lld-22"}, {"clang-22", "-O2", "--ld-path=/usr/bin/ld.lld-22"},
	{"clang-22", "-O1", "-no-pie", "--ld-path=/usr/bin/ld.lld-22"}, {"clang-22", "-O3"},
}

func buildIDOf(path string) string {
	e, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer e.Close()
	if s := e.Section(".note.gnu.build-id"); s != nil {
		if b, err := s.Data(); err == nil && len(b) > 16 {
			return fmt.Sprintf("%x", b[16:])
		}
	}
	return ""
}

func symbolsOf(path string) []elf.Symbol {
	e, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer e.Close()
	list, _ := e.Symbols()
	return list
}
