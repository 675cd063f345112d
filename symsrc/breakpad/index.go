package breakpad

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"

	"qss-filter/symsrc/budget"
)

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
