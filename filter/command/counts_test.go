//go:build linux || darwin

package command_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// outcomes are frames by what became of them.
type outcomes map[string]int

func (o outcomes) String() string {
	var words []string
	for _, word := range slices.Sorted(maps.Keys(o)) {
		words = append(words, fmt.Sprintf("%d %s", o[word], word))
	}
	return strings.Join(words, ", ")
}

// unnamed returns the frames without a name.
func (o outcomes) unnamed() outcomes {
	u := maps.Clone(o)
	delete(u, "OK")
	delete(u, "IN_LOG")
	return u
}

// sum returns how many frames there are.
func (o outcomes) sum() (n int) {
	for _, k := range o {
		n += k
	}
	return n
}

// add adds others.
func (o outcomes) add(others outcomes) {
	for word, n := range others {
		o[word] += n
	}
}

// counting counts the frames of samples in all outputs.
type counting struct {
	cached
	symbols, in, out string
	more             []string // flags
}

// run returns what the program writes to standard output and to standard error, and its status.
func (c *counting) run(args ...string) (out, errs string, status int) {
	c.t.Helper()
	args = append(args, c.more...)
	cmd := exec.Command("qss-filter", append(args, "--symbols", c.symbols, "--rootfs", c.symbols)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+c.home, "DEBUGINFOD_URLS=")
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		c.t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// stream counts the frames of the objects of JSON. It returns the summary, too, and whether --fail-unresolved fails the run.
func (c *counting) stream(log string) (outcomes, string, bool) {
	c.t.Helper()
	out, summary, status := c.run("--json", "--only-stacks", "--summary=always", "--fail-unresolved", log)
	all := outcomes{}
	for line := range strings.Lines(out) {
		var l struct {
			Frames []struct{ Kind, Status string }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			c.t.Fatalf("%s: %v", line, err)
		}
		for _, fr := range l.Frames {
			if fr.Kind != "register" { // which stand for a part of a frame
				all[fr.Status]++
			}
		}
	}
	return all, summary, status == 3
}

var (
	summaryHead = regexp.MustCompile(`(?m)^qss-filter: (\d+) of (\d+) frames? ha(?:ve|s) no name:$`)
	summaryLine = regexp.MustCompile(`(?m)^qss-filter: +(\d+)  (?:.*?: )?([A-Z_]{4,}): `)
	doctorHead  = regexp.MustCompile(`(?m)^(\d+) frames? on \d+ lines?, (\d+) with a name(?: \((\d+) of them)?`)
	doctorWords = regexp.MustCompile(`(?m)^without a name: (.*)$`)
	pageHead    = regexp.MustCompile(`(\d+) frames?, (\d+) without a name`)
	pageWords   = regexp.MustCompile(`<span title="(\w+)">(\d+) [^<]+</span>`)
)

// numbers returns the numbers that a pattern finds.
func numbers(found []string) (list []int) {
	for _, text := range found {
		n, _ := strconv.Atoi(text)
		list = append(list, n)
	}
	return list
}

// counted reads `9 NO_MAPPING, 1 OK`.
func counted(words string) outcomes {
	all := outcomes{}
	for part := range strings.SplitSeq(words, ", ") {
		if n, word, ok := strings.Cut(part, " "); ok {
			all[word], _ = strconv.Atoi(n)
		}
	}
	return all
}

// countedOnPage reads the numbers of frames by outcome of a page.
func countedOnPage(page string) outcomes {
	all := outcomes{}
	for _, m := range pageWords.FindAllStringSubmatch(page, -1) {
		all[m[1]], _ = strconv.Atoi(m[2])
	}
	return all
}

// summary counts the frames that --summary lists.
func (c *counting) summary(text string) (frames int, unnamed outcomes) {
	unnamed = outcomes{}
	head := summaryHead.FindStringSubmatch(text)
	if head == nil {
		return 0, unnamed
	}
	for _, m := range summaryLine.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		unnamed[m[2]] += n
	}
	if n := numbers(head[1:]); n[0] != unnamed.sum() {
		c.t.Errorf("the summary has %d frames without a name in its head, and lists %v", n[0], unnamed)
	}
	return numbers(head)[2], unnamed
}

// tables counts the frames of the tables of a report, for each log.
func (c *counting) tables(dir string) (frames map[string]int, unnamed map[string]outcomes) {
	c.t.Helper()
	frames, unnamed = map[string]int{}, map[string]outcomes{}
	for _, row := range c.rows(dir, "frames.tsv") {
		frames[row[0]]++
	}
	for _, row := range c.rows(dir, "failed_frames.tsv") {
		if unnamed[row[0]] == nil {
			unnamed[row[0]] = outcomes{}
		}
		unnamed[row[0]][row[7]]++
	}
	return frames, unnamed
}

// rows returns the rows of a table.
func (c *counting) rows(dir, name string) (rows [][]string) {
	c.t.Helper()
	for line := range strings.Lines(c.read(dir, name)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows[1:]
}

func (c *counting) read(dir, name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// whole compares the totals of a report, in its summary.json and on its page.
func (c *counting) whole(name, dir string, want outcomes) {
	c.t.Helper()
	var s struct {
		Frames int      `json:"total_frames"`
		Named  int      `json:"symbolized_frames"`
		Failed int      `json:"failed_frames"`
		By     outcomes `json:"frame_status_counts"`
	}
	if err := json.Unmarshal([]byte(c.read(dir, "summary.json")), &s); err != nil {
		c.t.Fatal(err)
	}
	unnamed := want.unnamed().sum()
	if !maps.Equal(s.By, want) || s.Frames != want.sum() || s.Failed != unnamed || s.Named != s.Frames-s.Failed {
		c.t.Errorf("%s: summary.json has %+v, the stream %v", name, s, want)
	}
	page := c.read(dir, "stacks.html")
	if n := numbers(pageHead.FindStringSubmatch(page)); len(n) != 3 || n[1] != want.sum() || n[2] != unnamed ||
		want.sum() > 0 && !maps.Equal(countedOnPage(page), want) {
		c.t.Errorf("%s: the page has %v, %v, the stream %v", name, n, countedOnPage(page), want)
	}
}

// sample compares all that is said of one sample, and returns what the stream says.
func (c *counting) sample(name string) outcomes {
	c.t.Helper()
	log, dir := filepath.Join(c.in, name), filepath.Join(c.out, "stream")
	want, alone, fails := c.stream(log)
	unnamed := want.unnamed()
	_, text, _ := c.run("--summary=always", "--report", dir, log)
	if frames, got := c.summary(text); !maps.Equal(got, unnamed) || len(got) > 0 && frames != want.sum() {
		c.t.Errorf("%s: the summary has %d frames, %v without a name, the stream %v\n%s", name, frames, got, want, text)
	}
	if fails != (unnamed.sum() > 0) {
		c.t.Errorf("%s: --fail-unresolved fails: %v, and the stream has %v", name, fails, want)
	}
	if alone != text {
		c.t.Errorf("%s: without a report the summary is\n%swith one\n%s", name, alone, text)
	}
	frames, failed := c.tables(dir)
	if frames["-"] != want.sum() || !maps.Equal(failed["-"], unnamed) && len(unnamed) > 0 {
		c.t.Errorf("%s: the tables have %d frames, %v without a name, the stream %v", name, frames["-"], failed["-"], want)
	}
	c.whole(name, dir, want)
	text, _, _ = c.run("doctor", log)
	head := numbers(doctorHead.FindStringSubmatch(text))
	words := outcomes{}
	if m := doctorWords.FindStringSubmatch(text); m != nil {
		words = counted(m[1])
	}
	if len(head) != 4 || head[1] != want.sum() || head[2] != want["OK"]+want["IN_LOG"] || head[3] != want["IN_LOG"] || !maps.Equal(words, unnamed) {
		c.t.Errorf("%s: the doctor has %v, %v, the stream %v\n%s", name, head, words, want, text)
	}
	return want
}

// tree compares the report of a tree of all samples with what the stream says of each.
func (c *counting) tree(streams map[string]outcomes) {
	c.t.Helper()
	dir := filepath.Join(c.out, "tree")
	c.run("tree", c.in, "--output", dir)
	frames, failed := c.tables(dir)
	all := outcomes{}
	for name, want := range streams {
		all.add(want)
		if unnamed := want.unnamed(); frames[name] != want.sum() || !maps.Equal(failed[name], unnamed) && len(unnamed) > 0 {
			c.t.Errorf("%s: the tree has %d frames, %v without a name, the stream %v", name, frames[name], failed[name], want)
		}
	}
	c.whole("the tree", dir, all)
	c.t.Logf("%d samples, %d frames: %v", len(streams), all.sum(), all)
}

// TestCounts holds that every output counts the same frames of every sample, and says the same of those without a name: objects of
// JSON, the summary, the tables of a report and of a tree, summary.json, the page and the doctor; with an empty cache and a
// full one, with the files there and gone.
func TestCounts(t *testing.T) {
	c := &counting{cached: cached{t, t.TempDir()}, symbols: filepath.Join(t.TempDir(), "bin"), in: t.TempDir(), out: t.TempDir()}
	if err := os.CopyFS(c.symbols, os.DirFS("testdata/logs/bin")); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pattern := range []string{"*.log", "wrapped/*.log", "public/*.txt"} {
		paths, err := filepath.Glob(filepath.Join("testdata/logs", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(path)
			names = append(names, name)
			if err := os.WriteFile(filepath.Join(c.in, name), text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(names) < 50 {
		t.Fatalf("only %d samples", len(names))
	}
	t.Cleanup(func() { c.answers(true) })
	round := func() map[string]outcomes {
		all := map[string]outcomes{}
		for _, name := range names {
			all[name] = c.sample(name)
		}
		c.tree(all)
		return all
	}
	c.more = []string{"--no-cache"}
	want := round()
	c.more = nil
	for _, turn := range []string{"cold", "warm"} {
		for name, got := range round() {
			if !maps.Equal(got, want[name]) {
				t.Errorf("%s, with a %s cache: %v, want %v", name, turn, got, want[name])
			}
		}
	}
	elfs := c.read(filepath.Join(c.out, "tree"), "elf_list.tsv")
	if err := os.RemoveAll(c.symbols); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(c.symbols, 0o777); err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, got := range round() {
		named += got["OK"]
	}
	if named == 0 {
		t.Error("with the files gone the cache answers nothing")
	}
	found, now := withID.FindAllString(untried(elfs), -1), untried(c.read(filepath.Join(c.out, "tree"), "elf_list.tsv"))
	for _, line := range found {
		if !strings.Contains(now, line) {
			t.Errorf("with the files gone the list of modules lacks\n%s", line)
		}
	}
	if len(found) < 5 {
		t.Errorf("only %d modules have a build ID and debug information", len(found))
	}
}

// untried drops the paths of files that were not found: answers of a build are kept whatever its name.
func untried(elfs string) string { return tried.ReplaceAllString(elfs, "\tNOT_FOUND\tOK\t") }

var tried = regexp.MustCompile(`\t[^\t\n]*\tNOT_FOUND\tOK\t`)

// withID matches modules of elf_list.tsv that have a build ID and debug information.
var withID = regexp.MustCompile(`(?m)^.*\t[A-Z_]+\tOK\t[0-9a-f]{8,}\t.*$`)
