// Package breakpad answers from Breakpad symbol files: text with a record a line (Breakpad, docs/symbol_files.md).
//
// A file is read through once, when it is first asked, to learn where its functions stand; what is said of a function is
// read when an address of it is asked for.
package breakpad

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/demangle"
)

// Bounds on hostile files. The largest of good ones, of browsers, have two million functions, and no function with as much
// as a megabyte of records.
const (
	maxText     = math.MaxUint32
	maxRecords  = 1 << 24 // of each kind, of which one takes 16 bytes of memory at most
	maxFunction = 16 << 20
)

// ErrTooLarge is the error of a file beyond the bounds.
var ErrTooLarge = errors.New("too large")

// File is a symbol file. It may be asked by several goroutines at once.
type File struct {
	text  []byte
	limit int // of records of each kind
	work  *budget.Work
	room  int64 // bytes that may still be kept of it

	once    sync.Once
	held    atomic.Int64 // bytes kept
	err     error
	funcs   []record
	publics []record
	frames  []record // what STACK CFI INIT says: the code of each function
	files   numbered
	origins numbered
}

// New takes the text of a file, which must not change, and of which no more than room bytes are kept besides. It fails where the
// text does not begin as such a file does, or is too large.
func New(text []byte, room int64) (*File, error) {
	if !bytes.HasPrefix(text, []byte("MODULE ")) {
		return nil, errors.New("no MODULE record")
	}
	if uint64(len(text)) > maxText {
		return nil, fmt.Errorf("%d bytes of symbols: %w", len(text), ErrTooLarge)
	}
	return &File{text: wholeLines(text), limit: maxRecords, work: budget.NewWork(int64(len(text))), room: room}, nil
}

// Held returns how many bytes are kept of the file besides its text.
func (f *File) Held() int64 { return f.held.Load() }

// Frames returns the functions at an address, which counts from where the module is loaded: the innermost inlined one first;
// nil where nothing is known. It fails where the file cannot be used, with budget.ErrExceeded where it would take too much work,
// and with budget.ErrTooLong where the answer is too long.
func (f *File) Frames(addr uint64) ([]symsrc.Frame, error) {
	f.once.Do(func() {
		if f.err = f.index(); f.err != nil {
			f.funcs, f.publics, f.frames, f.files, f.origins = nil, nil, nil, nil, nil
		}
	})
	if f.err != nil {
		return nil, f.err
	}
	q, err := f.work.Question()
	if err != nil {
		return nil, err
	}
	if r := find(f.funcs, addr); r != nil {
		if addr-r.addr < uint64(r.size) {
			return f.function(r, addr, &q)
		}
	}
	if r := f.public(addr); r != nil {
		fields := f.fields(r)
		fields.skip("m")
		fields.hex()
		fields.hex()
		if frame := named(string(fields.rest())); frame.Func != "" {
			frame.Origin = symsrc.SymbolOnly
			return []symsrc.Frame{frame}, q.Say(len(frame.Func))
		}
	}
	return nil, nil
}

// public finds the PUBLIC record of an address. Such a symbol has no size, and is taken to go on up to the next one; but where
// the file says which code belongs together, for the walking of stacks, it stays within that.
func (f *File) public(addr uint64) *record {
	r := find(f.publics, addr)
	if r == nil {
		return nil
	}
	if fn := find(f.funcs, addr); fn != nil && fn.addr >= r.addr {
		return nil // it has ended where that function begins
	}
	if r.addr == addr {
		return r
	}
	if len(f.frames) > 0 {
		c := find(f.frames, addr)
		if c == nil || addr-c.addr >= uint64(c.size) || r.addr < c.addr {
			return nil
		}
		return r
	}
	last := f.publics[len(f.publics)-1].addr
	if n := len(f.funcs); n > 0 {
		last = max(last, f.funcs[n-1].addr)
	}
	if addr >= last {
		return nil // nothing tells how far it goes
	}
	return r
}

// maxName bounds a name; a longer one is damage.
const maxName = 1 << 16

// named returns the frame of a function. Dumpers demangle most names, but not all.
func named(name string) symsrc.Frame {
	if len(name) > maxName || name == "<name omitted>" {
		return symsrc.Frame{}
	}
	return symsrc.Frame{Func: demangle.Demangle(name), Linkage: name}
}
