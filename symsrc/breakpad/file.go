// Package breakpad reads Breakpad symbol files: text with one record per line (Breakpad, docs/symbol_files.md).
//
// The first lookup reads the whole file once to build an index of its functions. The records of a function are read for each lookup of
// one of its addresses.
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

// Limits for hostile files. The largest real files, of browsers, have two million functions, each with less than a megabyte of
// records.
const (
	maxText     = math.MaxUint32 // size of a file, in bytes
	maxRecords  = 1 << 24        // number of records of each kind; a record takes at most 16 bytes of memory
	maxFunction = 16 << 20       // size of the records of a function, in bytes
)

// ErrTooLarge is the error of a file that exceeds the limits.
var ErrTooLarge = errors.New("too large")

// File is a symbol file. It is safe for concurrent use.
type File struct {
	text  []byte
	limit int // number of records of each kind
	work  *budget.Work
	room  int64 // memory that the index may still use, in bytes

	once    sync.Once
	held    atomic.Int64 // memory of the index, in bytes
	err     error
	funcs   []record
	publics []record
	frames  []record // STACK CFI INIT records: the code of each function
	files   numbered
	origins numbered
}

// New returns the file with the given text, which must not change. Its index uses at most room bytes of memory. New fails if the text is
// not that of a symbol file, or is too large.
func New(text []byte, room int64) (*File, error) {
	if !bytes.HasPrefix(text, []byte("MODULE ")) {
		return nil, errors.New("no MODULE record")
	}
	if uint64(len(text)) > maxText {
		return nil, fmt.Errorf("%d bytes of symbols: %w", len(text), ErrTooLarge)
	}
	return &File{text: wholeLines(text), limit: maxRecords, work: budget.NewWork(int64(len(text))), room: room}, nil
}

// Held returns the memory of the index, in bytes.
func (f *File) Held() int64 { return f.held.Load() }

// Frames returns the functions at an address relative to the load address of the module, the innermost inlined one first, or nil if
// nothing is known. It fails if the file cannot be used, with budget.ErrExceeded if it would take too much work, and with
// budget.ErrTooLong if the answer is too long.
func (f *File) Frames(addr uint64) ([]symsrc.Frame, error) {
	f.once.Do(func() {
		if f.err = f.index(); f.err != nil {
			f.funcs, f.publics, f.frames, f.files, f.origins = nil, nil, nil, nil, nil
		}
	})
	if f.err != nil {
		return nil, f.err
	}
	q, err := f.work.Query()
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
			return []symsrc.Frame{frame}, q.AddBytes(len(frame.Func))
		}
	}
	return nil, nil
}

// public returns the PUBLIC record of an address, or nil. Such a symbol has no size, and is assumed to extend to the next one; but if the
// file has call frame information, it ends with the code of its function there.
func (f *File) public(addr uint64) *record {
	r := find(f.publics, addr)
	if r == nil {
		return nil
	}
	if fn := find(f.funcs, addr); fn != nil && fn.addr >= r.addr {
		return nil // it ends at the start of that function
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
		return nil // its end is unknown
	}
	return r
}

// maxName bounds the length of a name, in bytes; only damaged files have longer ones.
const maxName = 1 << 16

// named returns the frame of a function. Dumpers demangle most names, but not all.
func named(name string) symsrc.Frame {
	if len(name) > maxName || name == "<name omitted>" {
		return symsrc.Frame{}
	}
	return symsrc.Frame{Func: demangle.Demangle(name), Linkage: name}
}

// record is a record with an address.
type record struct {
	addr      uint64
	size, off uint32 // off is the offset in the text
}

// numbered holds the records that others refer to by number, sorted by the number.
type numbered []struct{ number, off uint32 }

// index builds the index of all records except those that belong to a function.
func (f *File) index() error {
	text := f.text
	for p := 0; p < len(text); {
		line := text[p:]
		n := bytes.IndexByte(line, '\n')
		if line[0] >= 'F' && line[0] <= 'S' { // most lines begin with a digit
			if err := f.addRecord(line[:n+1], uint32(p)); err != nil {
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

// Memory of a record, and of one in numbered, in bytes.
const recordSize, numberedSize = 16, 8

// reserve counts the memory of one more record. While a list grows, there are two copies of it.
func (f *File) reserve(size int64) error {
	if f.room -= 2 * size; f.room < 0 {
		return fmt.Errorf("%w: its records take too much memory", budget.ErrExceeded)
	}
	return nil
}

// addRecord adds a record to the index. It ignores malformed ones.
func (f *File) addRecord(line []byte, at uint32) error {
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
		return cmp.Or(f.reserve(numberedSize), f.files.add(x, at, f.limit))
	case x.skip("INLINE_ORIGIN"):
		return cmp.Or(f.reserve(numberedSize), f.origins.add(x, at, f.limit))
	}
	return nil
}

// add appends a record with an address and, if sized is set, a size. It ignores sizes of 4 GiB and more, which only damaged files have.
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
	return f.reserve(recordSize)
}

// find returns the last record at or below an address, or nil.
func find(list []record, addr uint64) *record {
	i := sort.Search(len(list), func(i int) bool { return list[i].addr > addr })
	if i == 0 {
		return nil
	}
	return &list[i-1]
}

// add appends a record with a number.
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

// text returns the text of the record with a number, or "". all is the text of the file.
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
