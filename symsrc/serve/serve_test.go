package serve_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/serve"
)

// finder has files by build ID.
type finder map[symsrc.BuildID]*symsrc.Files

func (f finder) Find(_ context.Context, m symsrc.Module) *symsrc.Files {
	if files := f[m.BuildID]; files != nil {
		return files
	}
	return &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
}

const id1, id2, id3, id4 = symsrc.BuildID("\x01\x02\x03\x04"), symsrc.BuildID("\x05\x06\x07\x08"), symsrc.BuildID("\x09\x0a\x0b\x0c"), symsrc.BuildID("\x0d\x0e\x0f\x10")

// server serves a program with its debug file, one that has its own debug information and is in an archive, and one that is still asked for.
func server(t *testing.T) (base string, told *strings.Builder) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"prog": "program", "prog.debug": "debug information", "arch": "..inside..", "tree/src/a.c": "int a;", "tree/secret": "x", "out.c": "x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "out.c"), filepath.Join(dir, "tree", "link.c")); err != nil {
		t.Fatal(err)
	}
	told = new(strings.Builder)
	s := httptest.NewServer(serve.New(serve.Options{
		Finder: finder{
			id1:                {Elf: dir + "/prog", Debug: dir + "/prog.debug", ElfStatus: symsrc.OK, DebugStatus: symsrc.OK},
			id2:                {Elf: dir + "/arch", ElfRange: symsrc.Range{Offset: 2, Size: 6, Member: "lib/x.so"}, ElfStatus: symsrc.OK, DebugStatus: symsrc.OK},
			id3:                {ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Unasked: true},
			"\x19\x1a\x1b\x1c": {ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Retry: func() bool { return false }}, // no server has it
			id4:                {Elf: dir + "/prog", ElfStatus: symsrc.OK, DebugStatus: symsrc.Incomplete},
		},
		Program: func(_ context.Context, id symsrc.BuildID) (string, bool) {
			if id == "\x11\x12\x13\x14" {
				return dir + "/prog", false
			}
			return "", id == "\x15\x16\x17\x18"
		},
		Dirs: []string{dir + "/tree"}, Via: "this-one", Log: func(format string, args ...any) { fmt.Fprintf(told, format, args...) },
		Source: func(_ context.Context, _ symsrc.BuildID, path string) string {
			if path == "/elsewhere/b.c" {
				return dir + "/out.c"
			}
			return ""
		},
	}))
	t.Cleanup(s.Close)
	return s.URL, told
}

// ask returns the status, the body and the header of an answer.
func ask(t *testing.T, method, url string, header ...string) (code int, body string, h http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

func TestServe(t *testing.T) {
	base, told := server(t)
	for _, c := range []struct {
		path   string
		header []string
		code   int
		body   string // "" for any
	}{
		{"/buildid/01020304/debuginfo", nil, 200, "debug information"},
		{"/buildid/01020304/executable", nil, 200, "program"},
		{"/buildid/05060708/debuginfo", nil, 200, "inside"},
		{"/buildid/05060708/executable", []string{"Range", "bytes=2-4"}, 206, "sid"},
		{"/buildid/05060708/executable", []string{"X-Debuginfod-Maxsize", "5"}, 406, ""},
		{"/buildid/0d0e0f10/debuginfo", nil, 404, ""},
		{"/buildid/0d0e0f10/executable", nil, 200, "program"},
		{"/buildid/090a0b0c/debuginfo", nil, 503, ""},
		{"/buildid/11121314/executable", nil, 200, "program"},
		{"/buildid/11121314/debuginfo", nil, 404, ""},
		{"/buildid/15161718/executable", nil, 503, ""},
		{"/buildid/191a1b1c/debuginfo", nil, 404, ""},
		{"/buildid/ffffffff/debuginfo", nil, 404, ""},
		{"/buildid/01020304/debuginfo", []string{"Via", "1.1 other, 1.1 this-one"}, 404, ""},
		{"/buildid/01020304/source/src/a.c", nil, 200, "int a;"},
		{"/buildid/01020304/source//src/./x/../a.c", nil, 200, "int a;"},
		{"/buildid/01020304/source/elsewhere/b.c", nil, 200, "x"},
		{"/buildid/ffffffff/source/src/a.c", nil, 404, ""},
		{"/buildid/01020304/source/secret", nil, 404, ""},
		{"/buildid/01020304/source/link.c", nil, 404, ""},
		{"/buildid/01020304/source/../out.c", nil, 404, ""},
		{"/buildid/01020304/source/%2e%2e/out.c", nil, 404, ""},
		{"/buildid/01020304/other", nil, 404, ""},
		{"/buildid/zz/debuginfo", nil, 404, ""},
		{"/buildid/", nil, 404, ""},
		{"/", nil, 404, ""},
		{"/healthz", nil, 200, "ok\n"},
	} {
		code, body, h := ask(t, "GET", base+c.path, c.header...)
		if code != c.code || c.body != "" && body != c.body {
			t.Errorf("%s %q: %d %q, want %d %q", c.path, c.header, code, body, c.code, c.body)
		}
		if code == 200 && strings.HasPrefix(c.path, "/buildid") && h.Get("X-Debuginfod-Size") != fmt.Sprint(len(body)) {
			t.Errorf("%s: %v", c.path, h)
		}
	}
	if code, _, _ := ask(t, "POST", base+"/buildid/01020304/debuginfo"); code != 405 {
		t.Errorf("POST: %d", code)
	}
	if code, body, h := ask(t, "HEAD", base+"/buildid/01020304/debuginfo"); code != 200 || body != "" || h.Get("Content-Length") != "17" {
		t.Errorf("HEAD: %d %q %v", code, body, h)
	}
	_, packed, h := ask(t, "GET", base+"/buildid/01020304/debuginfo", "Accept-Encoding", "br, gzip;q=1.0")
	z, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil || h.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v %v", h, err)
	}
	if text, err := io.ReadAll(z); string(text) != "debug information" || err != nil {
		t.Errorf("unpacked %q, %v", text, err)
	}
	if !strings.Contains(told.String(), "asks itself") {
		t.Errorf("told %q", told)
	}
	_, figures, _ := ask(t, "GET", base+"/metrics")
	for _, want := range []string{`requests_total{kind="debuginfo",code="200"} 4`, `{kind="executable",code="206"} 1`, `{kind="source",code="404"} 5`, "bytes_total "} {
		if !strings.Contains(figures, want) {
			t.Errorf("no %q in\n%s", want, figures)
		}
	}
}

// TestManyClients has 100 clients at once, each of which gets what it asks for, and an end while some still ask.
func TestManyClients(t *testing.T) {
	dir := t.TempDir()
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := os.WriteFile(dir+"/large", large, 0o600); err != nil {
		t.Fatal(err)
	}
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := serve.New(serve.Options{Finder: finder{id1: {Elf: dir + "/large", ElfStatus: symsrc.OK, DebugStatus: symsrc.OK}}})
	go func() { ended <- s.Run(ctx, on) }()
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			for range 3 {
				resp, err := http.Get("http://" + on.Addr().String() + "/buildid/01020304/executable")
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !bytes.Equal(got, large) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
	wg.Wait()
	end()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

// TestPeers holds that debuginfod-find, llvm-symbolizer and gdb get the files.
func TestPeers(t *testing.T) {
	for _, tool := range []string{"debuginfod-find", "gcc", "strip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.Mkdir(dir+"/tree", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/tree/a.c", []byte("int main(void) {\n  return 3;\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("gcc", "-g", "-Wl,--build-id", "-o", "tree/prog", dir+"/tree/a.c")
	run("strip", "-o", "stripped", "tree/prog")
	f, err := elf.Open(dir + "/tree/prog")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil {
		t.Fatal(err)
	}
	found, err := locate.New(locate.Options{Symbols: []string{dir + "/tree"}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(serve.New(serve.Options{Finder: found, Dirs: []string{dir + "/tree"}}))
	defer s.Close()
	t.Setenv("DEBUGINFOD_URLS", s.URL)
	t.Setenv("DEBUGINFOD_CACHE_PATH", dir+"/cache")
	id := hex.EncodeToString(note[16:])
	for want, args := range map[string][]string{"tree/prog": {"debuginfo", id}, "tree/prog ": {"executable", id}, "tree/a.c": {"source", id, dir + "/tree/a.c"}} {
		got, err := os.ReadFile(run("debuginfod-find", args...))
		is, _ := os.ReadFile(filepath.Join(dir, strings.TrimSpace(want)))
		if err != nil || !bytes.Equal(got, is) {
			t.Errorf("%q: %d bytes, %v", args, len(got), err)
		}
	}
	if _, err := exec.LookPath("llvm-symbolizer-22"); err == nil {
		at := strings.Fields(run("sh", "-c", "nm tree/prog | grep ' T main'"))[0]
		t.Setenv("DEBUGINFOD_CACHE_PATH", dir+"/cache of llvm")
		if out := run("llvm-symbolizer-22", "--obj=stripped", "0x"+at); !strings.Contains(out, "a.c:1:") {
			t.Errorf("llvm-symbolizer: %s", out)
		}
	}
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is not installed")
	}
	if out := run("gdb", "-batch", "-nx", "-iex", "set debuginfod enabled on", "-ex", "list main", "stripped"); !strings.Contains(out, "return 3;") {
		t.Errorf("gdb: %s", out)
	}
}
