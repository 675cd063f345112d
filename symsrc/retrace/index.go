package retrace

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"iter"
	"slices"
	"sort"
)

// index is where the classes of a map are, by their names in the log, and by those that they had.
type index struct {
	named, original table
	// thrown are the exceptions below which frames are not shown: the first comment about each, and that of no name if there may be more.
	// formats is where versions of the format begin, by their offsets, with a format in place of a hash.
	thrown, formats table
	// sum is the SHA-256 of what follows the line that has it (R8, ProguardMapChecker), nil if there is no such line.
	sum []byte
}

// table has the offsets of lines by the hashes of names: entries of a hash and an offset, little-endian, in this order.
type table []byte

const (
	indexMagic = "qss-filter map 3\n"
	entrySize  = 8 + 4
	maxLine    = 1 << 20 // of a class, in bytes
	maxFormats = 1 << 10 // of a map
	maxThrown  = 1 << 8
)

// hashOf returns the hash of a name, FNV-1a (RFC draft-eastlake-fnv §2).
func hashOf[S []byte | string](name S) uint64 {
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
	var b indexBuilder
	at, cut := int64(0), false
	for {
		line, err := r.ReadSlice('\n')
		if b.sum != nil {
			_, _ = b.sum.Write(line) // it never fails
		}
		if !cut {
			b.line(bytes.TrimSuffix(line, []byte("\n")), uint32(at))
		}
		at += int64(len(line))
		if cut = errors.Is(err, bufio.ErrBufferFull); err != nil && !cut {
			if !errors.Is(err, io.EOF) {
				return x, err
			}
			break
		}
	}
	if len(b.named) == 0 {
		return x, ErrNoMap
	}
	x = index{named: newTable(b.named), original: newTable(b.original), thrown: newTable(b.thrown), formats: encoded(b.formats)}
	if b.sum != nil {
		x.sum = b.sum.Sum(nil)
	}
	return x, nil
}

// indexBuilder takes the lines of a map.
type indexBuilder struct {
	named, original, thrown, formats []place
	sum                              hash.Hash // of what follows; nil before the line that has one
}

// sumLine begins the line with the checksum of a map, and sumWord the checksum.
const (
	sumLine = "# pg_map_hash: "
	sumWord = "SHA-256 "
)

// line takes a line at an offset.
func (b *indexBuilder) line(line []byte, at uint32) {
	if len(line) == 0 {
		return
	}
	if line[0] == ' ' || line[0] == '\t' { // nearly every line: bytes.TrimLeft takes longer than all the rest
		i := 1
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
		if i < len(line) && line[i] == '#' {
			b.throws(line, at)
		}
		return
	}
	if line[0] != '#' {
		if was, name, ok := classLine(line); ok {
			b.named = append(b.named, place{hashOf(name), at})
			b.original = append(b.original, place{hashOf(was), at})
		}
		return
	}
	if bytes.HasPrefix(line, []byte(sumLine+sumWord)) && b.sum == nil && len(b.named) == 0 {
		b.sum = sha256.New()
	}
	b.throws(line, at)
	if bytes.Contains(line, formatWord) {
		if version, ok := formatIn(line); ok && len(b.formats) < maxFormats {
			b.formats = append(b.formats, place{uint64(parseFormat(version)), at})
		}
	}
}

// throwsWord stands before the name of an exception in a condition, and rewriteWord is the ID of a comment with conditions.
var throwsWord, rewriteWord = []byte("throws(L"), []byte("rewriteFrame")

// throws takes the exceptions of a comment about frames. One without a condition is about all.
func (b *indexBuilder) throws(line []byte, at uint32) {
	rest := line
	for {
		_, after, found := bytes.Cut(rest, throwsWord)
		if !found {
			break
		}
		var name []byte
		name, rest, _ = bytes.Cut(after, []byte(";"))
		b.addThrown(hashOf(bytes.ReplaceAll(name, []byte("/"), []byte("."))), at)
	}
	if len(rest) == len(line) && bytes.Contains(line, rewriteWord) || bytes.IndexByte(line, '\\') >= 0 { // words may be written as escapes
		b.addThrown(anyName, at)
	}
}

// anyName is the hash of no name.
var anyName = hashOf("")

// addThrown adds an exception by the hash of its name. The last place is that of the others.
func (b *indexBuilder) addThrown(hash uint64, at uint32) {
	switch {
	case slices.ContainsFunc(b.thrown, func(p place) bool { return p.hash == hash }):
	case len(b.thrown) < maxThrown-1:
		b.thrown = append(b.thrown, place{hash, at})
	case len(b.thrown) < maxThrown && !slices.ContainsFunc(b.thrown, func(p place) bool { return p.hash == anyName }):
		b.thrown = append(b.thrown, place{anyName, at})
	}
}

// newTable returns a table of entries, sorted by their hashes.
func newTable(all []place) table {
	slices.SortFunc(all, func(a, b place) int {
		if a.hash != b.hash { // nearly always, and cmp.Or would compare both
			return cmp.Compare(a.hash, b.hash)
		}
		return cmp.Compare(a.at, b.at)
	})
	return encoded(all)
}

// encoded returns a table of entries in their order.
func encoded(all []place) table {
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
	h, n := hashOf(name), len(t)/entrySize
	return func(yield func(uint32) bool) {
		for i := sort.Search(n, func(i int) bool { return t.entry(i).hash >= h }); i < n; i++ {
			p := t.entry(i)
			if p.hash != h || !yield(p.at) {
				return
			}
		}
	}
}

// formatAt returns the version of the format of the class at an offset.
func (x *index) formatAt(at uint32) (version format) {
	for i := range len(x.formats) / entrySize {
		p := x.formats.entry(i)
		if p.at > at {
			break
		}
		version = format(p.hash)
	}
	return version
}

// tables returns those of an index.
func (x *index) tables() [4]*table { return [...]*table{&x.named, &x.original, &x.thrown, &x.formats} }

// encode returns an index as a cache keeps it: the length of each table, and then the tables, and the checksum if there is one.
func (x *index) encode() []byte {
	b := []byte(indexMagic)
	for _, t := range x.tables() {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(*t)))
	}
	for _, t := range x.tables() {
		b = append(b, *t...)
	}
	return append(b, x.sum...)
}

// decode reads an index of a map of that many bytes. It fails on what is none.
func (x *index) decode(b []byte, size int) bool {
	b, ok := bytes.CutPrefix(b, []byte(indexMagic))
	if !ok || len(b) < 4*len(x.tables()) {
		return false
	}
	lengths, b := b, b[4*len(x.tables()):]
	for i, t := range x.tables() {
		n := uint64(binary.LittleEndian.Uint32(lengths[4*i:]))
		if n > uint64(len(b)) || n%entrySize != 0 {
			return false
		}
		*t, b = table(b[:n]), b[n:]
		for k := range len(*t) / entrySize {
			if int64(t.entry(k).at) >= int64(size) {
				return false
			}
		}
	}
	if len(b) > 0 {
		x.sum = b
	}
	return (len(b) == 0 || len(b) == sha256.Size) && len(x.named) > 0
}
