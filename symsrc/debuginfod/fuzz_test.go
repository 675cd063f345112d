package debuginfod

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzAnswer takes anything as the body and headers of an answer: what is kept has the build ID asked for and is within
// the limit, and nothing else stays in the cache.
func FuzzAnswer(f *testing.F) {
	good := makeELF(testID, ".debug_info", 64)
	f.Add(good, "", strconv.Itoa(len(good)), "")
	f.Add(zipped(good), "gzip", "0", "3")
	f.Add(zipped(bytes.Repeat(good, 100)), "x-gzip", "99999999999999999999", "-1")
	f.Add(good[:90], "identity", "1", "x")
	f.Add(makeELF("\x66", ".text", 64), "zstd", "-5", "1e9")
	const limit = 1 << 16
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, body []byte, encoding, size, retry string) {
		c := &Client{opt: Options{MaxSize: limit, Timeout: time.Hour}, cache: cache{dir: dir, now: time.Now}, now: time.Now, warned: map[string]bool{}}
		k := key{testID, Debuginfo}
		store, err := c.cache.open(k)
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(store.path)
		defer store.close()
		a := &attempt{c: c, f: &fetch{key: k}, server: &server{}}
		resp := &http.Response{Header: http.Header{}, StatusCode: 200 + len(retry), Status: retry, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: -1}
		resp.Header.Set("Content-Encoding", encoding)
		resp.Header.Set("X-Debuginfod-Size", size)
		resp.Header.Set("Retry-After", retry)
		if fail := checkStatus(resp); fail != nil && (fail.after < 0 || fail.after > time.Hour) {
			t.Fatalf("asked again after %v", fail.after)
		}
		b, fail := a.body(resp)
		if fail == nil {
			fail = a.receive(b, store)
		}
		if (fail == nil) != (a.elf != nil) {
			t.Fatalf("%v, and %v", fail, a.elf)
		}
		st, err := os.Stat(store.path)
		if (err == nil) != (fail == nil) || err == nil && (st.Size() > limit || st.Mode().Perm() != 0o400) {
			t.Fatalf("%v, and the file is %v, %v", fail, st, err)
		}
		if fail == nil {
			if _, err := verifyFile(store.path, key{testID, Debuginfo}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzHeadersFile reads anything as DEBUGINFOD_HEADERS_FILE: what is taken may be sent.
func FuzzHeadersFile(f *testing.F) {
	f.Add([]byte("Authorization: Bearer x\nHost: a\nbad name: 1\n: 2\nx:\r\nY: \x1b[31m\n"))
	path := filepath.Join(f.TempDir(), "headers")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		if err := addHeaders(h, path); err != nil {
			t.Fatal(err)
		}
		var sent bytes.Buffer
		if err := h.Write(&sent); err != nil {
			t.Fatal(err)
		}
		lines := 0
		for _, values := range h {
			lines += len(values)
		}
		if strings.Count(sent.String(), "\n") != lines {
			t.Fatalf("%q is sent as %q", text, sent.String())
		}
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://127.0.0.1:0/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = h
		if err := req.Write(&sent); err != nil {
			t.Fatal(err)
		}
	})
}
