package worker

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"qss-filter/symsrc"
)

// certificate writes a certificate of this machine, that is its own authority, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestSecured connects to a server that wants a certificate and a password.
func TestSecured(t *testing.T) {
	cert, key := certificate(t)
	_, url := broker(t, brokerOptions{CertFile: cert, KeyFile: key, Username: "me", Password: "secret"})
	address := strings.TrimPrefix(url, "nats://")
	good := Connection{URLs: "tls://me:secret@" + address, CA: cert, Certificate: cert, Key: key}
	try := func(c Connection) error {
		nc, _, err := c.connect(t.Context(), "test", slog.New(slog.DiscardHandler), func() {})
		if err == nil {
			nc.Close()
		}
		return err
	}
	if err := try(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Connection){
		"no authority":        func(c *Connection) { c.CA = "" },
		"no certificate":      func(c *Connection) { c.Certificate, c.Key = "", "" },
		"half a certificate":  func(c *Connection) { c.Key = "" },
		"another password":    func(c *Connection) { c.URLs = "tls://me:wrong@" + address },
		"missing credentials": func(c *Connection) { c.Credentials = filepath.Join(t.TempDir(), "none") },
	} {
		c := good
		change(&c)
		if err := try(c); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// login is what a server answers to a client that has said which user it is.
type login string

const (
	hangUp  login = "" // without a word
	welcome login = "PONG\r\n"
	refusal login = "-ERR 'Authorization Violation'\r\n"
	goodbye login = welcome + "-ERR 'Go Away'\r\n"
)

// doorkeeper is a server that answers one client after the other, each as its script says, and closes the connection when it hears next.
func doorkeeper(t *testing.T, answers <-chan login) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		var last net.Conn
		for answer := range answers {
			if last != nil {
				last.Close()
			}
			if last, err = l.Accept(); err != nil {
				return
			}
			if answer == hangUp {
				continue
			}
			_, _ = io.WriteString(last, "INFO {\"server_id\":\"x\",\"version\":\"2.15.2\",\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\n")
			for in := bufio.NewScanner(last); in.Scan() && in.Text() != "PING"; {
			}
			_, _ = io.WriteString(last, string(answer)) // or he is gone
		}
	}()
	return "nats://" + l.Addr().String()
}

// TestRefused holds that neither a server that is not there yet nor a password that is refused for a while ends a connection, and
// that it is called when something does.
func TestRefused(t *testing.T) {
	answers := make(chan login)
	lost := make(chan struct{})
	c := Connection{URLs: doorkeeper(t, answers)}
	go func() { answers <- hangUp; answers <- hangUp; answers <- welcome }()
	nc, _, err := c.connect(t.Context(), "test", slog.New(slog.DiscardHandler), func() { close(lost) })
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, answer := range []login{refusal, refusal, refusal, welcome} {
		select {
		case answers <- answer:
		case <-lost:
			t.Fatalf("the connection was given up: %v", nc.LastError())
		}
	}
	answers <- goodbye
	<-lost
	if err := closed(nc); !strings.HasSuffix(err.Error(), "Go Away") {
		t.Errorf("%v", err)
	}
	go func() { answers <- refusal }()
	if nc, _, err := c.connect(t.Context(), "test", slog.New(slog.DiscardHandler), func() {}); err == nil || !strings.Contains(err.Error(), "Authorization Violation") {
		t.Errorf("the first login is refused: %v, %v", nc, err)
	}
}

// hook is a handler of diagnostics that calls for each.
type hook func(r slog.Record)

func (hook) Enabled(context.Context, slog.Level) bool        { return true }
func (h hook) Handle(_ context.Context, r slog.Record) error { h(r); return nil }
func (h hook) WithAttrs([]slog.Attr) slog.Handler            { return h }
func (h hook) WithGroup(string) slog.Handler                 { return h }

// TestNoServer holds that it is said that a server is waited for, and what becomes of the wait, without passwords.
func TestNoServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	said := ""
	log := slog.New(hook(func(r slog.Record) {
		said = r.Message
		r.Attrs(func(a slog.Attr) bool { said += " " + a.String(); return true })
		cancel()
	}))
	c := Connection{URLs: "nats://me:secret@127.0.0.1:1,me:secret@127.0.0.1:2"}
	_, _, err := c.connect(ctx, "test", log, func() {})
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "connect to nats://127.0.0.1:1,127.0.0.1:2: ") {
		t.Errorf("got %v", err)
	}
	if !strings.HasPrefix(said, "wait for a server servers=nats://127.0.0.1:1,127.0.0.1:2 error=") {
		t.Errorf("it says %q", said)
	}
	for _, urls := range []string{"nats://u:s3cr%zzt@127.0.0.1:1", "nats://127.0.0.1:1,u:s3cr%zzt@127.0.0.1:1", "nats://u:s3cr,zzt@127.0.0.1:1"} {
		c := Connection{URLs: urls}
		_, _, err := c.connect(ctx, "test", log, func() {})
		if _, ok := errors.AsType[*symsrc.OptionError](err); !ok || strings.Contains(err.Error(), "s3cr") || strings.Contains(err.Error(), "zz") {
			t.Errorf("%s: %v", urls, err)
		}
	}
}

// TestSeldom holds that a fault is reported once, until another one is reported or a while has passed.
func TestSeldom(t *testing.T) {
	var b strings.Builder
	log := newLog(&b, false)
	at := time.Now()
	for i, c := range []struct {
		message string
		err     error
		later   time.Duration
		want    bool
	}{
		{"pull", errRead, 0, true},
		{"pull", fmt.Errorf("of 2: %w", errRead), 0, false},
		{"store", errRead, 0, true},
		{"pull", io.EOF, 0, true},
		{"pull", fmt.Errorf("of 2: %w", nats.ErrReconnectBufExceeded), 0, false},
		{"pull", errRead, sayAgain, true},
		{"pull", errRead, 0, false},
		{"connected", nil, 0, true},
		{"connected", nil, 0, true},
		{"pull", errRead, 0, true},
	} {
		b.Reset()
		at = at.Add(c.later)
		r := slog.NewRecord(at, slog.LevelWarn, c.message, 0)
		if c.err != nil {
			r.AddAttrs(slog.Any("error", c.err))
		}
		if err := log.With("partition", i).WithGroup("g").Handler().Handle(t.Context(), r); err != nil || (b.Len() > 0) != c.want {
			t.Errorf("%d: %s, %v: %q, %v", i, c.message, c.err, b.String(), err)
		}
	}
}

var errRead = errors.New("cannot be read")

func TestLog(t *testing.T) {
	var b strings.Builder
	log := newLog(&b, false).With("partition", 3)
	log.Debug("hidden")
	log.Warn("two words", "error", errors.New(`a "b"`), "n", 1)
	if want := "qss-filter: two words partition=3 error=\"a \\\"b\\\"\" n=1\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	b.Reset()
	if newLog(&b, true).Info("m", "n", 1); !strings.Contains(b.String(), `"msg":"m","n":1}`) {
		t.Errorf("got %q", b.String())
	}
}

// TestOptions says which options do not go together.
func TestOptions(t *testing.T) {
	good := Options{Stream: "LOGS", In: "logs.>", Out: "annotated.>", Durable: "d", Partitions: 1, Replicas: 1, Filters: 1}
	if _, err := good.check(); err != nil || good.OutStream != "ANNOTATED" || good.Parallel < 1 {
		t.Errorf("%+v, %v", good, err)
	}
	for want, change := range map[string]func(*Options){
		"worker.Key other.*":       func(o *Options) { o.Key = "other.*" },
		"nothing in it identifies": func(o *Options) { o.In, o.Key = "logs.a", "" },
		"worker.Out logs.x.>":      func(o *Options) { o.Out = "logs.x.>" },
		"worker.Out annotated":     func(o *Options) { o.Out = "annotated" },
		"worker.Durable a.b":       func(o *Options) { o.Durable = "a.b" },
		"worker.Stream a b":        func(o *Options) { o.Stream = "a b" },
		"worker.Partitions":        func(o *Options) { o.Partitions = 0 },
		"worker.Filters":           func(o *Options) { o.Filters = 0 },
	} {
		o := good
		change(&o)
		if _, err := o.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	for subject, ok := range map[string]bool{"logs.{host}.{pid}": true, "a.{pid}": true, "{pid}": false, "logs.>": false, "logs.{x}": false, "": false} {
		p := PublishOptions{Subject: subject, Partitions: 1, Replicas: 1}
		if _, err := p.check(); (err == nil) != ok {
			t.Errorf("subject %s: %v", subject, err)
		}
	}
}
