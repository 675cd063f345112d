package child

import (
	"io"
	"os"
	"time"
)

// ending tells the readers that the command has ended.
type ending struct {
	ended  chan struct{}
	closed bool
}

func newEnding() (*ending, error) { return &ending{ended: make(chan struct{})}, nil }

func (e *ending) close() {
	if !e.closed {
		e.closed = true
		close(e.ended)
	}
}

func (e *ending) release() {}

// output reads what the command writes to a pipe. It ends when nobody can write any more; and after the command's end,
// when those left behind are silent, or go on for too long.
type output struct {
	file   *os.File
	tty    bool
	pieces chan piece
	left   []byte
	err    error
	gone   chan struct{}
	ended  chan struct{}
	maps   *Maps
	over   time.Time
}

type piece struct {
	data []byte
	err  error
}

func newOutput(file *os.File, tty bool, e *ending, maps *Maps) *output {
	o := &output{file: file, tty: tty, pieces: make(chan piece), gone: make(chan struct{}), ended: e.ended, maps: maps}
	go o.pump()
	return o
}

// pump reads ahead: a read of a pipe cannot be given up here. It outlives the output where a process was left behind.
func (o *output) pump() {
	for {
		b := make([]byte, 64<<10)
		n, err := o.file.Read(b)
		select {
		case o.pieces <- piece{b[:n], err}:
		case <-o.gone:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read reads what there is, and waits for it.
func (o *output) Read(b []byte) (int, error) {
	for len(o.left) == 0 {
		if o.err != nil {
			return 0, o.err
		}
		p, ok := o.next()
		if !ok {
			return 0, io.EOF
		}
		o.left, o.err = p.data, p.err
	}
	o.maps.touch()
	n := copy(b, o.left)
	o.left = o.left[n:]
	return n, nil
}

func (o *output) next() (p piece, ok bool) {
	if o.over.IsZero() {
		select {
		case p = <-o.pieces:
			return p, true
		case <-o.ended:
			o.over = time.Now()
		}
	}
	if time.Since(o.over) > linger {
		return p, false
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case p = <-o.pieces:
		return p, true
	case <-late.C:
		return p, false
	}
}

func (o *output) abandon() { o.close() }

func (o *output) close() {
	select {
	case <-o.gone:
	default:
		close(o.gone)
		o.file.Close()
	}
}
