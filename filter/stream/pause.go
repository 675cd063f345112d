package stream

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"time"
)

// pauser is a reader that knows whether the next Read would wait.
type pauser interface {
	io.Reader
	// ready reports whether a Read would return within d.
	ready(d time.Duration) bool
	// stop releases the resources of the pauser. The underlying reader stays open.
	stop()
}

// yielding is a pauser that releases a lock while it waits.
type yielding struct {
	pauser
	busy *sync.Mutex
}

func (y yielding) ready(d time.Duration) bool {
	if d == 0 {
		return y.pauser.ready(0)
	}
	y.busy.Unlock()
	defer y.busy.Lock()
	return y.pauser.ready(d)
}

// Read releases the lock while it reads.
func (y yielding) Read(b []byte) (int, error) {
	y.busy.Unlock()
	defer y.busy.Lock()
	return y.pauser.Read(b)
}

// readAhead is a pauser for any reader: a goroutine reads one piece ahead.
type readAhead struct {
	pieces chan piece
	done   chan struct{}
	now    piece
	have   bool
}

// piece is the outcome of one Read.
type piece struct {
	data []byte
	err  error
}

func newReadAhead(in io.Reader) *readAhead {
	r := &readAhead{pieces: make(chan piece), done: make(chan struct{})}
	go func() {
		// Two buffers: one is filled while the other is being read from.
		bufs := [2][]byte{make([]byte, 64<<10), make([]byte, 64<<10)}
		for i := 0; ; i ^= 1 {
			n, err := in.Read(bufs[i])
			select {
			case r.pieces <- piece{bufs[i][:n], err}:
			case <-r.done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return r
}

func (r *readAhead) ready(d time.Duration) bool {
	if r.have {
		return true
	}
	if d == 0 {
		select {
		case r.now = <-r.pieces:
			r.have = true
		default:
		}
		return r.have
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case r.now = <-r.pieces:
		r.have = true
	case <-t.C:
	}
	return r.have
}

// Read waits for a piece only if none is there.
func (r *readAhead) Read(b []byte) (int, error) {
	if !r.have {
		r.now, r.have = <-r.pieces, true
	}
	n := copy(b, r.now.data)
	r.now.data = r.now.data[n:]
	if len(r.now.data) > 0 {
		return n, nil
	}
	if r.now.err != nil {
		return n, r.now.err
	}
	r.have = false
	return n, nil
}

func (r *readAhead) stop() { close(r.done) }

// Steady returns a reader whose input does not pause: Run then waits for the rest of each line, however long that takes. It is
// for files, compressed ones included.
func Steady(in io.Reader) io.Reader { return steady{in} }

type steady struct{ io.Reader }

func (steady) ready(time.Duration) bool { return true }
func (steady) stop()                    {}

// pauses returns a pauser that reads from a reader, or the reader itself if it is one.
func pauses(in io.Reader) pauser {
	switch p := in.(type) {
	case pauser:
		return p
	case *bytes.Buffer, *bytes.Reader, *strings.Reader: // which have all of it
		return steady{in}
	}
	return newPauser(in)
}
