package worker

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestStalled holds that a worker which gets nowhere, here since the stream of annotated lines is full, says so, and that it goes on as
// if nothing had been once there is room.
func TestStalled(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	full := jetstream.StreamConfig{Name: "ANNOTATED", Subjects: []string{"annotated.>"}, AllowDirect: true, AllowAtomicPublish: true,
		MaxMsgs: 3, Discard: jetstream.DiscardNew}
	if _, err := js.CreateStream(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	publish(t, url, "1", contextLines+strings.Repeat(frameLine, 5))
	clock := &fakeClock{}
	address := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	inProcess(t, url, func(o *Options) { o.Metrics, o.now = address, clock.now })
	ask := func() (status int, text string) {
		r, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return 0, err.Error() // it has not begun
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	for status := 0; status != http.StatusOK; status, _ = ask() {
		time.Sleep(10 * time.Millisecond)
	}
	for n := 0; n == 0; n = metric(t, address, "qss_filter_retries_total") {
		time.Sleep(10 * time.Millisecond)
	}
	ask() // by now the partition is this worker's
	clock.ahead.Add(int64(stallAfter + time.Minute))
	if status, text := ask(); status != http.StatusServiceUnavailable || !strings.Contains(text, ": 8 lines wait, and none was acknowledged for 1m") {
		t.Errorf("it says %d %s", status, text)
	}
	full.MaxMsgs = 100
	if _, err := js.UpdateStream(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	if got := annotated(t, js, "h.1", 8); strings.Count(strings.Join(got, ""), " a.so@10 ") != 5 {
		t.Errorf("got %q", got)
	}
	for status := 0; status != http.StatusOK; status, _ = ask() {
		time.Sleep(10 * time.Millisecond)
	}
	if raw, all := rawLines(t, js); len(raw) > 0 || all != 8 {
		t.Errorf("%q raw, %d lines of 8", raw, all)
	}
}
