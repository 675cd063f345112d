package worker

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// fleetLines is how many lines a fleet's logs have together, of fleetProcesses processes. QSS_FLEET_LINES=200000 is the size that
// the README describes; what takes long is tested only where it is set.
func fleetLines() (n int, full bool) {
	if n, err := strconv.Atoi(os.Getenv("QSS_FLEET_LINES")); err == nil && n >= 10*fleetProcesses {
		return n, true
	}
	return 20_000, false
}

const fleetProcesses = 64

// fleet is the logs of a fleet, and what becomes of them.
type fleet struct {
	urls   string
	js     jetstream.JetStream
	logs   [][]string
	keys   []string // `host.pid`
	lines  int
	idle   string
	expect []string
	// workers are those at work, and another starts one.
	workers []*child
	another func() *child
}

// newFleet makes the logs, and publishes them: half of the processes by one shipper, which tells them apart by the prefix of their
// lines, the others line by line as any client does.
func newFleet(t testing.TB, urls string, replicas int) *fleet {
	t.Helper()
	f := &fleet{urls: urls, js: client(t, urls), idle: "30s"}
	total, _ := fleetLines()
	for i := range fleetProcesses {
		pid, prefix := 4000+i, ""
		if i < fleetProcesses/2 {
			prefix = fmt.Sprintf("Nov 21 07:00:00 h1 app[%d]: ", pid)
		}
		log := newGenerator(pid, prefix).log(total / fleetProcesses)
		f.logs, f.keys, f.lines = append(f.logs, log), append(f.keys, fmt.Sprintf("h1.%d", pid)), f.lines+len(log)
	}
	publisher := command(t, "publish", "--nats", urls, "--replicas", strconv.Itoa(replicas))
	var text bytes.Buffer
	rng := rand.New(rand.NewPCG(1, 2))
	interleave(rng, f.logs[:fleetProcesses/2], func(_ int, line string) { text.WriteString(line) })
	publisher.Stdin = &text
	if err := publisher.Run(); err != nil {
		t.Fatalf("publish: %v", err)
	}
	interleave(rng, f.logs[fleetProcesses/2:], func(log int, line string) {
		if _, err := f.js.PublishAsync("logs."+f.keys[fleetProcesses/2+log], []byte(line)); err != nil {
			t.Fatal(err)
		}
	})
	<-f.js.PublishAsyncComplete()
	stream, err := f.js.Stream(t.Context(), "LOGS")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != uint64(f.lines) {
		t.Fatalf("%d lines are in the stream, of %d", n, f.lines)
	}
	return f
}

// want returns what one run of the filter over each process's log writes.
func (f *fleet) want(t testing.TB) []string {
	t.Helper()
	for i := range f.logs {
		if len(f.expect) > i {
			continue
		}
		log := filepath.Join(t.TempDir(), "log") // whose symbols are waited for: those of a pipe may come late
		if err := os.WriteFile(log, []byte(strings.Join(f.logs[i], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := command(t, append(symbolFlags[:len(symbolFlags):len(symbolFlags)], log)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		f.expect = append(f.expect, string(out))
	}
	return f.expect
}

// work starts workers.
func (f *fleet) work(t testing.TB, n, replicas int) {
	f.another = func() *child {
		return startWorker(t, f.urls, "--idle", f.idle, "--replicas", strconv.Itoa(replicas), "--workers-per-host", "1")
	}
	for range n {
		f.workers = append(f.workers, f.another())
	}
}

// wait waits until as many lines are annotated as there are, and calls each now and then.
func (f *fleet) wait(t testing.TB, each func()) {
	t.Helper()
	for {
		time.Sleep(20 * time.Millisecond)
		each()
		for _, w := range f.workers {
			if w.isGone() {
				t.Fatal("a worker has ended")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		stream, err := f.js.Stream(ctx, "ANNOTATED")
		cancel()
		if err == nil && stream.CachedInfo().State.Msgs >= uint64(f.lines) {
			return
		}
	}
}

// check compares what is in the stream of annotated lines with a run of the filter over each log.
func (f *fleet) check(t testing.TB) {
	t.Helper()
	got := map[string]*bytes.Buffer{}
	count, ids := map[string]int{}, map[string]bool{}
	stream, err := f.js.Stream(t.Context(), "ANNOTATED")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.js.OrderedConsumer(t.Context(), "ANNOTATED", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := c.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	for range info.State.Msgs {
		m, err := messages.Next()
		if err != nil {
			t.Fatal(err)
		}
		key := strings.TrimPrefix(m.Subject(), "annotated.")
		if got[key] == nil {
			got[key] = &bytes.Buffer{}
		}
		got[key].Write(m.Data())
		count[key]++
		id := m.Headers().Get(nats.MsgIdHdr)
		if ids[id] {
			t.Errorf("%s is there twice", id)
		}
		ids[id] = true
	}
	if len(got) != len(f.keys) {
		t.Errorf("%d processes, of %d", len(got), len(f.keys))
	}
	for i, want := range f.want(t) {
		key := f.keys[i]
		if count[key] != len(f.logs[i]) {
			t.Errorf("%s has %d lines, of %d", key, count[key], len(f.logs[i]))
		}
		if got[key] == nil || got[key].String() != want {
			t.Errorf("%s differs: %s", key, difference(got[key].String(), want))
		}
	}
}

// difference shows the first line that differs.
func difference(got, want string) string {
	a, b := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d: got %.300q, want %.300q", i+1, strings.Join(a[i:min(i+3, len(a))], ""), strings.Join(b[min(i, len(b)):min(i+3, len(b))], ""))
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// TestFleet holds that any number of workers makes of each process's log what one run of the filter makes of it.
func TestFleet(t *testing.T) {
	counts := []int{2}
	if _, full := fleetLines(); full {
		counts = []int{1, 2, 4}
	}
	for _, n := range counts {
		t.Run(fmt.Sprintf("%d workers", n), func(t *testing.T) {
			server, url := broker(t, brokerOptions{})
			f := newFleet(t, url, 1)
			before := cpuTime(server)
			began := time.Now()
			f.work(t, n, 1)
			f.wait(t, func() {})
			took := time.Since(began)
			used := cpuTime(server) - before
			f.check(t)
			var workers time.Duration
			for _, w := range f.workers {
				w.kill()
				workers += w.ProcessState.UserTime() + w.ProcessState.SystemTime()
			}
			t.Logf("%d workers: %d lines in %.1f s, %.0f lines/s; processor time: server %.1f s, workers %.1f s", n, f.lines, took.Seconds(),
				float64(f.lines)/took.Seconds(), used.Seconds(), workers.Seconds())
		})
	}
}

// cpuTime is the processor time that a running process has used, where the system has it as Linux does; otherwise 0.
func cpuTime(c *child) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11]) // in hundredths of a second, as on every Linux of today
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// TestKilledWorkers holds the same where a worker is killed every second, and another one started in its place.
func TestKilledWorkers(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	f := newFleet(t, url, 1)
	f.work(t, 3, 1)
	killed, next := 0, time.Now().Add(time.Second)
	began := time.Now()
	f.wait(t, func() {
		if time.Now().Before(next) {
			return
		}
		next = next.Add(time.Second)
		f.workers[killed%len(f.workers)].kill()
		f.workers[killed%len(f.workers)] = f.another()
		killed++
	})
	t.Logf("%d workers killed in %.1f s", killed, time.Since(began).Seconds())
	f.check(t)
}

// TestKilledBroker holds the same where one of three servers is killed.
func TestKilledBroker(t *testing.T) {
	if _, full := fleetLines(); !full {
		t.Skip("elections take long: QSS_FLEET_LINES is not set")
	}
	servers, urls := cluster(t)
	f := newFleet(t, urls, 3)
	f.work(t, 2, 3)
	began, dead := time.Now(), false
	f.wait(t, func() {
		stream, err := f.js.Stream(t.Context(), "ANNOTATED")
		if !dead && err == nil && stream.CachedInfo().State.Msgs > uint64(f.lines/4) {
			leader := stream.CachedInfo().Cluster.Leader
			n, err := strconv.Atoi(strings.TrimPrefix(leader, "n"))
			if err != nil {
				t.Fatalf("the leader is %q", leader)
			}
			servers[n].kill()
			dead = true
		}
	})
	t.Logf("%.1f s", time.Since(began).Seconds())
	f.check(t)
}

// peakMemory returns the most memory that a running process has had, in bytes, where the system has it as Linux does; otherwise 0.
func peakMemory(c *child) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	n, _ := strconv.Atoi(string(bytes.Fields(append(rest, " 0"...))[0]))
	return n << 10
}

// TestLoad holds that long messages of as many processes as are held in memory do not take more of that than is meant for them.
func TestLoad(t *testing.T) {
	if _, full := fleetLines(); !full {
		t.Skip("it takes minutes: QSS_FLEET_LINES is not set")
	}
	const keys, size, most = 4096, 125_000, 2 << 30
	var modules strings.Builder
	modules.WriteString("{{{reset}}}\n")
	for i := 0; modules.Len() < size-200; i++ {
		fmt.Fprintf(&modules, "{{{module:%d:m%d.so:elf:0123abcd%04x}}}\n{{{mmap:%#x:0x1000:load:%[1]d:rx:0x0}}}\n", i, i, i, 0x100000+0x1000*i)
	}
	for name, data := range map[string]string{
		"text":    strings.Repeat("text\n", size/5),
		"frames":  strings.Repeat("    #0 0x1 (none.so+0x20) (BuildId: 4567cdef)\n", size/46),
		"modules": modules.String(),
		"parts":   strings.Repeat("x", size),
	} {
		t.Run(name, func(t *testing.T) {
			_, url := broker(t, brokerOptions{})
			js := client(t, url)
			o := publishOptions(url, strings.NewReader("text\n")) // the stream
			o.Partitions = 16
			if err := Publish(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			sent := 1
			send := func() {
				for key := range keys {
					m := &nats.Msg{Subject: fmt.Sprintf("logs.h.%d", key), Data: []byte(data)}
					if name == "parts" {
						m.Header = nats.Header{headerPart: {"1"}}
					}
					if _, err := js.PublishMsgAsync(m); err != nil {
						t.Fatal(err)
					}
					if sent++; sent%64 == 0 {
						<-js.PublishAsyncComplete()
					}
				}
				<-js.PublishAsyncComplete()
			}
			send()
			began := time.Now()
			w := startWorker(t, url)
			wait := func() {
				for {
					if s, err := js.Stream(t.Context(), "ANNOTATED"); err == nil && s.CachedInfo().State.Msgs >= uint64(sent) {
						return
					}
					if w.isGone() {
						t.Fatal("the worker has ended")
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
			wait()
			first := time.Since(began)
			peak := peakMemory(w)
			send()
			wait()
			if peakMemory(w) > most {
				t.Errorf("the worker has had %d bytes of memory, want %d at most", peakMemory(w), most)
			}
			t.Logf("%d messages of %d bytes in %.1f and %.1f s: %d and %d MB", sent, len(data), first.Seconds(), (time.Since(began) - first).Seconds(), peak>>20, peakMemory(w)>>20)
		})
	}
}
