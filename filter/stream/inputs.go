package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Inputs are files to be read one after the other, as cat does.
type Inputs struct {
	// Names are paths; "-" is standard input.
	Names []string
	// Begin, if not nil, is called before an input is read, with its name and what it is.
	Begin func(name string, info fs.FileInfo)
	// Problem is called with the error of an input that cannot be read. The other inputs are read all the same.
	Problem func(error)
	// Drain is called before an input is read that is a pipe or a device. The function it returns is called after that.
	Drain func(in *os.File) (restore func())
	// Open, if not nil, returns what is read of a regular file. end is called after that.
	Open func(in *os.File) (r io.Reader, end func(), err error)
	// Check, if not nil, is called with the first bytes of an input that is a pipe or a device. Its error is that of the input, of which
	// nothing is read then.
	Check func(begin []byte, name string) error
}

// ErrDirectory is the error of an input that is a directory.
var ErrDirectory = errors.New("is a directory")

// RunInputs carries the inputs through the stream. It ends early with an error only if a write fails: that error is a
// *WriteError.
func (s *Stream) RunInputs(ctx context.Context, in Inputs, out io.Writer) error {
	for _, name := range in.Names {
		err := s.runInput(ctx, name, &in, out)
		var w *WriteError
		if errors.As(err, &w) {
			return w
		}
		if err != nil {
			in.Problem(err)
		}
	}
	return nil
}

// runInput carries one input through the stream.
func (s *Stream) runInput(ctx context.Context, name string, inputs *Inputs, out io.Writer) error {
	in := os.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("read %s: %w", spoken(name), ErrDirectory)
	}
	if inputs.Begin != nil {
		inputs.Begin(name, info)
	}
	r := io.Reader(in)
	begin := &checked{File: in}
	switch {
	case !info.Mode().IsRegular():
		defer inputs.Drain(in)()
		if inputs.Check != nil {
			begin.check = func(head []byte) error { return inputs.Check(head, name) }
			r = begin
		}
	case inputs.Open != nil:
		text, end, err := inputs.Open(in)
		if err != nil {
			return fmt.Errorf("%s: %w", spoken(name), err)
		}
		defer end()
		r = text
	}
	if err = s.Run(ctx, r, out); err != nil {
		err = cmp.Or(begin.wrong, err)
		return fmt.Errorf("%s: %w", spoken(name), err)
	}
	return nil
}

// checked is a file whose first bytes are checked.
type checked struct {
	*os.File
	check func(head []byte) error // nil after the first read
	wrong error                   // what check returned
}

func (c *checked) Read(b []byte) (n int, err error) {
	n, err = c.File.Read(b)
	if n > 0 && c.check != nil {
		if c.wrong = c.check(b[:n]); c.wrong != nil {
			return 0, c.wrong
		}
		c.check = nil
	}
	return n, err
}

// spoken returns an input's name in messages.
func spoken(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}
