package stream

import (
	"io"
	"strings"
	"testing"
	"time"
)

// TestReadAhead holds that a reader which ends at once is ready, and that a pauser can be left while it reads.
func TestReadAhead(t *testing.T) {
	r := newReadAhead(strings.NewReader("abc"))
	if !r.ready(time.Minute) {
		t.Error("not ready with input there")
	}
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "abc" {
		t.Errorf("read %q, %v", got, err)
	}
	in, w := io.Pipe()
	r = newReadAhead(in)
	if r.ready(0) || r.ready(time.Millisecond) {
		t.Error("ready without input")
	}
	r.stop()
	w.Close()
}
