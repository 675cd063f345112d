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

// output reads what the command writes to a pipe. It ends when no process can write any more; after end was called, when the
// processes left behind are silent, or continue for too long.
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
	// since is the time, by clock, at which the current Read began to wait, 0 while none waits.
	since atomic.Int64
	// stop is closed when the output should end; late is the time at which that was noticed, zero before.
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

// over is called after the command has ended.
func (o *output) over() {}

// end lets the output end as soon as the processes left behind are silent.
func (o *output) end() { o.once.Do(func() { close(o.stop) }) }

// pump reads ahead: on Windows a read of a pipe cannot be canceled. It outlives the output if a process was left behind.
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

// Read waits for output and reads it.
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

// quiet reports whether everything that was read ahead has been passed on.
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

// terminal is not used: the command has no terminal of its own on Windows.
type terminal struct{}

func newTerminal(_, _ *os.File) *terminal { return nil }

func (*terminal) writer(f *os.File) io.Writer { return f }

func isTerminal(*os.File) bool { return false }

func ownSession() *syscall.SysProcAttr { return nil }

func openTerminal(*os.File, bool) (ours, theirs *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}
