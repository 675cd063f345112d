package importer

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// rootfs is where the demo's files lie.
var rootfs = filepath.Join("..", "..", "testdata", "rootfs")

// symbols answers for the demo's files.
func symbols(t testing.TB, roots ...string) symsrc.Source {
	t.Helper()
	if len(roots) == 0 {
		roots = []string{rootfs}
	}
	finder, err := locate.New(locate.Options{Rootfs: roots})
	if err != nil {
		t.Fatal(err)
	}
	return object.NewSource(finder)
}

// lines returns what an input prints.
func lines(t testing.TB, path string, o Options) (string, error) {
	t.Helper()
	r, err := Open(context.Background(), path, o)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}
