package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Connection says how the brokers are reached.
type Connection struct {
	// URLs are those of the servers, between commas.
	URLs string
	// Credentials is a file with a user's JWT and key; CA, Certificate and Key are PEM files. "" for none.
	Credentials, CA, Certificate, Key string
	// LogJSON writes diagnostics as lines of JSON.
	LogJSON bool
	// Stderr takes diagnostics.
	Stderr io.Writer
}

// DefaultURL is that of a server on this machine.
const DefaultURL = nats.DefaultURL

// reconnectWait is how long a lost server is left alone.
const reconnectWait = 500 * time.Millisecond

// connect returns a connection, once a server is there or until the end of ctx. It is never given up afterwards, unless a server
// refuses it for good: then lost is called.
func (c *Connection) connect(ctx context.Context, name string, log *slog.Logger, lost func()) (*nats.Conn, jetstream.JetStream, error) {
	options := []nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.IgnoreAuthErrorAbort(), // a password may be wrong for a while
		nats.ReconnectBufSize(-1),   // what is not sent is an error, and sent again by the caller, which knows whether it still matters
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("disconnected", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("connected again", "server", redacted(nc.ConnectedUrl())) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("from the server", "error", err) }),
		nats.ClosedHandler(func(*nats.Conn) { lost() }),
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	switch {
	case c.Certificate == "" && c.Key != "":
		return nil, nil, wrong("Certificate", "", "want it beside the client's key")
	case c.Certificate != "" && c.Key == "":
		return nil, nil, wrong("Connection.Key", "", "want it beside the client's certificate")
	}
	if c.Certificate != "" {
		options = append(options, nats.ClientCert(c.Certificate, c.Key))
	}
	if !parse(c.URLs) {
		return nil, nil, wrong("URLs", "", "want URL[,URL], such as nats://user:password@host:4222; a % in it is written %25")
	}
	nc, err := nats.Connect(c.URLs, options...)
	for pause := retryPause; absent(err) && ctx.Err() == nil; pause = min(2*pause, maxRetryPause) {
		log.Warn("wait for a server", "servers", redacted(c.URLs), "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			nc, err = nats.Connect(c.URLs, options...)
		}
	}
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			err = fmt.Errorf("%w (%w)", err, ctx.Err())
		}
		return nil, nil, fmt.Errorf("connect to %s: %w", redacted(c.URLs), err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("use JetStream of %s: %w", redacted(c.URLs), err)
	}
	return nc, js, nil
}

// absent reports whether an error is that of a server that is not there yet.
func absent(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) ||
		ok && (network.Op == "dial" || network.Op == "read")
}

// closed says why a connection was given up.
func closed(nc *nats.Conn) error {
	return fmt.Errorf("the server refuses the connection: %w", nc.LastError())
}

// parse reports whether all of the URLs can be parsed. The error would show passwords.
func parse(urls string) bool {
	for one := range strings.SplitSeq(urls, ",") {
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		if _, err := url.Parse(strings.TrimSpace(one)); err != nil {
			return false
		}
	}
	return true
}

// redacted leaves names and passwords out of URLs.
func redacted(urls string) string {
	list := strings.Split(urls, ",")
	for i, url := range list {
		if scheme, rest, ok := strings.Cut(url, "://"); ok {
			list[i] = scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
		} else {
			list[i] = url[strings.LastIndexByte(url, '@')+1:]
		}
	}
	return strings.Join(list, ",")
}
