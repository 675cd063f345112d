package command_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// library is a module of testdata, whose debug file is at leaf in a build-ID tree.
const (
	library = "529039c4877f2b56918b2063129d06669b993be2"
	leaf    = ".build-id/52/9039c4877f2b56918b2063129d06669b993be2.debug"
)

// llvmLog has frames of it, twice, and one of a module that no server has.
const llvmLog = `{{{module:1:a.so:elf:` + library + `}}}
{{{mmap:0x10000:0x8000:load:1:rx:0x0}}}
{{{bt:0:0x11131}}}
{{{pc:0x11130}}}
{{{module:2:b.so:elf:00112233445566778899}}}
{{{mmap:0x20000:0x8000:load:2:rx:0x0}}}
{{{bt:1:0x21131}}} and {{{data:0x21131}}}
{{{bt:2:0x11131}}}
`

// serverTree is a server of debug files, as debuginfod's are asked: GET /buildid/ID/debuginfo. Below /second it answers only what was
// asked for below /none, too: several servers are asked at the same time, and the first answer ends the other requests.
type serverTree struct {
	*httptest.Server
	mu    sync.Mutex
	more  *sync.Cond // asked has grown
	asked []string
}

func newServerTree(t *testing.T, files map[string]string) *serverTree {
	t.Helper()
	s := &serverTree{}
	s.more = sync.NewCond(&s.mu)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.more.Broadcast()
		path, second := strings.CutPrefix(r.URL.Path, "/second")
		for second && !slices.Contains(s.asked, "/none"+path) {
			s.more.Wait()
		}
		s.mu.Unlock()
		if path := files[path]; path != "" {
			http.ServeFile(w, r, path)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// paths returns what was asked for, each once, and forgets it.
func (s *serverTree) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	slices.Sort(asked)
	return slices.Compact(asked)
}

// TestLLVMServers compares what is got from debuginfod servers with what llvm-symbolizer gets, and which server was asked for what.
func TestLLVMServers(t *testing.T) {
	const peer = "llvm-symbolizer-22"
	if _, err := exec.LookPath(peer); err != nil {
		t.Skip(peer + " is not installed (Debian: llvm-22)")
	}
	debug := filepath.Join("testdata", "rootfs", "usr", "lib", "debug", leaf)
	stripped := filepath.Join("testdata", "rootfs", "usr", "lib", "libdemo-1.2.3.so")
	other := t.TempDir() // has the library without its debug information, for a build ID that is not its own
	path := filepath.Join(other, ".build-id", "00", "112233445566778899.debug")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(stripped); err != nil || os.WriteFile(path, data, 0o644) != nil {
		t.Fatal(err)
	}
	s := newServerTree(t, map[string]string{"/buildid/" + library + "/debuginfo": debug})
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, c := range []struct {
		name, urls string
		flags      []string
	}{
		{"not here", s.URL, []string{"--debug-file-directory=" + t.TempDir()}},
		{"two servers", s.URL + "/none " + s.URL + "/second", []string{"--debug-file-directory=" + t.TempDir()}},
		{"here", s.URL, []string{"--debug-file-directory=testdata/rootfs/usr/lib/debug"}},
		{"of another build ID", s.URL, []string{"--debug-file-directory=" + other}},
		{"off", s.URL, []string{"--no-debuginfod"}},
		{"on again", s.URL, []string{"--no-debuginfod", "--debuginfod"}},
		{"off again", s.URL, []string{"--debuginfod", "--no-debuginfod"}},
		{"no variable", "", []string{"--debuginfod"}},
		{"no server", closed.URL, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(name string) (stdout, stderr string, asked []string) {
				cmd := exec.Command(name, append([]string{"--filter-markup"}, c.flags...)...)
				cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS="+c.urls, "DEBUGINFOD_CACHE_PATH="+t.TempDir(), "LLVM_SYMBOLIZER_OPTS=")
				var out, errs bytes.Buffer
				cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(llvmLog), &out, &errs
				if err := cmd.Run(); err != nil {
					t.Fatalf("%s: %v\n%s", name, err, errs.Bytes())
				}
				return out.String(), errs.String(), s.paths()
			}
			want, wantErrs, wantAsked := run(peer)
			got, gotErrs, asked := run("qss-filter")
			if got != want || !slices.Equal(asked, wantAsked) {
				t.Errorf("asked %q, want %q\n got %s\nwant %s", asked, wantAsked, got, want)
			}
			// Of a server that cannot be asked llvm says nothing.
			if c.name != "no server" && gotErrs != wantErrs {
				t.Errorf("messages:\n got %s\nwant %s", gotErrs, wantErrs)
			}
		})
	}
}
