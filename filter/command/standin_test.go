package command_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// startTool starts the program under a tool's name.
func startTool(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := standIn()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, name), args...)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "XDG_CACHE_HOME="+t.TempDir(), "CI=1")
	return cmd
}

// sampleModule is a program with debug information.
func sampleModule(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/rootfs/usr/apps/org.example.test/mainbin")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStandInAnswersLeave holds that each answer leaves at once, also to requests that cannot be answered, and that the tools end with
// their input.
func TestStandInAnswersLeave(t *testing.T) {
	module := sampleModule(t)
	for name, talk := range map[string][][2]string{
		"llvm-symbolizer": {{"CODE " + module + " 0x3080\n", "walk\n/usr/src/demo/emit.c:13:1\n\n"}, {"\n", "??\n??:0:0\n\n"}, {"nonsense\n", "??\n??:0:0\n\n"},
			{"CODE /nowhere 0x10\n", "??\n??:0:0\n\n"}, {"DATA /nowhere 0x10\n", "??\n0 0\n??:?\n\n"}, {"FRAME /nowhere 0x10\n", "??\n\n"}},
		"addr2line": {{"3080\n", "walk\n/usr/src/demo/emit.c:13\n"}, {",\n", "??\n??:0\n"}, {"0xffffffffffffffff\n", "??\n??:0\n"}, {"\n", "??\n??:0\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"-fie", module}
			if name == "llvm-symbolizer" {
				args = []string{"--demangle", "--inlines", "--default-arch=x86_64"}
			}
			cmd := startTool(t, name, args...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			answers := bufio.NewReader(out)
			for range 2 {
				for _, step := range talk {
					if _, err := io.WriteString(in, step[0]); err != nil {
						t.Fatal(err)
					}
					got := make([]byte, len(step[1]))
					if _, err := io.ReadFull(answers, got); err != nil || string(got) != step[1] {
						t.Fatalf("%q has the answer %q, %v, instead of %q", step[0], got, err, step[1])
					}
				}
			}
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStandInHostileInput holds that input which is no request has one answer a line, in bounded memory, and that the next request is
// answered.
func TestStandInHostileInput(t *testing.T) {
	module := sampleModule(t)
	long := strings.Repeat("x", 10<<20)
	for name, in := range map[string]string{
		"llvm-symbolizer": long + "\nCODE " + module + " 0x3080\n\x00\n\"" + module + "\nCODE " + module + " 0x3080",
		"addr2line":       long + "\n3080\n\x00\nzz\n3080",
	} {
		args := []string{"-fe", module}
		want := "??\n??:0\nwalk\n/usr/src/demo/emit.c:13\n??\n??:0\n??\n??:0\nwalk\n/usr/src/demo/emit.c:13\n"
		if name == "llvm-symbolizer" {
			args, want = nil, "??\n??:0:0\n\nwalk\n/usr/src/demo/emit.c:13:1\n\n??\n??:0:0\n\n??\n??:0:0\n\nwalk\n/usr/src/demo/emit.c:13:1\n\n"
		}
		cmd := startTool(t, name, args...)
		cmd.Env = append(cmd.Env, "GOMEMLIMIT=64MiB")
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.Output()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\ngot %q\nwant %q", name, err, out, want)
		}
	}
}

// TestStandInReaderGone holds that the tools end when their reader is gone, with an endless input.
func TestStandInReaderGone(t *testing.T) {
	for name, line := range map[string]string{"llvm-symbolizer": "CODE /nowhere 0x10\n", "addr2line": "10\n"} {
		cmd := startTool(t, name, "-e", sampleModule(t))
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				if _, err := io.WriteString(in, line); err != nil {
					return
				}
			}
		}()
		if _, err := io.ReadFull(out, make([]byte, 8)); err != nil {
			t.Error(err)
		}
		out.Close()
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s ended without an error", name)
		}
	}
}

// TestStandInReaderWaits holds that a caller which writes all its requests before it reads an answer makes the tools wait, in bounded memory,
// and that it gets all answers in order.
func TestStandInReaderWaits(t *testing.T) {
	if !isWaiting(os.Getpid(), "futex") { // as idle threads of a program in Go do
		t.Skip("the system does not say what a process waits for")
	}
	module := sampleModule(t)
	for name, c := range map[string]struct{ args, request, answer string }{
		"llvm-symbolizer": {"--demangle", "CODE " + module + " 0x3080\n", "walk\n/usr/src/demo/emit.c:13:1\n\n"},
		"addr2line":       {"-fe" + module, "3080\n", "walk\n/usr/src/demo/emit.c:13\n"},
	} {
		const n = 100_000 // more than pipes and the tool hold
		cmd := startTool(t, name, c.args)
		cmd.Env = append(cmd.Env, "GOMEMLIMIT=64MiB")
		cmd.Stdin = strings.NewReader(strings.Repeat(c.request, n))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for !isWaiting(cmd.Process.Pid, "pipe_write") {
			runtime.Gosched()
		}
		got, err := io.ReadAll(out)
		if err := errors.Join(err, cmd.Wait()); err != nil {
			t.Error(name, err)
		}
		if string(got) != strings.Repeat(c.answer, n) {
			t.Errorf("%s: %d bytes of answers instead of %d", name, len(got), n*len(c.answer))
		}
	}
}

// isWaiting reports whether a thread of a process waits in a function of the kernel whose name contains where.
func isWaiting(pid int, where string) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", pid))
	return slices.ContainsFunc(threads, func(path string) bool {
		text, _ := os.ReadFile(path)
		return bytes.Contains(text, []byte(where))
	})
}

// TestStandInArguments holds what the tools say to wrong arguments and files, and their status.
func TestStandInArguments(t *testing.T) {
	module := sampleModule(t)
	for _, c := range []struct {
		command string
		status  int
		want    string // a part of the output
	}{
		{"llvm-symbolizer --bogus", 1, "error: unknown argument '--bogus'"},
		{"llvm-symbolizer --adjust-vma=z", 1, "--adjust-vma=: expected a non-negative integer, but got 'z'"},
		{"llvm-symbolizer --obj=/nowhere 0x10", 1, "error: '/nowhere': No such file or directory"},
		{"llvm-symbolizer --obj=/nowhere --output-style=JSON 0x10", 1, `{"Address":"0x0","Error":{"Message":"No such file or directory"},"ModuleName":"/nowhere"}`},
		{"llvm-symbolizer --build-id=1234 --obj=" + module, 1, "error: cannot specify both --build-id and --obj"},
		{"llvm-symbolizer --build-id=zz 10", 1, "expected a build ID, but got 'zz'"},
		{"llvm-symbolizer -sCfie " + module + " 0x3080", 0, "walk\nemit.c:13:1\n\n"},
		{"llvm-symbolizer --obj=" + module + " --output-style=JSON 0x3080 0x3080", 0, `[{"Address":"0x3080","ModuleName":"`},
		{"llvm-symbolizer --version", 0, "LLVM version 22"},
		{"llvm-symbolizer --help", 0, "OPTIONS:"},
		{"llvm-addr2line -fe " + module + " 3080", 0, "walk\n/usr/src/demo/emit.c:13\n"},
		{"llvm-addr2line -afe " + module + " , 3080", 0, "0x0\n??\n??:0\n0x3080\nwalk\n"},
		{"llvm-symbolizer --obj", 1, "error: --obj: missing argument"},
		{"addr2line --bogus", 1, "unrecognized option '--bogus'"},
		{"addr2line -fz", 1, "invalid option -- 'z'"},
		{"addr2line -fe", 1, "option requires an argument -- 'e'"},
		{"addr2line --exe", 1, "option '--exe' requires an argument"},
		{"addr2line -e= 10", 1, "': No such file"},
		{"addr2line -e /nowhere 10", 1, "'/nowhere': No such file"},
		{"addr2line -e README.md 10", 1, "README.md: file format not recognized"},
		{"addr2line -e testdata 10", 1, "'testdata' is a directory"},
		{"addr2line -j .nope -e " + module + " 10", 1, "cannot find section .nope"},
		{"addr2line -b nope -e " + module + " 10", 1, "invalid bfd target"},
		{"addr2line --demangle=nope -e " + module + " 10", 1, "unknown demangling style `nope'"},
		{"addr2line --func --exe=" + module + " 3080", 0, "walk\n/usr/src/demo/emit.c:13\n"},
		{"addr2line --version", 0, "GNU addr2line"},
		{"addr2line --help", 0, "addr2line [option(s)] [addr(s)]"},
	} {
		words := strings.Fields(c.command)
		cmd := startTool(t, words[0], words[1:]...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: status %d, %s", c.command, got, fmt.Sprintf("%.300s", out.String()))
		}
	}
}

// TestStandInDoctor holds that doctor says how a link to the program is used, and nothing without one.
func TestStandInDoctor(t *testing.T) {
	dir, err := standIn()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{dir: true, t.TempDir(): false} {
		cmd := startTool(t, "qss-filter", "doctor", "--no-config", "--no-debuginfod")
		cmd.Env = append(cmd.Env, "PATH="+path)
		cmd.Stdin = strings.NewReader("nothing\n")
		out, _ := cmd.Output() // its status says that there are no frames
		if got := bytes.Contains(out, []byte("ASAN_SYMBOLIZER_PATH="+dir+"/llvm-symbolizer")) && bytes.Contains(out, []byte("TORCH_ADDR2LINE_BINARY="+dir+"/addr2line")); got != want {
			t.Errorf("with PATH=%s: %s", path, out)
		}
	}
}
