package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// The configuration is a file of flags as on the command line, one per line: `--flag` or `--flag=value`. The value extends to the
// end of the line; there are no quotes, and nothing in it is expanded. Lines that are empty or begin with # are ignored.
//
// Its flags count as if they came before those of the command line: for a flag with one value, that of the command line counts;
// for a flag that may be repeated, all count, those of the file first. A flag of another command is ignored.

// configLimit bounds a configuration, in bytes.
const configLimit = 1 << 20

// configFile is a configuration as it was read.
type configFile struct {
	path     string // "" if none was looked for
	missing  bool
	settings []setting
	// distrusted is the reason why it was not read.
	distrusted error
}

// setting is one line of a configuration.
type setting struct {
	line        int
	name, value string
	valued      bool // has an =
}

// configVariable returns the name of the environment variable for the configuration.
func configVariable(program string) string {
	return strings.ToUpper(strings.ReplaceAll(program, "-", "_")) + "_CONFIG"
}

// configText describes the configuration.
func configText(program string) string {
	return "a file of flags, one a line as --flag or --flag=value, which count as if they came before those of the command line; $" +
		configVariable(program) + " names it, otherwise it is " + program + "/config below $XDG_CONFIG_HOME or ~/.config (Windows: %AppData%)"
}

// configPath returns the path of the configuration, "" for none, and whether the variable names it.
func configPath(program string) (path string, named bool) {
	if path, named := os.LookupEnv(configVariable(program)); named {
		return path, true
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if runtime.GOOS == "windows" {
		dir = os.Getenv("AppData")
	} else if !filepath.IsAbs(dir) { // the XDG specification: relative paths are to be ignored
		dir = filepath.Join(os.Getenv("HOME"), ".config")
	}
	if !filepath.IsAbs(dir) {
		return "", false
	}
	return filepath.Join(dir, program, "config"), false
}

// configuration reads the file of flags if it applies to a command line.
func (p *Program) configuration(c *Command, flags *Flags) (f configFile, err error) {
	if flags.is("no-config") || c.Config != nil && !c.Config(flags) {
		return f, nil
	}
	path, named := configPath(p.Name)
	if path == "" {
		return f, nil
	}
	f.path = path
	text, err := readConfig(path, named)
	switch {
	case err == nil:
	case named:
		return f, fmt.Errorf("%w (%s names it; --no-config ignores it)", err, configVariable(p.Name))
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		f.missing = true
		return f, nil
	case errors.Is(err, errDistrusted) || errors.Is(err, fs.ErrPermission): // not the user's: go on without it
		f.distrusted = err
		p.Warn(fmt.Sprintf("%v (--no-config ignores it, %s=%s reads it all the same)", err, configVariable(p.Name), path))
		return f, nil
	default:
		return f, fmt.Errorf("%w (--no-config ignores it)", err)
	}
	f.settings, err = parseConfig(path, text)
	return f, err
}

// readConfig reads a file of flags. A file that was not named must belong to the user.
func readConfig(path string, named bool) ([]byte, error) {
	if path == os.DevNull { // the usual name of nothing
		return nil, nil
	}
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read the configuration: %s: not a regular file", path)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer in.Close()
	if !named {
		if err := trusted(in, path); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(in, configLimit+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if len(text) > configLimit {
		return nil, fmt.Errorf("read the configuration: %s: longer than %d bytes", path, configLimit)
	}
	return text, nil
}

// errDistrusted reports that another user may write the configuration.
var errDistrusted = errors.New("the configuration may be another user's")

// parseConfig parses a file of flags.
func parseConfig(path string, text []byte) (all []setting, err error) {
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		number++
		line := strings.TrimSpace(string(line))
		if line == "" || line[0] == '#' {
			continue
		}
		bare, dashes := strings.CutPrefix(line, "--")
		name, value, valued := strings.Cut(bare, "=")
		blank := strings.IndexFunc(name, unicode.IsSpace)
		switch {
		case !dashes || name == "" || name[0] == '-' || blank == 0:
			return nil, fmt.Errorf("%s:%d: %s: want --FLAG or --FLAG=VALUE %s", path, number, line, advice)
		case blank > 0:
			return nil, fmt.Errorf("%s:%d: %s: want --%s=%s %s", path, number, line, name[:blank],
				strings.TrimSpace(bare[blank:]), advice)
		}
		all = append(all, setting{number, name, value, valued})
	}
	return all, nil
}

// apply sets the flags of the lines of a file.
func (p *Program) apply(path string, settings []setting, c *Command, flags *Flags) error {
	for _, s := range settings {
		if err := p.set(s, path, c, flags); err != nil {
			return fmt.Errorf("%s:%d: %w %s", path, s.line, err, advice)
		}
	}
	return nil
}

// set sets the flag of one line. It ignores a flag of another command.
func (p *Program) set(s setting, path string, c *Command, flags *Flags) error {
	if !configurable(s.name) {
		return fmt.Errorf("--%s is for the command line only", s.name)
	}
	wrong := flags.take(s, fmt.Sprintf("%s:%d", path, s.line))
	if wrong == nil {
		if c.Config != nil && !c.Config(flags) {
			return fmt.Errorf("--%s says that the configuration does not count: it is for the command line only", s.name)
		}
		return nil
	}
	for _, other := range p.Commands {
		if other == c {
			continue
		}
		theirs, _ := p.flags(other)
		err := theirs.take(s, "")
		if err == nil {
			return nil
		}
		if errors.Is(wrong, errUnknown) {
			wrong = err
		}
	}
	return explained(wrong)
}

// advice says what to do about a wrong line of the configuration.
const advice = "(change that line; --no-config ignores it)"

// placed adds the line of the configuration to an error that begins with a flag from there. It returns false if the flag is not from
// the configuration.
func (v *values) placed(err error) (error, bool) {
	text := err.Error()
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), " ")
	if end := strings.IndexAny(name, ":="); end >= 0 {
		name = name[:end]
	}
	for _, g := range slices.Backward(v.given[name]) {
		switch {
		case !strings.Contains(text, g.value): // another one of a flag that may be repeated
		case g.source == commandLine:
			return err, false
		default:
			return fmt.Errorf("%s: %w %s", g.source, err, advice), true
		}
	}
	return err, false
}

// errUnknown reports that a command has no such flag.
var errUnknown = errors.New("unknown flag")

// take sets the flag of one line.
func (v *values) take(s setting, source string) error {
	one := v.set.Lookup(s.name)
	if one == nil {
		return fmt.Errorf("%w: --%s", errUnknown, s.name)
	}
	if s.valued {
		return v.put(s.name, s.value, source)
	}
	if one.NoOptDefVal == "" {
		return fmt.Errorf("--%s: want --%s=%s", s.name, s.name, describe(one).value)
	}
	return v.put(s.name, one.NoOptDefVal, source)
}

// sourcesText returns the text of --print-config: the source and value of each flag, and the environment variables.
func sourcesText(file configFile, fs *Flags, environment []Variable) string {
	var rows [][2]string
	row := func(source, text string) { rows = append(rows, [2]string{source, text}) }
	for _, group := range fs.grouped() {
		for _, one := range group.flags {
			if !configurable(one.Name) {
				continue
			}
			for _, g := range fs.given[one.Name] {
				row(g.source, "--"+one.Name+"="+g.value)
			}
			if len(fs.given[one.Name]) == 0 {
				row("default", "--"+one.Name+"="+one.DefValue)
			}
		}
	}
	for _, v := range environment {
		if value, set := os.LookupEnv(v.Name); set {
			row("environment", v.Name+"="+value)
		} else {
			row("not set", v.Name)
		}
	}
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configuration: %s\n", file.state())
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %s\n", width, r[0], r[1])
	}
	return b.String()
}

// state describes whether and from where a configuration was read.
func (f configFile) state() string {
	switch {
	case f.path == "":
		return "none"
	case f.missing:
		return f.path + " (there is none)"
	case f.distrusted != nil:
		return fmt.Sprintf("not read: %v", f.distrusted)
	}
	return f.path
}

// configurable reports whether a flag may be in the configuration.
func configurable(name string) bool {
	switch name {
	case "help", "help-all", "version", "no-config", "print-config":
		return false
	}
	return true
}
