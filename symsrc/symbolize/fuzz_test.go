package symbolize

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// echo names every address after itself.
type echo struct{}

// Frames answers one query.
func (echo) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: "f", File: "/a.c", Line: int(q.Offset & 0xffff)}}, Files: &symsrc.Files{}}
}

// FuzzAddresses reads anything as addresses, one a line: each has one answer, in order, and as JSON one object.
func FuzzAddresses(f *testing.F) {
	f.Add([]byte("0x10\n20\r\n\n0X30 \nzz\n123456789abcdef01\n"))
	f.Add([]byte("\"\\\x1b[31m\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		asked := 0
		for line := range bytes.Lines(in) {
			if len(bytes.TrimSpace(line)) > 0 {
				asked++
			}
		}
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			s := &Symbolizer{opt: Options{JSON: asJSON}, symbols: echo{}}
			_ = s.Run(context.Background(), nil, bytes.NewReader(in), &out) // an address that is none is told
			if n := strings.Count(out.String(), "\n"); n != asked {
				t.Fatalf("%d answers to %d: %q", n, asked, out.String())
			}
			for line := range bytes.Lines(out.Bytes()) {
				if asJSON && !json.Valid(line) {
					t.Fatalf("%q", line)
				}
			}
		}
	})
}
