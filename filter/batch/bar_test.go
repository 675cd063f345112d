package batch

import (
	"bytes"
	"strings"
	"testing"
)

// TestBar says what a bar of one input shows, and that lines go above it until its end.
func TestBar(t *testing.T) {
	for _, whole := range []bool{true, false} {
		var out bytes.Buffer
		b := NewBar(&out, "traces")
		b.Set(1, 4)
		if _, err := b.Write([]byte("a line\n")); err != nil {
			t.Error(err)
		}
		b.Set(2, 4)
		if whole {
			b.Set(4, 4)
			b.Set(1, 4) // too late
		}
		b.End()
		text := out.String()
		if !strings.Contains(text, "traces ") || !strings.Contains(text, "a line\n") || strings.Contains(text, "100 %") != whole || whole == strings.HasSuffix(text, "50 %, 0s\n") {
			t.Errorf("whole %v: %q", whole, text)
		}
		if _, err := b.Write([]byte("late\n")); err == nil {
			t.Error("a line goes to a bar that has ended")
		}
	}
}
