package command_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// silent returns the address of a server that accepts connections and never answers.
func silent(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	return "http://" + l.Addr().String()
}

// serving returns the address of a server.
func serving(b *testing.B, answer http.HandlerFunc) string {
	s := httptest.NewServer(answer)
	b.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// BenchmarkPlainLines measures how long plain lines of a log that is being written take through the program, in milliseconds, while frames
// between them ask for files that are slow to come: in a first run, and in a second one of the same cache. cat shows what the machine adds.
// Run it with -benchtime 1x; the lines come as a terminal has them, 200 a second for eight seconds, and with every 200th a frame of
// another module.
func BenchmarkPlainLines(b *testing.B) {
	refused := serving(b, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		refused = "http://" + listener.Addr().String()
		listener.Close()
	}
	trickle := serving(b, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte{0x7f})
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Second)
		}
	})
	circle := serving(b, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })
	failing := serving(b, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	missing := serving(b, http.NotFound)
	other := serving(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>please log in</html>") })
	cases := []struct {
		name, server string
		args         []string
	}{
		{"no server", "", nil},
		{"refuses", refused, nil},
		{"silent", silent(b), nil},
		{"a byte a second", trickle, nil},
		{"500", failing, nil},
		{"circle", circle, nil},
		{"404", missing, nil},
		{"no ELF file", other, nil},
	}
	// Trees and packages of this machine, as the user names them: QSS_FILTER_BENCH_SYMBOLS is a list of paths.
	for _, path := range filepath.SplitList(os.Getenv("QSS_FILTER_BENCH_SYMBOLS")) {
		cases = append(cases, struct {
			name, server string
			args         []string
		}{filepath.Base(path), "", []string{"--symbols", path}})
	}
	b.Run("cat", func(b *testing.B) { plainLines(b, exec.Command("cat")) })
	for _, c := range cases {
		cache := b.TempDir()
		for _, run := range []string{"first", "second"} {
			b.Run(c.name+"/"+run, func(b *testing.B) {
				cmd := exec.Command("qss-filter", c.args...)
				cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "DEBUGINFOD_CACHE_PATH="+filepath.Join(cache, "d"), "DEBUGINFOD_URLS="+c.server, "CI=")
				plainLines(b, cmd)
			})
		}
	}
}

// plainLines carries a log through a command.
func plainLines(b *testing.B, cmd *exec.Cmd) {
	const rate, each = 200, 8 * time.Second
	for range b.N {
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		var mu sync.Mutex
		var sent []time.Time
		var took []time.Duration
		done := make(chan struct{})
		go func() {
			defer close(done)
			for lines := bufio.NewScanner(out); lines.Scan(); {
				now := time.Now()
				if !bytes.HasPrefix(lines.Bytes(), []byte("plain")) {
					continue
				}
				mu.Lock()
				took = append(took, now.Sub(sent[len(took)]))
				mu.Unlock()
			}
		}()
		time.Sleep(200 * time.Millisecond) // the program has started before most logs have a frame
		began := time.Now()
		for i := 0; time.Since(began) < each; i++ {
			text := fmt.Sprintf("plain %d: the quick brown fox jumps over the lazy dog\n", i)
			if i%rate == rate/2 {
				text = fmt.Sprintf("    #%d 0x7f5d2dbcd249 in f (/lib/libfoo%d.so+0x27249) (BuildId: 93ac61ec5a8eb1396f9fbd350e3169a5585%05d)\n", i/rate, i/rate, i) + text
			}
			mu.Lock()
			sent = append(sent, time.Now())
			mu.Unlock()
			if _, err := io.WriteString(in, text); err != nil {
				b.Fatal(err)
			}
			time.Sleep(time.Until(began.Add(time.Duration(i+1) * time.Second / rate)))
		}
		in.Close()
		<-done
		_ = cmd.Wait()
		slices.Sort(took)
		ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
		b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
		b.ReportMetric(ms(took[len(took)-1]), "max-ms")
	}
}
