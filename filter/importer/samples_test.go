package importer

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/symsrc"
)

// through returns what the filter makes of lines.
func through(t *testing.T, text string, s symsrc.Source) string {
	t.Helper()
	var out bytes.Buffer
	if err := filter.New(filter.Options{Symbols: s}).Run(context.Background(), strings.NewReader(text), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// table reads a file of tab-separated values without its first line.
func table(t *testing.T, path string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		rows = append(rows, strings.Split(line, "\t"))
	}
	return rows
}

func TestSamples(t *testing.T) {
	checkSamples(t, "testdata", rootfs)
}

// TestFreshSamples builds the demo and runs it, so that addresses, threads and times are new ones.
func TestFreshSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	for _, tool := range []string{"bash", "gcc", "clang-22", "python3", "objcopy", "objdump", "readelf", "addr2line", "c++filt", "nm", "strip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the demo cannot be built:", err)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS(filepath.Join("testdata", "src"))); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("bash", "make.sh")
	build.Dir = filepath.Join(dir, "src")
	if text, err := build.CombinedOutput(); err != nil {
		t.Skipf("the demo cannot be built: %v\n%s", err, text)
	}
	checkSamples(t, dir, filepath.Join(dir, "rootfs"))
}

// checkSamples compares a tree of samples with what readelf and addr2line say of them.
func checkSamples(t *testing.T, dir, rootfs string) {
	s := symbols(t, rootfs)
	for _, name := range []string{"raw_stacks.txt", "stream.log", "samples.pflw", "samples.txt", ""} {
		for _, sub := range []string{"perflow", "perflow/nopie"} {
			t.Run(sub+"/"+name, func(t *testing.T) { checkStacks(t, filepath.Join(dir, sub), name, s) })
		}
	}
	t.Run("scaler", func(t *testing.T) { checkScaler(t, filepath.Join(dir, "scaler"), s) })
	t.Run("chopstix", func(t *testing.T) { checkChopStiX(t, filepath.Join(dir, "chopstix"), s) })
}

var stackFrame = regexp.MustCompile(`(?m)^  #(\d+) (\S+)\(\+(0x[0-9a-f]+)\) \[(0x[0-9a-f]+)\](?: in (\S+) (\S+):(\d+):\d+)?$`)

// checkStacks compares frames with expected.tsv: stack, map, frame, raw address, library, address in it, function, source.
// Functions of the system's libraries are left out: they depend on the machine.
func checkStacks(t *testing.T, dir, name string, s symsrc.Source) {
	text, err := lines(t, filepath.Join(dir, name), Options{Symbols: s})
	if err != nil {
		t.Fatal(err)
	}
	frames := stackFrame.FindAllStringSubmatch(through(t, text, s), -1)
	want := table(t, filepath.Join(dir, "expected.tsv"))
	if len(frames) != len(want) {
		t.Fatalf("%d frames, want %d:\n%s", len(frames), len(want), text)
	}
	for i, f := range frames {
		w := want[i]
		got := []string{f[1], f[4], f[2], f[3], f[5], f[6] + ":" + f[7]}
		expect := []string{w[2], w[3], w[4], w[5], w[6], w[7]}
		if strings.Contains(w[4], "libc.so") {
			got, expect = got[:4], expect[:4]
		}
		if fmt.Sprint(got) != fmt.Sprint(expect) {
			t.Errorf("frame %d: %v, want %v", i, got, expect)
		}
	}
}

var (
	expectedCall  = regexp.MustCompile(`^( *)(.*) (\(.*\)) start=(\d+) (unfinished|dur=-?\d+us)(.*)$`)
	expectedBlock = regexp.MustCompile(`^thread_(.*)\.bin (\d+ nodes)$`)
	objectName    = regexp.MustCompile(` (thread|mutex|cond|semaphore)=`)
)

// checkScaler compares calls with expected.txt, which has them in the same order.
func checkScaler(t *testing.T, dir string, s symsrc.Source) {
	text, err := lines(t, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(through(t, text, s), "\n") {
		if line != "" && !strings.Contains(line, "never returned from") && !strings.HasPrefix(line, "  #") {
			got = append(got, objectName.ReplaceAllString(line, " "))
		}
	}
	expected, err := os.ReadFile(filepath.Join(dir, "expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, line := range strings.Split(strings.TrimSpace(string(expected)), "\n") {
		if m := expectedBlock.FindStringSubmatch(line); m != nil {
			want = append(want, "thread "+m[1]+": "+m[2])
			continue
		}
		m := expectedCall.FindStringSubmatch(line)
		if m[5] == "unfinished" {
			m[5] = "never returned"
		}
		objects := strings.TrimSuffix(m[6], " 0x0") // a field that such functions do not use
		want = append(want, fmt.Sprintf("%s%s %s start=%s %s%s", m[1], m[2], m[3], m[4], m[5], objects))
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
	hang := regexp.MustCompile(`(?m)^thread (0x\S+) never returned from\n  #0 {{{symbol:sem_wait}}} \(\S+\) since=\d+ semaphore=0x\S+$`)
	if all := hang.FindAllString(text, -1); len(all) != 1 {
		t.Errorf("one thread waits, not %d:\n%s", len(all), text)
	}
}

var sampleRow = regexp.MustCompile(`(?m)^ *(\d+) +([\d.]+)% +\d+ +[\d.]+%  #0 0x[0-9a-f]+(?: in (\S+)(?: (\S+?):(\d+)(?::\d+)?)?(?: \(approximate\))?)?  \((\S+)\+(0x[0-9a-f]+)\)`)

// checkChopStiX compares samples with expected.tsv: count, module, address in it, function and source.
func checkChopStiX(t *testing.T, dir string, s symsrc.Source) {
	want := map[string]string{}
	byFunction := map[string]int{}
	total := 0
	for _, row := range table(t, filepath.Join(dir, "expected.tsv")) {
		place := row[3]
		if strings.Contains(row[1], "libc.so") || strings.HasPrefix(place, "??") {
			place = ""
		}
		want[row[1]+"+"+row[2]] = row[0] + " " + place
		n, _ := strconv.Atoi(row[0])
		total += n
		if function, _, _ := strings.Cut(place, " "); function != "" {
			byFunction[function] += n
		}
	}
	for _, name := range []string{"chop.db", "chop-64k.db"} {
		path := filepath.Join(dir, name)
		text, err := lines(t, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		rows := sampleRow.FindAllStringSubmatch(through(t, text, s), -1)
		missing := maps.Clone(want)
		for _, m := range rows {
			delete(missing, m[6]+"+"+m[7])
		}
		for at, row := range missing {
			// In a sample that was just taken a timer may have hit code of the system that has no name here.
			if _, place, _ := strings.Cut(row, " "); place != "" || strings.HasPrefix(dir, "testdata") {
				t.Errorf("%s: no row for %s: %s", name, at, row)
			} else {
				t.Logf("%s: no row for %s:\n%s", name, at, text)
			}
		}
		for _, m := range rows {
			place := ""
			if m[3] != "" && want[m[6]+"+"+m[7]] != m[1]+" " {
				place = m[3] + " " + m[4] + ":" + m[5]
			}
			if got := m[1] + " " + place; got != want[m[6]+"+"+m[7]] {
				t.Errorf("%s: %s+%s: %q, want %q", name, m[6], m[7], got, want[m[6]+"+"+m[7]])
			}
			if n, _ := strconv.Atoi(m[1]); fmt.Sprintf("%.2f", 100*float64(n)/float64(total)) != m[2] {
				t.Errorf("%s: %s of %d samples are %s%%", name, m[1], total, m[2])
			}
		}
		sums, err := lines(t, path, Options{By: ByFunction, Symbols: s})
		if err != nil {
			t.Fatal(err)
		}
		for function, n := range byFunction {
			row := regexp.MustCompile(`(?m)^ +(\d+) .* ` + regexp.QuoteMeta(function) + `$`).FindStringSubmatch(sums)
			if row == nil || row[1] != strconv.Itoa(n) {
				t.Errorf("%s: %s has %v, want %d", name, function, row, n)
			}
		}
	}
}

// TestStreams checks that an input through the filter is its lines through the filter, with every option.
func TestStreams(t *testing.T) {
	s := symbols(t)
	for _, path := range []string{"scaler", "perflow", "perflow/nopie", "chopstix", "perflow/samples.pflw"} {
		for _, o := range []Options{{}, {Symbols: s}, {By: ByFunction, Symbols: s}, {By: ByAddress, Symbols: s}, {By: ByLine, Symbols: s},
			{By: ByModule}, {Offsets: InModule}, {Offsets: FromMapStart}} {
			in, err := Detect(filepath.Join("testdata", path), o)
			if err != nil {
				t.Fatal(err)
			}
			var all bytes.Buffer
			if err := in.Lines(context.Background(), &all); err != nil {
				t.Fatal(err)
			}
			r, err := Open(context.Background(), filepath.Join("testdata", path), o)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err = filter.New(filter.Options{Symbols: s}).Run(context.Background(), r, &out)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if want := through(t, all.String(), s); err != nil || out.String() != want {
				t.Errorf("%s, %+v: %v\n%s\nwant\n%s", path, o, err, out.String(), want)
			}
			if o.By != ByNothing || o.Offsets != NoOffsets {
				if text := through(t, all.String(), s); path != "scaler" && path != "chopstix" && text != all.String() {
					t.Errorf("%s, %+v: the filter changes\n%s\nto\n%s", path, o, all.String(), text)
				}
			}
		}
	}
}

// TestOffsets compares the form of PerFlow: right addresses, and those that PerFlow itself prints.
func TestOffsets(t *testing.T) {
	for _, c := range []struct {
		dir     string
		offsets Offsets
		want    string
	}{
		{"perflow", InModule, "/usr/apps/org.example.test/mainbin + 0x2a60\n/usr/lib/libdemo-1.2.3.so + 0x126b\n" +
			"/usr/apps/org.example.test/mainbin + 0x2359\n/usr/lib/x86_64-linux-gnu/libc.so.6 + 0x2724a\n"},
		{"perflow", FromMapStart, "/usr/apps/org.example.test/mainbin + 0xa60\n/usr/lib/libdemo-1.2.3.so + 0x26b\n" +
			"/usr/apps/org.example.test/mainbin + 0x359\n/usr/lib/x86_64-linux-gnu/libc.so.6 + 0x124a\n"},
		{"perflow/nopie", InModule, "/usr/apps/org.example.test/mainbin.nopie + 0x401a10\n"},
		{"perflow/nopie", FromMapStart, "/usr/apps/org.example.test/mainbin.nopie + 0xa10\n"},
	} {
		text, err := lines(t, filepath.Join("testdata", c.dir), Options{Offsets: c.offsets})
		if _, frames, _ := strings.Cut(text, "\n"); err != nil || !strings.HasPrefix(frames, c.want) {
			t.Errorf("%s: %v\n%s", c.dir, err, text)
		}
	}
}

// TestLibraryMaps checks stacks whose maps are only those of executable code: the files say where that lies.
func TestLibraryMaps(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"samples.pflw", "maps.1.libmap"} {
		b, err := os.ReadFile(filepath.Join("testdata", "perflow", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Symbols: symbols(t)}, "  #1 /usr/lib/libplugin.so(+0x111c) [0x7ff81a27b11c]\n"},
		{Options{}, "  #1 /usr/lib/libplugin.so + ? (0x7ff81a27b11c)\n"},
		{Options{Offsets: FromMapStart}, "/usr/lib/libplugin.so + 0x11c\n"},
		{Options{By: ByModule}, "           4 100.00%  /usr/apps/org.example.test/mainbin\n"},
	} {
		if text, err := lines(t, dir, c.o); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%v: no %q in\n%s", err, c.want, text)
		}
	}
}

// TestPipe checks that a stream of maps and stacks in a pipe gets the names that it gets as an input, behind a logger's prefix too.
func TestPipe(t *testing.T) {
	source := symbols(t)
	answered := regexp.MustCompile(`(?m)^.*(0x[0-9a-f]{16}) in (\S+) (\S+):(\d+):\d+$`)
	for _, sub := range []string{"perflow", "perflow/nopie"} {
		log, err := os.ReadFile(filepath.Join("testdata", sub, "stream.log"))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, w := range table(t, filepath.Join("testdata", sub, "expected.tsv")) {
			if !strings.Contains(w[4], "libc.so") {
				want = append(want, fmt.Sprint(w[3], w[6], w[7]))
			}
		}
		for _, prefix := range []string{"", "I/perf    (   77): ", "11-20 15:58:12.001    77    77 I perf    : ", "2026-11-20T15:58:12.001Z "} {
			var text strings.Builder
			for line := range strings.Lines(string(log)) {
				text.WriteString(prefix + line)
			}
			var got []string
			for _, m := range answered.FindAllStringSubmatch(through(t, text.String(), source), -1) {
				if !strings.Contains(m[3], "libc") && !strings.Contains(m[3], "csu/") {
					got = append(got, fmt.Sprint("0x"+strings.TrimLeft(m[1][2:], "0"), m[2], m[3]+":"+m[4]))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s behind %q:\n got %v\nwant %v", sub, prefix, got, want)
			}
		}
	}
}
