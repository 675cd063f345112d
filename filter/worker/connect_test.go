package worker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
		nc, _, err := c.connect(t.Context(), "test", slog.New(slog.DiscardHandler))
		if err == nil {
			nc.Close()
		}
		return err
	}
	for { // until the server is there
		err := try(good)
		if err == nil {
			break
		}
		if _, ok := errors.AsType[*net.OpError](err); !ok && !strings.Contains(err.Error(), "no servers available") {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
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
		"--key other.*":       func(o *Options) { o.Key = "other.*" },
		"nothing in it tells": func(o *Options) { o.In, o.Key = "logs.a", "" },
		"--out logs.x.>":      func(o *Options) { o.Out = "logs.x.>" },
		"--out annotated":     func(o *Options) { o.Out = "annotated" },
		"--durable":           func(o *Options) { o.Durable = "a.b" },
		"--stream":            func(o *Options) { o.Stream = "a b" },
		"--partitions":        func(o *Options) { o.Partitions = 0 },
		"--filters":           func(o *Options) { o.Filters = 0 },
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
			t.Errorf("--subject %s: %v", subject, err)
		}
	}
}
