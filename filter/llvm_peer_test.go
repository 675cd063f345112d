package filter

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// peer is the program whose bytes the style of llvm is to have.
const peer = "llvm-symbolizer-22"

// needPeer skips a test where llvm-symbolizer is missing.
func needPeer(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath(peer); err != nil {
		t.Skip(peer + " is not installed (Debian: llvm-22)")
	}
}

// llvmRun is one way to run both programs.
type llvmRun struct {
	flags []string // of the peer
	opt   LLVMOptions
}

var (
	plainRun  = llvmRun{flags: []string{"--color=never"}}
	colourRun = llvmRun{[]string{"--color=always"}, LLVMOptions{Color: true}}
)

// byPeer returns the peer's output and its messages.
func byPeer(t testing.TB, r llvmRun, dirs []string, log string) (out, messages string) {
	t.Helper()
	args := append([]string{"--filter-markup", "--no-debuginfod"}, r.flags...)
	for _, d := range dirs {
		args = append(args, "--debug-file-directory="+d)
	}
	cmd := exec.Command(peer, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(log), &stdout, &stderr
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LLVM_SYMBOLIZER_OPTS=")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", peer, err, cutAt(stderr.String()))
	}
	return stdout.String(), stderr.String()
}

// byUs returns the filter's own.
func byUs(t testing.TB, source symsrc.Source, r llvmRun, log string) (out, messages string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o := r.opt
	o.Errors = &stderr
	f := New(Options{Symbols: source, LLVM: &o})
	if err := f.Run(context.Background(), strings.NewReader(log), &stdout); err != nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String()
}

// samePeer tells of the first line in which the two differ. It gives whether they agree.
func samePeer(t testing.TB, source symsrc.Source, r llvmRun, dirs []string, log string) bool {
	t.Helper()
	wantOut, wantMessages := byPeer(t, r, dirs, log)
	gotOut, gotMessages := byUs(t, source, r, log)
	same := true
	for _, c := range []struct{ what, got, want string }{{"output", gotOut, wantOut}, {"messages", gotMessages, wantMessages}} {
		if c.got == c.want {
			continue
		}
		same = false
		i := 0
		for i < len(c.got) && i < len(c.want) && c.got[i] == c.want[i] {
			i++
		}
		begin := max(strings.LastIndexByte(c.got[:i], '\n'), 0)
		t.Errorf("%v: %s differ:\n got %q\nwant %q", r.flags, c.what, cutAt(c.got[begin:]), cutAt(c.want[begin:]))
	}
	return same
}

func cutAt(s string) string { return s[:min(len(s), 400)] }

// treeSource answers from build-ID trees, as llvm does.
func treeSource(dirs ...string) symsrc.Source {
	return object.NewLLVMSource(&locate.Trees{Dirs: dirs})
}

const sampleTree = "../testdata/rootfs/usr/lib/debug"

// logTree lays the programs of the sample logs out by build ID.
func logTree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	err := filepath.WalkDir("../testdata/logs/bin", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := elf.Open(path)
		if err != nil {
			return nil // a source file
		}
		defer file.Close()
		note := file.Section(".note.gnu.build-id")
		if note == nil {
			return nil
		}
		data, err := note.Data()
		if err != nil || len(data) < 17 {
			return fmt.Errorf("build ID of %s: %v", path, err)
		}
		return layOut(dir, hex.EncodeToString(data[16:]), path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// layOut copies a file to where a build-ID tree has it.
func layOut(dir, id, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	leaf := filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(leaf), 0o777); err != nil {
		return err
	}
	return os.WriteFile(leaf, data, 0o666)
}

// TestLLVMSamples compares every sample log with the peer, byte for byte.
func TestLLVMSamples(t *testing.T) {
	needPeer(t)
	var logs []string
	for _, pattern := range []string{"../testdata/markup/*.log", "../testdata/logs/*.log", "../testdata/qss/*.log"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d logs, %v", pattern, len(found), err)
		}
		logs = append(logs, found...)
	}
	dirs := []string{sampleTree, logTree(t)}
	for _, path := range logs {
		t.Run(filepath.Base(path), func(t *testing.T) {
			log, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []llvmRun{plainRun, colourRun} {
				samePeer(t, treeSource(dirs...), r, dirs, string(log))
				samePeer(t, treeSource(dirs...), r, dirs, strings.ReplaceAll(strings.TrimSuffix(string(log), "\n"), "\n", "\r\n"))
			}
		})
	}
}
