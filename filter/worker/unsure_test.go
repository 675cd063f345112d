package worker

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// cutter passes connections on to a server, and breaks one off where a batch is committed: before the server hears of it, or once it
// has answered.
type cutter struct {
	server string
	// armed is set while the next commit is to be lost, and answered where that is its answer.
	armed    atomic.Bool
	answered bool
}

// serve passes connections on until the listener is closed.
func (c *cutter) serve(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.server)
		if err != nil {
			client.Close()
			return
		}
		go c.pass(client, server)
	}
}

// pass carries one connection. Commits and their answers are short; what comes before one in a connection is passed in pieces.
func (c *cutter) pass(client, server net.Conn) {
	var committed atomic.Bool // and the answer is to be lost
	carry := func(from, to net.Conn, stops func([]byte) bool) {
		defer client.Close()
		defer server.Close()
		var tail []byte
		b := make([]byte, 64<<10)
		for {
			n, err := from.Read(b)
			if err != nil {
				return
			}
			tail = append(tail, b[:n]...)
			if stops(tail) {
				return
			}
			tail = append([]byte(nil), tail[max(0, len(tail)-100):]...)
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
	}
	go carry(server, client, func(seen []byte) bool { return committed.Load() && bytes.Contains(seen, []byte(`"batch":`)) })
	carry(client, server, func(seen []byte) bool {
		if !bytes.Contains(seen, []byte(headerBatchCommit)) || !c.armed.CompareAndSwap(true, false) {
			return false
		}
		committed.Store(c.answered)
		return !c.answered
	})
}

// TestCounted holds that lines and frames are counted once where they are stored, whether the server answers or not.
func TestCounted(t *testing.T) {
	for name, answered := range map[string]bool{"the commit is lost": false, "the answer is lost": true} {
		t.Run(name, func(t *testing.T) {
			_, url := broker(t, brokerOptions{})
			js := client(t, url)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			c := &cutter{server: strings.TrimPrefix(url, "nats://"), answered: answered}
			go c.serve(l)
			address := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
			said, stop := inProcess(t, "nats://"+l.Addr().String(), func(o *Options) { o.Metrics = address })
			publish(t, url, "1", contextLines+frameLine+frameLine)
			annotated(t, js, "h.1", 5)
			c.armed.Store(true)
			publish(t, url, "1", frameLine+frameLine)
			annotated(t, js, "h.1", 7)
			publish(t, url, "1", frameLine)
			annotated(t, js, "h.1", 8)
			for frames := 0; frames < 5; {
				frames = metric(t, address, "qss_filter_frames_total")
				if frames > 5 {
					t.Errorf("%d frames of 5", frames)
				}
			}
			if c.armed.Load() {
				t.Error("no commit was lost")
			}
			stop()
			if !strings.Contains(said.String(), "stopped lines=8\n") {
				t.Errorf("want 8 lines:\n%s", said)
			}
			stream, err := js.Stream(t.Context(), "ANNOTATED")
			if err != nil {
				t.Fatal(err)
			}
			info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
			if err != nil || info.State.Msgs != 8 {
				t.Errorf("%d annotated lines of 8: %v", info.State.Msgs, err)
			}
		})
	}
}

// metric reads one metric of a worker.
func metric(t *testing.T, address, name string) (value int) {
	t.Helper()
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in\n%s", name, text)
	}
	value, err = strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return value
}
