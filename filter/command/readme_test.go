package command_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter/command"
)

// The README's commands run in a directory of their own, from its first line to its last one. What they need beside
// the filter is here: a new command of another program wants a line in standIns (or in tools, if it is to run itself), a new
// file a line in readmeFiles, and an indented block that is not of commands the beginning of its first line in samples.
var (
	// standIns are programs that cannot be there, or must not run here: scripts for sh. $LOG is a log with a crash.
	standIns = map[string]string{
		"adb":         `cat "$LOG"`,
		"ssh":         `cat "$LOG"`,
		"kubectl":     `cat "$LOG"`,
		"ctest":       `cat "$LOG"`,
		"tail":        `cat "$LOG"`, // -f does not end
		"run_tests":   `cat "$LOG"`,
		"cover":       `:`,
		"go":          `:`, // .ci/run runs what matters
		"sudo":        `:`,
		".ci/release": `:`,
	}
	// tools run themselves. No other is found.
	tools = []string{"bash", "cat", "jq", "ln", "sh", "sort", "uniq"}
	// readmeFiles are made of files below testdata, or are empty directories.
	readmeFiles = map[string]string{
		"crash.log": "qss/crash.qss.log", "other.log": "qss/bar.log", "old.log": "qss/crash.qss.log", "device.log": "markup/crash.markup.log",
		"logs/crash.log": "qss/crash.qss.log", "logs/sub/other.log": "qss/bar.log",
		"srv/symbols": "rootfs", "mnt/rootfs": "rootfs", "out/target/product/generic/symbols": "rootfs", "out/symbols": "rootfs",
		"build/app": "rootfs/usr/apps/org.example.test/mainbin", "traces": "../filter/importer/testdata/scaler",
		"chop.db": "../filter/importer/testdata/chopstix/chop.db", "home/bin": "",
	}
	// elsewhere are directories of the README's reader that are below the test's own.
	elsewhere = strings.NewReplacer("/srv/", "$SCRATCH/srv/", "/mnt/", "$SCRATCH/mnt/")
	// samples are the beginnings of blocks that are no commands, or talk to servers that are not there.
	samples = []string{"E/CRASH ", "nats-server -js", "for n in "}
)

// readmeLine is a command with the number of its line.
type readmeLine struct {
	number int
	text   string
}

// readme returns the README's commands and its configuration, and complains of what it does not know.
func readme(t *testing.T) (commands []readmeLine, config string) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	first, isSample, isConfig, open := true, false, false, false
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if !indented {
			first, open = true, false
			continue
		}
		if first {
			first, isConfig = false, strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "--")
			isSample = slices.ContainsFunc(samples, func(s string) bool { return strings.HasPrefix(line, s) })
		}
		switch {
		case isSample:
		case isConfig:
			config += line + "\n"
		case open:
			commands[len(commands)-1].text += "\n" + line
		default:
			commands = append(commands, readmeLine{number, line})
			if word := commandWord(line); word != "qss-filter" && standIns[strings.TrimPrefix(word, "./")] == "" && !slices.Contains(tools, word) {
				t.Errorf("README.md:%d: nothing is known of %q: give it a stand-in in readme_test.go, or, if the block is no command, put its beginning into samples there", number, word)
				commands = commands[:len(commands)-1]
			}
		}
		open = strings.HasSuffix(line, "|") || strings.HasSuffix(line, `\`)
	}
	return commands, config
}

// commandWord is the first word after variables that are set.
func commandWord(line string) string {
	for _, word := range strings.Fields(line) {
		if !regexp.MustCompile(`^[A-Z_]+=`).MatchString(word) {
			return word
		}
	}
	return ""
}

// readmePlace makes the directory that the commands run in, and returns their environment.
func readmePlace(t *testing.T, config string) (dir string, env []string) {
	dir = t.TempDir()
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, from := range readmeFiles {
		if err := lay(filepath.Join(dir, name), filepath.Join(data, from), from != ""); err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range standIns {
		put(filepath.Join("programs", name), "#!/bin/sh\n"+script+"\n", 0o700)
		put(name, "#!/bin/sh\n"+script+"\n", 0o700) // for ./name
	}
	for _, name := range append([]string{"qss-filter"}, tools...) {
		path, err := exec.LookPath(name)
		if err != nil && name == "jq" {
			put("programs/jq", "#!/bin/sh\ncat\n", 0o700)
			t.Log("jq is not installed (Debian: jq): its programs are not looked at")
			continue
		}
		if err != nil {
			t.Skipf("%s is not installed", name)
		}
		if err := os.Symlink(path, filepath.Join(dir, "programs", name)); err != nil {
			t.Fatal(err)
		}
	}
	put("home/.config/qss-filter/config", strings.ReplaceAll(elsewhere.Replace(config), "$SCRATCH", dir)+
		"# no process that outlives the test\n--no-cache\n", 0o600)
	return dir, []string{"PATH=" + filepath.Join(dir, "programs"), "HOME=" + filepath.Join(dir, "home"), "SCRATCH=" + dir,
		"LOG=" + filepath.Join(dir, "crash.log"), "TMPDIR=" + os.TempDir()}
}

// lay copies a file or a directory to a path, or makes an empty directory there.
func lay(path, source string, copied bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if !copied {
		return os.MkdirAll(path, 0o700)
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(path, os.DirFS(source))
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o700)
}

var redirected = regexp.MustCompile(`>\s*(~|\w)(\S*)`)

// TestReadme runs the README's commands.
func TestReadme(t *testing.T) {
	commands, config := readme(t)
	if len(commands) < 30 || !strings.Contains(config, "--symbols=") {
		t.Fatalf("%d commands, and the configuration %q", len(commands), config)
	}
	dir, env := readmePlace(t, config)
	for _, c := range commands {
		for _, m := range redirected.FindAllStringSubmatch(c.text, -1) { // directories that a shell does not make
			path := filepath.Join(dir, strings.Replace(m[1], "~", "home", 1)+m[2])
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("bash", "-c", "set -o pipefail\n"+elsewhere.Replace(c.text))
		cmd.Dir, cmd.Env = dir, env
		var complaints strings.Builder
		cmd.Stderr = &complaints
		out, err := cmd.Output()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit) && exit.ExitCode() == 127:
			t.Errorf("README.md:%d: %s\n%sgive the missing command a stand-in in readme_test.go", c.number, c.text, complaints.String())
		case err != nil || strings.Contains(complaints.String(), "unknown flag"):
			t.Errorf("README.md:%d: %s\n%v\n%s%s", c.number, c.text, err, out, complaints.String())
		}
	}
}

// TestReadmeFlags says that every flag which the README's sentences name is one of some command.
func TestReadmeFlags(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, name := range command.HiddenFlags {
		known[name] = true
	}
	for _, command := range []string{"", "completion"} {
		for _, name := range flagsOf(t, command) {
			known[name] = true
		}
	}
	for _, c := range command.Program.Commands[1:] {
		for _, name := range flagsOf(t, c.Name) {
			known[name] = true
		}
	}
	for _, m := range regexp.MustCompile("`[^`\n]*`").FindAllString(string(text), -1) {
		for _, flag := range regexp.MustCompile(`(?:^|[ \x60])--([a-z][a-z0-9-]*)`).FindAllStringSubmatch(m, -1) {
			if !known[flag[1]] {
				t.Errorf("README.md names --%s in %s, and no command has it", flag[1], m)
			}
		}
	}
}

// TestPicture holds that the README's picture is what the command prints today; -update draws it again.
func TestPicture(t *testing.T) {
	program, err := exec.LookPath("qss-filter")
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := exec.Command("go", "run", "./testdata/picture", "-bin", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/picture.svg"
	if *update {
		if err := os.WriteFile(file, drawn, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != string(drawn) {
		t.Errorf("%s is out of date (go test ./filter/command -run TestPicture -update draws it again): %v", file, err)
	}
}
