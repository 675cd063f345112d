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
// between them ask for files that are slow to come: in a first run, and in a second one of the same cache. cat, which gets the same lines at the
// same time, shows what the machine adds: more-* is how much longer than there each line took. Run it with -benchtime 1x; the lines come as a
// terminal has them, 200 a second for eight seconds, and with every 200th a frame of another module. On a machine with other work, give the test
// a real-time priority (chrt -f 10), which the programs inherit: then that work delays none of them.
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

// carrier is a command that carries lines.
type carrier struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	mu   sync.Mutex
	sent []time.Time
	took []time.Duration // of the plain lines
	done chan struct{}
}

// carry starts one.
func carry(b *testing.B, cmd *exec.Cmd) *carrier {
	b.Helper()
	c := &carrier{cmd: cmd, done: make(chan struct{})}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if c.in, err = cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		defer close(c.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			now := time.Now()
			if !bytes.HasPrefix(lines.Bytes(), []byte("plain")) {
				continue
			}
			c.mu.Lock()
			c.took = append(c.took, now.Sub(c.sent[len(c.took)]))
			c.mu.Unlock()
		}
	}()
	return c
}

// write writes a text with one plain line.
func (c *carrier) write(b *testing.B, text string) {
	c.mu.Lock()
	c.sent = append(c.sent, time.Now())
	c.mu.Unlock()
	if _, err := io.WriteString(c.in, text); err != nil {
		b.Fatal(err)
	}
}

// close ends the input, and waits for the rest of the output.
func (c *carrier) close() {
	c.in.Close()
	<-c.done
	_ = c.cmd.Wait()
}

// plainLines carries a log through a command, and through cat beside it.
func plainLines(b *testing.B, cmd *exec.Cmd) {
	const rate, each = 200, 8 * time.Second
	for range b.N {
		all := [...]*carrier{carry(b, cmd), carry(b, exec.Command("cat"))}
		time.Sleep(200 * time.Millisecond) // the program has started before most logs have a frame
		began := time.Now()
		for i := 0; time.Since(began) < each; i++ {
			text := fmt.Sprintf("plain %d: the quick brown fox jumps over the lazy dog\n", i)
			if i%rate == rate/2 {
				text = fmt.Sprintf("    #%d 0x7f5d2dbcd249 in f (/lib/libfoo%d.so+0x27249) (BuildId: 93ac61ec5a8eb1396f9fbd350e3169a5585%05d)\n", i/rate, i/rate, i) + text
			}
			for k := range all { // each one is the first in turn
				all[(i+k)%len(all)].write(b, text)
			}
			time.Sleep(time.Until(began.Add(time.Duration(i+1) * time.Second / rate)))
		}
		for _, c := range all {
			c.close()
		}
		more := make([]time.Duration, len(all[0].took))
		late := 0
		for i := range more {
			if more[i] = all[0].took[i] - all[1].took[i]; more[i] > time.Millisecond {
				late++
			}
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(late), "late-lines")
		for name, took := range map[string][]time.Duration{"": all[0].took, "cat-": all[1].took, "more-": more} {
			slices.Sort(took)
			for part, d := range map[string]time.Duration{"p50": took[len(took)/2], "p99": took[len(took)*99/100], "max": took[len(took)-1]} {
				b.ReportMetric(float64(d)/float64(time.Millisecond), name+part+"-ms")
			}
		}
	}
}
