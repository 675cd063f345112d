package sourcemap

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"sort"
	"sync"
	"unicode/utf8"

	"qss-filter/symsrc/diskcache"
)

// code is generated code. Places in it are lines, and columns in UTF-16 units, both counted from 0.
type code struct {
	text   []byte
	pieces *pieces  // what is read of the text when it is wanted, nil if it is there
	starts []uint32 // of its lines
	mu     sync.Mutex
	wide   map[int][]uint32 // row.before of the lines that were asked for
	long   map[int][]uint32 // row.before of the lines that are longer than a step and not ASCII, if there are pieces
	lexed  lexed
	keep   func(functions []byte) // keeps what the index has of functions, nil if that is not wanted
}

// step is how far the counted places of a line are apart, in bytes.
const step = 1 << 12

func newCode(text []byte) *code {
	c := &code{text: text, starts: make([]uint32, 1, 16), wide: map[int][]uint32{}}
	for i := 0; ; {
		n := bytes.IndexByte(text[i:], '\n')
		if n < 0 {
			return c
		}
		i += n + 1
		c.starts = append(c.starts, uint32(i))
	}
}

// openCode returns the code in a file, and the debug ID that it states. It returns nil for a file that cannot be read, that is too large, and
// that is Hermes' byte code or a RAM bundle: less is known then. An index of a large one is kept.
func openCode(path string, kept *diskcache.Kept) (c *code, id string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
		return nil, ""
	}
	if info.Size() < worthKept {
		text, err := os.ReadFile(path)
		if err != nil || isBinary(text) {
			return nil, ""
		}
		return newCode(text), debugID(text)
	}
	of := &text{path: path, info: info}
	keep := func(index []byte) {
		if now, err := os.Stat(path); err == nil && of.is(now) {
			kept.Store(path, index)
		}
	}
	if index, ok := kept.Load(path); ok {
		if c, id, ok = of.decodeCode(index, keep); ok {
			return c, id
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, ""
	}
	defer f.Close()
	var index []byte
	if of.whole(f, func(text []byte) error {
		if !isBinary(text) {
			index = newCode(text).encode(debugID(text))
		}
		return nil
	}) != nil || index == nil || of.changed(f) {
		return nil, ""
	}
	kept.Store(path, index)
	c, id, _ = of.decodeCode(index, keep)
	return c, id
}

// isBinary reports whether a file is Hermes' byte code or a RAM bundle.
func isBinary(text []byte) bool {
	return bytes.HasPrefix(text, byteCode) || bytes.HasPrefix(text, ramBundle)
}

// differs reports whether there is a file at a path with other code.
func (c *code) differs(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if info.Size() != int64(len(c.text)) {
		return true
	}
	text, err := os.ReadFile(path)
	c.pieces.want(0, len(c.text))
	return err == nil && !bytes.Equal(text, c.text)
}

// line returns a line without its end. ok is false if there is none.
func (c *code) line(n int) (text []byte, ok bool) {
	if n < 0 || n >= len(c.starts) {
		return nil, false
	}
	if text = c.text[c.starts[n]:]; n+1 < len(c.starts) {
		text = c.text[c.starts[n] : c.starts[n+1]-1]
	}
	return text, true
}

// row is a line of code, for which places are counted. Of its text, what is wanted is there.
type row struct {
	of    *code
	begin int  // of the line
	have  span // what is known to be there
	text  []byte
	// before are the units before each step of a line that is not ASCII, nil for others.
	before []uint32
	// seen is the column that was asked for last in such a line, and its offset: the next one is behind it, mostly.
	seen struct{ column, offset int }
}

// row returns a line. ok is false if there is none.
func (c *code) row(n int) (r row, ok bool) {
	if r.text, ok = c.line(n); !ok {
		return r, false
	}
	r.of, r.begin = c, int(c.starts[n])
	if c.pieces != nil && len(r.text) > step {
		r.before = c.long[n]
		return r, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.before, ok = c.wide[n]; !ok {
		if len(c.wide) >= maxRows {
			clear(c.wide)
		}
		r.want(0, len(r.text))
		r.before = unitsBefore(r.text)
		c.wide[n] = r.before
	}
	return r, true
}

// want has a part of the line read, as far as that is there.
func (r *row) want(from, to int) {
	if from < r.have.at || to > r.have.end {
		r.read(max(from, 0), min(to, len(r.text)))
	}
}

// read has a part of the line read, and the blocks that it is in.
func (r *row) read(from, to int) {
	if r.of == nil || from >= to {
		return
	}
	begin, end := (r.begin+from)/blockSize*blockSize, ((r.begin+to-1)/blockSize+1)*blockSize
	if r.of.pieces != nil && r.of.pieces.exact {
		begin, end = r.begin+from, r.begin+to
	}
	r.of.pieces.want(r.begin+from, r.begin+to)
	r.have = span{begin - r.begin, end - r.begin}
}

// maxRows bounds the lines whose places are remembered.
const maxRows = 1 << 12

// offset returns the offset of a column, and has the text on both of its sides read. ok is false if the line is shorter.
func (r *row) offset(column int) (offset int, ok bool) {
	if column > len(r.text) || r.before == nil {
		r.want(column-1, column+1)
		return column, column <= len(r.text)
	}
	k := max(sort.Search(len(r.before), func(i int) bool { return int(r.before[i]) > column })-1, 0)
	at, i := int(r.before[k]), k*step
	stop := min(i+step+utf8.UTFMax, len(r.text)) // the next step has more units before it
	r.want(i-1, stop+1)
	if r.seen.column > at && r.seen.column <= column {
		at, i = r.seen.column, r.seen.offset
	}
	for i < stop && !utf8.RuneStart(r.text[i]) { // it was counted at its begin
		i++
	}
	for i < stop && at < column {
		if at+8 <= column && i+8 <= stop && binary.LittleEndian.Uint64(r.text[i:])&highBits == 0 {
			at, i = at+8, i+8
			continue
		}
		_, size := utf8.DecodeRune(r.text[i:])
		at++
		if size == 4 {
			at++
		}
		i += size
	}
	r.seen.column, r.seen.offset = at, i
	return i, at >= column
}

// highBits are the highest bits of eight bytes, none of which is set if all are ASCII.
const highBits = 0x8080808080808080

// unitsBefore returns how many UTF-16 units are before each step of a line, nil if each byte is one.
func unitsBefore(line []byte) (before []uint32) {
	if isASCII(line) {
		return nil
	}
	units := 0
	for i := 0; i < len(line); i++ {
		if i%step == 0 {
			before = append(before, uint32(units))
		}
		if i%8 == 0 && i+8 <= len(line) && binary.LittleEndian.Uint64(line[i:])&highBits == 0 {
			units += 8
			i += 7
			continue
		}
		switch b := line[i]; {
		case b < 0x80:
			units++
		case b < 0xc0: // counted at the begin of its character
		case b < 0xf0:
			units++
		default:
			units += 2
		}
	}
	return before
}

// isASCII reports whether all bytes of a line are those of ASCII.
func isASCII(line []byte) bool {
	for ; len(line) >= 32; line = line[32:] {
		a, b := binary.LittleEndian.Uint64(line), binary.LittleEndian.Uint64(line[8:])
		c, d := binary.LittleEndian.Uint64(line[16:]), binary.LittleEndian.Uint64(line[24:])
		if (a|b|c|d)&highBits != 0 {
			return false
		}
	}
	for _, b := range line {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// parts reports whether a place is in the middle of a word, where no mapping begins.
func parts(line []byte, offset int) bool {
	return offset > 0 && offset < len(line) && inWord(line[offset-1]) && inWord(line[offset])
}

// wordBytes are the bytes of words: identifiers, keywords and numbers.
var wordBytes = func() (in [256]bool) {
	for c := range in {
		in[c] = c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
	}
	return in
}()

func inWord(b byte) bool { return wordBytes[b] }

// isWord reports whether what is between two offsets is a word, or the begin of one.
func (r *row) isWord(from, to int) bool {
	if from < 0 || from > to || to-from > maxToken {
		return false
	}
	r.want(from, to)
	return isWord(r.text[from:to])
}

// token returns the word or the sign at an offset.
func (r *row) token(offset int) []byte {
	end := offset
	for r.want(offset, end+1); end < len(r.text) && end < offset+maxToken && inWord(r.text[end]); end++ {
		r.want(offset, end+2)
	}
	return r.text[offset:min(max(end, offset+1), len(r.text))]
}

// maxToken bounds a word that is looked at.
const maxToken = 64

// isWord reports whether a text is a word.
func isWord(text []byte) bool {
	return len(text) > 0 && !slices.ContainsFunc(text, func(b byte) bool { return !inWord(b) })
}
