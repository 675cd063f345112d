package command_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/driver"
)

// TestCallersScripts compares what LLVM's scripts make of reports without names. They are in Debian's clang-tools-22.
func TestCallersScripts(t *testing.T) {
	for _, s := range []struct {
		script, variable string
		flags            []string
	}{
		{"/usr/lib/llvm-22/bin/asan_symbolize", "ASAN_OPTIONS", []string{"-fsanitize=address"}},
		{"/usr/lib/llvm-22/lib/clang/22/bin/hwasan_symbolize", "HWASAN_OPTIONS", []string{"-fsanitize=hwaddress", "-fsanitize-hwaddress-experimental-aliasing"}},
	} {
		t.Run(filepath.Base(s.script), func(t *testing.T) {
			if _, err := os.Stat(s.script); err != nil {
				t.Skip("clang-tools-22 is not installed")
			}
			ours, err := standIn()
			if err != nil {
				t.Fatal(err)
			}
			path := caller(t, afterFree, append([]string{"clang++-22", "-g", "-O1", "-fno-omit-frame-pointer"}, s.flags...)...)
			log := report([]string{s.variable + "=symbolize=0"}, path)
			run := func(dir string) []string {
				args := []string{}
				if s.variable == "HWASAN_OPTIONS" {
					args = []string{"--symbols", filepath.Dir(path)}
				}
				cmd := exec.Command(s.script, args...)
				cmd.Stdin = strings.NewReader(log)
				cmd.Env = append(os.Environ(), "LLVM_SYMBOLIZER_PATH="+filepath.Join(dir, "llvm-symbolizer"), "DEBUGINFOD_URLS=", "XDG_CACHE_HOME="+t.TempDir(), "CI=1")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Skipf("%s: %v: %s", s.script, err, out)
				}
				return stacks(string(out))
			}
			got, want := run(ours), run(peerTools(t))
			if !slices.ContainsFunc(want, func(line string) bool { return strings.Contains(line, "read_after") }) {
				t.Fatalf("with the real tool, it names nothing: %q", want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// pprofFlags are the arguments of the pprof library.
type pprofFlags struct {
	*flag.FlagSet
	args []string
}

func (f pprofFlags) StringList(name, value, usage string) *[]*string {
	return &[]*string{f.String(name, value, usage)}
}

func (f pprofFlags) ExtraUsage() string    { return "" }
func (f pprofFlags) AddExtraUsage(string)  {}
func (f pprofFlags) Parse(func()) []string { _ = f.FlagSet.Parse(f.args); return f.Args() }

// pprofUI is a user of the pprof library who cannot be asked.
type pprofUI struct{}

func (pprofUI) ReadLine(string) (string, error)     { return "", io.EOF }
func (pprofUI) Print(...any)                        {}
func (pprofUI) PrintErr(...any)                     {}
func (pprofUI) IsTerminal() bool                    { return false }
func (pprofUI) WantBrowser() bool                   { return false }
func (pprofUI) SetAutoComplete(func(string) string) {}

// pprofOutput is the file that the pprof library writes.
type pprofOutput struct{ bytes.Buffer }

func (o *pprofOutput) Open(string) (io.WriteCloser, error) { return o, nil }
func (o *pprofOutput) Close() error                        { return nil }

// TestCallersPprofLibrary compares what the pprof library makes of a C++ program's profile, with the tools that it is given: llvm-symbolizer
// in the style JSON, and addr2line alone.
func TestCallersPprofLibrary(t *testing.T) {
	path, profile := cpuProfile(t)
	ours, err := standIn()
	if err != nil {
		t.Fatal(err)
	}
	mine := regexp.MustCompile(`(?m)^.*(innermost|middle|main).*$`)
	t.Setenv("DEBUGINFOD_URLS", "")
	t.Setenv("CI", "1")
	t.Setenv("PPROF_TMPDIR", t.TempDir())
	for _, tool := range []string{"llvm-symbolizer", "addr2line"} {
		t.Run(tool, func(t *testing.T) {
			run := func(dir string) []string {
				tools := tool + ":" + only(t, filepath.Join(dir, tool))
				var out pprofOutput
				err := driver.PProf(&driver.Options{Writer: &out, UI: pprofUI{}, Flagset: pprofFlags{flag.NewFlagSet("pprof", flag.ContinueOnError),
					[]string{"-symbolize=local", "-tools=" + tools, "-lines", "-text", "-output=text", path, profile}}})
				if err != nil {
					t.Fatal(err)
				}
				return mine.FindAllString(out.String(), -1)
			}
			got, want := run(ours), run(peerTools(t))
			if len(want) == 0 {
				t.Fatal("it names nothing with the real tool")
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// only returns a directory in which a tool is the only one.
func only(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(path, filepath.Join(dir, filepath.Base(path))); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	return dir
}
