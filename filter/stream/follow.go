package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// pollTime is how often a log that is followed is looked at.
const pollTime = 100 * time.Millisecond

// Follow copies a log that grows to out, until ctx ends or out cannot be written: as tail -F, it waits for a file that is not there, begins
// again with one that was truncated, and goes on with the one that has taken its name once the old one is read. say is told of that. It
// returns the error of a failed read or write, which is a *WriteError.
func Follow(ctx context.Context, name string, out io.Writer, say func(message string)) error {
	f := following{name: name, out: out, say: say}
	defer f.close()
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	for {
		if err := f.look(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return f.copy()
		case <-tick.C:
		}
	}
}

// following is a log that is followed.
type following struct {
	name   string
	out    io.Writer
	say    func(message string)
	file   *os.File // nil if there is none at the moment
	at     int64    // where in it the next read begins
	awaits bool     // it was said that there is no file
}

// look copies what was added since the last time.
func (f *following) look() error {
	if f.file != nil {
		if err := f.copy(); err != nil {
			return err
		}
	}
	now, err := os.Stat(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.file == nil && !f.awaits {
			f.awaits = true
			f.say(f.name + ": waiting for it to appear")
		}
		return nil
	case err != nil:
		return err
	case now.IsDir():
		return fmt.Errorf("read %s: %w", f.name, ErrDirectory)
	case f.file == nil:
		return f.open()
	}
	is, err := f.file.Stat()
	switch {
	case err != nil:
		return err
	case !os.SameFile(is, now):
		if err := f.copy(); err != nil { // what came before the name was taken
			return err
		}
		f.say(f.name + ": another file has the name now: reading that")
		f.close()
		return f.open()
	case now.Size() < f.at:
		f.say(f.name + ": it was truncated: reading it from the beginning")
		f.at = 0
		return f.copy()
	}
	return nil
}

// open opens the file that has the name now. If it has gone again, the next look says so.
func (f *following) open() error {
	file, err := os.Open(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f.file, f.at, f.awaits = file, 0, false
	return f.copy()
}

// copy copies what follows in the file.
func (f *following) copy() error {
	if f.file == nil {
		return nil
	}
	if _, err := f.file.Seek(f.at, io.SeekStart); err != nil {
		return err
	}
	w := &checkedWriter{w: f.out}
	n, err := io.Copy(w, f.file)
	f.at += n
	if w.err != nil {
		return &WriteError{w.err}
	}
	return err
}

// close closes the file.
func (f *following) close() {
	if f.file != nil {
		_ = f.file.Close() // nothing was written to it
		f.file = nil
	}
}

// checkedWriter remembers the error of a write.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(b []byte) (n int, err error) {
	n, err = c.w.Write(b)
	c.err = err
	return n, err
}
