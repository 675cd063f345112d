package command_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"qss-filter/filter/command"
	"qss-filter/sgr"
)

var helpFlag = regexp.MustCompile(`(?m)^  (?:(?:-\w, |    )--([a-z0-9-]+)|-(\w)(?: |$))`)

// flagsOf returns the flags that help lists for a command; "" for the program without one.
func flagsOf(t *testing.T, command string) (all []string) {
	for _, m := range helpFlag.FindAllStringSubmatch(printed(t, command, "--help=all"), -1) {
		all = append(all, m[1]+m[2])
	}
	if len(all) < 2 {
		t.Fatalf("help %s lists %q only", command, all)
	}
	return all
}

// printed is what the program prints.
func printed(t *testing.T, args ...string) string {
	out, err := exec.Command("qss-filter", slices.DeleteFunc(args, func(s string) bool { return s == "" })...).Output()
	if err != nil {
		t.Fatalf("qss-filter %q: %v", args, err)
	}
	return string(out)
}

// TestOneTable keeps help, the manual page, the completions and --print-config in step: each flag of each command is in all.
func TestOneTable(t *testing.T) {
	_, listed, _ := strings.Cut(printed(t, "--help"), "Commands:\n")
	commands := []string{""}
	for line := range strings.Lines(listed) {
		if strings.TrimSpace(line) == "" {
			break
		}
		if name := strings.Fields(line)[0]; name != "help" {
			commands = append(commands, name)
		}
	}
	if len(commands) < 6 {
		t.Fatalf("the commands are %q", commands)
	}
	texts := map[string]string{"man": strings.ReplaceAll(printed(t, "man"), `\-`, "-")}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		texts[shell] = printed(t, "completion", shell)
	}
	for _, command := range commands {
		flags := flagsOf(t, command)
		for _, name := range flags {
			word := regexp.MustCompile(`(?:-l |-s |-)` + name + `(?:[^a-z0-9-]|$)`)
			for where, text := range texts {
				part := text
				switch at := command; {
				case where == "fish":
					if at == "" {
						at = "main"
					}
					part = strings.Join(regexp.MustCompile(`(?m)^complete .*__qss_filter_at `+at+`'.*$`).FindAllString(text, -1), "\n")
				case where == "bash":
					_, part, _ = strings.Cut(text, "\n        "+command+":-*) ")
					part, _, _ = strings.Cut(part, "\n")
				case where == "zsh" && at != "":
					_, part, _ = strings.Cut(text, "\n_qss_filter_"+at+"() {")
					part, _, _ = strings.Cut(part, "\n}")
				case where == "powershell":
					_, part, _ = strings.Cut(text, "\n        '"+at+"' = @{")
					part, _, _ = strings.Cut(part, "\n        }")
				}
				if !word.MatchString(part) {
					t.Errorf("%s: --%s of the command %q is missing", where, name, command)
				}
			}
		}
	}
	if strings.Contains(printed(t, "--help"), "\n\n  ") {
		t.Error("--help has flags without a group: say fs.Group in filter/command before they are registered")
	}
}

// TestHelpFits holds the common help to one screen.
func TestHelpFits(t *testing.T) {
	help := strings.TrimSuffix(printed(t, "-h"), "\n")
	lines := strings.Split(help, "\n")
	if len(lines) > 40 {
		t.Errorf("-h has %d lines; shorten usages, or take flags out of common in filter/command\n%s", len(lines), help)
	}
	for _, text := range []string{help, printed(t, "--help")} {
		for line := range strings.SplitSeq(text, "\n") {
			if len(line) > 100 {
				t.Errorf("longer than 100 columns: %s", line)
			}
		}
	}
	for _, name := range command.Program.Commands[0].Common {
		if !strings.Contains(help, "--"+name) {
			t.Errorf("common has --%s, and the program has not", name)
		}
	}
}

// TestRealManual asks mandoc what is wrong with the page. What is not from a release has no date.
func TestRealManual(t *testing.T) {
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skip("mandoc is not installed (Debian: mandoc)")
	}
	cmd := exec.Command("mandoc", "-T", "lint")
	cmd.Stdin = strings.NewReader(printed(t, "man"))
	out, _ := cmd.Output() // its status says no more than what it prints
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "missing date") {
			t.Error(line)
		}
	}
}

// TestEnvironment says that every variable which the program looks up is in the table that help shows.
func TestEnvironment(t *testing.T) {
	known := []string{"HOME", "AppData"} // where things are otherwise
	for _, v := range command.Program.Environment {
		known = append(known, v.Name)
	}
	lookup := regexp.MustCompile(`(?:Getenv|LookupEnv|Environ|seconds|number)\("([A-Za-z_]+)"`)
	found := 0
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "testdata") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range lookup.FindAllStringSubmatch(string(text), -1) {
			if found++; !slices.Contains(known, m[1]) {
				t.Errorf("%s looks up %s: put it into environment in filter/command", path, m[1])
			}
		}
		return err
	})
	if err != nil || found < 10 {
		t.Errorf("%d variables are looked up, %v", found, err)
	}
}

// TestMessagesInColor holds that the program's own messages are colored on a terminal, and that a pipe gets the same text without.
func TestMessagesInColor(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no terminal")
	}
	for _, c := range []struct {
		args string
		env  string
	}{
		{"none", ""}, {"--bogus", ""}, {"--help", ""}, {"doctor none", ""}, {"--color=always none", ""},
		{"doctor testdata/logs/asan-clang22-segv.log", ""},
		{"none", "NO_COLOR=1"}, {"none", "TERM=dumb"}, {"--color=never none", ""}, {"--color=never --bogus", ""}, {"--color=never --help", ""},
	} {
		run := func(terminal bool) string {
			cmd := exec.Command("qss-filter", strings.Fields(c.args)...)
			cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "FORCE_COLOR=", "QSS_FILTER_PAGER=cat", c.env)
			if !terminal {
				out, _ := cmd.CombinedOutput()
				return string(out)
			}
			p, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 100})
			if err != nil {
				t.Skip("no terminal: ", err)
			}
			defer p.Close()
			out, _ := io.ReadAll(p) // which ends with EIO
			_ = cmd.Wait()
			return strings.ReplaceAll(string(out), "\r\n", "\n")
		}
		piped, shown := run(false), run(true)
		if plain := string(sgr.Uncolored(nil, []byte(shown))); plain != piped || strings.Contains(piped, "\x1b") {
			t.Errorf("%s %s:\nterminal %q\n    pipe %q", c.args, c.env, shown, piped)
		}
		if colors, want := strings.Contains(shown, "\x1b["), c.env == "" && !strings.Contains(c.args, "never"); colors != want {
			t.Errorf("%s %s: %q", c.args, c.env, shown)
		}
	}
}
