package stream

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// grown is an output that grows while it is looked at.
type grown struct {
	mu   sync.Mutex
	text strings.Builder
}

func (g *grown) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(b)
}

func (g *grown) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

// TestFollow does to a log what programs and logrotate do: it comes, grows, is moved away, is truncated. No line is lost or comes twice.
func TestFollow(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x.log")
	var out, said grown
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Follow(ctx, name, &out, func(m string) { said.Write([]byte(m + "\n")) }) }()
	want := ""
	until := func(g *grown, text string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !strings.HasSuffix(g.String(), text); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("got %q, want it to end with %q", g.String(), text)
			}
		}
	}
	write := func(text string, flags int) {
		t.Helper()
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|flags, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		want += text
	}
	until(&said, "waiting for it to appear\n")
	write("one\n", os.O_APPEND)
	until(&out, want)
	write("two\nhalf", os.O_APPEND)
	until(&out, want)
	write(" a line\n", os.O_APPEND)
	if err := os.Rename(name, name+".1"); err != nil {
		t.Skip(err) // Windows does not rename open files
	}
	write("three\n", os.O_APPEND)
	until(&out, want)
	until(&said, "another file has the name now: reading that\n")
	write("4\n", os.O_TRUNC)
	until(&out, want)
	until(&said, "it was truncated: reading it from the beginning\n")
	write("truncated, and longer than before\n", os.O_TRUNC)
	until(&out, want)
	write("last", os.O_APPEND)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
