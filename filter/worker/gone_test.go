package worker

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestGone deletes what a worker needs: it ends with an error that says so, and one that starts then works.
func TestGone(t *testing.T) {
	for name, remove := range map[string]func(jetstream.JetStream) error{
		"stream LOGS":        func(js jetstream.JetStream) error { return js.DeleteStream(t.Context(), "LOGS") },
		"stream ANNOTATED":   func(js jetstream.JetStream) error { return js.DeleteStream(t.Context(), "ANNOTATED") },
		"stream KV_d-LOGS":   func(js jetstream.JetStream) error { return js.DeleteKeyValue(t.Context(), "d-LOGS") },
		"consumer d-1":       func(js jetstream.JetStream) error { return js.DeleteConsumer(t.Context(), "LOGS", "d-1") },
		"stream LOGS, again": nil,
	} {
		t.Run(name, func(t *testing.T) {
			server := brokerOptions{Port: freePorts(t, 1)[0]}
			cmd, url := broker(t, server)
			js := client(t, url)
			publish(t, url, "1", contextLines+frameLine)
			o := options(url, io.Discard)
			ended := make(chan error, 1)
			go func() { ended <- Run(t.Context(), o) }()
			annotated(t, js, "h.1", 4)
			if remove == nil {
				cmd.kill()
				broker(t, server) // with an empty store
				client(t, url)
			} else if err := remove(js); err != nil {
				t.Fatal(err)
			}
			for pid := range 4 { // processes that it has not heard of, of both partitions
				publish(t, url, fmt.Sprint(10+pid), contextLines+frameLine)
			}
			want, _, _ := strings.Cut(name, ",")
			if err := <-ended; !errors.Is(err, errGone) || !strings.Contains(err.Error(), want+" is gone") {
				t.Errorf("the worker ended with %v", err)
			}
			inProcess(t, url, nil)
			publish(t, url, "2", contextLines+frameLine)
			if got := annotated(t, js, "h.2", 4); !strings.Contains(got[3], " a.so@10 ") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestUnhealthy holds that a worker whose stream is gone is not called healthy, even where it has not noticed yet.
func TestUnhealthy(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	address := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	inProcess(t, url, func(o *Options) { o.Metrics = address })
	publish(t, url, "1", contextLines)
	annotated(t, js, "h.1", 3)
	if err := js.DeleteStream(t.Context(), "ANNOTATED"); err != nil { // which nothing is written to now
		t.Fatal(err)
	}
	r, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "stream ANNOTATED is gone") {
		t.Errorf("health: %d %s", r.StatusCode, text)
	}
}
