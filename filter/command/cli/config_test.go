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
		Environment: []Variable{{"PROG_TEST_SET", ""}, {"PROG_TEST_UNSET", ""}},
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
	for _, c := range []struct{ config, args, got, err string }{
		{"# all\n\n  --mode=slow  \r\n--loud\n--dir=a b\n--dir=\"c\"\n", "--dir d", `slow||a b|"c"|d|loud`, ""},
		{"--mode=slow\n--loud", "--mode=fast --loud=false", "fast|", ""},
		{"\ufeff--name", "", "fast|me", ""},
		{"--name=", "", "fast|", ""},
		{"--name=x=y # z", "", "fast|x=y # z", ""},
		{"--depth=3\n--loud", "", "fast||loud", ""},
		{"--depth=3\n--loud", "other", "deep|3", ""},
		{"--mode=flat", "", "fast|", ""}, // words of the other command
		{"--mode=flat", "other", "flat|", ""},
		{"--loud\n--lood", "", "", ":2: unknown flag: --lood (change that line; --no-config ignores it)"},
		{"--mode=wild", "", "", ":1: --mode=wild: want fast, slow (change that line; --no-config ignores it)"},
		{"--mode=wild", "other", "", ":1: --mode=wild: want deep, flat (change that line; --no-config ignores it)"},
		{"--loud=perhaps", "other", "", ":1: --loud=perhaps: want true or false (change that line; --no-config ignores it)"},
		{"--mode", "", "", ":1: --mode: want --mode=MODE (change that line; --no-config ignores it)"},
		{"--dir  /a b", "", "", ":1: --dir  /a b: want --dir=/a b (change that line; --no-config ignores it)"},
		{"dir=a", "", "", ":1: dir=a: want --FLAG or --FLAG=VALUE (change that line; --no-config ignores it)"},
		{"-l", "", "", ":1: -l: want --FLAG or --FLAG=VALUE (change that line; --no-config ignores it)"},
		{"--", "", "", ":1: --: want --FLAG or --FLAG=VALUE (change that line; --no-config ignores it)"},
		{"--help", "", "", ":1: --help is for the command line only (change that line; --no-config ignores it)"},
		{"--loud\n--style=plain", "", "", ":2: --style says that the configuration does not count: it is for the command line only (change that line; --no-config ignores it)"},
		{"--dir=a\n--dir=nowhere", "--dir=b", "", ":2: --dir nowhere: there is none (change that line; --no-config ignores it)"},
		{"--dir=a", "--dir=nowhere", "", "--dir nowhere: there is none (try 'prog --help')"},
		{"--dir=nowhere", "--dir=nowhere", "", "--dir nowhere: there is none (try 'prog --help')"},
		{"--bad", "--style=plain", "fast|", ""},
		{"--bad", "--no-config", "fast|", ""},
		{"--bad", "serve", "served", ""},
		{"--bad", "--help", "", ""},
		{"--bad", "--nonsense", "", "unknown flag: --nonsense (try 'prog --help')"},
	} {
		if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PROG_CONFIG", file)
		p, got, warned := configured(t)
		status, err := p.Run(strings.Fields(c.args))
		message := ""
		if err != nil {
			message = strings.TrimPrefix(err.Error(), file)
		}
		if text := strings.Join(*got, "|"); text != c.got || message != c.err || status == OK != (c.err == "") || *warned != "" {
			t.Errorf("%q with %q gives %d %q, %q, %q", c.args, c.config, status, text, message, *warned)
		}
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
		variable       *string
		xdg            string
		want, err, say string
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
		{variable: named("none"), err: "none: no such file or directory (PROG_CONFIG names it; --no-config ignores it)"},
		{variable: named("dir"), err: "dir: not a regular file (PROG_CONFIG names it; --no-config ignores it)"},
		{xdg: filepath.Join(home, "dir"), err: "config: not a regular file (--no-config ignores it)"},
		{xdg: filepath.Join(home, "long"), err: "config: longer than 1048576 bytes (--no-config ignores it)"},
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
		message := ""
		if err != nil {
			message = err.Error()
		}
		if err == nil && (*got)[1] != c.want || !strings.HasSuffix(message, c.err) || (c.err == "") != (err == nil) ||
			!strings.Contains(*warned, c.say) || (c.say == "") != (*warned == "") {
			t.Errorf("%+v gives %q, %q, %q", c, *got, message, *warned)
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

// FuzzConfig reads any bytes as a configuration: what is understood means the same when it is written out, and an error
// names the line.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{"# all\n\n  --mode=slow  \r\n--loud\n--dir=a b\n", "\ufeff--name", "--name=x=y # z", "-x", "--mode slow", "--depth=1\n--config=2",
		"--style=plain", "--dir=\x00\xff\n--\n", "--loud=perhaps\n--mode=none", "---\n=\n--=", "-- =", "--\f ="} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseConfig("file", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file:") {
				t.Fatalf("no place in %q", err)
			}
			return
		}
		var again strings.Builder
		for i, s := range all {
			again.WriteString("--" + s.name)
			if s.valued {
				again.WriteString("=" + s.value)
			}
			again.WriteByte('\n')
			all[i].line = i + 1
		}
		if got, err := parseConfig("file", []byte(again.String())); err != nil || !reflect.DeepEqual(got, all) {
			t.Fatalf("%q is read as %+v, %v; want %+v", again.String(), got, err, all)
		}
		p, _, _ := configured(t)
		for _, c := range p.Commands {
			flags, _ := p.flags(c)
			if err := p.apply("file", all, c, flags); err != nil {
				var line int
				if n, _ := fmt.Sscanf(err.Error(), "file:%d: ", &line); n != 1 || line < 1 || line > len(all) {
					t.Fatalf("no place in %q", err)
				}
			}
		}
	})
}
