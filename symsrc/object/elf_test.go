package object

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// TestOpenStatus checks the status of the errors for damaged files.
func TestOpenStatus(t *testing.T) {
	good, err := os.ReadFile(filepath.Join("testdata", "gcc5.elf"))
	if err != nil {
		t.Fatal(err)
	}
	patch := func(at int, bytes string) []byte {
		b := append([]byte{}, good...)
		copy(b[at:], bytes)
		return b
	}
	for _, c := range []struct {
		name string
		data []byte
		want symsrc.Status
		says string
	}{
		{"empty", nil, symsrc.NotELF, "magic"},
		{"text", []byte("#!/bin/sh\nexit 0\n"), symsrc.NotELF, "magic"},
		{"gzip", []byte("\x1f\x8b\x08\x00rest"), symsrc.UnsupportedCompressed, "compressed"},
		{"cut off in the header", good[:40], symsrc.Corrupted, "header"},
		{"cut off before the sections", good[:900], symsrc.Corrupted, "past the end"},
		{"class 7", patch(4, "\x07"), symsrc.Corrupted, "class"},
		{"section headers elsewhere", patch(40, "\x00\x00\x00\x7f"), symsrc.Corrupted, "past the end"},
		{"section headers of 7 bytes", patch(58, "\x07\x00"), symsrc.Corrupted, "7 bytes"},
		{"no section of names", patch(62, "\xf0\x00"), symsrc.Corrupted, "names"},
		{"program headers elsewhere", patch(32, "\x00\x00\x00\x7f"), symsrc.Corrupted, "program header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(path, c.data, 0o644); err != nil {
				t.Fatal(err)
			}
			f, err := Open(path)
			var status *elf.StatusError
			if f != nil || !errors.As(err, &status) || status.Status != c.want {
				t.Fatalf("%v", err)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not say %q: %v", c.says, err)
			}
		})
	}
}
