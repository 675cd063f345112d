package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// brokerEnv has the options of a server that this test's program is to be, as JSON.
const brokerEnv = "QSS_TEST_BROKER"

func TestMain(m *testing.M) {
	if text := os.Getenv(brokerEnv); text != "" {
		beBroker(text)
	}
	if text := os.Getenv(mortalEnv); text != "" {
		os.Exit(beMortal(text))
	}
	os.Exit(m.Run())
}

// brokerOptions are those of one server.
type brokerOptions struct {
	Name, Dir          string
	Port, ClusterPort  int
	Routes             string
	MaxPayload         int32
	Username, Password string
	// CertFile and KeyFile are those of the server; clients must have a certificate of the same authority.
	CertFile, KeyFile string
}

// beBroker runs a server until it is killed.
func beBroker(text string) {
	var b brokerOptions
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		panic(err)
	}
	o := &server.Options{ServerName: b.Name, Host: "127.0.0.1", Port: b.Port, JetStream: true, StoreDir: b.Dir, MaxPayload: b.MaxPayload,
		Username: b.Username, Password: b.Password, NoSigs: true}
	if b.ClusterPort > 0 {
		o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: b.ClusterPort}
		o.Routes = server.RoutesFromStr(b.Routes)
	}
	if b.CertFile != "" {
		config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: b.CertFile, KeyFile: b.KeyFile, CaFile: b.CertFile, Verify: true})
		if err != nil {
			panic(err)
		}
		o.TLSConfig = config
	}
	s, err := server.NewServer(o)
	if err != nil {
		panic(err)
	}
	if os.Getenv("QSS_TEST_BROKER_LOG") != "" {
		s.ConfigureLogger()
	}
	s.Start()
	select {}
}

// freePorts returns ports of this machine that are free.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// broker starts a server as a process of its own, and returns it with its URL.
func broker(t testing.TB, o brokerOptions) (process *child, url string) {
	t.Helper()
	if o.Port == 0 {
		o.Port = freePorts(t, 1)[0]
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), brokerEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	return start(t, cmd), fmt.Sprintf("nats://127.0.0.1:%d", o.Port)
}

// child is a process that ends with the test.
type child struct {
	*exec.Cmd
	gone chan struct{}
}

func start(t testing.TB, cmd *exec.Cmd) *child {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ends is not asked
		close(c.gone)
	}()
	t.Cleanup(c.kill)
	return c
}

// kill ends a process at once, as a power failure does.
func (c *child) kill() {
	_ = c.Process.Kill() // it may be gone
	<-c.gone
}

// isGone reports whether it has ended.
func (c *child) isGone() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// cluster starts three servers that keep everything three times.
func cluster(t testing.TB) (processes []*child, urls string) {
	t.Helper()
	ports := freePorts(t, 6)
	var routes, all []string
	for i := range 3 {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[3+i]))
	}
	for i := range 3 {
		cmd, url := broker(t, brokerOptions{Name: fmt.Sprintf("n%d", i), Port: ports[i], ClusterPort: ports[3+i], Routes: strings.Join(routes, ",")})
		processes, all = append(processes, cmd), append(all, url)
	}
	return processes, strings.Join(all, ",")
}

// client connects to a server, once that answers for streams.
func client(t testing.TB, urls string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(urls, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := js.AccountInfo(t.Context()); err == nil {
			return js
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// program is the built command.
var program = sync.OnceValues(func() (path string, err error) {
	dir, err := os.MkdirTemp("", "qss-filter")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "qss-filter")
	cmd := exec.Command("go", "build", "-o", path, "qss-filter")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// symbolFlags say where the symbols of the generated logs are, and nothing of this machine.
var symbolFlags = []string{"--no-cache", "--no-debuginfod", "--symbols", "../../testdata/logs/bin", "--rootfs", "../../testdata/script"}

// command is the built command with arguments; what it says on stderr is shown where the test fails.
func command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if os.Getenv("QSS_TEST_SAY") != "" {
		cmd.Stderr = os.Stderr
	}
	t.Cleanup(func() {
		if t.Failed() && said.Len() > 0 {
			t.Logf("%s:\n%s", strings.Join(args, " "), said.String()[max(0, said.Len()-2000):])
		}
	})
	return cmd
}

// startWorker starts a worker.
func startWorker(t testing.TB, urls string, args ...string) *child {
	t.Helper()
	return start(t, command(t, append(append([]string{"worker", "--nats", urls}, args...), symbolFlags...)...))
}
