package worker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// offsets is a source that names code after its module and offset.
type offsets struct{}

func (offsets) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: fmt.Sprintf("%s@%x", q.Module.Name, q.Offset)}}, Files: &symsrc.Files{Elf: q.Module.Name}}
}

// Hits says that a cache has answered one query of two.
func (offsets) Hits() (asked, answered int64) { return 2, 1 }

// options are those of a worker of this process.
func options(url string, stderr io.Writer) Options {
	return Options{Connection: Connection{URLs: url, Stderr: stderr}, Stream: "LOGS", In: "logs.>", Out: "annotated.>",
		Durable: "d", Partitions: 2, Replicas: 1, Filters: 100, Idle: 100 * time.Millisecond, Filter: filter.Options{Symbols: offsets{}}}
}

// inProcess runs a worker in this process, until stop.
func inProcess(t *testing.T, url string, change func(*Options)) (said *bytes.Buffer, stop func()) {
	t.Helper()
	said = &bytes.Buffer{}
	o := options(url, said)
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("%s", said)
		}
	})
	return said, stop
}

// publish sends a log as the command does.
func publish(t *testing.T, url, pid, log string) {
	t.Helper()
	o := publishOptions(url, strings.NewReader(log))
	o.PID = pid
	if err := Publish(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// annotated reads so many annotated lines of a process.
func annotated(t *testing.T, js jetstream.JetStream, key string, lines int) (texts []string) {
	t.Helper()
	for {
		_, err := js.Stream(t.Context(), "ANNOTATED")
		if err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	c, err := js.OrderedConsumer(t.Context(), "ANNOTATED", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"annotated." + key}})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := c.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	for len(texts) < lines {
		m, err := messages.Next()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(m.Data()))
	}
	return texts
}

const (
	contextLines = "{{{reset}}}\n{{{module:0:a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n"
	frameLine    = "{{{bt:0:0x1010:pc}}}\n"
)

// TestHeldBack holds that a folded line comes with the line that ends it, or after a while with its last one, and that every line
// has its message.
func TestHeldBack(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	inProcess(t, url, nil)
	publish(t, url, "1", contextLines+"text\n"+contextLines)
	folded := `[[[ELF module #0x0 "a.so"; BuildID=0123abcd [0x1000-0x1fff](rx)]]]` + "\n"
	got := annotated(t, js, "h.1", 7)
	want := []string{"", "", "", folded + "text\n", "[[[reset]]]\n", "", folded}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestTakenUp restarts workers in the midst of logs: context is known, from what was kept or from the log.
func TestTakenUp(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	_, stop := inProcess(t, url, nil)
	publish(t, url, "1", contextLines+strings.Repeat("text\n", 3*stateEvery))
	publish(t, url, "3", contextLines+strings.Repeat(frameLine+"text\n", stateRetry))
	publish(t, url, "2", contextLines+"==2==ERROR: AddressSanitizer\n"+strings.Repeat("text\n", 10)) // whose log allows no other place
	annotated(t, js, "h.1", 3+3*stateEvery)
	annotated(t, js, "h.2", 14)
	annotated(t, js, "h.3", 3+2*stateRetry)
	stop()
	_, stop = inProcess(t, url, func(o *Options) { o.Metrics = "127.0.0.1:0" })
	publish(t, url, "1", frameLine)
	publish(t, url, "2", frameLine)
	for key, lines := range map[string]int{"h.1": 3 + 3*stateEvery + 1, "h.2": 15} {
		if got := annotated(t, js, key, lines); !strings.Contains(got[lines-1], "a.so@10") {
			t.Errorf("%s: the frame is %q", key, got[lines-1])
		}
	}
	stop()
	kv, err := js.KeyValue(t.Context(), "d-LOGS")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := kv.Get(t.Context(), "key.h.1")
	if err != nil || !bytes.Contains(entry.Value(), []byte("{{{module:0x0:a.so:elf:0123abcd}}}")) {
		t.Errorf("what is kept is %v, %v", entry, err)
	}
	if _, err := kv.Get(t.Context(), "key.h.3"); err != nil {
		t.Errorf("no place is kept between frames: %v", err)
	}
	if _, err := kv.Get(t.Context(), "key.h.2"); err == nil {
		t.Error("a place is kept that cannot be taken up")
	}
}

// TestLongLines sends lines that are longer than a server takes: short enough to be looked at, and too long for that.
func TestLongLines(t *testing.T) {
	_, url := broker(t, brokerOptions{MaxPayload: leastPayload})
	js := client(t, url)
	inProcess(t, url, nil)
	log := "first\n" + strings.Repeat("word ", 50_000) + "#0 0x1 (/a.so+0x20)\nsecond\n" + strings.Repeat("#0 0x1 (/a.so+0x20) ", 100_000) + "\nlast"
	publish(t, url, "1", log)
	var want bytes.Buffer
	if err := filter.New(filter.Options{Symbols: offsets{}}).Run(t.Context(), strings.NewReader(log+"\n"), &want); err != nil {
		t.Fatal(err)
	}
	wanted := strings.TrimSuffix(want.String(), "\n") // the last line has no end
	got := ""
	for n := 10; len(got) < len(wanted); n++ {
		got = strings.Join(annotated(t, js, "h.1", n), "")
	}
	if got != wanted {
		t.Errorf("%d bytes, want %d: %s", len(got), len(wanted), difference(got, wanted))
	}
}

// TestOtherStreams takes lines without ends from a stream that others created, with another key.
func TestOtherStreams(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "FLEET", Subjects: []string{"fleet.>"}}); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(contextLines+frameLine+"\n"+"a\nb", "\n"), "\n") {
		if _, err := js.Publish(t.Context(), "fleet.eu.h1.app.7", []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	said, stop := inProcess(t, url, func(o *Options) { o.Stream, o.In, o.Key = "FLEET", "fleet.>", "fleet.*.{host}.app.{pid}" })
	got := annotated(t, js, "h1.7", 7)
	stop()
	if all := strings.Join(got[3:], "|"); !strings.Contains(all, " a.so@10 ") || !strings.HasSuffix(all, "||a|b") {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(said.String(), "stream created stream=FLEET-d") {
		t.Errorf("it is not said that a stream was created:\n%s", said)
	}
}

// TestUnfitStreams holds that what cannot work is refused.
func TestUnfitStreams(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	for _, c := range []jetstream.StreamConfig{
		{Name: "QUEUE", Subjects: []string{"queue.>"}, Retention: jetstream.WorkQueuePolicy},
		{Name: "PLAIN", Subjects: []string{"plain.>"}},
	} {
		if _, err := js.CreateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Connection: Connection{URLs: url, Stderr: io.Discard}, Stream: "QUEUE", In: "queue.>", Out: "annotated.>", Durable: "d",
		Partitions: 2, Replicas: 1, Filters: 1, Filter: filter.Options{Symbols: offsets{}}}
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "want retention by limits") {
		t.Errorf("a work queue: %v", err)
	}
	o.Stream, o.In, o.Out, o.OutStream = "LOGS", "logs.>", "plain.>", "PLAIN"
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "want atomic publishing") {
		t.Errorf("a stream without batches: %v", err)
	}
	o.In, o.Out, o.OutStream = "other.>", "annotated.>", "ANNOTATED"
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "none of other.>") {
		t.Errorf("subjects that a stream does not have: %v", err)
	}
}

// TestHealth reads the metrics of a worker.
func TestHealth(t *testing.T) {
	cmd, url := broker(t, brokerOptions{})
	js := client(t, url)
	address := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	inProcess(t, url, func(o *Options) { o.Metrics = address })
	publish(t, url, "1", contextLines+frameLine+"{{{bt:1:0x1020:pc}}}\ntext\n")
	annotated(t, js, "h.1", 6)
	ask := func(path string) (status int, body string) {
		r, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := ask(path); status != http.StatusOK || body != "ok\n" {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for {
		_, body := ask("/metrics")
		if !strings.Contains(body, "\nqss_filter_frames_total 2\n") || !strings.Contains(body, "\nqss_filter_lag_lines 0\n") {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		for _, want := range []string{"lines_total 6", "resolved_total 2", `unresolved_total{status="NOT_FOUND"} 0`, "cache_requests_total 2",
			"cache_hits_total 1", `latency_seconds_bucket{le="+Inf"} 6`, "latency_seconds_count 6", "processes 1", "partitions 1"} {
			if !strings.Contains(body, "\nqss_filter_"+want+"\n") {
				t.Errorf("no %s in\n%s", want, body)
			}
		}
		break
	}
	cmd.kill()
	for {
		live, _ := ask("/healthz")
		if ready, _ := ask("/readyz"); live == http.StatusServiceUnavailable && ready == live {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestStyles stops a worker in the midst of a log, with every option that keeps something from line to line: the next one goes
// on as if nothing had happened.
func TestStyles(t *testing.T) {
	for name, o := range map[string]filter.Options{
		"keep": {Context: print.ContextKeep}, "append": {Style: print.Append}, "dedupe": {Dedupe: true}, "colors": {Palette: sgr.NewPalette(true)},
		"ahead": {Lookahead: filter.Lookahead{Lines: 20, Time: time.Hour}}, "renumber": {Style: print.Replace, Renumber: print.RenumberAlways},
		"json": {JSON: &jsonl.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := broker(t, brokerOptions{})
			js := client(t, url)
			o.Symbols = offsets{}
			lines := newGenerator(4003, "").log(700)
			change := func(w *Options) { w.Filter, w.Idle, w.Filters = o, time.Hour, 1 }
			for from, n := range []int{0, 150, 333, 600} {
				to := []int{150, 333, 600, 700}[from]
				_, stop := inProcess(t, url, change)
				publish(t, url, "1", strings.Join(lines[n:to], ""))
				annotated(t, js, "h.1", to-1) // the last one may wait for the next
				stop()
			}
			inProcess(t, url, change)
			got := strings.Join(annotated(t, js, "h.1", len(lines)), "")
			var want bytes.Buffer
			if err := filter.New(o).Run(t.Context(), strings.NewReader(strings.Join(lines, "")), &want); err != nil {
				t.Fatal(err)
			}
			if got != want.String() {
				t.Error(difference(got, want.String()))
			}
		})
	}
}
