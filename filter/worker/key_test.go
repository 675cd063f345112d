package worker

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestKey holds that a process is what its key says, wherever else its subjects differ: within a run, and when it is taken up.
func TestKey(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "FLEET", Subjects: []string{"fleet.>"}}); err != nil {
		t.Fatal(err)
	}
	sent := 0
	send := func(lines string) {
		for line := range strings.Lines(lines) {
			subject := []string{"fleet.us.h1.app.7", "fleet.eu.h1.app.7"}[sent%2]
			if _, err := js.Publish(t.Context(), subject, []byte(line)); err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	keyed := func(o *Options) { o.Stream, o.In, o.Key = "FLEET", "fleet.>", "fleet.*.{host}.app.{pid}" }
	send(contextLines + strings.Repeat(frameLine, 7))
	_, stop := inProcess(t, url, keyed)
	annotated(t, js, "h1.7", sent)
	stop()
	send(strings.Repeat(frameLine, 2))
	inProcess(t, url, keyed)
	if got := annotated(t, js, "h1.7", sent); strings.Count(strings.Join(got, ""), " a.so@10 ") != 9 {
		t.Errorf("got %q", got)
	}
}

// TestSpelledKeys takes lines that publish has divided, and those that a worker of another spelling has.
func TestSpelledKeys(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	publish(t, url, "1", contextLines+frameLine)
	sent := 4
	for _, key := range []string{"logs.{host}.{pid}", "logs.>", "logs.*.*"} {
		_, stop := inProcess(t, url, func(o *Options) { o.Key = key })
		publish(t, url, "1", frameLine)
		sent++
		if got := annotated(t, js, "h.1", sent); !strings.Contains(got[sent-1], " a.so@10 ") {
			t.Errorf("%s: got %q", key, got)
		}
		stop()
	}
	if _, err := js.Stream(t.Context(), "LOGS-d"); err == nil {
		t.Error("the lines are stored once more for a key that means the same")
	}
}

// TestOutside passes over lines of a stream that are not asked for: they are of no process, not of one with the same begin.
func TestOutside(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	publish(t, url, "1", contextLines)
	for subject, line := range map[string]string{"logs.h": "short", "logs.h.1.x": "{{{reset}}}"} {
		if _, err := js.Publish(t.Context(), subject, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, url, "1", frameLine)
	inProcess(t, url, func(o *Options) { o.Key = "logs.{host}.{pid}" })
	if got := annotated(t, js, "h.1", 4); !strings.Contains(got[3], " a.so@10 ") {
		t.Errorf("got %q", got)
	}
	stream, err := js.Stream(t.Context(), "ANNOTATED")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 4 {
		t.Errorf("%d annotated lines of 4", n)
	}
}
