package cli

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// configured is a program with two commands, and what their flags were.
func configured(t *testing.T) (p *Program, got *[]string, warned *string) {
	got, warned = new([]string), new(string)
	return &Program{Name: "prog", Version: func() string { return "" }, Stdout: &strings.Builder{}, Warn: func(m string) { *warned = m },
		Environment: []Variable{{Name: "PROG_TEST_SET"}, {Name: "PROG_TEST_UNSET"}},
		Commands: []*Command{
			{Setup: func(fs *Flags) Run {
				var dirs []string
				var loud bool
				var mode, style, name string
				fs.Group("First")
				fs.Register(func(fs *flag.FlagSet) {
					fs.Func("dir", "`DIR`", func(s string) error { dirs = append(dirs, s); return nil })
				})
				fs.Repeated("dir")
				fs.Group("Second")
				fs.Bool(&loud, "loud", "be loud")
				fs.Word(&mode, "mode", "`MODE`", "fast", "slow")
				fs.Word(&style, "style", "`STYLE`", "own", "plain")
				fs.String(&name, "name", "", "`NAME`")
				fs.Optional("name", "me")
				return func() (int, error) {
					if slices.Contains(dirs, "nowhere") {
						return Usage, &Misuse{errors.New("--dir nowhere: there is none")}
					}
					*got = append([]string{mode, name}, dirs...)
					if loud {
						*got = append(*got, "loud")
					}
					return OK, nil
				}
			}, Config: func(fs *Flags) bool { return !fs.Is("style", "plain") }},
			{Name: "other", Setup: func(fs *Flags) Run {
				var mode, depth string
				fs.Word(&mode, "mode", "`MODE`", "deep", "flat")
				fs.String(&depth, "depth", "", "`DEPTH`")
				return func() (int, error) { *got = []string{mode, depth}; return OK, nil }
			}},
			{Name: "serve", Config: never, Setup: func(fs *Flags) Run {
				return func() (int, error) { *got = []string{"served"}; return OK, nil }
			}},
		}}, got, warned
}

func TestConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flags")
	for _, c := range []struct{ config, args, got, warned string }{
		{"# all\n\n  --mode=slow  \r\n--loud\n--dir=a b\n--dir=\"c\"\n", "--dir d", `slow||a b|"c"|d|loud`, ""},
		{"--mode=slow\n--loud", "--mode=fast --loud=false", "fast|", ""},
		{"\ufeff--name", "", "fast|me", ""},
		{"--name=", "", "fast|", ""},
		{"--name=x=y # z", "", "fast|x=y # z", ""},
		{"--depth=3\n--loud", "", "fast||loud", ""},
		{"--depth=3\n--loud", "other", "deep|3", ""},
		{"--mode=flat", "", "fast|", ""}, // words of the other command
		{"--mode=flat", "other", "flat|", ""},
		{"--loud\n--lood", "", "fast||loud", ":2: unknown flag: --lood: did you mean --loud? (this line is left out)"},
		{"--mode=wild", "", "fast|", ":1: --mode=wild: want fast, slow (this line is left out)"},
		{"--mode=wild", "other", "deep|", ":1: --mode=wild: want deep, flat (this line is left out)"},
		{"--loud=perhaps", "other", "deep|", ":1: --loud=perhaps: want true or false (this line is left out)"},
		{"--mode", "", "fast|", ":1: --mode: want --mode=MODE (this line is left out)"},
		{"--dir  /a b", "", "fast|", ":1: --dir  /a b: want --dir=/a b (this line is left out)"},
		{"dir=a", "", "fast|", ":1: dir=a: want --FLAG or --FLAG=VALUE (this line is left out)"},
		{"-l", "", "fast|", ":1: -l: want --FLAG or --FLAG=VALUE (this line is left out)"},
		{"--", "", "fast|", ":1: --: want --FLAG or --FLAG=VALUE (this line is left out)"},
		{"--help", "", "fast|", ":1: --help is for the command line only (this line is left out)"},
		{"--loud\n--style=plain", "", "fast||loud", ":2: --style says that the configuration does not count: it is for the command line only (this line is left out)"},
		{"--dir=a\n--dir=nowhere", "--dir=b", "fast||a|b", ":2: --dir nowhere: there is none (this line is left out)"},
		{"--dir=~/a\n--dir=$PROG_TEST_HOME/b\n--dir=${PROG_TEST_HOME}c", "", "fast||/home/me/a|/home/me/b|/home/mec", ""},
		{"--dir=a=~/x\n--dir=a~\n--dir=a$HOME", "", "fast||a=/home/me/x|a~|a$HOME", ""},
		{"--dir=~you/a", "", "fast|", ":1: --dir=~you/a: want ~/ for the home directory: ~USER is not expanded (this line is left out)"},
		{"--loud\n--dir=$PROG_TEST_UNSET/a", "", "fast||loud", ":2: --dir=$PROG_TEST_UNSET/a: $PROG_TEST_UNSET is not set (this line is left out)"},
		{"--bad", "--style=plain", "fast|", ""},
		{"--bad", "--no-config", "fast|", ""},
		{"--bad", "serve", "served", ""},
		{"--bad", "--help", "", ""},
	} {
		if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PROG_CONFIG", file)
		t.Setenv("HOME", "/home/me")
		t.Setenv("PROG_TEST_HOME", "/home/me")
		p, got, warned := configured(t)
		status, err := p.Run(strings.Fields(c.args))
		if text := strings.Join(*got, "|"); text != c.got || strings.TrimPrefix(*warned, file) != c.warned || status != OK || err != nil {
			t.Errorf("%q with %q gives %d %q, %v, %q", c.args, c.config, status, text, err, *warned)
		}
	}
}

// TestConfigAndErrors holds that an error of the command line is one, whatever the configuration says.
func TestConfigAndErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flags")
	t.Setenv("PROG_CONFIG", file)
	for _, c := range []struct{ config, args, err string }{
		{"--dir=a", "--dir=nowhere", "--dir nowhere: there is none (try 'prog --help')"},
		{"--dir=nowhere", "--dir=nowhere", "--dir nowhere: there is none (try 'prog --help')"},
		{"--bad", "--nonsense", "unknown flag: --nonsense (try 'prog --help')"},
	} {
		if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		p, got, warned := configured(t)
		if status, err := p.Run(strings.Fields(c.args)); status != Usage || err == nil || err.Error() != c.err || len(*got) > 0 || *warned != "" {
			t.Errorf("%q with %q gives %d %q, %v, %q", c.args, c.config, status, *got, err, *warned)
		}
	}
}

// TestVariables says what environment variables with values of flags do, and the file of a project.
func TestVariables(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PROG_CONFIG", "")
	t.Setenv("PROG_TEST_DIRS", "x"+string(filepath.ListSeparator)+string(filepath.ListSeparator)+"nowhere")
	below := filepath.Join(dir, "below")
	if os.Mkdir(below, 0o700) != nil || os.WriteFile(filepath.Join(dir, ".prog"), []byte("--dir=./build\n--mode=slow\n--loud\n"), 0o600) != nil {
		t.Fatal("the project cannot be made")
	}
	t.Chdir(below)
	run := func(args ...string) (got, warned string) {
		p, flags, warning := configured(t)
		p.Starts = []string{"loud"}
		p.Environment = append(p.Environment, Variable{Name: "PROG_TEST_DIRS", Flag: "dir"})
		if status, err := p.Run(args); status != OK || err != nil {
			t.Errorf("%q: %d, %v", args, status, err)
		}
		return strings.Join(*flags, "|"), *warning
	}
	if got, warned := run(); got != "fast||x" || warned != "$PROG_TEST_DIRS: --dir nowhere: there is none (this value is left out)" {
		t.Errorf("%q, %q", got, warned)
	}
	if got, _ := run("--style=plain"); got != "fast|" {
		t.Errorf("without the configuration %q", got)
	}
	t.Setenv("PROG_TEST_DIRS", "")
	t.Setenv("PROG_PROJECT", "1")
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, warned := run()
	if got != "slow||"+filepath.Join(root, "build") && got != "slow||"+filepath.Join(dir, "build") ||
		!strings.HasSuffix(warned, ".prog:3: --loud may start a program: only your own configuration may have it (this line is left out)") {
		t.Errorf("%q, %q", got, warned)
	}
	if got, _ := run("--no-config"); got != "fast|" {
		t.Errorf("without the configuration %q", got)
	}
}

// TestConfigPath says which file is read.
func TestConfigPath(t *testing.T) {
	home := t.TempDir()
	xdg := filepath.Join(home, "xdg")
	write := func(path, text string, mode os.FileMode) {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(".config/prog/config", "--name=home", 0o600)
	write("xdg/prog/config", "--name=xdg", 0o644)
	write("open/prog/config", "--name=open", 0o666)
	write("named", "--name=named", 0o666)
	write("file/prog", "", 0o600)
	write("long/prog/config", strings.Repeat("#\n", configLimit), 0o600)
	write("dir/prog/config/x", "", 0o600)
	null := os.DevNull
	named := func(s string) *string { s = filepath.Join(home, s); return &s }
	for _, c := range []struct {
		variable  *string
		xdg       string
		want, say string
	}{
		{xdg: "", want: "home"},
		{xdg: "not/absolute", want: "home"},
		{xdg: xdg, want: "xdg"},
		{variable: named("named"), xdg: xdg, want: "named"},
		{variable: new(string), xdg: xdg, want: ""},
		{xdg: filepath.Join(home, "none"), want: ""},
		{xdg: filepath.Join(home, "file"), want: ""},
		{xdg: filepath.Join(home, "open"), want: "", say: "open/prog/config: the configuration may be another user's: other users may write "},
		{variable: &null, xdg: xdg, want: ""},
		{variable: named("none"), say: "none: no such file or directory (the run goes on without it)"},
		{variable: named("dir"), say: "dir: not a regular file (the run goes on without it)"},
		{xdg: filepath.Join(home, "dir"), say: "config: not a regular file (the run goes on without it)"},
		{xdg: filepath.Join(home, "long"), say: "config: longer than 1048576 bytes (the run goes on without it)"},
	} {
		t.Setenv("HOME", home)
		t.Setenv("XDG_CONFIG_HOME", c.xdg)
		t.Setenv("PROG_CONFIG", "")
		os.Unsetenv("PROG_CONFIG")
		if c.variable != nil {
			os.Setenv("PROG_CONFIG", *c.variable)
		}
		p, got, warned := configured(t)
		_, err := p.Run(nil)
		if err != nil || (*got)[1] != c.want || !strings.Contains(*warned, c.say) || (c.say == "") != (*warned == "") {
			t.Errorf("%+v gives %q, %v, %q", c, *got, err, *warned)
		}
	}
}

// TestConfigOfOthers says that root does not read what another user wrote.
func TestConfigOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	own := filepath.Join(dir, "prog")
	file := filepath.Join(own, "config")
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("--name=theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PROG_CONFIG", "")
	os.Unsetenv("PROG_CONFIG")
	t.Setenv("XDG_CONFIG_HOME", dir)
	for _, c := range []struct{ fileOwner, dirOwner int }{{0, 0}, {65534, 0}, {0, 65534}} {
		if os.Chown(file, c.fileOwner, 0) != nil || os.Chown(own, c.dirOwner, 0) != nil {
			t.Skip("this file system keeps no owners")
		}
		p, got, warned := configured(t)
		if _, err := p.Run(nil); err != nil {
			t.Fatal(err)
		}
		trusted := c.fileOwner+c.dirOwner == 0
		if read := (*got)[1] == "theirs"; read != trusted || strings.Contains(*warned, "belongs to user 65534 (--no-config ignores it, PROG_CONFIG=") == trusted {
			t.Errorf("%+v: read %t, and warned %q", c, read, *warned)
		}
	}
}

// TestPrintConfig says where values come from.
func TestPrintConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flags")
	if err := os.WriteFile(file, []byte("--dir=a\n--mode=slow\n--loud"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PROG_CONFIG", file)
	t.Setenv("PROG_TEST_SET", "yes")
	p, _, _ := configured(t)
	if _, err := p.Run(strings.Fields("--print-config --dir=b --loud=false")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(p.Stdout.(*strings.Builder).String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"configuration: " + file, file + ":1 --dir=a", "command line --dir=b", "command line --loud=false",
		file + ":2 --mode=slow", "default --style=own", "default --name=", "environment PROG_TEST_SET=yes", "not set PROG_TEST_UNSET"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// FuzzConfig reads any bytes as a configuration: what is understood means the same when it is written out, and a warning
// names the line.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{"# all\n\n  --mode=slow  \r\n--loud\n--dir=a b\n", "\ufeff--name", "--name=x=y # z", "-x", "--mode slow", "--depth=1\n--config=2",
		"--style=plain", "--dir=\x00\xff\n--\n", "--loud=perhaps\n--mode=none", "---\n=\n--=", "-- =", "--\f ="} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		placed := func(message string) {
			if !strings.HasPrefix(message, "file:") {
				t.Fatalf("no place in %q", message)
			}
		}
		all := parseConfig("file", text, placed)
		var again strings.Builder
		for i, s := range all {
			again.WriteString("--" + s.name)
			if s.valued {
				again.WriteString("=" + s.value)
			}
			again.WriteByte('\n')
			all[i].source = fmt.Sprintf("file:%d", i+1)
		}
		if got := parseConfig("file", []byte(again.String()), func(message string) { t.Error(message) }); !reflect.DeepEqual(got, all) {
			t.Fatalf("%q is read as %+v; want %+v", again.String(), got, all)
		}
		p, _, _ := configured(t)
		p.Warn = placed
		for _, c := range p.Commands {
			flags, _ := p.flags(c)
			p.apply(all, c, flags)
		}
	})
}

// TestSplitList splits lists of paths and URLs, where their colons separate.
func TestSplitList(t *testing.T) {
	if os.PathListSeparator != ':' {
		t.Skip("a URL has no separator here")
	}
	for text, want := range map[string][]string{
		"/a:b":                                 {"/a", "b"},
		"https://example.org":                  {"https://example.org"},
		"/a:https://example.org/x:/b":          {"/a", "https://example.org/x", "/b"},
		"http://localhost:8002:/b":             {"http://localhost:8002", "/b"},
		"http://localhost:8002/x:https://b:/c": {"http://localhost:8002/x", "https://b", "/c"},
		"http://a:8/x:9":                       {"http://a:8/x", "9"},
		"http:/b":                              {"http", "/b"},
		"s3://b/x:gs://c:/d":                   {"s3://b/x", "gs://c", "/d"},
		"http://[::1]:80/x:b":                  {"http://[::1]:80/x", "b"},
	} {
		if got := splitList(text); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}
