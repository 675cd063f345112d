package worker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// publishOptions are those of the command.
func publishOptions(url string, log io.Reader) PublishOptions {
	return PublishOptions{Connection: Connection{URLs: url, Stderr: io.Discard}, Subject: "logs.{host}.{pid}", Stream: "LOGS", Host: "h", PID: "1",
		Partitions: 2, Replicas: 1, Stdin: log}
}

// stored returns what is in the stream of lines.
func stored(t *testing.T, js jetstream.JetStream) string {
	t.Helper()
	stream, err := js.Stream(t.Context(), "LOGS")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(m.Data)
	}
	return all.String()
}

// pieces is a log that comes in pieces; then it is silent for ever.
type pieces struct {
	left   []string
	silent func()
	end    <-chan struct{}
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		p.silent()
		<-p.end
		return 0, io.EOF
	}
	n := copy(b, p.left[0])
	p.left = p.left[1:]
	return n, nil
}

// TestAllThatWasRead ends a publisher whose log goes on: what it has read is stored.
func TestAllThatWasRead(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	var log []string
	for range readAhead {
		log = append(log, strings.Repeat("a line of many\n", 1000))
	}
	log[readAhead-1] += "begin of a line"
	if err := Publish(ctx, publishOptions(url, &pieces{left: log, silent: cancel, end: t.Context().Done()})); err != nil {
		t.Fatal(err)
	}
	if got, want := stored(t, js), strings.Join(log, ""); got != want {
		t.Errorf("%d bytes are stored, of %d", len(got), len(want))
	}
}

// TestInterrupted sends the signal of a Ctrl-C to a publisher: it goes on to the end of the log.
func TestInterrupted(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	cmd := command(t, "publish", "--nats", url)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	publisher := start(t, cmd)
	write := func(text string) {
		if _, err := io.WriteString(in, text); err != nil {
			t.Error(err)
		}
	}
	write("start\n")
	for { // until it is stored: the signal is no surprise then
		if s, err := js.Stream(t.Context(), "LOGS"); err == nil && s.CachedInfo().State.Msgs == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := publisher.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	write("last word 1\nlast ")
	write("word 2")
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	<-publisher.gone
	if status := publisher.ProcessState.String(); status != "exit status 0" {
		t.Error(status)
	}
	if got, want := stored(t, js), "start\nlast word 1\nlast word 2"; got != want {
		t.Errorf("%q is stored, want %q", got, want)
	}
}

// TestGivesUp ends a publisher whose lines are not taken: it says how many they are.
func TestGivesUp(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	client(t, url) // it is there
	asked := make(chan struct{})
	close(asked)
	never := &pieces{left: []string{"one\ntwo\nlong line\nrest"}, silent: func() {}, end: t.Context().Done()}
	log := slog.New(slog.DiscardHandler)
	o := publishOptions(url, never)
	nc, _, err := o.connect(t.Context(), "test", log, func() {})
	if err != nil {
		t.Fatal(err)
	}
	s := &shipper{opt: &o, nc: nc, log: log, session: "s", limit: 6, asked: asked}
	if err := s.run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "4 lines are not stored: ") {
		t.Errorf("there is no server: %v", err)
	}
	again := o // the other one may still be read from
	again.Stdin = strings.NewReader("one\n")
	s = &shipper{opt: &again, nc: nc, log: log, session: "s", limit: 6}
	nc.Close()
	if err := s.run(t.Context()); !errors.Is(err, nats.ErrConnectionClosed) || !strings.HasPrefix(err.Error(), "1 lines are not stored: ") {
		t.Errorf("without a connection: %v", err)
	}
}
