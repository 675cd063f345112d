package tree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"qss-filter/symsrc"
)

// link creates a symbolic link in a directory.
func link(t *testing.T, target, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Skip("no symbolic links: ", err)
	}
}

// names returns the paths of logs.
func names(logs []logFile) (all []string) {
	for i := range logs {
		all = append(all, logs[i].rel)
	}
	return all
}

// TestLinks walks a tree with symbolic links of all kinds, with and without Follow.
func TestLinks(t *testing.T) {
	b := newBatch(t, map[string]string{"a.log": frame(0, "/a.so", 1), "sub/b.log": frame(0, "/a.so", 2)})
	out := t.TempDir()
	for _, name := range []string{"secret", "dir/c.log"} {
		if err := os.MkdirAll(filepath.Join(out, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(out, name), []byte("outside\n"+frame(0, "/a.so", 1)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	link(t, "a.log", b.in, "in.log")
	link(t, "../a.log", b.in, "sub/up.log")
	link(t, filepath.Join(b.in, "sub", "b.log"), b.in, "absolute.log")
	link(t, "in.log", b.in, "chain.log")
	link(t, filepath.Join(out, "secret"), b.in, "out.log")
	link(t, "out.log", b.in, "chainout.log")
	link(t, "sub/../../"+filepath.Base(b.in)+"/a.log", b.in, "around.log")
	link(t, filepath.Join(out, "dir"), b.in, "outdir")
	link(t, "sub", b.in, "indir")
	link(t, ".", b.in, "sub/loop")
	link(t, "self.log", b.in, "self.log")
	link(t, "nowhere", b.in, "broken.log")
	top := filepath.Join(t.TempDir(), "top")
	link(t, b.in, filepath.Dir(top), "top")
	for _, c := range []struct {
		follow bool
		want   string
	}{
		{false, "a.log absolute.log around.log chain.log in.log sub/b.log sub/up.log"},
		{true, "a.log absolute.log around.log chain.log chainout.log in.log out.log outdir/c.log sub/b.log sub/up.log"},
	} {
		for _, dir := range []string{b.in, top} {
			problems := map[string]error{}
			logs, tree, err := walk(dir, &Options{Follow: c.follow}, func(rel string, err error) { problems[rel] = err })
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(names(logs), " "); got != c.want {
				t.Errorf("follow %v: %s, want %s", c.follow, got, c.want)
			}
			if errors.Is(problems["out.log"], errSkip) == c.follow || problems["broken.log"] == nil || problems["self.log"] == nil {
				t.Errorf("follow %v: problems %v", c.follow, problems)
			}
			for i := range logs {
				file, err := tree.regular(logs[i].path)
				if err != nil {
					t.Errorf("%s: %v", logs[i].rel, err)
					continue
				}
				file.Close()
			}
			tree.close()
		}
	}
	if err := os.Remove(filepath.Join(b.in, "broken.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.in, "self.log")); err != nil {
		t.Fatal(err)
	}
	b.opt.Mode = Rewrite
	b.run(t, nil)
	if stderr := b.stderr.String(); !strings.Contains(stderr, "out.log: skipped: a link to what is not in the input directory\n") {
		t.Errorf("stderr: %s", stderr)
	}
	err := filepath.WalkDir(b.out, func(path string, _ os.DirEntry, _ error) error {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "outside") {
			t.Errorf("%s has text of a file outside of the tree", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.opt.Follow = true
	b.run(t, nil)
	if got := b.file(t, "outdir/c.log.rewrite"); got != "outside\n#0 0x7001 (/a.so+0x1) (BuildId: abcd)\n  -> #0 0x7001 in inlined /src/a.h:1\n  -> #1 0x7001 in fn_1 /src/a.c:1\n" {
		t.Errorf("with Follow: %q", got)
	}
}

// TestLinkSwapped replaces the directory of a log with a symbolic link out of the tree after the log was listed.
func TestLinkSwapped(t *testing.T) {
	b := newBatch(t, map[string]string{"d/a.log": "inside\n"})
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "a.log"), []byte("outside\n"+frame(0, "/a.so", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	logs, tree, err := walk(b.in, &Options{}, func(string, error) {})
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	defer tree.close()
	if err := os.RemoveAll(filepath.Join(b.in, "d")); err != nil {
		t.Fatal(err)
	}
	link(t, out, b.in, "d")
	if file, err := tree.regular(logs[0].path); err == nil {
		file.Close()
		t.Error("a log outside of the tree was opened")
	}
}

// TestOutputLinks checks that nothing is written through symbolic links out of the output directory.
func TestOutputLinks(t *testing.T) {
	b := newBatch(t, map[string]string{"a.log": frame(0, "/a.so", 1), "d/b.log": frame(0, "/a.so", 2)})
	out := t.TempDir()
	victim := filepath.Join(out, "victim")
	if err := os.WriteFile(victim, []byte("as it was"), 0o666); err != nil {
		t.Fatal(err)
	}
	link(t, out, b.out, "d")
	link(t, victim, b.out, "a.log"+stackSuffix)
	link(t, victim, b.out, "frames.tsv")
	link(t, filepath.Join(out, "new"), b.out, "summary.json")
	b.run(t, ErrUnread)
	if text, err := os.ReadFile(victim); err != nil || string(text) != "as it was" {
		t.Errorf("%q, %v", text, err)
	}
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if got := b.file(t, "a.log"+stackSuffix); !strings.Contains(got, "fn_1") {
		t.Errorf("got %q", got)
	}
	if got := b.file(t, "summary.json"); !strings.Contains(got, `"total_input_files": 1`) {
		t.Errorf("got %s", got)
	}
	if stderr := b.stderr.String(); !strings.Contains(stderr, "d/b.log: write ") {
		t.Errorf("stderr: %s", stderr)
	}
}

// TestNoDirectory checks the error for a file as the input directory.
func TestNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := readable(path); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file: %v", err)
	}
}

// oneFrame returns the same frame for every address.
type oneFrame struct{ symsrc.Frame }

func (o oneFrame) Frames(context.Context, symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Frames: []symsrc.Frame{o.Frame}}
}

// TestApproximate checks that every output marks an approximate line.
func TestApproximate(t *testing.T) {
	fr := symsrc.Frame{Func: "f", File: "/src/a.c", Line: 12, Approx: true}
	if got := string(appendFunction(nil, []byte("0x1"), &fr)); got != "0x1 in f /src/a.c:12 (approximate)" {
		t.Errorf("got %q", got)
	}
	b := newBatch(t, map[string]string{"a.log": frame(0, "/a.so", 1)})
	b.opt.Filter.Symbols = oneFrame{fr}
	b.run(t, nil)
	for name, want := range map[string]string{"a.log" + stackSuffix: "in f /src/a.c:12 (approximate)\n",
		"expanded_frames.tsv": "\tf\t/src/a.c\t12 (approximate)\n"} {
		if got := b.file(t, name); !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	b.opt.Mode = Rewrite
	b.run(t, nil)
	if got := b.file(t, "a.log"+rewriteSuffix); !strings.Contains(got, "in f /src/a.c:12 (approximate)\n") {
		t.Errorf("rewritten: %q", got)
	}
}
