package debuginfod

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// first answers with each of the handlers once, and with the last one from then on.
func first(handlers ...http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		handlers[min(int(n.Add(1)), len(handlers))-1](w, r)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func content(b []byte, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Write(b)
	}
}

// streamed sends the bytes without their number.
func streamed(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Write(b[:len(b)/2])
		w.(http.Flusher).Flush()
		w.Write(b[len(b)/2:])
	}
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

// endless sends an ELF file that does not end, as long as it is taken.
func endless(w http.ResponseWriter, r *http.Request) {
	b := debugELF(testID)
	for r.Context().Err() == nil {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

func TestAnswers(t *testing.T) {
	elf := debugELF(testID)
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("moved") != "" {
				good(w, r)
				return
			}
			w.Header().Set("Location", strings.ReplaceAll(to, "PATH", r.URL.Path))
			w.WriteHeader(http.StatusFound)
		}
	}
	for _, c := range []struct {
		name    string
		answer  http.HandlerFunc
		outcome Outcome
		asked   int64
		why     string
		left    string
	}{
		{"good", good, Found, 1, "", "debuginfo"},
		{"without length", streamed(elf), Found, 1, "", "debuginfo"},
		{"with its size", content(elf, "X-DEBUGINFOD-SIZE", strconv.Itoa(len(elf))), Found, 1, "", "debuginfo"},
		{"packed", content(zipped(elf), "Content-Encoding", "gzip", "X-DEBUGINFOD-SIZE", strconv.Itoa(len(elf))),
			Found, 1, "", "debuginfo"},
		{"called packed", content(elf, "Content-Encoding", "gzip"), Found, 1, "", "debuginfo"},
		{"packed twice", content(zipped(zipped(elf)), "Content-Encoding", "gzip"), Failed, 1, "not an ELF file", ""},
		{"packed, not called so", content(zipped(elf)), Failed, 1, "not an ELF file", ""},
		{"zstd", content([]byte("\x28\xb5\x2f\xfd1234"), "Content-Encoding", "zstd"), Failed, 1, `"zstd"`, ""},
		{"packed, cut off", content(zipped(elf)[:900], "Content-Encoding", "gzip"), Failed, 3, "cut off", ""},
		{"missing", status(404), Missing, 1, "no server has it", "debuginfo(empty)"},
		{"gone", status(410), Missing, 1, "no server has it", "debuginfo(empty)"},
		{"forbidden", status(403), Failed, 1, "HTTP 403 Forbidden", ""},
		{"too large for the server", status(406), Failed, 1, "MAXSIZE", ""},
		{"error", status(500), Failed, 3, "HTTP 500", ""},
		{"error once", first(status(500), good), Found, 2, "", "debuginfo"},
		{"busy once", first(status(429), good), Found, 2, "", "debuginfo"},
		{"reset", cut, Failed, 3, "EOF", ""},
		{"reset once", first(cut, good), Found, 2, "", "debuginfo"},
		{"garbage", content([]byte("<html>please log in</html>")), Failed, 1, "not an ELF file", ""},
		{"nothing", content(nil), Failed, 1, "not an ELF file", ""},
		{"wrong ELF", content(debugELF("\x66\x66")), Failed, 1, "build ID 6666, want 0123456789abcdef", ""},
		{"ELF without ID", content(debugELF("")), Failed, 1, "no build ID", ""},
		{"only the magic", content([]byte("\x7fELF")), Failed, 3, "cut off", ""},
		{"cut off, with length", content(elf[:200<<10], "Content-Length", strconv.Itoa(len(elf))), Failed, 3, "cut off", ""},
		{"cut off once", first(content(elf[:200<<10], "Content-Length", strconv.Itoa(len(elf))), good), Found, 2, "", "debuginfo"},
		{"cut off, without length", streamed(elf[:200<<10]), Failed, 3, "cut off", ""},
		{"cut off, with size", content(append(elf, 0), "X-DEBUGINFOD-SIZE", strconv.Itoa(len(elf)+2)), Failed, 3, "cut off", ""},
		{"claims 4 GiB", content(elf, "Content-Length", "4294967296"), Failed, 1, "4.0 GiB, more than", ""},
		{"says 4 GiB", content(elf, "X-DEBUGINFOD-SIZE", "4294967296"), Failed, 1, "4.0 GiB, more than", ""},
		{"sends without end", endless, Failed, 1, "more than", ""},
		{"moved", redirect("PATH?moved=1"), Found, 2, "", "debuginfo"},
		{"moved to a file", redirect("file:///etc/passwd"), Failed, 1, "redirected to file", ""},
		{"moved elsewhere", redirect("gopher://127.0.0.1/"), Failed, 1, "redirected to gopher", ""},
		{"moved in circles", redirect("PATH"), Failed, 10, "redirected 10 times", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer)
			w := newWorld(t, Options{URLs: []string{s.URL + "/"}, MaxSize: 1 << 20})
			r := w.Fetch(context.Background(), testID, Debuginfo)
			if r.Outcome != c.outcome || !strings.Contains(r.Why, c.why) || s.asked.Load() != c.asked {
				t.Errorf("outcome %d (%s) after %d requests", r.Outcome, r.Why, s.asked.Load())
			}
			if r.Outcome == Found {
				if b, err := os.ReadFile(r.Path); err != nil || !bytes.Equal(b, elf) || !r.Debug {
					t.Errorf("%d bytes, %v, debug %v", len(b), err, r.Debug)
				}
			}
			if again := w.Fetch(context.Background(), testID, Debuginfo); again.Outcome != r.Outcome || s.asked.Load() != c.asked {
				t.Errorf("asked again the outcome is %d after %d requests", again.Outcome, s.asked.Load())
			}
			if c.outcome != Found && len(r.Tried) != 1 {
				t.Errorf("tried %q", r.Tried)
			}
			w.Close()
			if left := leftovers(t, w.cache); left != c.left {
				t.Errorf("left in the cache: %s", left)
			}
			// Another process asks again only where the cache says nothing.
			before := s.asked.Load()
			w = newWorld(t, Options{URLs: []string{s.URL}, CacheDir: w.cache, MaxSize: 1 << 20})
			r = w.Fetch(context.Background(), testID, Debuginfo)
			if r.Outcome != c.outcome && !strings.HasSuffix(c.name, "once") || (s.asked.Load() == before) != (c.left != "") {
				t.Errorf("the next client's outcome is %d (%s) after %d more requests", r.Outcome, r.Why, s.asked.Load()-before)
			}
		})
	}
}

func TestSeveralServers(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []http.HandlerFunc
		outcome Outcome
		left    string
	}{
		{"first", []http.HandlerFunc{good, status(404)}, Found, "debuginfo"},
		{"last", []http.HandlerFunc{status(404), status(500), cut, good}, Found, "debuginfo"},
		{"beside one that hangs", []http.HandlerFunc{hang, good}, Found, "debuginfo"},
		{"beside wrong ones", []http.HandlerFunc{content(debugELF("\x01")), content([]byte("no")), good}, Found, "debuginfo"},
		{"all good", []http.HandlerFunc{good, good, good}, Found, "debuginfo"},
		{"none", []http.HandlerFunc{status(404), status(404)}, Missing, "debuginfo(empty)"},
		{"perhaps", []http.HandlerFunc{status(404), status(403)}, Failed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var urls []string
			for _, answer := range c.answers {
				urls = append(urls, serve(t, answer).URL)
			}
			w := newWorld(t, Options{URLs: urls})
			r := w.Fetch(context.Background(), testID, Debuginfo)
			if r.Outcome != c.outcome {
				t.Errorf("outcome %d: %s %q", r.Outcome, r.Why, r.Tried)
			}
			w.Close()
			if left := leftovers(t, w.cache); left != c.left {
				t.Errorf("left in the cache: %s", left)
			}
		})
	}
	t.Run("after one that began and broke off", func(t *testing.T) {
		t.Parallel()
		other := make(chan struct{})
		a := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Write(debugELF(testID)[:100])
			w.(http.Flusher).Flush()
			<-other
			panic(http.ErrAbortHandler)
		})
		b := serve(t, func(w http.ResponseWriter, r *http.Request) {
			close(other)
			good(w, r)
		})
		w := newWorld(t, Options{URLs: []string{a.URL, b.URL}, Retries: -1})
		r := w.Fetch(context.Background(), testID, Debuginfo)
		if r.Outcome != Found || b.asked.Load() != 1 {
			t.Errorf("outcome %d after %d requests: %s", r.Outcome, b.asked.Load(), r.Why)
		}
	})
}

func TestRequest(t *testing.T) {
	headers := t.TempDir() + "/headers"
	text := "X-Token: secret: really\n\n   \nno header\nEmpty:\nBad Name: x\nUser-Agent: me\nX-Bad: a\x01b\n"
	if err := os.WriteFile(headers, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got atomic.Pointer[http.Request]
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r)
		good(w, r)
	})
	w := newWorld(t, Options{URLs: []string{strings.Replace(s.URL, "://", "://me:pass@", 1) + "/a/b/"}, HeadersFile: headers})
	r := w.Fetch(context.Background(), testID, Source("/a b.c"))
	req := got.Load()
	if r.Outcome != Found || req == nil {
		t.Fatalf("%+v", r)
	}
	if want := "/a/b/buildid/0123456789abcdef/source/a b.c"; req.URL.Path != want {
		t.Errorf("path %s, want %s", req.URL.Path, want)
	}
	user, pass, _ := req.BasicAuth()
	h := fmt.Sprintln(req.Header["X-Token"], req.Header["User-Agent"], req.Header["X-Debuginfod-Maxsize"], user, pass, len(req.Header["X-Bad"]))
	if want := "[secret: really] [me] [2147483648] me pass 0\n"; h != want {
		t.Errorf("headers %s, want %s", h, want)
	}
	if r := w.Fetch(context.Background(), "", Debuginfo); r.Outcome != Missing {
		t.Errorf("no build ID: outcome %d", r.Outcome)
	}
	if r := (*Client)(nil).Fetch(context.Background(), testID, Debuginfo); r.Outcome != Missing {
		t.Errorf("no client: outcome %d", r.Outcome)
	}
	// The password is not told.
	w.servers[0].broken = w.now().Add(time.Hour)
	r = w.Fetch(context.Background(), "\x77\x77", Debuginfo)
	if r.Outcome != Failed || len(r.Tried) != 1 || strings.Contains(r.Why+r.Tried[0]+w.warned(), "pass") {
		t.Errorf("%+v %s", r, w.warned())
	}
}

func TestFileServer(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/buildid/" + testID.String()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"/debuginfo", debugELF(testID), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, Options{URLs: []string{"file://" + dir}})
	for id, want := range map[string]Outcome{string(testID): Found, "\x12\x34": Missing} {
		if r := w.Fetch(context.Background(), symsrc.BuildID(id), Debuginfo); r.Outcome != want {
			t.Errorf("%x: %+v", id, r)
		}
	}
}
