package symbolize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"qss-filter/symsrc"
	"qss-filter/symsrc/symbolize/batch"
)

// numbered answers with the address.
type numbered struct{}

func (numbered) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	if q.Symbol != "" { // it has none
		return symsrc.Answer{}
	}
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: fmt.Sprint("f", q.Offset), File: "/src/a.c", Line: 7}}}
}

// newNumbered returns a Symbolizer of such a source.
func newNumbered(t *testing.T, o Options) *Symbolizer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), path, numbered{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBatches holds that each address has its answer, in order, however the input is cut into pieces.
func TestBatches(t *testing.T) {
	var in, want strings.Builder
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		switch addr := random.Uint64N(1 << 40); random.IntN(4000) {
		case 0, 4, 5, 6:
			in.WriteString("\r\n")
		case 1, 7, 8, 9:
			in.WriteString("nothing\n")
			want.WriteString("nothing: ??\n")
		case 2, 3:
			in.WriteString(strings.Repeat("1", batch.MaxLine+random.IntN(2*batch.MaxLine)) + "\n")
			want.WriteString(strings.Repeat("1", batch.MaxLine) + ": ??\n")
		case 10:
			in.WriteString(strings.Repeat(" ", batch.MaxLine+random.IntN(2*batch.MaxLine)) + "0x10\n")
			want.WriteString("0x10: f16 /src/a.c:7\n")
		default:
			fmt.Fprintf(&in, " %#x\r\n", addr)
			fmt.Fprintf(&want, "%#x: f%d /src/a.c:7\n", addr, addr)
		}
	}
	in.WriteString("0x10") // and no end of the line
	want.WriteString("0x10: f16 /src/a.c:7\n")
	for name, r := range map[string]io.Reader{
		"whole":  strings.NewReader(in.String()),
		"halves": iotest.HalfReader(strings.NewReader(in.String())),
		"bytes":  iotest.OneByteReader(strings.NewReader(in.String())),
		"end":    iotest.DataErrReader(strings.NewReader(in.String())),
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := newNumbered(t, Options{}).Run(t.Context(), nil, r, &out); !errors.Is(err, ErrAddress) {
				t.Errorf("error %v", err)
			}
			if out.String() != want.String() {
				t.Errorf("other answers: %d bytes instead of %d", out.Len(), want.Len())
			}
		})
	}
}

// TestAnswersLeave holds that a caller which waits for each answer gets it.
func TestAnswersLeave(t *testing.T) {
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	s := newNumbered(t, Options{})
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background(), nil, in, out) }()
	for i := range 3 {
		fmt.Fprintf(ask, "%x\n", i)
		line := make([]byte, 64)
		n, err := answers.Read(line)
		if want := fmt.Sprintf("%#x: f%d /src/a.c:7\n", i, i); err != nil || string(line[:n]) != want {
			t.Errorf("%q instead of %q: %v", line[:n], want, err)
		}
	}
	ask.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
