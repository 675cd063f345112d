// Package breakpad answers from Breakpad symbol files: text with a record a line (Breakpad, docs/symbol_files.md).
//
// A file is read through once, when it is first asked, to learn where its functions stand; what is said of a function is
// read when an address of it is asked for.
package breakpad

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
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

// record is one that says something of addresses.
type record struct {
	addr      uint64
	size, off uint32 // off is where it stands in the text
}

// numbered are the records that others refer to by number, sorted by that.
type numbered []struct{ number, off uint32 }

// index reads the file through, but for what stands below functions.
func (f *File) index() error {
	text := f.text
	for p := 0; p < len(text); {
		line := text[p:]
		n := bytes.IndexByte(line, '\n')
		if line[0] >= 'F' && line[0] <= 'S' { // most lines are of digits
			if err := f.take(line[:n+1], uint32(p)); err != nil {
				return err
			}
		}
		p += n + 1
	}
	for _, list := range [...][]record{f.funcs, f.publics, f.frames} {
		slices.SortFunc(list, func(a, b record) int {
			return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.size, b.size), cmp.Compare(a.off, b.off))
		})
	}
	f.files.sort()
	f.origins.sort()
	f.held.Store(recordSize*int64(cap(f.funcs)+cap(f.publics)+cap(f.frames)) + numberedSize*int64(cap(f.files)+cap(f.origins)))
	return nil
}

// Bytes that a record takes, and one that others refer to.
const recordSize, numberedSize = 16, 8

// keep counts one more of either; a list that grows is there twice for a while.
func (f *File) keep(size int64) error {
	if f.room -= 2 * size; f.room < 0 {
		return fmt.Errorf("%w: its records take too much memory", budget.ErrExceeded)
	}
	return nil
}

// take notes where a record stands. What is malformed is left out.
func (f *File) take(line []byte, at uint32) error {
	x := fields{text: line}
	switch {
	case x.skip("FUNC"):
		x.skip("m")
		return f.add(&f.funcs, x, at, true)
	case x.skip("PUBLIC"):
		x.skip("m")
		return f.add(&f.publics, x, at, false)
	case x.skip("STACK") && x.skip("CFI") && x.skip("INIT"):
		return f.add(&f.frames, x, at, true)
	case x.skip("FILE"):
		return cmp.Or(f.keep(numberedSize), f.files.add(x, at, f.limit))
	case x.skip("INLINE_ORIGIN"):
		return cmp.Or(f.keep(numberedSize), f.origins.add(x, at, f.limit))
	}
	return nil
}

// add appends a record of an address and perhaps a size. One of 4 GiB and more is damage.
func (f *File) add(list *[]record, x fields, at uint32, sized bool) error {
	r := record{addr: x.hex(), off: at}
	if sized {
		n := x.hex()
		if r.size = uint32(n); n>>32 != 0 || n == 0 {
			return nil
		}
	}
	if x.bad {
		return nil
	}
	if len(*list) >= f.limit {
		return fmt.Errorf("more than %d records: %w", f.limit, ErrTooLarge)
	}
	*list = append(*list, r)
	return f.keep(recordSize)
}

// find is the last record at or below an address, nil where there is none.
func find(list []record, addr uint64) *record {
	i := sort.Search(len(list), func(i int) bool { return list[i].addr > addr })
	if i == 0 {
		return nil
	}
	return &list[i-1]
}

func (t *numbered) add(x fields, at uint32, limit int) error {
	n := x.decimal()
	if x.bad || n>>32 != 0 {
		return nil
	}
	if len(*t) >= limit {
		return fmt.Errorf("more than %d records: %w", limit, ErrTooLarge)
	}
	*t = append(*t, struct{ number, off uint32 }{uint32(n), at})
	return nil
}

func (t numbered) sort() {
	slices.SortFunc(t, func(a, b struct{ number, off uint32 }) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.off, b.off))
	})
}

// text is the text of the record of a number, "" where there is none.
func (t numbered) text(all []byte, number uint64) string {
	i := sort.Search(len(t), func(i int) bool { return uint64(t[i].number) >= number })
	if i == len(t) || uint64(t[i].number) != number {
		return ""
	}
	x := fields{text: all[t[i].off:]}
	if !x.skip("FILE") {
		x.skip("INLINE_ORIGIN")
	}
	x.decimal()
	if s := x.rest(); len(s) <= maxName {
		return string(s)
	}
	return ""
}
