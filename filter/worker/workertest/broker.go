// Package workertest is a NATS server, and a reader of its streams, as a command for tests' scripts.
package workertest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Main is the command:
//
//	serve URL DIR          be a server that keeps streams in DIR, until the end
//	wait URL               wait for that server
//	cat URL STREAM N       wait for so many messages in a stream, and print them by subject
func Main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("want serve, wait or cat, and a URL")
	}
	where, err := url.Parse(args[1])
	if err != nil {
		return err
	}
	switch {
	case args[0] == "serve" && len(args) == 3:
		return serve(where, args[2])
	case args[0] == "wait":
		js, err := connect(where)
		if err != nil {
			return err
		}
		for _, err = js.AccountInfo(context.Background()); err != nil; _, err = js.AccountInfo(context.Background()) {
			time.Sleep(20 * time.Millisecond)
		}
		return nil
	case args[0] == "cat" && len(args) == 4:
		n, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return cat(where, args[2], n)
	}
	return fmt.Errorf("%s: not understood", args[0])
}

func serve(where *url.URL, dir string) error {
	port, err := strconv.Atoi(where.Port())
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{Host: where.Hostname(), Port: port, JetStream: true, StoreDir: dir})
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return nil
}

func connect(where *url.URL) (jetstream.JetStream, error) {
	nc, err := nats.Connect(where.String(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		return nil, err
	}
	return jetstream.New(nc)
}

func cat(where *url.URL, stream string, n int) error {
	js, err := connect(where)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for _, err = js.Stream(ctx, stream); err != nil; _, err = js.Stream(ctx, stream) {
		time.Sleep(20 * time.Millisecond)
	}
	c, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	messages, err := c.Messages()
	if err != nil {
		return err
	}
	var all []jetstream.Msg
	for range n {
		m, err := messages.Next()
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b jetstream.Msg) int { return strings.Compare(a.Subject(), b.Subject()) })
	for _, m := range all {
		fmt.Printf("%s %s", m.Subject(), m.Data())
		if len(m.Data()) == 0 {
			fmt.Println()
		}
	}
	return nil
}
