package worker

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qss-filter/filter"
)

// longMessages publishes messages of which one is longer than all that may lie ready, and returns a consumer of them.
func longMessages(t *testing.T, js jetstream.JetStream, n, size, share int) (*streams, jetstream.Consumer) {
	t.Helper()
	in, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "LINES", Subjects: []string{"0.>"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		data := make([]byte, size)
		if i == n/2 {
			data = make([]byte, 2*share)
		}
		if _, err := js.Publish(t.Context(), "0.x", data); err != nil {
			t.Fatal(err)
		}
	}
	s := &streams{in: in, partitions: lineMemory / share}
	c, err := s.consumer(t.Context(), &Options{Durable: "d"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// TestPullBytes holds that no more lines come than there is memory for while none are taken, that the partition is kept meanwhile,
// and that all come once they are, in their order.
func TestPullBytes(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	const n, size, share = 60, 50_000, 200_000
	_, c := longMessages(t, js, n, size, share)
	a, err := ask(js.Conn(), "LINES", "d-0", group, pullLines)
	if err != nil {
		t.Fatal(err)
	}
	p := newPuller(a, share, newLog(io.Discard, false), func() {})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go p.run(ctx)
	time.Sleep(pinned + pullWait)
	var next uint64
	for next < n {
		select {
		case <-p.lost:
			t.Error("another one has the partition")
		case some := <-p.lines:
			held := 0
			for _, m := range some {
				meta, err := m.Metadata()
				if err != nil {
					t.Fatal(err)
				}
				held += len(m.Data)
				if meta.NumDelivered > 1 && meta.Sequence.Stream <= next { // it was not acknowledged for long
					continue
				}
				if next++; meta.Sequence.Stream != next {
					t.Fatalf("%d comes, want %d", meta.Sequence.Stream, next)
				}
			}
			if held > share && len(some) > 1 {
				t.Errorf("%d bytes lie ready, of %d", held, share)
			}
			if err := some[len(some)-1].Ack(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if info, err := c.Info(t.Context()); err != nil || info.Delivered.Stream != n {
		t.Errorf("the last delivery is %d of %d: %v", info.Delivered.Stream, n, err)
	}
}

// TestReplayBytes reads messages again of which one is longer than all that may lie ready.
func TestReplayBytes(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	const n = 1200
	s, _ := longMessages(t, js, n, 1000, 100_000)
	var next uint64
	err := s.replay(t.Context(), js.Conn(), "0.>", 3, n, func(l *line) (more bool, err error) {
		if next == 0 {
			next = 2
		}
		if next++; l.seq != next {
			return false, fmt.Errorf("%d comes, want %d", l.seq, next)
		}
		return !l.last, nil
	})
	if err != nil || next != n {
		t.Errorf("read up to %d of %d: %v", next, n, err)
	}
	if names := s.in.ConsumerNames(t.Context()); len(collect(names.Name())) != 1 {
		t.Error("the reader's consumer is still there")
	}
}

func collect(names <-chan string) (all []string) {
	for name := range names {
		all = append(all, name)
	}
	return all
}

// TestFeedBytes holds that no more of the lines are annotated at once than there is memory for their messages.
func TestFeedBytes(t *testing.T) {
	w := &worker{streams: &streams{partitions: 64}, annotating: make(chan struct{}, 1), now: time.Now}
	w.limit.Store(leastPayload)
	p := &partition{w: w, held: held{w: w}}
	share := w.streams.share()
	one := &process{renew: func() *filter.Filter { return filter.New(filter.Options{Symbols: offsets{}}) }}
	one.restart()
	var lines []*line
	var want bytes.Buffer
	for i := range 100 {
		data := strings.Repeat("word ", share/50) + "\n"
		lines = append(lines, &line{seq: uint64(1 + i), data: []byte(data), of: one})
		want.WriteString(data)
	}
	var got bytes.Buffer
	rounds := 0
	for ; len(lines) > 0; rounds++ {
		out, fed, err := p.feed(t.Context(), nil, lines)
		if err != nil || fed == 0 {
			t.Fatalf("%d lines are fed: %v", fed, err)
		}
		size := 0
		for i := range out {
			got.Write(out[i].data)
			size += len(out[i].data)
		}
		if size > 2*share {
			t.Errorf("%d bytes at once, of %d", size, share)
		}
		lines = lines[fed:]
	}
	if got.String() != want.String() || rounds < 5 {
		t.Errorf("%d bytes of %d in %d rounds", got.Len(), want.Len(), rounds)
	}
}

// TestHeldMemory holds that lines whose ends have not come leave early where they take more memory than there is, and that they are
// whole lines nevertheless once the ends come.
func TestHeldMemory(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	address := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	const budget, keys, size = 1 << 20, 60, 100_000
	inProcess(t, url, func(o *Options) { o.Metrics, o.Memory, o.Idle = address, budget, time.Hour })
	for pid := range keys {
		publish(t, url, fmt.Sprint(pid), contextLines)
	}
	for pid := range keys {
		m := &nats.Msg{Subject: fmt.Sprintf("logs.h.%d", pid), Data: []byte(strings.Repeat("x", size)), Header: nats.Header{headerPart: {"1"}}}
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for early := 0; early < keys/2; time.Sleep(10 * time.Millisecond) { // though each could wait for an hour
		early = 0
		if s, err := js.Stream(t.Context(), "ANNOTATED"); err == nil {
			info, err := s.Info(t.Context(), jetstream.WithSubjectFilter("annotated.>"))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range info.State.Subjects {
				if n == 4 {
					early++
				}
			}
		}
	}
	for metric(t, address, "qss_filter_processes_bytes") > 2*budget { // the last of them may still be on their way
		time.Sleep(10 * time.Millisecond)
	}
	for pid := range keys {
		publish(t, url, fmt.Sprint(pid), " "+frameLine+"text\n")
	}
	var want bytes.Buffer
	log := contextLines + strings.Repeat("x", size) + " " + frameLine + "text\n"
	if err := filter.New(filter.Options{Symbols: offsets{}}).Run(t.Context(), strings.NewReader(log), &want); err != nil {
		t.Fatal(err)
	}
	for pid := range keys {
		if got := strings.Join(annotated(t, js, fmt.Sprintf("h.%d", pid), 6), ""); got != want.String() {
			t.Fatalf("process %d: %s, %q", pid, difference(got, want.String()), got[max(0, len(got)-200):])
		}
	}
}

// oddHeaders are headers of lines that mean something to servers or to workers, or that cannot be read.
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
