package retrace

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"slices"
	"sort"
)

// index is where the classes of a map are, by their names in the log, and by those that they had.
type index struct{ named, original table }

// table has the offsets of lines by the hashes of names: entries of a hash and an offset, little-endian, in this order.
type table []byte

const (
	indexMagic = "qss-filter map 1\n"
	entrySize  = 8 + 4
	maxLine    = 1 << 20 // of a class, in bytes
)

// hash returns the hash of a name, FNV-1a (RFC draft-eastlake-fnv §2).
func hash[S []byte | string](name S) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

// place is an entry of a table.
type place struct {
	hash uint64
	at   uint32
}

// newIndex reads a map. A line that is too long is none of a class.
func newIndex(in io.Reader) (x index, err error) {
	r := bufio.NewReaderSize(in, maxLine)
	var named, original []place
	at, cut := int64(0), false
	for {
		line, err := r.ReadSlice('\n')
		if c := bytes.TrimSuffix(line, []byte("\n")); !cut && len(c) > 0 && c[0] != ' ' && c[0] != '\t' && c[0] != '#' {
			if was, name, ok := classLine(c); ok {
				named = append(named, place{hash(name), uint32(at)})
				original = append(original, place{hash(was), uint32(at)})
			}
		}
		at += int64(len(line))
		if cut = errors.Is(err, bufio.ErrBufferFull); err != nil && !cut {
			if !errors.Is(err, io.EOF) {
				return x, err
			}
			break
		}
	}
	if len(named) == 0 {
		return x, ErrNoMap
	}
	return index{newTable(named), newTable(original)}, nil
}

// newTable returns a table of entries.
func newTable(all []place) table {
	slices.SortFunc(all, func(a, b place) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) })
	t := make(table, 0, len(all)*entrySize)
	for _, p := range all {
		t = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(t, p.hash), p.at)
	}
	return t
}

// entry returns the i-th entry.
func (t table) entry(i int) place {
	b := t[i*entrySize:]
	return place{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])}
}

// all returns the offsets of the lines whose name has the hash of that one.
func (t table) all(name string) iter.Seq[uint32] {
	h, n := hash(name), len(t)/entrySize
	return func(yield func(uint32) bool) {
		for i := sort.Search(n, func(i int) bool { return t.entry(i).hash >= h }); i < n; i++ {
			p := t.entry(i)
			if p.hash != h || !yield(p.at) {
				return
			}
		}
	}
}

// encode returns an index as a cache keeps it.
func (x *index) encode() []byte {
	b := binary.LittleEndian.AppendUint32([]byte(indexMagic), uint32(len(x.named)))
	return append(append(b, x.named...), x.original...)
}

// decode reads an index of a map of that many bytes. It fails on what is none.
func (x *index) decode(b []byte, size int) bool {
	b, ok := bytes.CutPrefix(b, []byte(indexMagic))
	if !ok || len(b) < 4 {
		return false
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n == 0 || n%entrySize != 0 || int64(len(b)) != 2*n {
		return false
	}
	x.named, x.original = table(b[:n]), table(b[n:])
	for _, t := range []table{x.named, x.original} {
		for i := range len(t) / entrySize {
			if int64(t.entry(i).at) >= int64(size) {
				return false
			}
		}
	}
	return true
}
