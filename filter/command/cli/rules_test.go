package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRules says which flags go together: of the command line another one is an error, in the configuration it does not count.
func TestRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flags")
	for _, c := range []struct{ config, args, got, err string }{
		{"", "--tree=x --jobs=2", "x,2,,false,", ""},
		{"", "--jobs=2", "", "--jobs needs --tree or --list=all (try 'prog --help')"},
		{"", "--jobs=2 --list=some", "", "--jobs needs --tree or --list=all (try 'prog --help')"},
		{"", "--jobs=2 --list=all", ",2,all,false,", ""},
		{"", "--jobs=2 --list=all --list=none", "", "--jobs needs --tree or --list=all (try 'prog --help')"},
		{"", "--jobs=", ",,,false,", ""},
		{"", "--list=all --loud", "", "--loud does not go with --list=all (try 'prog --help')"},
		{"", "--list=all --loud=false", ",,all,false,", ""},
		{"", "--loud -- sh", "", "--loud does not go with a command after -- (try 'prog --help')"},
		{"", "--wait=x", "", "--wait needs a command after -- (try 'prog --help')"},
		{"", "--wait=x -- sh", ",,,false,", ""},
		{"--wait=x", "--loud", ",,,true,", ""},
		{"", "--loud --", ",,,true,", ""},
		{"", "--c=x --loud", "", "-c does not go with --loud (try 'prog --help')"},
		{"", "--mode=fast --loud", "", "--mode needs --tree (try 'prog --help')"},
		{"", "--other=x --tree=x", "", "--other=x does not go with --tree (try 'prog --help')"},
		{"", "--other=y --tree=x", "x,,,false,y", ""},
		{"--jobs=2", "", ",,,false,", ""},
		{"--jobs=2", "--tree=x", "x,2,,false,", ""},
		{"--tree=x", "--jobs=2", "x,2,,false,", ""},
		{"--jobs=2", "--jobs=3", "", "--jobs needs --tree or --list=all (try 'prog --help')"},
		{"--list=all\n--jobs=2", "--loud", "", "--loud does not go with --list=all (try 'prog --help')"},
		{"--loud\n--jobs=2", "--list=all", ",2,all,false,", ""},
		{"--loud\n--list=all\n--jobs=2", "--tree=y", "y,2,all,false,", ""},
		{"--tree=x\n--jobs=2", "--other=x", "", "--other=x does not go with --tree (try 'prog --help')"},
		{"--other=x\n--mode=fast", "--tree=x", "x,,,false,", ""},
	} {
		if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PROG_CONFIG", file)
		got := ""
		p := &Program{Name: "prog", Stdout: &strings.Builder{}, Commands: []*Command{{Args: "[FILE ...]", Setup: func(fs *Flags) Run {
			var tree, jobs, list, other, short, mode, wait string
			var loud bool
			fs.String(&tree, "tree", "", "")
			fs.String(&jobs, "jobs", "", "")
			fs.String(&list, "list", "", "")
			fs.String(&other, "other", "", "")
			fs.String(&short, "c", "", "")
			fs.Word(&mode, "mode", "", "fast", "slow")
			fs.Bool(&loud, "loud", "")
			fs.Needs([]string{"tree", "list=all"}, "jobs")
			fs.Needs([]string{"tree"}, "mode")
			fs.String(&wait, "wait", "", "")
			fs.Needs([]string{CommandAfter}, "wait")
			fs.Excludes([]string{"list=all", CommandAfter}, "loud")
			fs.Excludes([]string{"loud"}, "c")
			fs.Excludes([]string{"tree"}, "other=x")
			return func() (int, error) {
				got = strings.Join([]string{tree, jobs, list, map[bool]string{true: "true", false: "false"}[loud], other}, ",")
				return OK, nil
			}
		}}}}
		_, err := p.Run(strings.Fields(c.args))
		message := ""
		if err != nil {
			message = err.Error()
		}
		if got != c.got || message != c.err {
			t.Errorf("%q with %q gives %q, %q; want %q, %q", c.args, c.config, got, message, c.got, c.err)
		}
	}
}
