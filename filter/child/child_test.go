//go:build linux || darwin

package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qss-filter/filter"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
)

// asWrapper makes the test binary the program under test: it runs its arguments as a command.
const asWrapper = "CHILD_TEST_WRAP"

// asLinger is how long the wrapper lingers, forever without.
const asLinger = "CHILD_TEST_LINGER"

func TestMain(m *testing.M) {
	if os.Getenv(asWrapper) != "" {
		os.Unsetenv(asWrapper)
		os.Exit(wrap(os.Args[1:]))
	}
	if os.Getenv(asTeller) != "" {
		os.Exit(reportSignals())
	}
	for _, s := range []os.Signal{unix.SIGHUP, unix.SIGINT} {
		if signal.Ignored(s) { // as under nohup, or in the background of a script: the commands of tests are to have the default
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	os.Exit(m.Run())
}

// asWay says how the wrapper knows mappings: "traced" without the kernel's records, "looks" without tracing, too.
const asWay = "CHILD_TEST_WAY"

func wrap(argv []string) int {
	o := Options{
		Argv: argv, New: newStream, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Maps: NewMaps(), Linger: Forever,
	}
	way := os.Getenv(asWay)
	o.Maps.unrecorded, o.Maps.untraced = way != "", way == "looks"
	if text := os.Getenv(asLinger); text != "" {
		linger, err := time.ParseDuration(text)
		if o.Linger = linger; err != nil {
			panic(err)
		}
		o.Left = func(processes string, waiting bool) { fmt.Fprintln(os.Stderr, "wrapper: left", processes, waiting) }
	}
	status, err := Run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "wrapper:", err)
	}
	return status
}

// names answers every address, so that it shows which lines went through a filter.
type names struct{}

func (names) Frames(_ context.Context, a symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: "named", File: "f.c", Line: 7}}}
}

func newStream() *stream.Stream { return filter.New(filter.Options{Symbols: names{}}).Stream() }

// wrapped is the wrapper with that command.
func wrapped(t *testing.T, argv ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, argv...)
	cmd.Env = append(os.Environ(), asWrapper+"=1")
	return cmd
}

// outcome runs a command with pipes.
func outcome(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	status = statusOf(t, cmd.Run())
	return out.String(), errs.String(), status
}

func statusOf(t *testing.T, err error) int {
	t.Helper()
	var e *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// frame is a line that the filter changes.
const frame = `    #0 0x4011d6 (/bin/crash+0x11d6) (BuildId: 0123456789abcdef)`

func TestStatus(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := dir + "/" + name
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "echo hi\n", 0o644)
	bare := file("bare", "echo bare $1\nexit 5\n", 0o755)
	lost := file("lost", "#!/no/such/interpreter\n", 0o755)
	damaged := file("damaged", "\x7fELF\x00\x00", 0o755)
	for _, c := range []struct {
		name, out, err string
		argv           []string
		status         int
	}{
		{"true", "", "", []string{"true"}, 0},
		{"exit 3", "", "", []string{"sh", "-c", "exit 3"}, 3},
		{"exit 255", "", "", []string{"sh", "-c", "exit 255"}, 255},
		{"not found", "", "wrapper: no-such-command: command not found\n", []string{"no-such-command"}, 127},
		{"no such path", "", "wrapper: ./no/such: no such file or directory\n", []string{"./no/such"}, 127},
		{"not executable", "", "wrapper: " + plain + ": permission denied\n", []string{plain}, 126},
		{"directory", "", "wrapper: " + dir + ": is a directory\n", []string{dir}, 126},
		{"no interpreter", "", "wrapper: " + lost + ": its interpreter or dynamic linker does not exist\n", []string{lost}, 126},
		{"damaged", "", "wrapper: " + damaged + ": exec format error\n", []string{damaged}, 126},
		{"no #!", "bare x\n", "", []string{bare, "x"}, 5},
		{"nothing", "", "wrapper: no command\n", nil, 127},
		{"apart", "out\n", "err\n", []string{"sh", "-c", "echo out; echo err >&2; exit 1"}, 1},
		{"spaces", "a  b|$x\n", "", []string{"printf", "%s|%s\n", "a  b", "$x"}, 0},
		{"no newline", "out", "err", []string{"sh", "-c", "printf out; printf err >&2"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, status := outcome(t, wrapped(t, c.argv...))
			if out != c.out || errs != c.err || status != c.status {
				t.Errorf("got %q, %q, %d\nwant %q, %q, %d", out, errs, status, c.out, c.err, c.status)
			}
		})
	}
}

// TestBothFiltered looks for the names in both streams, each with the context that it printed itself.
func TestBothFiltered(t *testing.T) {
	script := `printf '%s\n' "$1"; printf '%s\n' "$1" >&2`
	out, errs, status := outcome(t, wrapped(t, "sh", "-c", script, "sh", frame))
	for name, got := range map[string]string{"stdout": out, "stderr": errs} {
		if !strings.Contains(got, "named f.c:7") || strings.Count(got, "\n") != 1 || status != 0 {
			t.Errorf("%s: %q, status %d", name, got, status)
		}
	}
}

// TestOneFile uses the same pipe for both streams, as 2>&1 does: the order of lines is the command's.
func TestOneFile(t *testing.T) {
	cmd := wrapped(t, "sh", "-c", "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done")
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	if string(got) != want.String() {
		t.Errorf("the order is another: %.200q", got)
	}
}

func TestStdin(t *testing.T) {
	cmd := wrapped(t, "tr", "a-z", "A-Z")
	cmd.Stdin = strings.NewReader("one\ntwo")
	if out, errs, status := outcome(t, cmd); out != "ONE\nTWO" || errs != "" || status != 0 {
		t.Errorf("got %q, %q, %d", out, errs, status)
	}
	// What a command does not read is left for the next one.
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("first\nsecond\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first\n", "second\n"} {
		cmd := wrapped(t, "sh", "-c", `read line; echo "$line"`)
		cmd.Stdin = file
		if out, _, _ := outcome(t, cmd); out != want {
			t.Errorf("got %q, want %q", out, want)
		}
	}
}
