package stream

import (
	"bytes"
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
	last   []byte   // the end of what was read, at most lastBytes
	seen   time.Time
	awaits bool // it was said that there is no file
}

// lastBytes is how much of what was read must still be there. A log that was truncated may be longer than before by the next look.
const lastBytes = 256

// look copies what was added since the last time.
func (f *following) look() error {
	if f.file != nil {
		if f.truncated() {
			f.say(f.name + ": it was truncated: reading it from the beginning")
			f.at, f.last = 0, f.last[:0]
		}
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
	}
	return nil
}

// truncated reports whether the file has lost what was read of it. seen is the time of its last change that was looked at.
func (f *following) truncated() bool {
	is, err := f.file.Stat()
	if err != nil || !is.Mode().IsRegular() || is.Size() == f.at && is.ModTime().Equal(f.seen) {
		return false
	}
	if f.seen = is.ModTime(); is.Size() < f.at {
		return true
	}
	now := make([]byte, len(f.last))
	n, err := f.file.ReadAt(now, f.at-int64(len(now)))
	return err == nil && n == len(now) && !bytes.Equal(now, f.last)
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
	f.file, f.at, f.last, f.awaits = file, 0, f.last[:0], false
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
	w := &checkedWriter{w: f.out, last: f.last}
	n, err := io.Copy(w, f.file)
	f.at += n
	f.last = w.last
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

// checkedWriter remembers the error of a write, and the end of what was written.
type checkedWriter struct {
	w    io.Writer
	err  error
	last []byte
}

func (c *checkedWriter) Write(b []byte) (n int, err error) {
	n, err = c.w.Write(b)
	c.err = err
	c.last = append(c.last, b[max(0, n-lastBytes):n]...)
	c.last = append(c.last[:0], c.last[max(0, len(c.last)-lastBytes):]...)
	return n, err
}
