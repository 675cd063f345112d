package symbolize

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"qss-filter/symsrc"
)

// rebuilt is a source whose file is built anew after each answer. It answers from the one that was found until a look has
// seen that there is another.
type rebuilt struct {
	built int
	of    int
	files *symsrc.Files
}

func (r *rebuilt) Frames(context.Context, symsrc.Addr) symsrc.Answer {
	if r.files == nil || r.files.Watch.Changed() {
		n := r.built
		r.of, r.files = n, &symsrc.Files{Elf: "x", Watch: symsrc.NewWatch(func() bool { return r.built != n })}
	}
	r.built++
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: fmt.Sprint("build", r.of)}}, Files: r.files}
}

// TestRebuilt asks a file that is built anew between addresses.
func TestRebuilt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), path, &rebuilt{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Run(t.Context(), nil, iotest.OneByteReader(strings.NewReader("1\n2\n3\n")), &out); err != nil {
		t.Fatal(err)
	}
	if want := "0x1: build1 ??:0\n0x2: build2 ??:0\n0x3: build3 ??:0\n"; out.String() != want {
		t.Errorf("%s instead of %s", out.String(), want)
	}
}
