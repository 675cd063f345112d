package filter_test

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print/jsonl"
	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	symobject "qss-filter/symsrc/object"
)

// A walked program has printed its mappings and the stacks that the compiler's unwinder walks; see testdata/walks.c.
type walked struct {
	path   string
	maps   []string
	spaces map[string]*walkedFile
	stacks []walkedStack
	truth  map[uint64]walkedPlace // by the address of the instruction in the program's own address space
}

// walkedFile says where a file is mapped.
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

// walkedPlace is the innermost function at an address, and its line.
type walkedPlace struct {
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

// walk builds testdata/walks.c and runs it.
func walk(t *testing.T, dir string, command ...string) *walked {
	t.Helper()
	source, err := filepath.Abs("testdata/walks.c")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "walks")
	args := append(command[1:], "-g", "-fno-optimize-sibling-calls", "-Wl,--build-id=sha1", "-o", path, source)
	if out, err := exec.Command(command[0], args...).CombinedOutput(); err != nil {
		t.Skipf("%v: cannot be built: %v\n%s", command, err, out)
	}
	out, err := exec.Command(path).Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	w := &walked{path: path, spaces: map[string]*walkedFile{}, truth: map[uint64]walkedPlace{}}
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

func (w *walked) addMap(t *testing.T, text string) {
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

func (w *walked) addFrame(t *testing.T, text string) {
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
func (w *walked) findTruth(t *testing.T) {
	var addrs []uint64
	var ask strings.Builder
	for _, s := range w.stacks {
		for _, f := range s.frames {
			if f.in != nil && f.in.path == w.path {
				for _, at := range []uint64{f.linked() - f.moved(), f.linked()} {
					addrs = append(addrs, at)
					fmt.Fprintf(&ask, "%#x\n", at)
				}
			}
		}
	}
	cmd := exec.Command("addr2line", "-f", "-a", "-e", w.path)
	cmd.Stdin = strings.NewReader(ask.String())
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("addr2line: %v", err)
	}
	lines := strings.Split(string(out), "\n")
	for i, at := range addrs {
		place := lines[3*i+2]
		place, _, _ = strings.Cut(place, " ")
		n, _ := strconv.Atoi(place[strings.LastIndexByte(place, ':')+1:])
		function, _, _ := strings.Cut(lines[3*i+1], ".")
		w.truth[at] = walkedPlace{function, n}
	}
}

// interrupted are the addresses of the program's instructions at which signals came.
func (w *walked) interrupted() map[uint64]bool {
	at := map[uint64]bool{}
	for _, s := range w.stacks {
		for _, f := range s.frames {
			if f.exact && f.in != nil && f.in.path == w.path {
				at[f.linked()] = true
			}
		}
	}
	return at
}

// page collects the log that an emitter writes of a program's stacks, and which line is which frame.
type page struct {
	w     *walked
	lines []string
	of    map[int]walkedFrame // by the number of the line
}

func (p *page) text(format string, args ...any) {
	p.lines = append(p.lines, strings.Split(fmt.Sprintf(format, args...), "\n")...)
}

func (p *page) frame(f walkedFrame, format string, args ...any) {
	p.text(format, args...)
	p.of[len(p.lines)] = f
}

// walkEmitter writes stacks as some program does.
type walkEmitter struct {
	name string
	maps bool // a list of mappings comes first
	head string
	each func(p *page, i int, f walkedFrame)
	// interrupted is set if the first frame is what was interrupted.
	interrupted bool
	// stack, if not nil, writes what comes before each stack.
	stack func(p *page, s *walkedStack)
}

// tally counts an emitter's frames of the program.
type tally struct{ frames, right, raw, wrong int }

func (t *tally) add(o tally) {
	t.frames, t.right, t.raw, t.wrong = t.frames+o.frames, t.right+o.right, t.raw+o.raw, t.wrong+o.wrong
}

// count runs a page through the filter and compares each frame with the truth.
func (p *page) count(t *testing.T, name string, source symsrc.Source) (n tally) {
	log := strings.Join(p.lines, "\n") + "\n"
	functions := map[int]walkedPlace{}
	why := map[int]string{}
	for line := range strings.Lines(run(t, filter.Options{Symbols: source, JSON: &jsonl.Options{}}, log)) {
		var l struct {
			Line   int
			Frames []struct {
				Why       string
				Reason    string
				Functions []struct {
					Function string
					Line     int
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if len(l.Frames) > 0 {
			why[l.Line] = l.Frames[0].Reason
		}
		if len(l.Frames) > 0 && len(l.Frames[0].Functions) > 0 {
			f := l.Frames[0].Functions[0]
			function, _, _ := strings.Cut(f.Function, ".")
			functions[l.Line], why[l.Line] = walkedPlace{function, f.Line}, l.Frames[0].Why
		}
	}
	for line, f := range p.of {
		if f.in == nil || f.in.path != p.w.path {
			continue
		}
		n.frames++
		got, named := functions[line]
		want := p.w.truth[f.linked()-f.moved()]
		switch {
		case !named:
			if n.raw++; n.raw == 1 {
				t.Logf("%s: line %d stays as it is: %s: %s", name, line, p.lines[line-1], why[line])
			}
		case got == want, want.line == 0 && got.function == want.function:
			n.right++
		default:
			n.wrong++
			t.Errorf("%s: line %d: %s: %v (%s), want %v", name, line, p.lines[line-1], got, why[line], want)
		}
	}
	return n
}

// writes returns the log of an emitter.
func (e *walkEmitter) writes(w *walked) *page {
	p := &page{w: w, of: map[int]walkedFrame{}}
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

// walkBuilds are how testdata/walks.c is built.
var walkBuilds = [][]string{
	{"gcc", "-O0"}, {"gcc", "-O2"}, {"gcc", "-O1", "-no-pie"}, {"gcc", "-O3", "-fuse-ld=gold"}, {"gcc", "-O2", "-flto", "-no-pie"},
	{"clang-22", "-O0", "--ld-path=/usr/bin/ld.lld-22"}, {"clang-22", "-O2", "--ld-path=/usr/bin/ld.lld-22"},
	{"clang-22", "-O1", "-no-pie", "--ld-path=/usr/bin/ld.lld-22"}, {"clang-22", "-O3"},
}

// TestWalks holds, per emitter, that no frame of a program gets another function or line than the right one: the stacks are
// real, and written as the emitters' sources write them.
func TestWalks(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the program's stacks are walked on x86-64 Linux")
	}
	totals, alone := map[string]tally{}, map[string]tally{}
	for _, build := range walkBuilds {
		if _, err := exec.LookPath(build[0]); err != nil {
			t.Logf("%s is not installed", build[0])
			continue
		}
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			dir := t.TempDir()
			w := walk(t, dir, build...)
			whole, err := locate.New(locate.Options{Symbols: []string{dir}})
			if err != nil {
				t.Fatal(err)
			}
			own, err := locate.New(locate.Options{Symbols: []string{dir}, Rootfs: []string{t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name   string
				source symsrc.Source
				totals map[string]tally
			}{{"", symobject.NewSource(whole), totals}, {", libraries missing", symobject.NewSource(own), alone}} {
				for i := range walkEmitters {
					e := &walkEmitters[i]
					n := e.writes(w).count(t, e.name+c.name, c.source)
					sum := c.totals[e.name]
					sum.add(n)
					c.totals[e.name] = sum
				}
			}
		})
	}
	report := func(title string, totals map[string]tally) {
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n%-44s %6s %6s %6s %6s\n", title, "emitter", "frames", "right", "raw", "wrong")
		var all tally
		for _, e := range walkEmitters {
			n := totals[e.name]
			fmt.Fprintf(&b, "%-44s %6d %6d %6d %6d\n", e.name, n.frames, n.right, n.raw, n.wrong)
			all.add(n)
		}
		fmt.Fprintf(&b, "%-44s %6d %6d %6d %6d", "all", all.frames, all.right, all.raw, all.wrong)
		if t.Log(b.String()); all.right*100 < all.frames*99 {
			t.Errorf("%s: %d of %d frames have names", title, all.right, all.frames)
		}
	}
	report("all files at hand", totals)
	report("only the program's file at hand", alone)
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
