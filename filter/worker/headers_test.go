package worker

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// oddHeaders are headers of lines that mean something to servers or to workers, or that nobody can read.
var oddHeaders = []string{
	"NATS/1.0\r\nStatus: 404\r\n", "NATS/1.0\r\nStatus: 408\r\nDescription: Request Timeout\r\n", "NATS/1.0\r\nStatus: 100\r\n",
	"NATS/1.0\r\nStatus: 423\r\n", "NATS/1.0\r\nStatus: 503\r\n", "NATS/1.0\r\nStatus: 500\r\nDescription: no\r\n",
	"NATS/1.0\r\nStatus: 409\r\nDescription: Consumer Deleted\r\n", "NATS/1.0\r\nStatus: 409\r\nDescription: Message Size Exceeds MaxBytes\r\n",
	"NATS/1.0 404 No Messages\r\n", "NATS/1.0 503\r\n", "NATS/1.0 9\r\n", "NATS/1.0\r\nno colon\r\n", "NATS/1.0\r\n: no name\r\n", "NATS/1.0\r\n",
	"NATS/1.0\r\nNats-Pin-Id: another\r\n", "NATS/1.0\r\nNats-Pin-Id: \r\nNats-Pin-Id: another\r\n",
	"NATS/1.0\r\nNats-Sequence: 1\r\nNats-Subject: x\r\nNats-Stream: X\r\nNats-Time-Stamp: never\r\nNats-Num-Pending: 0\r\n",
	"NATS/1.0\r\nNats-Sequence: 99999999\r\n", "NATS/1.0\r\nNats-Subject: 0.logs.h.other\r\n", "NATS/1.0\r\nQss-Held: 1\r\nQss-Raw: crash\r\n",
	"NATS/1.0\r\nNats-Msg-Id: \r\n", "NATS/1.0\r\nNats-Msg-Id: LOGS.0:1\r\n", "NATS/1.0\r\nNats-Msg-Id: ../\xff\x00 \"\r\n",
	"NATS/1.0\r\nnats-msg-id: a\r\nNats-Msg-Id: b\r\nNats-Msg-Id: c\r\n", "NATS/1.0\r\nNats-Msg-Id: " + strings.Repeat("long", 10_000) + "\r\n",
	"NATS/1.0\r\nX: " + strings.Repeat("y", 60_000) + "\r\n", "NATS/1.0\r\n" + strings.Repeat("X: y\r\n", 5000),
	"NATS/1.0\r\nQss-Part: \r\n", "NATS/1.0\r\nqss-part: 1\r\n",
}

// TestOddHeaders holds that lines are what they are whatever their headers say, also as the first ones of their processes, and without
// any text.
func TestOddHeaders(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	publish(t, url, "first", "text\n") // the stream
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n")
	send := func(pid int, header, data string) {
		fmt.Fprintf(conn, "HPUB logs.h.%d %d %d\r\n%s\r\n%s\r\n", pid, len(header)+2, len(header)+2+len(data), header, data)
	}
	for pid, header := range oddHeaders {
		send(pid, header, "")
	}
	fmt.Fprint(conn, "PING\r\n")
	for answers := bufio.NewReader(conn); ; {
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "-ERR") {
			t.Fatal(line)
		}
		if line == "PONG\r\n" {
			break
		}
	}
	stored := func() uint64 {
		s, err := js.Stream(t.Context(), "LOGS")
		if err != nil {
			t.Fatal(err)
		}
		return s.CachedInfo().State.Msgs
	}
	sent := uint64(1 + len(oddHeaders)) // the server takes them all, in its time
	wait := func() {
		for {
			if s, err := js.Stream(t.Context(), "ANNOTATED"); err == nil && stored() == sent && s.CachedInfo().State.Msgs >= sent {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	_, stop := inProcess(t, url, nil)
	wait()
	for range 2 { // which a second worker reads again
		for pid, header := range oddHeaders {
			for line := range strings.Lines(contextLines + frameLine) {
				m := &nats.Msg{Subject: fmt.Sprintf("logs.h.%d", pid), Data: []byte(line)}
				if _, err := js.PublishMsg(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			send(pid, strings.ReplaceAll(header, "Nats-Msg-Id", "Msg-Id"), "")
			sent += 5
		}
		wait()
		stop()
		_, stop = inProcess(t, url, nil)
	}
	wait()
	stop()
	raw, all := rawLines(t, js)
	if len(raw) > 0 || uint64(all) != stored() {
		t.Errorf("%q raw, %d lines of %d", raw, all, stored())
	}
	for pid := range oddHeaders {
		if got := strings.Join(annotated(t, js, fmt.Sprintf("h.%d", pid), 11), ""); strings.Count(got, " a.so@10 ") != 2 {
			t.Errorf("%q: got %q", oddHeaders[pid][:min(len(oddHeaders[pid]), 100)], got)
		}
	}
}
