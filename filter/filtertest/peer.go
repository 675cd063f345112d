// Package filtertest has helpers for tests of the filter.
//
//	emitters.go stacks as the sources of many programs write them
//	nasty.go    random logs
//	peer.go     comparison with llvm-symbolizer; a source of symbols, and a log of processes for it
//	run.go      the filter over a log, with the sample programs
//	walks.go    real stacks of a program, and where their frames are
package filtertest

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
	"sync"
	"testing"
	"time"

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

// Symbols is a source with answers for some offsets in any module: 0x10 lies in inner, inlined into middle, inlined into outer; 0x20 in
// plain; 0x30 in a function of which only the name is known; the data at 0x40 is a variable of 16 bytes.
type Symbols struct {
	// Asked are the queries so far.
	Asked []symsrc.Addr
	mu    sync.Mutex // a filter asks from several goroutines
}

// Frames returns the answer to a query.
func (s *Symbols) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	s.mu.Lock()
	s.Asked = append(s.Asked, q)
	s.mu.Unlock()
	good := &symsrc.Files{Elf: "/lib/a.so", Unverified: q.Module.BuildID == ""}
	if strings.Contains(q.Module.Name, "missing") {
		return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: "elf not found"}}
	}
	if strings.Contains(q.Module.Name, "several") {
		return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.NotFound, Note: "2 different files named f\x1b"}}
	}
	if strings.Contains(q.Module.Name, "mismatched") {
		return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.MismatchBuildID, Note: "elf file mismatch", Detail: "/x has \"fe\""}}
	}
	if q.Kind == symsrc.Data {
		if q.Offset >= 0x40 && q.Offset < 0x50 {
			return symsrc.Answer{Frames: []symsrc.Frame{{Func: "counter", Offset: q.Offset - 0x40}}, Files: good}
		}
		return symsrc.Answer{Files: good}
	}
	switch q.Offset {
	case 0x10:
		return symsrc.Answer{Frames: []symsrc.Frame{
			{Func: `inner<"q">(int)`, File: "/src/inner.c", Line: 8, Column: 5},
			{Func: "middle", File: "/src/wrap.c", Line: 6, Column: 10},
			{Func: "outer", File: "/src/top.c", Line: 10},
		}, Files: good}
	case 0x20:
		return symsrc.Answer{Frames: []symsrc.Frame{{Func: "plain", File: "/src/p.c", Line: 3, Column: 1}}, Files: good, Made: time.Unix(7, 0)}
	case 0x30:
		return symsrc.Answer{Frames: []symsrc.Frame{{Func: "bare"}}, Files: good}
	case 0x50:
		return symsrc.Answer{Frames: []symsrc.Frame{{Func: "near", File: "/src/n.c", Line: 4, Column: 2, Approx: true}}, Files: good}
	}
	return symsrc.Answer{Files: good}
}

// Liner is a filter that handles lines one by one.
type Liner interface {
	Line(ctx context.Context, dst, line []byte) []byte
	Flush(dst []byte) []byte
}

// Feed runs lines through a filter one by one and returns all of its output.
func Feed(f Liner, lines string) string {
	var out []byte
	for line := range strings.Lines(lines) {
		out = f.Line(context.Background(), out, []byte(line))
	}
	return string(f.Flush(out))
}

// Processes returns the log of n processes of two modules with a frame each. If moved is set, each has other addresses.
func Processes(n int, moved bool, end string) string {
	var log strings.Builder
	for k := range n {
		base := uint64(0x7f0000000000)
		if moved {
			base += uint64(k) << 20
		}
		for _, line := range []string{
			"{{{reset}}}", "{{{module:0:a.so:elf:0123abcd}}}", fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:r:0x0}}}", base), fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:rx:0x1000}}}", base+0x1000),
			"{{{module:1:b.so:elf:4567}}}", fmt.Sprintf("{{{mmap:%#x:0x1000:load:1:rx:0x0}}}", base-0x8000),
			fmt.Sprintf("{{{bt:0:%#x}}}", base+0x1021), fmt.Sprintf("{{{bt:1:%#x:pc}}}", base-0x8000+0x40), "text",
		} {
			log.WriteString(line + end)
		}
	}
	return log.String()
}
