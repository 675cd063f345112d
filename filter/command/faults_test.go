//go:build unix

package command_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// printing are commands that print something, with their arguments: a log, a program and a trace are there.
var printing = []string{"log", "doctor log", "doctor --json log", "modules log", "symbolize exe 0x1150", "where exe", "where --json exe", "dump-sym exe",
	"import trace", "tree logs --output out --json", "schema", "cache path", "cache stats --json", "completion bash", "man", "help", "help json", "-h", "--help",
	"--version"}

// faultPlace makes a directory with those files, and with a copy of the program that other users can start.
func faultPlace(t *testing.T) (dir, program string) {
	dir = t.TempDir()
	for name, from := range map[string]string{"log": "testdata/qss/bar.log", "logs/log": "testdata/qss/bar.log", "exe": "testdata/rootfs/usr/apps/org.example.test/mainbin",
		"trace": "filter/importer/testdata/scaler"} {
		if err := lay(filepath.Join(dir, name), from, true); err != nil {
			t.Fatal(err)
		}
	}
	program, err := exec.LookPath("qss-filter")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // for other users
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "log"), 0o644); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "qss-filter") // a test's program is known by its name
	if err := os.WriteFile(program, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, program
}

// faulty runs a command in a directory, and returns its status, that of a shell if a signal ended it, and what it says.
func faulty(cmd *exec.Cmd, dir string, env ...string) (status int, said string) {
	var complaint strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache")), env...), &complaint
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status = exit.ExitCode()
		if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
			status = 128 + int(w.Signal())
		}
	} else if err != nil {
		return -1, err.Error()
	}
	return status, complaint.String()
}

// TestUnreadable holds that a file that the user may not read has the same line and status in every command.
func TestUnreadable(t *testing.T) {
	dir, program := faultPlace(t)
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("text\n"), 0o000); err != nil {
		t.Fatal(err)
	}
	const open = "open secret: permission denied\n"
	for args, want := range map[string]string{"secret": open, "doctor secret": open, "modules secret": open, "symbolize secret": open, "import secret": open,
		"dump-sym secret": open, "--maps secret log": "--maps secret: " + open, "doctor --maps secret log": "--maps secret: " + open,
		"--symbols secret log": "--symbols: " + open, "modules log secret": open} {
		cmd := exec.Command(program, append([]string{"--no-cache"}, strings.Fields(args)...)...)
		if first := strings.Fields(args)[0]; first != "secret" && !strings.HasPrefix(first, "-") {
			cmd.Args = append([]string{program}, strings.Fields(args)...)
		}
		if os.Getuid() == 0 { // who may read anything
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		if status, said := faulty(cmd, dir); status != 2 || said != "qss-filter: "+want {
			t.Errorf("%s: %d, %q", args, status, said)
		}
	}
}

// TestUnwritable holds that output that cannot be written has the same line and status in every command, and that a reader which has
// gone ends each of them as it does any program.
func TestUnwritable(t *testing.T) {
	dir, program := faultPlace(t)
	for _, args := range printing {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skipf("no device that is full: %v", err)
		}
		cmd := exec.Command(program, strings.Fields(args)...)
		cmd.Stdout = full
		status, said := faulty(cmd, dir)
		full.Close()
		if status != 1 || !strings.HasPrefix(said, "qss-filter: ") || !strings.HasSuffix(said, "write standard output: no space left on device\n") ||
			strings.Count(said, "standard output") != 1 || strings.Count(said, "\n") != 1 && !strings.HasPrefix(args, "tree") {
			t.Errorf("%s: %d, %q", args, status, said)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd = exec.Command(program, strings.Fields(args)...)
		cmd.Stdout = w
		status, said = faulty(cmd, dir)
		w.Close()
		if status != 128+int(syscall.SIGPIPE) || said != "" && !strings.HasPrefix(args, "tree") {
			t.Errorf("%s, without a reader: %d, %q", args, status, said)
		}
	}
}

// TestBrokenConfig holds that a line of the configuration that is wrong is said once, and stops no command.
func TestBrokenConfig(t *testing.T) {
	dir, program := faultPlace(t)
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(path, []byte("--frobnicate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"log", "doctor log", "modules log", "symbolize exe 0x1150", "where exe", "dump-sym exe", "import trace", "cache path"} {
		wanted, _ := faulty(exec.Command(program, strings.Fields(args)...), dir)
		status, said := faulty(exec.Command(program, strings.Fields(args)...), dir, "QSS_FILTER_CONFIG="+path)
		if want := "qss-filter: " + path + ":1: unknown flag: --frobnicate (this line is left out)\n"; status != wanted || !strings.HasPrefix(said, want) ||
			strings.Count(said, "frobnicate") != 1 {
			t.Errorf("%s: %d, %q; want %d", args, status, said, wanted)
		}
	}
}

// TestInterrupted holds that Ctrl-C ends the commands that read standard input, and that they say nothing then.
func TestInterrupted(t *testing.T) {
	dir, program := faultPlace(t)
	for _, args := range []string{"doctor", "symbolize exe"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, strings.Fields(args)...)
		var complaint strings.Builder
		cmd.Dir, cmd.Stdin, cmd.Stderr = dir, r, &complaint
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || !exit.Sys().(syscall.WaitStatus).Signaled() && exit.ExitCode() != 130 || complaint.Len() > 0 {
			t.Errorf("%s: %v, %q", args, err, complaint.String())
		}
		r.Close()
		w.Close()
	}
}

// TestWrongFlag holds that an unknown flag has the same line and status in every command.
func TestWrongFlag(t *testing.T) {
	for _, command := range []string{"", "doctor", "tree", "modules", "symbolize", "where", "import", "dump-sym", "serve", "worker", "publish", "schema", "cache",
		"completion", "man"} {
		cmd := exec.Command("qss-filter", append(strings.Fields(command), "--frobnicate", "x")...)
		want := "qss-filter: unknown flag: --frobnicate (try '" + strings.TrimSpace("qss-filter "+command) + " --help')\n"
		if status, said := faulty(cmd, t.TempDir()); status != 2 || said != want {
			t.Errorf("%s: %d, %q", command, status, said)
		}
	}
}
