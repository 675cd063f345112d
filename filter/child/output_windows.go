package child

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// output reads what the command writes to a pipe. It ends when no process can write any more; and once it should end, when those
// left behind are silent, or go on for too long.
type output struct {
	file    *os.File
	tty     bool
	session bool // never
	pieces  chan piece
	left    []byte
	err     error
	gone    chan struct{}
	maps    *Maps
	link    string // it has none
	// since is when, by clock, the Read began to wait that waits now, 0 while none does.
	since atomic.Int64
	// stop is closed when the output should end, late the time when that was seen, zero before.
	stop chan struct{}
	once sync.Once
	late time.Time
}

type piece struct {
	data []byte
	err  error
}

func newOutput(file *os.File, tty bool, maps *Maps) (*output, error) {
	o := &output{file: file, tty: tty, pieces: make(chan piece), gone: make(chan struct{}), stop: make(chan struct{}), maps: maps}
	go o.pump()
	return o, nil
}

// over is called once the command has ended.
func (o *output) over() {}

// end lets the output end as soon as those left behind are silent.
func (o *output) end() { o.once.Do(func() { close(o.stop) }) }

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
	o.since.Store(int64(clock()))
	defer o.since.Store(0)
	if o.late.IsZero() {
		select {
		case p = <-o.pieces:
			return p, true
		case <-o.stop:
			o.late = time.Now()
		}
	}
	if time.Since(o.late) > respite {
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

// quiet reports whether all that has been read ahead has been passed on.
func (o *output) quiet() bool { return o.since.Load() != 0 }

func (o *output) abandon() { o.close() }

func (o *output) close() {
	select {
	case <-o.gone:
	default:
		close(o.gone)
		o.file.Close()
	}
}

// terminal would be the command's own; here it has none.
type terminal struct{}

func newTerminal(_, _ *os.File) *terminal { return nil }

func (*terminal) writer(f *os.File) io.Writer { return f }

func isTerminal(*os.File) bool { return false }

func ownSession() *syscall.SysProcAttr { return nil }

func openTerminal(*os.File, bool) (ours, theirs *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}
