package worker

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestFullBucket holds that lines are annotated where the bucket of states takes nothing more, also by the next worker, and that one
// that cannot be annotated leaves as it came.
func TestFullBucket(t *testing.T) {
	for name, room := range map[string]int64{"nothing": 1, "a little": 600} {
		t.Run(name, func(t *testing.T) {
			_, url := broker(t, brokerOptions{})
			js := client(t, url)
			if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "d-LOGS", MaxBytes: room}); err != nil {
				t.Fatal(err)
			}
			const keys, lines = 5, 3 + stateEvery + 1
			var stop func()
			for round := range 3 {
				_, stop = inProcess(t, url, func(o *Options) {
					o.Filter.Symbols = hostile{die: func(context.Context) { panic("a fault") }}
				})
				for pid := range keys {
					log := frameLine
					if round == 0 {
						log = contextLines + strings.Repeat("text\n", stateEvery) + frameLine
					}
					publish(t, url, fmt.Sprint(pid), log)
				}
				if round == 1 {
					publish(t, url, "9", deadlyText+frameLine)
					annotated(t, js, "h.9", 2)
				}
				for pid := range keys {
					if got := annotated(t, js, fmt.Sprintf("h.%d", pid), lines+round); !strings.Contains(got[lines+round-1], " a.so@10 ") {
						t.Errorf("process %d, round %d: %q", pid, round, got[lines+round-1])
					}
				}
				stop()
			}
			if raw, all := rawLines(t, js); all != keys*(lines+2)+2 {
				t.Errorf("%q, %d lines of %d", raw, all, keys*(lines+2)+2)
			}
		})
	}
}

// TestTerminated holds that a worker which is asked to end while a line hangs does, and says that all is well: the line comes again.
func TestTerminated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing there asks a process to end")
	}
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	publish(t, url, "1", contextLines+"text\n"+deadlyText+"text\n")
	asked, over := make(chan struct{}, 100), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	defer silent.Close()
	defer close(over)
	cmd := command(t, "worker", "--nats", url, "--no-cache", "--debuginfod", silent.URL)
	w := start(t, cmd)
	<-asked
	began := time.Now()
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-w.gone
	t.Logf("it ended after %.1f s", time.Since(began).Seconds())
	if status := w.ProcessState.ExitCode(); status != 0 {
		t.Errorf("it ended with %d", status)
	}
	startWorker(t, url)
	if got := annotated(t, js, "h.1", 6); got[5] != "text\n" {
		t.Errorf("the next one makes %q of it", got)
	}
}

// TestHostileFiles holds that lines which ask for hostile files come out of a worker as they do of one run of the filter.
func TestHostileFiles(t *testing.T) {
	if _, full := fleetLines(); !full {
		t.Skip("it takes minutes: QSS_FLEET_LINES is not set")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "test", "-count=1", "-run", "TestHostileKinds", "qss-filter/symsrc/object", "-hostile", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) < 30 {
		t.Fatalf("%d logs: %v", len(logs), err)
	}
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	const lines = 300
	flags := []string{"--no-cache", "--no-debuginfod"}
	var texts []string
	for i, path := range logs {
		all, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.Join(strings.SplitAfterN(string(all), "\n", lines+1)[:lines], ""))
		publish(t, url, fmt.Sprint(i), texts[i])
	}
	start(t, command(t, append([]string{"worker", "--nats", url}, flags...)...))
	same := 0
	for i, text := range texts {
		cmd := command(t, flags...)
		cmd.Stdin = strings.NewReader(text)
		want, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(annotated(t, js, fmt.Sprintf("h.%d", i), lines), ""); got != string(want) {
			t.Errorf("%s: %s", filepath.Base(logs[i]), difference(got, string(want)))
		} else {
			same++
		}
	}
	raw, all := rawLines(t, js)
	if len(raw) > 0 || all != lines*len(logs) {
		t.Errorf("%d raw, %d lines of %d", len(raw), all, lines*len(logs))
	}
	t.Logf("%d files, %d the same", len(logs), same)
}
