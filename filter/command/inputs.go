package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"qss-filter/filter"
	"qss-filter/filter/doctor"
	"qss-filter/filter/stream"
	"qss-filter/symsrc/unpack"
)

// sniffed is the number of bytes at the start of a file that decide whether it is text.
const sniffed = 8 << 10

// beginning returns the first bytes that a read of a regular file would return, without reading them.
func beginning(in *os.File) []byte {
	at, err := in.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil
	}
	b := make([]byte, sniffed)
	n, _ := in.ReadAt(b, at)
	return b[:n]
}

// opened returns a reader of a regular file: of its content if that is compressed. What is not text is refused if it would go to a
// terminal.
func (c *config) opened(in *os.File) (r io.Reader, end func(), err error) {
	begin := beginning(in)
	if unpack.Packed(begin) {
		r, end, err = unpack.Reader(bufio.NewReader(in))
		if end == nil {
			end = func() {}
		}
		return r, end, err
	}
	if isTerminal(c.out) {
		if err := doctor.NotText(begin, in.Name()); err != nil {
			return nil, nil, err
		}
	}
	return in, func() {}, nil
}

// checked returns a function that refuses what begins as a file of another format, if it would go to a terminal; otherwise nil.
func (c *config) checked() func(begin []byte, name string) error {
	if !isTerminal(c.out) {
		return nil
	}
	return func(begin []byte, name string) error {
		if name == "-" {
			name = "FILE"
		}
		return doctor.OtherFile(begin, name)
	}
}

// wholeFiles lets frames wait for mappings below them if all inputs are files, and one has a list of mappings: the lines of a
// file need not leave at once.
func (c *config) wholeFiles(o *filter.Options) {
	if o.Lookahead != (filter.Lookahead{}) || len(c.command) > 0 || c.style.follow {
		return
	}
	listed := false
	for _, name := range c.inputs {
		regular, has := c.listsMappings(name)
		if !regular {
			return
		}
		listed = listed || has
	}
	if listed {
		o.Lookahead = filter.WholeFile
	}
}

// listsMappings reports whether an input is a regular file, and whether that has a list of mappings.
func (c *config) listsMappings(name string) (regular, listed bool) {
	if name == "-" {
		return false, false
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false, false
	}
	in, err := os.Open(name)
	if err != nil {
		return false, false
	}
	defer in.Close()
	r, end, err := c.opened(in)
	if err != nil {
		return true, false
	}
	defer end()
	return true, filter.ListsMappings(r)
}

// isDirectory reports whether an input could not be read because it is a directory.
func isDirectory(err error) bool {
	return errors.Is(err, stream.ErrDirectory) || errors.Is(err, syscall.EISDIR)
}

// inputProblem returns an error about an input, with what reads the logs of a directory.
func inputProblem(err error) error {
	if isDirectory(err) {
		return fmt.Errorf("%w (qss-filter tree DIR --output OUT reads the logs in one)", err)
	}
	return err
}
