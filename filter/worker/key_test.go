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
