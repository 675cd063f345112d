package live_test

import (
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
			for i, flags := range r.flags {
				program := filepath.Join(t.TempDir(), "raised")
				logs := r.run(t, program, flags)
				for _, log := range logs {
					own.Add(r.compare(t, program, log, true))
					proven.Add(r.compare(t, program, log, false))
				}
				r.run(t, program, r.flags[(i+1)%len(r.flags)])
				for _, log := range logs {
					for _, f := range framesOf(t, assumedFiles(t), log, false) {
						if rebuilt.Frames++; len(f.Functions) > 0 && strings.Contains(f.Functions[0].File, "raised.") {
							rebuilt.Wrong++
							t.Errorf("%v, built again: %s is %v", flags, f.Text, f.Functions)
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

// run builds a program, and returns what it writes without symbols in its file. The file has them then.
func (r *raising) run(t *testing.T, program string, flags []string) (logs []string) {
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
	for _, scene := range r.scenes {
		logs = append(logs, errorOutput(program, nil, scene))
	}
	if err := os.Rename(whole, program); err != nil {
		t.Fatal(err)
	}
	return logs
}

// compare compares the names of the program's frames with those of the instructions.
func (r *raising) compare(t *testing.T, program, log string, own bool) (n filtertest.Tally) {
	t.Helper()
	first, end := uint64(0), uint64(0)
	for _, m := range regexp.MustCompile(`(?m)^([0-9a-f]+)-([0-9a-f]+) .* `+program+"$").FindAllStringSubmatch(log, -1) {
		if first == 0 {
			first = number("0x" + m[1])
		}
		end = number("0x" + m[2])
	}
	returns, low, address := returnsOf(t, program), lowest(t, program), regexp.MustCompile(`(0x|\$)([0-9a-fA-F]+)`)
	var at []uint64
	var of []provenFrame
	for _, f := range framesOf(t, assumedFiles(t), log, own) {
		pc := number("0x"+address.FindStringSubmatch(f.Text)[2]) + r.taken
		if pc < first || pc >= end {
			continue
		}
		if pc += low - first; !r.less && returns[pc] {
			pc--
		}
		at, of = append(at, pc), append(of, f)
	}
	for i, want := range functionsAt(t, program, at) {
		n.Frames++
		switch f := &of[i]; {
		case len(f.Functions) == 0:
			if n.Raw++; n.Raw == 1 {
				t.Logf("stays as it is: %s: %s", f.Text, f.Reason)
			}
		case plain(f.Functions[0].Function)+" "+strconv.Itoa(f.Functions[0].Line) == want:
			n.Right++
		default:
			n.Wrong++
			t.Errorf("%s: %v, want %s", f.Text, f.Functions, want)
		}
	}
	return n
}
