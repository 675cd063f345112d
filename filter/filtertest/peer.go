package filtertest

import (
	"bytes"
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

// Peer is the program whose output package llvm has to write, byte for byte.
const Peer = "llvm-symbolizer-22"

// NeedPeer skips a test if Peer is missing.
func NeedPeer(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath(Peer); err != nil {
		t.Skip(Peer + " is not installed (Debian: llvm-22)")
	}
}

// byPeer returns the peer's output and its messages for a log, with those flags and build-ID trees.
func byPeer(t testing.TB, flags, dirs []string, log string) (out, messages string) {
	t.Helper()
	args := append([]string{"--filter-markup", "--no-debuginfod"}, flags...)
	for _, d := range dirs {
		args = append(args, "--debug-file-directory="+d)
	}
	cmd := exec.Command(Peer, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(log), &stdout, &stderr
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LLVM_SYMBOLIZER_OPTS=")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", Peer, err, Cut(stderr.String()))
	}
	return stdout.String(), stderr.String()
}

// SamePeer compares an output and its messages with the peer's, and reports whether they agree.
func SamePeer(t testing.TB, flags, dirs []string, log, gotOut, gotMessages string) bool {
	t.Helper()
	wantOut, wantMessages := byPeer(t, flags, dirs, log)
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
		t.Errorf("%v: %s differ:\n got %q\nwant %q", flags, c.what, Cut(c.got[begin:]), Cut(c.want[begin:]))
	}
	return same
}

// Cut returns a text, or its beginning if it is long.
func Cut(s string) string { return s[:min(len(s), 400)] }

// TreeSource returns a source that answers from build-ID trees, as llvm does.
func TreeSource(dirs ...string) symsrc.Source {
	return object.NewLLVMSource(&locate.Trees{Dirs: dirs})
}

// testdata returns the path of a file in the testdata of the module, from the directory of any package.
func testdata(parts ...string) string {
	up := ""
	for {
		if _, err := os.Stat(up + "go.mod"); err == nil || len(up) > 100 {
			return filepath.Join(append([]string{up + "testdata"}, parts...)...)
		}
		up += "../"
	}
}

// SampleTree returns the path of a build-ID tree.
func SampleTree() string { return testdata("rootfs/usr/lib/debug") }

// LogTree returns the path of a build-ID tree of the programs of the sample logs.
func LogTree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	err := filepath.WalkDir(testdata("logs/bin"), func(path string, d fs.DirEntry, err error) error {
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
		return LayOut(dir, hex.EncodeToString(data[16:]), path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// LayOut copies the file at path to its place in the build-ID tree dir.
func LayOut(dir, id, path string) error {
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
