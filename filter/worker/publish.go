package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// PublishOptions say what a shipper does.
type PublishOptions struct {
	Connection
	// Subject is that of lines, with {host} and {pid} in it.
	Subject string
	// Stream, if not "", is created under the wildcards of Subject where it does not exist.
	Stream string
	// Host and PID stand for what a line's prefix does not name; Host "" is this machine.
	Host, PID string
	// Partitions and Replicas are those of a stream that is created.
	Partitions, Replicas int
	// Stdin is the log.
	Stdin io.Reader
	// Asked, if not nil, is closed to ask for the end, which comes with that of the log.
	Asked <-chan struct{}
}

// Publish sends a log to a stream, line by line: each arrives, in the order of the log, and is not read before there is room for
// it. The end of ctx is taken for the end of the log. Lines that the server does not take are sent again until the end is asked
// for; then the error says how many are not stored.
func Publish(ctx context.Context, o PublishOptions) error {
	log := newLog(o.Stderr, o.LogJSON)
	if o.Host == "" {
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find this machine's name: %w", err)
		}
		o.Host = name
	}
	all, err := o.check()
	if err != nil {
		return err
	}
	ctx, lost := context.WithCancel(ctx)
	defer lost()
	start, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	nc, js, err := o.connect(start, "qss-filter publish on "+o.Host, log, lost)
	if err != nil {
		return err
	}
	defer nc.Close()
	stream, err := insist(start, log, func(ctx context.Context) (jetstream.Stream, error) {
		return openStream(ctx, js, log, jetstream.StreamConfig{Name: o.Stream, Subjects: []string{all.wildcard()},
			SubjectTransform: &jetstream.SubjectTransformConfig{Source: all.wildcard(), Destination: all.partitioned(o.Partitions)},
			AllowDirect:      true, AllowAtomicPublish: true, Replicas: o.Replicas, Duplicates: duplicateWindow})
	})
	if err != nil {
		return err
	}
	limit, err := target(nc, stream, o.filled("*", "*"), leastPart)
	if err != nil {
		return err
	}
	asked, ask := context.WithCancel(ctx)
	defer ask()
	go func() {
		select {
		case <-o.Asked:
			ask()
		case <-asked.Done():
		}
	}()
	s := &shipper{opt: &o, nc: nc, log: log, session: nuid.Next(), limit: limit, asked: asked.Done(), wait: shipWait}
	err = s.run(ctx)
	if nc.IsClosed() {
		err = errors.Join(err, closed(nc))
	}
	return err
}

// shipWait is how long lines are sent again once the end was asked for.
const shipWait = 20 * time.Second

// check returns the pattern of all subjects that lines may have.
func (o *PublishOptions) check() (all pattern, err error) {
	fixed, _, _ := strings.Cut(o.Subject, "{")
	one := o.filled("h", "p")
	if all, err = parsePattern(one + ".*"); err != nil || one == o.Subject || !strings.HasSuffix(fixed, ".") || strings.ContainsAny(one, "*>{}") {
		return all, wrong("Subject", o.Subject, "want a subject such as logs.{host}.{pid}")
	}
	if o.Partitions < 1 || o.Partitions > maxPartitions {
		return all, wrong("Partitions", "", "want 1 to 1024")
	}
	if o.Replicas < 1 {
		return all, wrong("Replicas", "", "want a positive value")
	}
	return parsePattern(fixed + ">")
}

// filled returns the subject of a process.
func (o *PublishOptions) filled(host, pid string) string {
	return strings.ReplaceAll(strings.ReplaceAll(o.Subject, "{host}", host), "{pid}", pid)
}
