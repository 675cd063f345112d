package cli

import (
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// offering is a program with a flag and an argument of each kind.
func offering() *Program {
	return &Program{Name: "some-prog", Version: func() string { return "1.2 go" }, Date: func() string { return "2026-01-02" }, About: "does much",
		Description: "It's a `program`.\n.It does\n\n  some-prog one  # an example\n  .x\n\nThe end~.", Uses: []string{"-- COMMAND"}, Exit: "0 always.",
		Environment: []Variable{{Name: "SOME_VARIABLE", About: "counts"}},
		Commands: []*Command{
			{Args: "[FILE ...]", Note: "reads it", Setup: func(fs *Flags) Run {
				var s string
				var b bool
				fs.Group("Most")
				fs.Word(&s, "mode", "`MODE`: it's [fast], or: slow", "fast", "slow")
				fs.String(&s, "tree", "", "`DIR`, and \\more 'quotes' \"and ’\"")
				fs.Repeated("tree")
				fs.String(&s, "input", "", "`FILE`")
				fs.String(&s, "start", "", "`PROGRAM`")
				fs.String(&s, "name", "Joe", "`NAME`")
				fs.Word(&s, "color", "`WHEN`", "auto", "always")
				fs.Optional("color", "always")
				fs.set.BoolVarP(&b, "loud", "l", false, "be loud")
				return nil
			}},
			{Name: "alpha", Args: "red|green", Most: 1, About: "does: alpha's", Setup: func(fs *Flags) Run {
				var s string
				fs.Word(&s, "depth", "`DEPTH`", "deep", "flat")
				return nil
			}},
			{Name: "beta", Args: "[DIR]", About: "does beta", Setup: func(fs *Flags) Run { return nil }},
		}}
}

// typed are command lines with the keys that are typed, and what the command gets for arguments; zsh says where it has habits of
// its own: = after a flag, no / after a directory that is taken, files where there is no directory. A tab completes.
var typed = []struct{ keys, args, zsh string }{
	{"--mo\tsl\t", "--mode|slow", "--mode=slow"},
	{"--mode=sl\t", "--mode=slow", ""},
	{"--tr\tsu\t", "--tree|sub dir/", "--tree=sub dir"},
	{"--tree=su\t", "--tree=sub dir/", "--tree=sub dir"},
	{"--tree pl\t", "--tree|pl", "--tree|plain file"}, // not a directory
	{"--inp\tpl\t", "--input|plain file", "--input=plain file"},
	{"--input=pl\t", "--input=plain file", ""},
	{"--start some-unu\t", "--start|some-unusual-program", ""},
	{"--color=al\t", "--color=always", ""},
	{"--color pl\t", "--color|plain file", ""}, // its value comes after = only
	{"--lo\tpl\t", "--loud|plain file", ""},
	{"--name pl\t", "--name|pl", ""}, // a name is no file
	{"pl\t", "plain file", ""},
	{"alp\tgr\t", "alpha|green", ""},
	{"alpha --de\tfl\t", "alpha|--depth|flat", "alpha|--depth=flat"},
	{"alpha --mo\t", "alpha|--mo", ""},
	{"beta su\t", "beta|sub dir/", "beta|sub dir"},
	{"completion fi\t", "completion|fish", ""},
	{"help alp\t", "help|alpha", ""},
	{"-- some-unu\tpl\t", "--|some-unusual-program|plain file", ""},
}

// place makes a directory with something to complete, and the script of a shell.
func place(t *testing.T, shell string) (dir, script string) {
	dir = t.TempDir()
	for name, text := range map[string]string{"plain file": "", "sub dir/x": "", "bin/some-unusual-program": "#!/bin/sh\n", "bin/some-prog": "#!/bin/sh\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text, err := offering().script(shell)
	if err != nil {
		t.Fatal(err)
	}
	script = filepath.Join(t.TempDir(), "completion."+shell)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, script
}

// installed skips where a program is missing.
func installed(t *testing.T, program string) {
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed (Debian: %s)", program, program)
	}
}

// typeTo starts a shell on a terminal, types, and returns what the shell printed until it ended.
func typeTo(t *testing.T, dir, keys string, argv ...string) string {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "TERM=xterm", "HOME=" + dir, "LC_ALL=C.UTF-8", "PS1=> "}
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 300})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := io.WriteString(terminal, keys); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(terminal)
	if err != nil && !errors.Is(err, syscall.EIO) { // how Linux says that the other end is closed
		t.Fatal(err)
	}
	_ = cmd.Wait() // the shell's status is that of the last command
	return string(out)
}

// checkTyped types all command lines to a shell in which some-prog is a function that shows its arguments, and compares these.
func checkTyped(t *testing.T, dir, setup string, argv ...string) {
	show := ` some-prog() { local IFS='|'; printf '[''[%s]''] ' "$*"; echo; }` + "\n"
	keys := setup + show
	for _, c := range typed {
		keys += "some-prog " + c.keys + "\n"
	}
	out := typeTo(t, dir, keys+"exit\n", argv...)
	var got []string
	for part := range strings.SplitSeq(out, "[[") {
		if args, _, ok := strings.Cut(part, "]]"); ok {
			got = append(got, args)
		}
	}
	if len(got) != len(typed) {
		t.Fatalf("%d of %d command lines ran: %q\n%s", len(got), len(typed), got, out)
	}
	for i, c := range typed {
		want := c.args
		if argv[0] == "zsh" {
			want = cmp.Or(c.zsh, want)
		}
		if got[i] != want {
			t.Errorf("%q becomes %q, want %q", c.keys, got[i], want)
		}
	}
}

func TestBash(t *testing.T) {
	installed(t, "bash")
	dir, script := place(t, "bash")
	for _, library := range []string{"", "/usr/share/bash-completion/bash_completion"} {
		setup := " bind 'set bell-style none'; set +o history; bind 'set enable-bracketed-paste off'\n"
		if library != "" {
			if _, err := os.Stat(library); err != nil {
				t.Log("bash-completion is not installed: only looked at without")
				continue
			}
			setup += " source " + library + "\n"
		}
		checkTyped(t, dir, setup+" source "+script+"\n", "bash", "--norc", "--noprofile", "-i")
	}
}

func TestZsh(t *testing.T) {
	installed(t, "zsh")
	dir, script := place(t, "zsh")
	checkTyped(t, dir, " unsetopt beep; autoload -U compinit; compinit -u -D; source "+script+"\n", "zsh", "-f", "-i")
	// As packages install it: found by its name, run at the first use.
	functions := t.TempDir()
	if err := os.Rename(script, filepath.Join(functions, "_some-prog")); err != nil {
		t.Fatal(err)
	}
	checkTyped(t, dir, " unsetopt beep; fpath=("+functions+" $fpath); autoload -U compinit; compinit -u -D\n", "zsh", "-f", "-i")
}

// TestFish asks fish for all that it offers.
func TestFish(t *testing.T) {
	installed(t, "fish")
	dir, script := place(t, "fish")
	for _, c := range []struct{ line, offers string }{
		{"--mo", "--mode"},
		{"--mode ", "fast|slow"},
		{"--mode=s", "--mode=slow"},
		{"--tree s", "sub dir/"},
		{"--tree=s", "--tree=sub dir/"},
		{"--tree p", ""},
		{"--input=p", "--input=plain file"},
		{"--input p", "plain file"},
		{"--start some-unu", "some-unusual-program"},
		{"--color=al", "--color=always"},
		{"--color=", "--color=always|--color=auto"},
		{"--color p", "plain file"},
		{"--name p", ""},
		{"-l p", "plain file"},
		{"", "alpha|beta|bin/|completion|help|man|plain file|sub dir/"},
		{"alpha ", "green|red"},
		{"alpha --", "--depth|--help|--no-config|--print-config"},
		{"beta ", "bin/|sub dir/"},
		{"completion ", "bash|fish|powershell|zsh"},
		{"help al", "alpha"},
		{"-- some-unu", "some-unusual-program"},
		{"-- some-unusual-program p", "plain file"},
	} {
		cmd := exec.Command("fish", "--no-config", "-c", "source "+script+"; complete -C \"some-prog $TYPED\"")
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "HOME=" + dir, "LC_ALL=C.UTF-8", "TYPED=" + c.line}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var got []string
		for line := range strings.Lines(string(out)) {
			offer, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, strings.ReplaceAll(offer, `\ `, " "))
		}
		slices.Sort(got)
		if offers := strings.Join(slices.Compact(got), "|"); offers != c.offers {
			t.Errorf("%q is offered %q, want %q", c.line, offers, c.offers)
		}
	}
}

// TestPowerShell reads the script as far as quotes and brackets: Debian has no PowerShell to run it.
func TestPowerShell(t *testing.T) {
	script, err := offering().script("powershell")
	if err != nil {
		t.Fatal(err)
	}
	var open []rune
	var texts []string
	text, quoted, comment := "", false, false
	for _, r := range script {
		switch {
		case comment:
			comment = r != '\n'
		case r == '\'' && quoted:
			quoted = false
			texts = append(texts, text)
		case quoted:
			text += string(r)
		case r == '\'':
			quoted, text = true, ""
		case r == '#':
			comment = true
		case strings.ContainsRune("({[", r):
			open = append(open, r)
		case strings.ContainsRune(")}]", r):
			pair := map[rune]rune{')': '(', '}': '{', ']': '['}[r]
			if len(open) == 0 || open[len(open)-1] != pair {
				t.Fatalf("%c closes %q", r, string(open))
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 || quoted {
		t.Errorf("open at the end: %q, a text: %t", string(open), quoted)
	}
	for _, want := range []string{"--mode", "-l", "--loud", "slow", "DIR, and \\more ", "and ’’\"", "alpha", "--depth", "powershell"} {
		if !slices.ContainsFunc(texts, func(s string) bool { return s == want || strings.HasSuffix(want, s) || strings.Contains(s, want) }) {
			t.Errorf("%q is missing", want)
		}
	}
}
