package tree

import (
	"bytes"
	"strings"
	"testing"
)

// A bar ends although a log was shorter than it was when it was listed, longer, or empty.
func TestProgressEnds(t *testing.T) {
	for _, test := range []struct {
		name  string
		sizes []int64
		read  []int
	}{
		{"no logs", nil, nil},
		{"empty", []int64{0}, []int{0}},
		{"shorter", []int64{100, 50}, []int{40, 50}},
		{"nothing read", []int64{100}, []int{0}},
		{"all", []int64{100}, []int{60, 40}},
		{"longer", []int64{10}, []int{60}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var logs []logFile
			for _, size := range test.sizes {
				logs = append(logs, logFile{size: size})
			}
			var out bytes.Buffer
			p := newProgress(&out, logs)
			for _, n := range test.read {
				p.bytes(int64(n))
				p.file(0)
			}
			p.frame(true)
			p.end()
			if text := out.String(); !strings.Contains(text, "1 frames, 1 unresolved") || !strings.Contains(text, "100 %") {
				t.Errorf("the bar ended as %q", text)
			}
		})
	}
}
