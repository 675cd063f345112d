package cache

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync"
	"time"

	"qss-filter/symsrc"
)

// The form of a value: 4 bytes CRC-32C of the key and the rest, little-endian; 8 bytes Answer.Made, in nanoseconds since 1970,
// little-endian, 0 where that is not known; then frame after frame
//
//	flags                        1 byte: origin, approx, and whether a sum and an offset follow
//	Func, Linkage, File, MD5     each a reference, below
//	CompDir, Line, Column        uvarints
//	Offset                       uvarint, data only
//
// A reference is the uvarint 0 for "", n for the n-th string of the value so far, or one more than there are so far, and
// then a uvarint and as many bytes: names and files come again and again within one chain.
const (
	valueFormat = 4       // goes into the engine's hash, so that other forms are never met
	maxValue    = 1 << 15 // bytes; Badger keeps what is larger than 64 KiB in a file of another kind

	originMask = 3
	hasApprox  = 4
	hasOffset  = 8
	hasMD5     = 16
)

var (
	castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })
	errDamaged = errors.New("damaged value")
)

// checksum covers the key too: a value must not be taken for another one's.
func checksum(key, rest []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli()), castagnoli(), rest)
}

// appendFrames appends the value of a chain.
func appendFrames(dst, key []byte, frames []symsrc.Frame, made time.Time) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	since := int64(0)
	if !made.IsZero() {
		since = made.UnixNano()
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(since))
	known := make([]string, 0, 8)
	for i := range frames {
		f := &frames[i]
		flags := byte(f.Origin) & originMask
		if f.Approx {
			flags |= hasApprox
		}
		if f.Offset != 0 {
			flags |= hasOffset
		}
		if f.MD5 != "" {
			flags |= hasMD5
		}
		dst = append(dst, flags)
		for _, s := range [...]string{f.Func, f.Linkage, f.File} {
			dst, known = appendString(dst, known, s)
		}
		if f.MD5 != "" {
			dst, known = appendString(dst, known, f.MD5)
		}
		for _, n := range [...]int{f.CompDir, f.Line, f.Column} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
		if f.Offset != 0 {
			dst = binary.AppendUvarint(dst, f.Offset)
		}
	}
	return seal(dst, start, key)
}

// seal fills in the checksum of a value that begins at start.
func seal(dst []byte, start int, key []byte) []byte {
	binary.LittleEndian.PutUint32(dst[start:], checksum(key, dst[start+4:]))
	return dst
}

func appendString(dst []byte, known []string, s string) ([]byte, []string) {
	if s == "" {
		return append(dst, 0), known
	}
	for i, k := range known {
		if k == s {
			return binary.AppendUvarint(dst, uint64(i+1)), known
		}
	}
	known = append(known, s)
	dst = binary.AppendUvarint(dst, uint64(len(known)))
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...), known
}

// open checks a value's checksum and gives what follows it.
func open(key, value []byte) ([]byte, error) {
	if len(value) < 5 || binary.LittleEndian.Uint32(value) != checksum(key, value[4:]) {
		return nil, errDamaged
	}
	return value[4:], nil
}

// decodeFrames reads a value: an answer but for its Files. Its strings share one copy of it.
func decodeFrames(key, value []byte) (a symsrc.Answer, err error) {
	rest, err := open(key, value)
	if err != nil {
		return a, err
	}
	if len(rest) < 8 {
		return a, errDamaged
	}
	if since := int64(binary.LittleEndian.Uint64(rest)); since != 0 {
		a.Made = time.Unix(0, since)
	}
	d := decoder{b: string(rest[8:])}
	a.Frames = make([]symsrc.Frame, 0, 4)
	for d.b != "" && !d.bad {
		flags := d.b[0]
		d.b = d.b[1:]
		f := symsrc.Frame{Origin: symsrc.Origin(flags & originMask), Approx: flags&hasApprox != 0}
		f.Func, f.Linkage, f.File = d.text(), d.text(), d.text()
		if flags&hasMD5 != 0 {
			f.MD5 = d.text()
		}
		f.CompDir, f.Line, f.Column = d.int(), d.int(), d.int()
		if flags&hasOffset != 0 {
			f.Offset = d.uvarint()
		}
		if f.CompDir > len(f.File) {
			d.bad = true
		}
		a.Frames = append(a.Frames, f)
	}
	if d.bad {
		return symsrc.Answer{}, errDamaged
	}
	return a, nil
}

// decoder reads a value; bad is set once something makes no sense.
type decoder struct {
	b     string
	known []string
	bad   bool
}

func (d *decoder) uvarint() (n uint64) {
	for shift := 0; shift < 64 && len(d.b) > 0; shift += 7 {
		c := d.b[0]
		d.b = d.b[1:]
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
	d.bad = true
	return 0
}

func (d *decoder) int() int {
	n := d.uvarint()
	if n > 1<<31-1 { // an int of 32 bits
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.uvarint()
	switch known := uint64(len(d.known)); {
	case d.bad || n == 0:
		return ""
	case n <= known:
		return d.known[n-1]
	case n > known+1:
		d.bad = true
		return ""
	}
	size := d.uvarint()
	if d.bad || size > uint64(len(d.b)) {
		d.bad = true
		return ""
	}
	s := d.b[:size]
	d.b = d.b[size:]
	d.known = append(d.known, s)
	return s
}

// appendProbe appends the value of what the machine code shows.
func appendProbe(dst, key []byte, p symsrc.Probe) []byte {
	start := len(dst)
	flags := byte(0)
	for i, set := range [...]bool{p.Known, p.Returns, p.Calls, p.Trampoline} {
		if set {
			flags |= 1 << i
		}
	}
	dst = append(dst, 0, 0, 0, 0, flags)
	dst = binary.AppendUvarint(dst, p.Linked)
	dst = binary.AppendUvarint(dst, p.Back)
	return seal(dst, start, key)
}

// decodeProbe reads such a value.
func decodeProbe(key, value []byte) (symsrc.Probe, error) {
	rest, err := open(key, value)
	if err != nil {
		return symsrc.Probe{}, err
	}
	flags := rest[0]
	d := decoder{b: string(rest[1:])}
	p := symsrc.Probe{
		Known: flags&1 != 0, Returns: flags&2 != 0, Calls: flags&4 != 0, Trampoline: flags&8 != 0,
		Linked: d.uvarint(), Back: d.uvarint(),
	}
	if d.bad || d.b != "" {
		return symsrc.Probe{}, errDamaged
	}
	return p, nil
}
