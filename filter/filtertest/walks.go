package filtertest

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
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
	truth  map[uint64]place // by the address of the instruction in the program's own address space
}

// File says where a file is mapped.
type walkedFile struct {
	path                   string
	first                  uint64 // of its mappings
	text, textEnd, textOff uint64 // the executable one, and its offset in the file
	low                    uint64 // the lowest address of its segments
	pie                    bool
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

// inFile returns the offset in the file.
func (f *walkedFrame) inFile() uint64 { return f.pc - f.in.text + f.in.textOff }

// moved returns how far before pc an emitter is that moves return addresses into the call.
func (f *walkedFrame) moved() uint64 {
	if f.exact {
		return 0
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
	out, err := exec.Command(path).Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	w := &Walked{Path: path, spaces: map[string]*walkedFile{}, truth: map[uint64]place{}}
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
		f = &walkedFile{path: path, first: start, pie: e.Type == elf.ET_DYN, low: ^uint64(0)}
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
				for _, at := range []uint64{f.linked() - f.moved(), f.linked()} {
					addrs = append(addrs, at)
					fmt.Fprintf(&ask, "%#x\n", at)
				}
			}
		}
	}
	cmd := exec.Command("addr2line", "-f", "-a", "-e", w.Path)
	cmd.Stdin = strings.NewReader(ask.String())
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("addr2line: %v", err)
	}
	lines := strings.Split(string(out), "\n")
	for i, at := range addrs {
		line, _, _ := strings.Cut(lines[3*i+2], " ")
		n, _ := strconv.Atoi(line[strings.LastIndexByte(line, ':')+1:])
		function, _, _ := strings.Cut(lines[3*i+1], ".")
		w.truth[at] = place{function, n}
	}
}

// Interrupted are the addresses of the program's instructions at which signals came.
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

// Report returns a table of tallies by the names of their emitters, and the sum of all.
func Report(title string, of map[string]Tally) (table string, all Tally) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%-44s %6s %6s %6s %6s\n", title, "emitter", "frames", "right", "raw", "wrong")
	for i := range Emitters {
		n := of[Emitters[i].Name]
		fmt.Fprintf(&b, "%-44s %6d %6d %6d %6d\n", Emitters[i].Name, n.Frames, n.Right, n.Raw, n.Wrong)
		all.Add(n)
	}
	fmt.Fprintf(&b, "%-44s %6d %6d %6d %6d", "all", all.Frames, all.Right, all.Raw, all.Wrong)
	return b.String(), all
}

// Log returns what the emitter writes.
func (p *Page) Log() string { return strings.Join(p.lines, "\n") + "\n" }

// Count compares what the filter makes of a page, as JSON, with the truth. Each wrong frame is an error of the test.
func (p *Page) Count(t *testing.T, name, output string) (n Tally) {
	t.Helper()
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
		if len(l.Frames) == 0 {
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
		want := p.w.truth[f.linked()-f.moved()]
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
