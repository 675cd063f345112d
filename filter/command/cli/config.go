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
// end of the line, without quotes. At its beginning, ~ stands for the home directory and $NAME or ${NAME} for a variable. Lines that
// are empty or begin with # are ignored.
//
// Its flags count as if they came before those of the command line: for a flag with one value, that of the command line counts;
// for a flag that may be repeated, all count, those of the file first. A flag of another command is ignored. A line that is wrong, or
// whose value does not work now, is left out with a warning: the configuration never stops a run.

// configLimit bounds a configuration, in bytes.
const configLimit = 1 << 20

// configFile is a configuration as it was read.
type configFile struct {
	path     string // "" if none was looked for
	project  string // the project's own file, "" for none
	missing  bool
	settings []setting
	// distrusted is the reason why it was not read, other than that it is missing.
	distrusted error
}

// setting is one line of a configuration.
type setting struct {
	source      string // file:line
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

// leftOut says what is done about a wrong line of the configuration, or a value that does not work.
const leftOut = "(this line is left out)"

// leftOutOf is leftOut for a source, which may be a variable in place of a line.
func leftOutOf(source string) string {
	if strings.HasPrefix(source, "$") {
		return "(this value is left out)"
	}
	return leftOut
}

// configuration reads the file of flags if it applies to a command line, and after it the file of the project, if there is one and a
// variable asks for it. It warns of files that cannot be read, and of wrong lines.
func (p *Program) configuration(c *Command, flags *Flags) (f configFile) {
	if c.Config != nil && !c.Config(flags) {
		return f
	}
	if path, named := configPath(p.Name); path != "" && !flags.is("no-config") {
		f = p.read(path, named)
	}
	if project := projectPath(p.Name); project != "" && !flags.is("no-config") {
		own := p.read(project, false)
		f.project = project
		for _, s := range own.settings {
			if slices.Contains(p.Starts, s.name) {
				p.warnOnce(fmt.Sprintf("%s: --%s may start a program: only your own configuration may have it %s", s.source, s.name, leftOut))
				continue
			}
			if dot, below := strings.CutPrefix(s.value, "./"); below {
				s.value = filepath.Join(filepath.Dir(project), dot)
			}
			f.settings = append(f.settings, s)
		}
	}
	return f
}

// variables returns the settings of environment variables: lists of values of a flag, as in PATH.
func (p *Program) variables() (all []setting) {
	for _, v := range p.Environment {
		if v.Flag == "" {
			continue
		}
		for _, value := range splitList(os.Getenv(v.Name)) {
			if value != "" {
				all = append(all, setting{"$" + v.Name, v.Flag, value, true})
			}
		}
	}
	return all
}

// schemes are those of the URLs that a list may have.
var schemes = [...]string{"http", "https", "s3", "gs"}

// splitList splits a list as in PATH. The colons of a URL, behind its scheme and before its port, separate nothing.
func splitList(text string) (list []string) {
	for _, part := range filepath.SplitList(text) {
		if n := len(list) - 1; n >= 0 {
			scheme, rest, isURL := strings.Cut(list[n], "://")
			begins := slices.Contains(schemes[:], scheme) && !isURL && strings.HasPrefix(part, "//")
			_, host, is6 := strings.Cut(rest, "]")
			if !is6 {
				host = rest
			}
			in6 := isURL && strings.HasPrefix(rest, "[") && !is6
			goesOn := isURL && !strings.ContainsAny(host, "/:") && isPort(part)
			if begins || in6 || goesOn {
				list[n] += ":" + part
				continue
			}
		}
		list = append(list, part)
	}
	return list
}

// isPort reports whether text is what follows the name of a host in a URL with a port.
func isPort(text string) bool {
	path := strings.TrimLeft(text, "0123456789")
	return path != text && (path == "" || path[0] == '/')
}

// warnOnce warns of what was not warned of before.
func (p *Program) warnOnce(message string) {
	if !p.warned[message] {
		if p.warned == nil {
			p.warned = map[string]bool{}
		}
		p.warned[message] = true
		p.Warn(message)
	}
}

// read reads one file of flags.
func (p *Program) read(path string, named bool) (f configFile) {
	f.path = path
	text, err := readConfig(path, named)
	switch {
	case err == nil:
		f.settings = parseConfig(path, text, p.warnOnce)
	case !named && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		f.missing = true
	case !named && errors.Is(err, errDistrusted):
		f.distrusted = err
		p.warnOnce(fmt.Sprintf("%v (--no-config ignores it, %s=%s reads it all the same)", err, configVariable(p.Name), path))
	default:
		f.distrusted = err
		p.warnOnce(fmt.Sprintf("%v (the run goes on without it)", err))
	}
	return f
}

// projectVariable returns the name of the environment variable that asks for the project's file.
func projectVariable(program string) string {
	return strings.ToUpper(strings.ReplaceAll(program, "-", "_")) + "_PROJECT"
}

// projectPath returns the path of the project's file, .PROGRAM in the working directory or the nearest one above it, or "" for none.
func projectPath(program string) string {
	if on := os.Getenv(projectVariable(program)); on == "" || on == "0" {
		return ""
	}
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, "."+program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
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

// parseConfig parses a file of flags. It calls warn for each wrong line.
func parseConfig(path string, text []byte, warn func(string)) (all []setting) {
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		number++
		line := strings.TrimSpace(string(line))
		if line == "" || line[0] == '#' {
			continue
		}
		source := fmt.Sprintf("%s:%d", path, number)
		bare, dashes := strings.CutPrefix(line, "--")
		name, value, valued := strings.Cut(bare, "=")
		blank := strings.IndexFunc(name, unicode.IsSpace)
		switch {
		case !dashes || name == "" || name[0] == '-' || blank == 0:
			warn(fmt.Sprintf("%s: %s: want --FLAG or --FLAG=VALUE %s", source, line, leftOut))
			continue
		case blank > 0:
			warn(fmt.Sprintf("%s: %s: want --%s=%s %s", source, line, name[:blank], strings.TrimSpace(bare[blank:]), leftOut))
			continue
		}
		value, err := expanded(value)
		if err != nil {
			warn(fmt.Sprintf("%s: %s: %v %s", source, line, err, leftOut))
			continue
		}
		all = append(all, setting{source, name, value, valued})
	}
	return all
}

// expanded returns a value with ~, $NAME or ${NAME} at its beginning, and after the = of FROM=TO, replaced.
func expanded(value string) (string, error) {
	if from, to, ok := strings.Cut(value, "="); ok && (strings.HasPrefix(to, "~") || strings.HasPrefix(to, "$")) {
		to, err := expanded(to)
		return from + "=" + to, err
	}
	switch {
	case value == "~" || strings.HasPrefix(value, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return home + value[1:], nil
	case strings.HasPrefix(value, "~"):
		return "", errors.New("want ~/ for the home directory: ~USER is not expanded")
	case !strings.HasPrefix(value, "$"):
		return value, nil
	}
	end := 1
	for end < len(value) && (value[end] == '_' || unicode.IsLetter(rune(value[end])) || unicode.IsDigit(rune(value[end]))) {
		end++
	}
	name, rest := value[1:end], value[end:]
	if braced, after, ok := strings.Cut(value[1:], "}"); ok && strings.HasPrefix(braced, "{") {
		name, rest = braced[1:], after
	}
	set := os.Getenv(name)
	if set == "" {
		return "", fmt.Errorf("$%s is not set", name)
	}
	return set + rest, nil
}

// apply sets the flags of the lines of a file, and warns of wrong ones. It sets no flag of another command.
func (p *Program) apply(settings []setting, c *Command, flags *Flags) {
	for _, s := range settings {
		if err := p.set(s, c, flags); err != nil {
			p.warnOnce(fmt.Sprintf("%s: %v %s", s.source, err, leftOutOf(s.source)))
		}
	}
}

// set sets the flag of one line. It ignores a flag of another command.
func (p *Program) set(s setting, c *Command, flags *Flags) error {
	if !configurable(s.name) {
		return fmt.Errorf("--%s is for the command line only", s.name)
	}
	if c.Config != nil {
		alone, _ := p.flags(c)
		if alone.take(s, "") == nil && !c.Config(alone) {
			return fmt.Errorf("--%s says that the configuration does not count: it is for the command line only", s.name)
		}
	}
	wrong := flags.take(s, s.source)
	if wrong == nil {
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
	if errors.Is(wrong, errUnknown) {
		if near := p.nearFlag(c, flags, s.name); near != "" {
			return fmt.Errorf("%w: %s", wrong, near)
		}
	}
	return explained(wrong)
}

// placed returns the value of the flag with which an error begins, if it is not from the command line.
func (v *values) placed(err error) (g given, ok bool) {
	if err == nil {
		return g, false
	}
	text := err.Error()
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), " ")
	if end := strings.IndexAny(name, ":="); end >= 0 {
		name = name[:end]
	}
	for _, g := range slices.Backward(v.given[name]) {
		switch {
		case !strings.Contains(text, g.value): // another one of a flag that may be repeated
		case g.source == commandLine:
			return g, false
		default:
			return g, true
		}
	}
	return g, false
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
	if project := f.project; project != "" {
		f.project = ""
		return f.state() + ", and " + project
	}
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
	case "h", "help", "version", "no-config", "print-config":
		return false
	}
	return true
}
