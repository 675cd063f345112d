package command_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter/command"
)

// The commands of the README and of the topics run in a directory of their own, each page from its first line to its last one. What they need beside
// the filter is here: a new command of another program wants a line in standIns (or in tools, if it is to run itself), a new
// file a line in readmeFiles, and an indented block that is not of commands the beginning of its first line in samples.
var (
	// standIns are programs that cannot be there, or must not run here: scripts for sh. $LOG is a log with a crash.
	standIns = map[string]string{
		"adb":             `cat "$LOG"`,
		"ssh":             `cat "$LOG"`,
		"node":            `cat "$LOG"`,
		"kubectl":         `cat "$LOG"`,
		"ctest":           `cat "$LOG"`,
		"pytest":          `cat "$LOG"`, // runners_test.go runs these four and go where they are
		"cargo":           `cat "$LOG"`,
		"bazel":           `cat "$LOG"`,
		"build/cart_test": `cat "$LOG"`,
		"tail":            `cat "$LOG"`, // -f does not end
		"run_tests":       `cat "$LOG"`,
		"cover":           `:`,
		"go":              `:`, // .ci/run runs what matters
		"sudo":            `:`,
		".ci/release":     `:`,
	}
	// tools run themselves. No other is found.
	tools = []string{"bash", "cat", "jq", "ln", "sh", "sort", "uniq"}
	// builtins are those of the shell.
	builtins = []string{"export"}
	// readmeFiles are made of files below testdata, or are empty directories.
	readmeFiles = map[string]string{
		"crash.log": "qss/crash.qss.log", "other.log": "qss/bar.log", "old.log": "qss/crash.qss.log", "device.log": "markup/crash.markup.log",
		"logs/crash.log": "qss/crash.qss.log", "logs/sub/other.log": "qss/bar.log",
		"crash.ips": "apple/demo.ips", "crash.crash": "apple/demo.crash", "dSYMs": "apple/syms", "MyApp.xcarchive": "apple/syms", "MyApp.dSYM": "apple/syms/demo.dSYM",
		"srv/symbols": "rootfs", "mnt/rootfs": "rootfs", "out/target/product/generic/symbols": "rootfs", "out/symbols": "rootfs",
		"build/firmware.elf": "boards/xtensa.elf", "build/app": "rootfs/usr/apps/org.example.test/mainbin", "traces": "../filter/importer/testdata/scaler",
		"core.zst": "logs/core.zst", "dist": "", "build/junit.xml": "junit/ctest.xml", "chop.db": "../filter/importer/testdata/chopstix/chop.db", "home/bin": "",
	}
	// elsewhere are directories of the README's reader that are below the test's own.
	elsewhere = strings.NewReplacer("/srv/", "$SCRATCH/srv/", "/mnt/", "$SCRATCH/mnt/")
	// samples are the beginnings of blocks that are no commands, or talk to servers that are not there.
	samples = []string{"#define ", "#include ", "import (", "use std::", "E/CRASH ", "E/ReactNativeJS(", "- script: ", "- run: ", "test:", "nats-server -js", "for n in "}
)

// readmeLine is a command with its file and the number of its line.
type readmeLine struct {
	place, text string
}

// pages returns the names of the README and of the topics.
func pages(t *testing.T) []string {
	topics, err := filepath.Glob("filter/command/topics/*.md")
	if err != nil || len(topics) != len(command.Program.Topics()) {
		t.Fatalf("%d topics, and %d files, %v", len(command.Program.Topics()), len(topics), err)
	}
	return append([]string{"README.md"}, topics...)
}

// readme returns the commands of all pages and the configuration, and complains of what it does not know.
func readme(t *testing.T) (commands []readmeLine, config string) {
	for _, page := range pages(t) {
		some, more := pageCommands(t, page)
		commands, config = append(commands, some...), config+more
	}
	return commands, config
}

// pageCommands returns the commands of a page and its configuration.
func pageCommands(t *testing.T, page string) (commands []readmeLine, config string) {
	text, err := os.ReadFile(page)
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
			place := fmt.Sprintf("%s:%d", page, number)
			commands = append(commands, readmeLine{place, line})
			if word := commandWord(line); word != "qss-filter" && standIns[strings.TrimPrefix(word, "./")] == "" && !slices.Contains(tools, word) && !slices.Contains(builtins, word) {
				t.Errorf("%s: nothing is known of %q: give it a stand-in in readme_test.go, or, if the block is no command, put its beginning into samples there", place, word)
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
	for _, name := range []string{"mapping.txt", "app/build/outputs/mapping/release/mapping.txt"} {
		put(name, "com.example.Main -> a.a:\n", 0o600)
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

// TestReadme runs the commands of the README and of the topics.
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
			t.Errorf("%s: %s\n%sgive the missing command a stand-in in readme_test.go", c.place, c.text, complaints.String())
		case err != nil || strings.Contains(complaints.String(), "unknown flag"):
			t.Errorf("%s: %s\n%v\n%s%s", c.place, c.text, err, out, complaints.String())
		}
	}
}

// TestReadmeFlags says that every flag which the sentences of a page name is one of some command.
func TestReadmeFlags(t *testing.T) {
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
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`[^`\n]*`").FindAllString(string(text), -1) {
			for _, flag := range regexp.MustCompile(`(?:^|[ \x60])--([a-z][a-z0-9-]*)`).FindAllStringSubmatch(m, -1) {
				if !known[flag[1]] {
					t.Errorf("%s names --%s in %s, and no command has it", page, flag[1], m)
				}
			}
		}
	}
}

// TestReadmeLength holds the README to its length, and all pages to short sentences.
func TestReadmeLength(t *testing.T) {
	const lines, words = 150, 20
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); page == "README.md" && n > lines {
			t.Errorf("the README has %d lines, want %d at most", n, lines)
		}
		if page != "README.md" && !strings.Contains(string(text[:min(len(text), 80)]), "# ") {
			t.Errorf("%s has no title", page)
		}
		for _, sentence := range sentences(string(text)) {
			if n := len(strings.Fields(sentence)); n > words {
				t.Errorf("%s: a sentence of %d words, want %d at most: %s", page, n, words, sentence)
			}
		}
	}
}

// sentences returns the sentences of a page's paragraphs and list items, without commands and tables.
func sentences(text string) (all []string) {
	for _, paragraph := range regexp.MustCompile(`\n\n|\n[*0-9]+\.? `).Split(text, -1) {
		if strings.HasPrefix(paragraph, "    ") || strings.HasPrefix(paragraph, "|") || strings.HasPrefix(paragraph, "#") {
			continue
		}
		for _, sentence := range regexp.MustCompile(`[.:;](?:\*\*)?\s`).Split(strings.TrimSpace(paragraph), -1) {
			all = append(all, strings.Join(strings.Fields(sentence), " "))
		}
	}
	return all
}

// TestTopics says that each topic is listed and shown.
func TestTopics(t *testing.T) {
	list := printed(t, "help")
	for _, topic := range command.Program.Topics() {
		text, err := os.ReadFile("filter/command/topics/" + topic.Name + ".md")
		if err != nil || !strings.HasPrefix(printed(t, "help", topic.Name), string(text)) {
			t.Errorf("help %s does not show its page: %v", topic.Name, err)
		}
		if !strings.Contains(list, "  "+topic.Name+" ") || topic.About == "" || !strings.Contains(printed(t, "-h"), topic.Name) {
			t.Errorf("%s is not listed in\n%s", topic.Name, list)
		}
	}
}

// TestFormatsTopic holds that each row of the table of formats is recognized by the filter. Some of the examples are cut at `…`.
func TestFormatsTopic(t *testing.T) {
	text, err := os.ReadFile("filter/command/topics/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 || !strings.Contains(cells[1], "`") {
			continue
		}
		rows++
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			example := strings.NewReplacer("{{{module:…}}}", "{{{module:0:a.so:elf:5290}}}", "{{{mmap:…}}}", "{{{module:0:a.so:elf:5290}}}{{{mmap:0x1000:0x1000:load:0:rx:0}}}",
				"{{{data:…}}}", "{{{data:0x1000}}}", "{{{pc:…}}}", "{{{pc:0x1000}}}", "5290…", "5290aa11", "9c74…", "9c74aa11", "316c…", "316caa11", "6c22…", "6c22aa11",
				"67f5…", "67f5aa11", "[0x…]", "[0x7f00]", "14645 ", "\t           14645 ", `\|`, "|").Replace(m[1])
			cmd := exec.Command("qss-filter", "--json", "--no-cache", "--debuginfod=off")
			cmd.Stdin = strings.NewReader(example + "\n")
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), `"frames":[`) && !strings.Contains(string(out), `"context":[`) {
				t.Errorf("%s: %q is not recognized: %s%v", cells[0], example, out, err)
			}
		}
	}
	if rows < 12 {
		t.Errorf("%d rows", rows)
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
