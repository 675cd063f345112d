package debuginfod

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
)

// peers returns a debuginfod that serves programs built here.
var peers = sync.OnceValues(startPeer)

// peer is a real debuginfod. Its programs are of these build IDs: whole, and with its debug information apart.
type peer struct {
	dir          string
	cmd          *exec.Cmd
	port         int
	whole, apart symsrc.BuildID
}

func TestMain(m *testing.M) {
	status := m.Run()
	if peerStarted != nil {
		peerStarted.stop()
	}
	os.Exit(status)
}

// peerStarted is the server to be ended when all tests are done.
var peerStarted *peer

func (p *peer) stop() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	_ = os.RemoveAll(p.dir)
}

func startPeer() (*peer, error) {
	for _, tool := range []string{"debuginfod", "debuginfod-find", "gcc", "objcopy", "strip"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%s is not installed", tool)
		}
	}
	dir, err := os.MkdirTemp("", "debuginfod")
	if err != nil {
		return nil, err
	}
	p := &peer{dir: dir}
	peerStarted = p
	if err := p.build(); err != nil {
		return nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.port = free.Addr().(*net.TCPAddr).Port
	free.Close()
	cmd := exec.Command("debuginfod", "-d", ":memory:", "-t", "1", "-p", fmt.Sprint(p.port), "-F", filepath.Join(dir, "served"))
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "TMPDIR="+dir, "DEBUGINFOD_CACHE_PATH="+filepath.Join(dir, "upstream"))
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.cmd = cmd
	return p, nil
}

// build makes the programs.
func (p *peer) build() error {
	script := `set -e
mkdir served
echo 'int main(int n, char **v) { return n; }' > a.c
mkdir 'served/a b'
echo 'int main(int n, char **v) { return n + 1; }' > 'served/a b/x+#ä%.c'
gcc -g -Wl,--build-id=sha1 -o served/whole "$PWD/served/a b/x+#ä%.c"
gcc -g -O1 -Wl,--build-id=sha1 -o served/apart a.c
objcopy --only-keep-debug served/apart served/apart.debug
strip served/apart`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build programs: %w: %s", err, out)
	}
	for name, id := range map[string]*symsrc.BuildID{"whole": &p.whole, "apart": &p.apart} {
		b, err := os.ReadFile(filepath.Join(p.dir, "served", name))
		if err != nil {
			return err
		}
		head, err := locate.ReadHead(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return err
		}
		*id = head.ID
	}
	return nil
}

// realServer starts the peer once it is needed, waits until it knows its files, and returns the proxy before it.
func realServer(t *testing.T) (*peer, *testServer) {
	t.Helper()
	p, err := peers()
	if err != nil {
		t.Skip("no real server:", err)
	}
	for _, k := range []key{{p.whole, Debuginfo}, {p.apart, Debuginfo}, {p.whole, Source(filepath.Join(p.dir, "served/a b/x+#ä%.c"))}} {
		until(t, "the server scans its files", func() bool {
			resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", p.port, k.urlPath()))
			if err == nil {
				resp.Body.Close()
			}
			return err == nil && resp.StatusCode == http.StatusOK
		})
	}
	return p, serve(t, func(w http.ResponseWriter, r *http.Request) {
		proxy := httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", fmt.Sprintf("127.0.0.1:%d", p.port)
		}}
		proxy.ServeHTTP(w, r)
	})
}

// find runs elfutils' client.
func (p *peer) find(t *testing.T, w *world, s *testServer, k key) (path string, ok bool) {
	t.Helper()
	cmd := exec.Command("debuginfod-find", string(k.kind), k.id.String())
	if k.kind.isSource() {
		cmd = exec.Command("debuginfod-find", sourceKind, k.id.String(), strings.TrimPrefix(string(k.kind), sourceKind))
	}
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS="+s.URL, "DEBUGINFOD_CACHE_PATH="+w.cache, "DEBUGINFOD_PROGRESS=")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err == nil
}

func TestRealServer(t *testing.T) {
	p, s := realServer(t)
	for _, c := range []struct {
		k       key
		outcome Outcome
		file    string
		debug   bool
	}{
		{key{p.whole, Debuginfo}, Found, "whole", true},
		{key{p.apart, Debuginfo}, Found, "apart.debug", true},
		{key{p.whole, Source(filepath.Join(p.dir, "served/a b/x+#ä%.c"))}, Found, "a b/x+#ä%.c", false},
		{key{p.whole, Source("/no such#.c")}, Missing, "", false},
		{key{testID, Debuginfo}, Missing, "", false},
	} {
		t.Run(string(c.k.kind)+" "+c.file, func(t *testing.T) {
			// Ours first, then theirs, which does not ask.
			w := newWorld(t, Options{URLs: []string{s.URL}})
			r := w.Fetch(context.Background(), c.k.id, c.k.kind)
			if r.Outcome != c.outcome || r.Debug != c.debug {
				t.Fatalf("%+v", r)
			}
			if c.file != "" {
				same(t, r.Path, filepath.Join(p.dir, "served", c.file))
			}
			before := s.asked.Load()
			path, ok := p.find(t, w, s, c.k)
			if ok != (c.outcome == Found) || path != r.Path || s.asked.Load() != before {
				t.Errorf("debuginfod-find gives %q, %v, after %d requests", path, ok, s.asked.Load()-before)
			}
			// Theirs first, then ours, which does not ask.
			w = newWorld(t, Options{URLs: []string{s.URL}})
			if path, ok = p.find(t, w, s, c.k); ok != (c.outcome == Found) {
				t.Fatalf("debuginfod-find gives %q, %v", path, ok)
			}
			before = s.asked.Load()
			r = w.Fetch(context.Background(), c.k.id, c.k.kind)
			if r.Outcome != c.outcome || r.Path != path || s.asked.Load() != before {
				t.Errorf("%+v after %d requests", r, s.asked.Load()-before)
			}
		})
	}
}

// TestRealServerLimit: the server is told how large a file may be.
func TestRealServerLimit(t *testing.T) {
	p, s := realServer(t)
	w := newWorld(t, Options{URLs: []string{s.URL}, MaxSize: 1000})
	r := w.Fetch(context.Background(), p.whole, Debuginfo)
	if r.Outcome != Failed || !strings.Contains(r.Why, "MAXSIZE") {
		t.Errorf("%+v", r)
	}
}

func same(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if string(x) != string(y) {
		t.Errorf("%s and %s differ", a, b)
	}
}
