package debuginfod

import (
	"fmt"
	"io"
	"os"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
)

// elfInfo is what is known of a verified file.
type elfInfo struct {
	debug bool // it has .debug_info
}

// verifyFile opens a file as verify wants it.
func verifyFile(path string, want symsrc.BuildID) (*elfInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return verify(f, st.Size(), want)
}

// verify checks that a file is an ELF file of that build ID whose end is not missing: servers may not tell its size. A missing
// end is locate.ErrCutOff.
func verify(r io.ReaderAt, size int64, want symsrc.BuildID) (*elfInfo, error) {
	head, err := locate.ReadHead(r, size)
	switch {
	case err != nil:
		return nil, fmt.Errorf("damaged ELF file: %w", err)
	case head.ID == "":
		return nil, fmt.Errorf("no build ID instead of %s", want)
	case head.ID != want:
		return nil, fmt.Errorf("build ID %s instead of %s", head.ID, want)
	}
	return &elfInfo{head.Debug}, nil
}
