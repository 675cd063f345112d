package sources

import (
	"context"
	"crypto/md5"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// write makes a file of that age, with its directories, and returns its path.
func write(t *testing.T, dir, name, text string, age time.Duration) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-age)
	if err := os.Chtimes(file, when, when); err != nil {
		t.Fatal(err)
	}
	return file
}

func sum(text string) string {
	s := md5.Sum([]byte(text))
	return string(s[:])
}

func TestExcerpt(t *testing.T) {
	const text, other = "one\ntwo\nthree\r\nfour\nfive", "uno\ndue\ntre\n"
	dir := t.TempDir()
	old := write(t, dir, "build/src/old.c", text, 2*time.Hour)
	fresh := write(t, dir, "build/src/fresh.c", text, 0)
	binary := write(t, dir, "build/app", "", time.Hour)
	write(t, dir, "tree/src/moved.c", text, 2*time.Hour)
	write(t, dir, "tree/whole/src/moved.c", other, 2*time.Hour)
	write(t, dir, "tree/moved.c", other, 2*time.Hour)
	write(t, dir, "tree/abs/src/exact.c", text, 2*time.Hour)
	served := write(t, dir, "served.c", text, 0)
	key := write(t, dir, ".ssh/id_rsa", text, 2*time.Hour)
	link := func(name, target string) string {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links: ", err)
		}
		return filepath.Join(dir, name)
	}
	linked, disguised := link("linked.c", old), link("disguised.c", key)
	chained, header := link("chained.c", disguised), link("tree/include", filepath.Dir(key))
	binaryText := write(t, dir, "binary.c", "one\x00two\n", 2*time.Hour)
	files := &symsrc.Files{Elf: binary}
	for _, c := range []struct {
		name   string
		place  symsrc.Place
		roots  []string
		served bool
		around int
		first  int
		lines  string
		note   string
		absent bool
	}{
		{name: "the path", place: symsrc.Place{Local: old, Line: 2, Files: files}, first: 2, lines: "two"},
		{name: "around", place: symsrc.Place{Local: old, Line: 3, Files: files}, around: 1, first: 2, lines: "two|three|four"},
		{name: "at the start", place: symsrc.Place{Local: old, Line: 1, Files: files}, around: 2, first: 1, lines: "one|two|three"},
		{name: "at the end", place: symsrc.Place{Local: old, Line: 5, Made: time.Now()}, around: 2, first: 3, lines: "three|four|five"},
		{name: "past the end", place: symsrc.Place{Local: old, Line: 6}, note: "old.c has no line 6"},
		{name: "newer", place: symsrc.Place{Local: fresh, Line: 1, Files: files}, first: 1, lines: "one", note: "fresh.c is newer than the binary: its lines may be others"},
		{name: "newer than an answer that was kept", place: symsrc.Place{Local: old, Line: 1, Made: time.Now().Add(-3 * time.Hour)}, first: 1, lines: "one", note: "old.c is newer than the binary: its lines may be others"},
		{name: "the binary is gone", place: symsrc.Place{Local: old, Line: 1, Files: &symsrc.Files{Elf: binary + ".gone"}}, first: 1, lines: "one", note: "old.c; not verified: the binary is not there"},
		{name: "the binary is unknown", place: symsrc.Place{Local: old, Line: 1}, first: 1, lines: "one", note: "old.c; not verified: the binary is not there"},
		{name: "the binary is of no use", place: symsrc.Place{Local: old, Line: 1, Files: &symsrc.Files{Elf: binary, ElfStatus: symsrc.MismatchBuildID, Debug: old}}, first: 1, lines: "one"},
		{name: "newer, but verified", place: symsrc.Place{Local: fresh, Line: 1, Files: files, MD5: sum(text)}, first: 1, lines: "one"},
		{name: "other content", place: symsrc.Place{Local: old, Line: 1, MD5: sum(other)}, note: "old.c is not what was compiled (MD5)"},
		{name: "below a root", place: symsrc.Place{Local: "/gone/src/moved.c", Line: 1, Files: files}, roots: []string{"tree"}, first: 1, lines: "one",
			note: "tree/src/moved.c, by the end of its path; not verified"},
		{name: "below a root by all of the path", place: symsrc.Place{Local: "/abs/src/exact.c", Line: 1, Files: files}, roots: []string{"tree"}, first: 1, lines: "one"},
		{name: "below a root, verified", place: symsrc.Place{Local: "/gone/x/moved.c", Line: 1, MD5: sum(other)}, roots: []string{"tree"}, first: 1, lines: "uno"},
		{name: "the wrong one is passed over", place: symsrc.Place{Local: "/gone/whole/src/moved.c", Line: 1, MD5: sum(text)}, roots: []string{"tree"}, first: 1, lines: "one"},
		{name: "never outside a root", place: symsrc.Place{Local: "../../build/src/old.c", Line: 1}, roots: []string{"tree/src"}, note: "no source file", absent: true},
		{name: "no root of that", place: symsrc.Place{Local: "/gone/none.c", Line: 1}, roots: []string{"tree"}, note: "no source file", absent: true},
		{name: "of a server", place: symsrc.Place{Local: "/gone/a.c", Path: "/gone/a.c", Line: 2}, served: true, first: 2, lines: "two"},
		{name: "of a server, since here is another one", place: symsrc.Place{Local: filepath.Join(dir, "tree/moved.c"), Path: "/gone/a.c", Line: 2, MD5: sum(text)}, served: true,
			first: 2, lines: "two"},
		{name: "a server's other content", place: symsrc.Place{Local: "/gone/a.c", Path: "/gone/a.c", Line: 2, MD5: sum(other)}, served: true,
			note: "served.c is not what was compiled (MD5)"},
		{name: "servers want a whole path", place: symsrc.Place{Local: "a.c", Path: "a.c", Line: 2}, served: true, note: "no source file", absent: true},
		{name: "what does not look like source", place: symsrc.Place{Local: key, Line: 1, Files: files}, note: "no source file", absent: true},
		{name: "that, verified", place: symsrc.Place{Local: key, Line: 1, MD5: sum(text)}, first: 1, lines: "one"},
		{name: "a link to source", place: symsrc.Place{Local: linked, Line: 2, Files: files}, first: 2, lines: "two"},
		{name: "a link to what is not", place: symsrc.Place{Local: disguised, Line: 1, Files: files}, note: "no source file", absent: true},
		{name: "that by two links", place: symsrc.Place{Local: chained, Line: 1, Files: files}, note: "no source file", absent: true},
		{name: "that by a directory", place: symsrc.Place{Local: header + "/id_rsa", Line: 1, Files: files}, note: "no source file", absent: true},
		{name: "that below a root", place: symsrc.Place{Local: "/gone/disguised.c", Line: 1}, roots: []string{"."}, note: "no source file", absent: true},
		{name: "that, verified, by a link", place: symsrc.Place{Local: disguised, Line: 1, MD5: sum(text)}, first: 1, lines: "one"},
		{name: "a password file", place: symsrc.Place{Local: "/etc/shadow", Line: 1}, note: "no source file", absent: true},
		{name: "that by dots", place: symsrc.Place{Local: "/src/a.c/../../etc/shadow", Line: 1}, note: "no source file", absent: true},
		{name: "what is no text", place: symsrc.Place{Local: binaryText, Line: 1, Files: files}, note: "no source file", absent: true},
		{name: "a directory", place: symsrc.Place{Local: dir, Line: 1}, note: "no source file", absent: true},
		{name: "a device", place: symsrc.Place{Local: "/dev/zero", Line: 1}, note: "no source file", absent: true},
		{name: "nothing", place: symsrc.Place{Line: 1}, note: "no source file", absent: true},
	} {
		o := Options{}
		for _, root := range c.roots {
			o.Roots = append(o.Roots, filepath.Join(dir, root))
		}
		if c.served {
			o.Fetch = func(_ context.Context, id symsrc.BuildID, path string) (string, func() bool) { return served, nil }
		}
		c.place.Module.BuildID = "\x01"
		x := New(o).Excerpt(t.Context(), c.place, c.around)
		if x.First != c.first || strings.Join(x.Lines, "|") != c.lines || !strings.HasSuffix(x.Note, c.note) || (x.Note == "") != (c.note == "") || x.Absent != c.absent {
			t.Errorf("%s: %+v", c.name, x)
		}
	}
}

// TestFetchLater holds that a source file that is still being downloaded comes in the end.
func TestFetchLater(t *testing.T) {
	file := write(t, t.TempDir(), "a.c", "one\n", 0)
	there := false
	s := New(Options{Fetch: func(context.Context, symsrc.BuildID, string) (string, func() bool) {
		if there {
			return file, nil
		}
		return "", func() bool { return there }
	}})
	p := symsrc.Place{Module: symsrc.Module{BuildID: "\x01"}, Path: "/src/a.c", Local: "/src/a.c", Line: 1}
	x := s.Excerpt(t.Context(), p, 0)
	if x.Retry == nil || x.Retry() || !x.Absent {
		t.Fatalf("at first %+v", x)
	}
	if there = true; !x.Retry() {
		t.Error("no news")
	}
	if x = s.Excerpt(t.Context(), p, 0); len(x.Lines) != 1 || x.Retry != nil {
		t.Errorf("then %+v", x)
	}
}

// TestFIFO holds that a path that leads to what blocks its reader blocks no other.
func TestFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v %s", err, out)
	}
	if x := New(Options{}).Excerpt(t.Context(), symsrc.Place{Local: fifo, Line: 1}, 1); !x.Absent {
		t.Errorf("%+v", x)
	}
}

// TestLines compares with a plain split.
func TestLines(t *testing.T) {
	for _, content := range []string{"", "\n", "a", "a\n", "a\nb", "\n\na\r\n\n", strings.Repeat("x\n", 1000)} {
		file := write(t, t.TempDir(), "a.c", content, 0)
		want := strings.Split(strings.TrimSuffix(strings.ReplaceAll(content, "\r\n", "\n"), "\n"), "\n")
		if content == "" {
			want = nil
		}
		for line := range len(want) + 2 {
			first, lines := readRegular(file).around(line, 0)
			if line < 1 || line > len(want) {
				if lines != nil {
					t.Errorf("%q has line %d", content, line)
				}
			} else if first != line || len(lines) != 1 || lines[0] != want[line-1] {
				t.Errorf("%q: line %d is %d %q", content, line, first, lines)
			}
		}
	}
}

// TestKernelFiles shows nothing of the files in which a kernel shows itself, whatever debug information names them.
func TestKernelFiles(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc: ", err)
	}
	for _, path := range []string{"/proc/self/environ", "/proc/self/cmdline", "/proc/version", "/dev/zero", "/dev/stdin"} {
		if got := readRegular(path); got != nil && got.content != "" {
			t.Errorf("%s: %q", path, got.content)
		}
	}
}
