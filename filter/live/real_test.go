package live_test

import (
	"debug/elf"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter/filtertest"
)

// listed returns the mappings of a running process.
func listed(t *testing.T, p *os.Process) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRealHAProxy holds that the stack of a thread of HAProxy that hangs gets the names that llvm-symbolizer finds, and no others. A
// package's program has its exported functions only.
func TestRealHAProxy(t *testing.T) {
	needTool(t, "haproxy", "haproxy")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	program, err := exec.LookPath("haproxy")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	socket, config := filepath.Join(dir, "s"), filepath.Join(dir, "c")
	text := "global\n nbthread 1\n stats socket " + socket + " level admin\ndefaults\n timeout client 5s\n timeout server 5s\n timeout connect 5s\n" +
		"frontend f\n bind unix@" + filepath.Join(dir, "f") + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	run := exec.Command(program, "-db", "-f", config)
	run.Stderr = &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	admin, err := net.Dial("unix", socket)
	for err != nil {
		select {
		case err := <-ended:
			t.Fatalf("%v\n%s", err, log.String())
		default:
			admin, err = net.Dial("unix", socket)
		}
	}
	maps := listed(t, run.Process)
	fmt.Fprintln(admin, "expert-mode on; debug dev loop 600000") // the watchdog ends it
	<-ended
	e := realEmitter{frame: regexp.MustCompile(`^ *\| 0x([0-9a-f]+) \[`)}
	whole := maps + log.String()
	frames := e.printed(t, whole, program, lowest(t, program), func(uint64) bool { return true })
	if len(frames) == 0 {
		t.Skipf("this HAProxy prints no stack:\n%s", log.String())
	}
	all := compareTruth(t, assumedFiles(t), truthOf(t, program, frames), whole, frames)
	t.Log(all.Row(t.Name()))
	if all.Right == 0 {
		t.Error("no frame has a name")
	}
}

// tracedSource is a program that calls leaf until it is killed.
const tracedSource = `#include <unistd.h>
#define NOINLINE __attribute__((noinline))
NOINLINE int leaf(int x) { usleep(1000); return x + 1; }
NOINLINE int middle(int x) { int r = leaf(x); return r * 2; }
static NOINLINE int hidden(int x) { int r = middle(x); return r * 3; }
int main(void) { for (;;) hidden(1); }
`

// TestRealBpftrace holds that stacks of bpftrace get the names that llvm-symbolizer finds: with the functions that it finds itself, and
// without.
func TestRealBpftrace(t *testing.T) {
	needTool(t, "bpftrace", "bpftrace")
	needTool(t, "gcc", "gcc")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	program := filepath.Join(t.TempDir(), "traced")
	compile := exec.Command("gcc", "-w", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", program, "-x", "c", "-")
	compile.Stdin = strings.NewReader(tracedSource)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	run := exec.Command(program)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Process.Kill(); _ = run.Wait() }()
	maps := listed(t, run.Process)
	for !strings.Contains(maps, "libc.so") {
		maps = listed(t, run.Process)
	}
	var all filtertest.Tally
	entry := symbolAt(t, program, "leaf")
	e := realEmitter{frame: regexp.MustCompile(`^(?:\t|        0x)([0-9a-f]{8,})(?: |$)`)}
	for _, symbols := range []string{"0", "1"} {
		trace := exec.Command("bpftrace", "-p", strconv.Itoa(run.Process.Pid), "-e", "uprobe:"+program+`:leaf { printf("%s%s", ustack(perf), ustack); exit(); }`)
		trace.Env = append(os.Environ(), "BPFTRACE_NO_USER_SYMBOLS="+symbols)
		out, err := trace.Output()
		if err != nil || !strings.Contains(string(out), "\n\t") {
			t.Skipf("bpftrace cannot trace here: %v\n%s", err, out)
		}
		log := maps + string(out)
		frames := e.printed(t, log, program, lowest(t, program), func(at uint64) bool { return at != entry })
		if len(frames) < 4 {
			t.Fatalf("%d frames in\n%s", len(frames), out)
		}
		all.Add(compareTruth(t, assumedFiles(t), truthOf(t, program, frames), log, frames))
	}
	t.Log(all.Row(t.Name()))
	if all.Right != all.Frames {
		t.Errorf("%d of %d frames have names", all.Right, all.Frames)
	}
}

// symbolAt returns the address of a symbol of a program.
func symbolAt(t *testing.T, program, name string) uint64 {
	t.Helper()
	e, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	symbols, _ := e.Symbols()
	for _, s := range symbols {
		if s.Name == name {
			return s.Value
		}
	}
	t.Fatalf("%s has no %s", program, name)
	return 0
}
