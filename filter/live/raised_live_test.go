package live_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter/filtertest"
)

// raising is a compiler whose programs write the stack of an exception that nothing handles.
type raising struct {
	name, pkg, source string
	build             func(program, source string, flags []string) *exec.Cmd
	flags             [][]string
	scenes            []string
	// taken is how much less than what the unwinder returned an address is, and less whether it is 1 less in any case: no signal has interrupted
	// these.
	taken uint64
	less  bool
}

var raisers = []raising{
	{"gnatmake", "gnat", "raised.adb", func(program, source string, flags []string) *exec.Cmd {
		cmd := exec.Command("gnatmake", slices.Concat([]string{"-q", "-f", "-g", source, "-o", program, "-cargs", "-gnatp"}, flags, []string{"-bargs", "-E", "-largs"}, flags)...)
		cmd.Dir = filepath.Dir(program)
		return cmd
	}, [][]string{{"-O0", "-pie", "-fPIE"}, {"-O2", "-pie", "-fPIE"}, {"-O0", "-no-pie", "-fno-pie"}, {"-O2", "-no-pie", "-fno-pie"}}, []string{"raised", "called", "fault"}, 2, false},
	{"ldc2", "ldc", "raised.d", func(program, source string, flags []string) *exec.Cmd {
		return exec.Command("ldc2", slices.Concat([]string{"-g", "-of=" + program, source}, flags)...)
	}, [][]string{{"-O0"}, {"-O2"}, {"-O0", "-relocation-model=static", "-L-no-pie"}}, []string{"raised", "called"}, 0, true},
	{"gdc", "gdc", "raised.d", func(program, source string, flags []string) *exec.Cmd {
		return exec.Command("gdc", slices.Concat([]string{"-g", "-o", program, source}, flags)...)
	}, [][]string{{"-O0"}, {"-O2"}, {"-O0", "-no-pie", "-fno-pie"}}, []string{"raised", "called"}, 0, true},
	{"fpc", "fp-compiler", "raised.pas", func(program, source string, flags []string) *exec.Cmd {
		return exec.Command("fpc", slices.Concat([]string{"-g", "-gw3", "-FE" + filepath.Dir(program), "-o" + program}, flags, []string{source})...)
	}, [][]string{{"-O-"}, {"-O2"}}, []string{"raised", "called", "fault"}, 0, false},
}

// TestRaised holds that the addresses in the stacks of the exceptions of Ada, D and Pascal get the names that llvm-symbolizer has for the instructions: of
// calls, and of what a signal interrupted. They get none of a program that was built again since.
func TestRaised(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the programs run on x86-64 Linux")
	}
	for i := range raisers {
		r := &raisers[i]
		t.Run(r.name, func(t *testing.T) {
			needTool(t, r.name, r.pkg)
			needTool(t, "objdump", "binutils")
			needTool(t, "llvm-symbolizer-22", "llvm-22")
			var own, proven, rebuilt filtertest.Tally
			var builds []raised
			for _, flags := range r.flags {
				builds = append(builds, r.run(t, filepath.Join(t.TempDir(), "raised"), flags))
			}
			for i := range builds {
				builds[i].compare(t, r, &own, &proven)
			}
			for i, b := range builds {
				other := builds[(i+1)%len(builds)].file
				if err := errors.Join(os.Remove(b.program), os.WriteFile(b.program, other, 0o700)); err != nil {
					t.Fatal(err)
				}
				for _, log := range b.logs {
					for _, f := range framesOf(t, assumedFiles(t), log, false) {
						if rebuilt.Frames++; len(f.Functions) > 0 && strings.Contains(f.Functions[0].File, "raised.") {
							rebuilt.Wrong++
							t.Errorf("%v, built again: %s is %v", r.flags[i], f.Text, f.Functions)
						}
					}
				}
			}
			t.Log(own.Row("known to have run"))
			t.Log(proven.Row("proven by stacks"))
			t.Log(rebuilt.Row("built again"))
			if own.Frames == 0 || own.Raw > 0 {
				t.Errorf("%d of %d frames have names", own.Right, own.Frames)
			}
		})
	}
}

// raised is a program that raises exceptions, with what it writes.
type raised struct {
	program string
	file    []byte
	logs    []string
}

// run builds a program, and takes what it writes without symbols in its file. The file has them then.
func (r *raising) run(t *testing.T, program string, flags []string) (b raised) {
	t.Helper()
	source, err := filepath.Abs("testdata/" + r.source)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.build(program, source, flags).CombinedOutput(); err != nil {
		t.Skipf("%s %v: %v\n%s", r.name, flags, err, out)
	}
	whole := program + ".whole"
	if err := os.Rename(program, whole); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("strip", "-o", program, whole).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, out)
	}
	b.program = program
	for _, scene := range r.scenes {
		b.logs = append(b.logs, errorOutput(program, nil, scene))
	}
	if err := os.Rename(whole, program); err != nil {
		t.Fatal(err)
	}
	if b.file, err = os.ReadFile(program); err != nil {
		t.Fatal(err)
	}
	return b
}

// raisedFrame is a frame of the program, and where it counts.
type raisedFrame struct {
	provenFrame
	count *filtertest.Tally
}

// compare compares the names of the program's frames with those of the instructions: as of a file that is known to have run, and as stacks prove.
func (b *raised) compare(t *testing.T, r *raising, own, proven *filtertest.Tally) {
	t.Helper()
	returns, low := returnsOf(t, b.program), lowest(t, b.program)
	address, mapped := regexp.MustCompile(`(0x|\$)([0-9a-fA-F]+)`), regexp.MustCompile(`(?m)^([0-9a-f]+)-([0-9a-f]+) .* `+b.program+"$")
	var frames []raisedFrame
	var at []uint64
	for _, log := range b.logs {
		first, end := uint64(0), uint64(0)
		for _, m := range mapped.FindAllStringSubmatch(log, -1) {
			if first == 0 {
				first = number("0x" + m[1])
			}
			end = number("0x" + m[2])
		}
		for _, count := range []*filtertest.Tally{own, proven} {
			for _, f := range framesOf(t, assumedFiles(t), log, count == own) {
				pc := number("0x"+address.FindStringSubmatch(f.Text)[2]) + r.taken
				if pc < first || pc >= end {
					continue
				}
				if pc += low - first; !r.less && returns[pc] {
					pc--
				}
				at, frames = append(at, pc), append(frames, raisedFrame{f, count})
			}
		}
	}
	for i, want := range functionsAt(t, b.program, at) {
		f := &frames[i]
		f.count.Frames++
		switch {
		case len(f.Functions) == 0:
			if f.count.Raw++; f.count.Raw == 1 {
				t.Logf("stays as it is: %s: %s", f.Text, f.Reason)
			}
		case plain(f.Functions[0].Function)+" "+strconv.Itoa(f.Functions[0].Line) == want:
			f.count.Right++
		default:
			f.count.Wrong++
			t.Errorf("%s: %v, want %s", f.Text, f.Functions, want)
		}
	}
}
