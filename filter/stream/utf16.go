package stream

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// littleMark and bigMark are the byte order marks of UTF-16. markOf32 is the mark of UTF-32, which begins with littleMark.
var (
	littleMark = []byte{0xff, 0xfe}
	bigMark    = []byte{0xfe, 0xff}
	markOf32   = []byte{0xff, 0xfe, 0, 0}
)

// leastEvidence is how many bytes it takes at least to recognize UTF-16 without a byte order mark, and mostEvidence how many are
// looked at.
const (
	leastEvidence = 8
	mostEvidence  = 4 << 10
)

// IsUTF16 reports whether a log that begins with begin is text in UTF-16. It is if it has a byte order mark with nothing or Latin text after
// it, or if nearly all of it is Latin text in two bytes a letter.
func IsUTF16(begin []byte) bool {
	order, _ := orderOf(begin)
	return order != nil
}

// orderOf returns the byte order of UTF-16 and the length of its mark. The order is nil for anything else.
func orderOf(begin []byte) (order binary.ByteOrder, mark int) {
	switch {
	case bytes.HasPrefix(begin, markOf32):
	case bytes.HasPrefix(begin, littleMark) && follows(begin, binary.LittleEndian):
		return binary.LittleEndian, len(littleMark)
	case bytes.HasPrefix(begin, bigMark) && follows(begin, binary.BigEndian):
		return binary.BigEndian, len(bigMark)
	case evident(begin, binary.LittleEndian):
		return binary.LittleEndian, 0
	case evident(begin, binary.BigEndian):
		return binary.BigEndian, 0
	}
	return nil, 0
}

// follows reports whether nothing stands after a mark, or text of which at least one letter in eight is Latin, as spaces, digits
// and ends of lines are. The mark's bytes may also begin a log in another encoding.
func follows(b []byte, order binary.ByteOrder) bool {
	b = b[len(littleMark):min(len(b), mostEvidence)]
	latin := 0
	for i := 0; i+1 < len(b); i += 2 {
		if u := order.Uint16(b[i:]); u > 0 && u <= 0xff {
			latin++
		}
	}
	return latin*8 >= len(b)/2
}

// evident reports whether bytes are text in this order beyond doubt. They have no control characters except those of logs, and
// at most one letter in four that is not Latin.
func evident(b []byte, order binary.ByteOrder) bool {
	if len(b) < leastEvidence {
		return false
	}
	b = b[:min(len(b), mostEvidence)]
	foreign := 0
	for i := 0; i+1 < len(b); i += 2 {
		switch u := order.Uint16(b[i:]); {
		case u < ' ' && (u < '\a' || u > '\r' && u != 0x1b):
			return false
		case u > 0xff:
			foreign++
		}
	}
	return foreign*4 <= len(b)/2
}

// undecided reports whether begin is too short to decide whether the log is in UTF-16.
func undecided(begin []byte) bool {
	switch {
	case len(begin) == 0 || len(begin) >= leastEvidence:
		return false
	case len(begin) == 1:
		return begin[0] == littleMark[0] || begin[0] == bigMark[0] || begin[0] == 0
	}
	return (begin[0] == 0) != (begin[1] == 0) || len(begin) < 4 && (bytes.HasPrefix(begin, littleMark) || bytes.HasPrefix(begin, bigMark))
}

// transcoder is a pauser that reads UTF-16 as UTF-8, and anything else as it is. Half a surrogate pair without the other half
// becomes the three bytes that UTF-8 would have for it, so that it can be written again.
type transcoder struct {
	pauser
	order   binary.ByteOrder // nil if the input is not UTF-16
	mark    []byte
	decided bool
	raw     []byte // what was read and not decoded
	text    []byte // what was decoded and not read
	narrow  bool   // the output is not to be UTF-16
	err     error
}

// Read reads text. It may read nothing if the rest of a letter is still to come.
func (t *transcoder) Read(b []byte) (int, error) {
	if !t.decided {
		n, err := t.decide(b)
		if t.order == nil {
			return n, err
		}
		t.mark, t.raw, t.err = bytes.Clone(b[:len(t.mark)]), bytes.Clone(b[len(t.mark):n]), err
		t.decode()
		return t.take(b), nil
	}
	if t.order == nil {
		return t.pauser.Read(b)
	}
	if len(t.text) == 0 {
		if t.err != nil {
			return 0, t.err
		}
		const piece = 32 << 10
		t.raw = slices.Grow(t.raw, piece)
		var n int
		n, t.err = t.pauser.Read(t.raw[len(t.raw):][:piece])
		t.raw = t.raw[:len(t.raw)+n]
		t.decode()
	}
	return t.take(b), nil
}

// take moves decoded text to b.
func (t *transcoder) take(b []byte) int {
	n := copy(b, t.text)
	t.text = t.text[:copy(t.text, t.text[n:])]
	return n
}

// decide reads the beginning into b and decides on its encoding. If a few bytes look like UTF-16, it waits for more, as long as a
// line without its end may wait.
func (t *transcoder) decide(b []byte) (n int, err error) {
	for n == 0 && err == nil {
		n, err = t.pauser.Read(b)
	}
	for err == nil && undecided(b[:n]) && n < len(b) && t.pauser.ready(mostIdle) {
		var more int
		more, err = t.pauser.Read(b[n:])
		n += more
	}
	t.decided = true
	var mark int
	t.order, mark = orderOf(b[:n])
	t.mark = b[:mark]
	return n, err
}

// decode decodes what was read, except for the beginning of a letter whose rest is still to come.
func (t *transcoder) decode() {
	at := 0
	for at+2 <= len(t.raw) {
		if n := t.decodeASCII(t.raw[at:]); n > 0 {
			at += n
			continue
		}
		r, size := rune(t.order.Uint16(t.raw[at:])), 2
		if utf16.IsSurrogate(r) {
			if isHigh(r) && at+4 > len(t.raw) && t.err == nil {
				break
			}
			if at+4 <= len(t.raw) {
				if pair := utf16.DecodeRune(r, rune(t.order.Uint16(t.raw[at+2:]))); pair != utf8.RuneError {
					r, size = pair, 4
				}
			}
		}
		if utf16.IsSurrogate(r) {
			t.text = append(t.text, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
		} else {
			t.text = utf8.AppendRune(t.text, r)
		}
		at += size
	}
	t.raw = append(t.raw[:0], t.raw[at:]...)
	if t.err != nil && t.narrow && len(t.raw) > 0 {
		t.text, t.raw = utf8.AppendRune(t.text, utf8.RuneError), nil
	}
}

// decodeASCII decodes the ASCII letters that raw begins with, four at once, and returns their length: most logs have few others.
func (t *transcoder) decodeASCII(raw []byte) int {
	const letters = 0x007f007f007f007f
	shift := letterShift(t.order)
	n, k := 0, len(t.text)
	t.text = slices.Grow(t.text, len(raw)/2)
	text := t.text[:k+len(raw)/2]
	for ; n+8 <= len(raw); n, k = n+8, k+4 {
		four := binary.LittleEndian.Uint64(raw[n:])
		if four&^(letters<<shift) != 0 {
			break
		}
		four >>= shift
		four = (four | four>>8) & 0x0000ffff0000ffff
		binary.LittleEndian.PutUint32(text[k:], uint32(four|four>>16))
	}
	t.text = text[:k]
	return n
}

// letterShift returns how many bits an ASCII letter is shifted by in its code unit, read as little-endian.
func letterShift(order binary.ByteOrder) int {
	if order == binary.BigEndian {
		return 8
	}
	return 0
}

// isHigh reports whether a surrogate is the first half of a pair.
func isHigh(r rune) bool { return r < 0xdc00 }

// ready reports whether a Read would return within d.
func (t *transcoder) ready(d time.Duration) bool {
	return len(t.text) > 0 || t.err != nil || t.pauser.ready(d)
}

// writer returns a writer of UTF-8 that encodes as the input was encoded. It is out if the input was not UTF-16.
func (t *transcoder) writer(out io.Writer) io.Writer {
	if t.order == nil || t.narrow {
		return out
	}
	return &widening{out: out, order: t.order, text: t.mark}
}

// finish writes what is left at the end: the first byte of a code unit.
func (t *transcoder) finish(out io.Writer) error {
	w, ok := out.(*widening)
	if !ok {
		return nil
	}
	w.text = append(w.text, t.raw...)
	if _, err := w.flush(); err != nil {
		return &WriteError{err}
	}
	return nil
}

// widening writes UTF-8 as UTF-16.
type widening struct {
	out   io.Writer
	order binary.ByteOrder
	text  []byte
	held  []byte // the beginning of a letter
}

// Write writes text. It returns the length of b, not of the encoded text.
func (w *widening) Write(b []byte) (int, error) {
	n := len(b)
	if len(w.held) > 0 {
		b = append(w.held, b...)
		w.held = nil
	}
	for len(b) > 0 {
		if k := w.ascii(b); k > 0 {
			b = b[k:]
			continue
		}
		if b[0] < utf8.RuneSelf {
			w.unit(uint16(b[0]))
			b = b[1:]
			continue
		}
		if half, ok := surrogate(b); ok {
			w.unit(half)
			b = b[3:]
			continue
		}
		if !utf8.FullRune(b) || b[0] == 0xed && len(b) < 3 {
			w.held = bytes.Clone(b)
			break
		}
		r, size := utf8.DecodeRune(b)
		if r >= 0x10000 {
			high, low := utf16.EncodeRune(r)
			w.unit(uint16(high))
			w.unit(uint16(low))
		} else {
			w.unit(uint16(r))
		}
		b = b[size:]
	}
	if _, err := w.flush(); err != nil {
		return 0, err
	}
	return n, nil
}

// ascii encodes the ASCII letters that b begins with, four at once, and returns their number.
func (w *widening) ascii(b []byte) int {
	const other = 0x80808080
	shift := letterShift(w.order)
	n, k := 0, len(w.text)
	w.text = slices.Grow(w.text, 2*len(b))
	text := w.text[:k+2*len(b)]
	for ; n+4 <= len(b); n, k = n+4, k+8 {
		letters := binary.LittleEndian.Uint32(b[n:])
		if letters&other != 0 {
			break
		}
		four := uint64(letters)
		four = (four | four<<16) & 0x0000ffff0000ffff
		four = (four | four<<8) & 0x00ff00ff00ff00ff
		binary.LittleEndian.PutUint64(text[k:], four<<shift)
	}
	w.text = text[:k]
	return n
}

// unit encodes a code unit.
func (w *widening) unit(u uint16) { w.text = w.order.(binary.AppendByteOrder).AppendUint16(w.text, u) }

// flush writes what is encoded.
func (w *widening) flush() (int, error) {
	text := w.text
	w.text = w.text[:0]
	if len(text) == 0 {
		return 0, nil
	}
	return w.out.Write(text)
}

// surrogate reads half a surrogate pair, as decode writes it.
func surrogate(b []byte) (half uint16, ok bool) {
	if len(b) < 3 || b[0] != 0xed || b[1]&0xe0 != 0xa0 || b[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | uint16(b[1]&0x3f)<<6 | uint16(b[2]&0x3f), true
}
