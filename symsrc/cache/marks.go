package cache

import (
	"encoding/binary"
	"path/filepath"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// databaseDir is the directory of the database, in that of the cache.
const databaseDir = "db"

// marksName is the name of a file in the database's directory, so that it is removed whenever the database is. From it a filter whose
// local files answer learns which answers are stored already. The cache process writes it after the database.
const (
	marksName = "stored"
	marksBits = 17 // of the number of marks
	marksRow  = 8  // that are searched for one
	marksSize = 8 << marksBits
)

// marks is a table of the hashes of stored entries, each among the eight whose place its high bits give. If they are all taken, it replaces
// one of them: the entry of that is then stored again. It is nil as long as there are none.
type marks []uint64

// markOf returns the mark of an entry. It is not 0.
func markOf(place string, at uint64, tag uint8) uint64 {
	const odd, other = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9
	h := (xxhash.Sum64String(place) + at) * odd
	h = (h ^ h>>32 + uint64(tag)) * other
	return h ^ h>>29 | 1
}

// row returns the marks among which that one is.
func (m marks) row(mark uint64) []uint64 {
	first := mark >> (64 - marksBits) &^ (marksRow - 1)
	return m[first : first+marksRow]
}

func (m marks) has(mark uint64) bool { return m != nil && slices.Contains(m.row(mark), mark) }

func (m *marks) set(mark uint64) {
	if *m == nil {
		*m = make(marks, 1<<marksBits)
	}
	if m.has(mark) {
		return
	}
	row := m.row(mark)
	free := slices.Index(row, 0)
	if free < 0 {
		free = int(mark >> 1 % marksRow)
	}
	row[free] = mark
}

func (m marks) unset(mark uint64) {
	if m.has(mark) {
		row := m.row(mark)
		row[slices.Index(row, mark)] = 0
	}
}

// replace records that the page of a key was replaced.
func (m *marks) replace(key, old, value []byte) {
	place := string(key[:len(key)-8])
	if p, err := openPage(key, old); err == nil {
		for _, s := range p.spots {
			m.unset(markOf(place, s.at, s.tag))
		}
	}
	if p, err := openPage(key, value); err == nil {
		for _, s := range p.spots {
			m.set(markOf(place, s.at, s.tag))
		}
	}
}

// appendTo appends the content of the file.
func (m marks) appendTo(dst []byte) []byte {
	for _, mark := range m {
		dst = binary.LittleEndian.AppendUint64(dst, mark)
	}
	return dst
}

// readMarks returns the marks of the database in that directory, none if the file is not as it was written.
func readMarks(dir string) marks {
	b, err := readAtMost(filepath.Join(dir, marksName), marksSize+1)
	if err != nil || len(b) != marksSize {
		return nil
	}
	m := make(marks, 1<<marksBits)
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return m
}
