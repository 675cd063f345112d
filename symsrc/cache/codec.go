package cache

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"sync"
	"time"

	"qss-filter/symsrc"
)

// The format of a page, which has the answers for nearby addresses (key.go). These have mostly the same strings, which a page has once.
//
//	checksum   4 bytes, little-endian: CRC-32C of the key and the rest
//	entries    uvarint: how many there are
//	times      uvarint: how many; then 8 bytes each, little-endian: an Answer.Made in nanoseconds since 1970, 0 where it is not known
//	strings    uvarint: how many; then each as a uvarint length and bytes
//
// and then entry after entry:
//
//	offset     varint: what the question asks for, less that of the entry before
//	tag        1 byte: what kind of question (key.go)
//	size       uvarint: bytes of the rest of the entry
//
// of an answer a uvarint for its time, counted from 0, and frame after frame
//
//	flags                        1 byte: origin, approx, and whether a sum and an offset follow
//	Func, Linkage, File, MD5     a uvarint each: 0 for "", n for the n-th string
//	CompDir, Line, Column        uvarints
//	Offset                       uvarint, data only
//
// and of what the machine code shows 1 byte of flags, a varint for Linked, less the offset, and a uvarint for Back.
const (
	valueFormat = 6       // goes into the engine's hash, so that pages of another format are never read
	maxAnswer   = 1 << 14 // bytes of an answer's strings, and maxFrame of each of its frames beside them
	maxFrame    = 32
	maxPage     = 60 << 10 // bytes; Badger keeps what is larger than 64 KiB in a file of another kind

	originMask = 3
	hasApprox  = 4
	hasOffset  = 8
	hasMD5     = 16
)

var (
	castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })
	errDamaged = errors.New("damaged page")
)

// checksum covers the key too: a page must not be read under another key.
func checksum(key, rest []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli()), castagnoli(), rest)
}

// seal fills in the checksum of a page that begins at start.
func seal(dst []byte, start int, key []byte) []byte {
	binary.LittleEndian.PutUint32(dst[start:], checksum(key, dst[start+4:]))
	return dst
}

// entry is what a page has for one question: an answer, or what the machine code shows.
type entry struct {
	at     uint64
	tag    uint8
	made   time.Time
	frames []symsrc.Frame
	shows  symsrc.Probe
}

// pageWriter makes a page of entries.
type pageWriter struct {
	strings map[string]uint64
	times   []int64
	table   []byte // the strings as they are written
	body    []byte // the entries
	entries int
	last    uint64
	one     []byte // scratch
}

// reset starts a new page.
func (w *pageWriter) reset() {
	if w.strings == nil {
		w.strings = make(map[string]uint64)
	}
	clear(w.strings)
	w.times, w.table, w.body, w.entries, w.last = w.times[:0], w.table[:0], w.body[:0], 0, 0
}

// size returns the approximate size of the page, in bytes.
func (w *pageWriter) size() int { return 32 + 8*len(w.times) + len(w.table) + len(w.body) }

// add appends an entry.
func (w *pageWriter) add(e *entry) {
	w.one = w.one[:0]
	if isProbe(e.tag) {
		w.one = appendProbe(w.one, e.at, &e.shows)
	} else {
		w.one = w.appendFrames(w.one, e)
	}
	w.body = binary.AppendVarint(w.body, int64(e.at-w.last))
	w.body = append(w.body, e.tag)
	w.body = appendBlob(w.body, w.one)
	w.last = e.at
	w.entries++
}

func (w *pageWriter) appendFrames(dst []byte, e *entry) []byte {
	dst = binary.AppendUvarint(dst, w.timeRef(e.made))
	for i := range e.frames {
		f := &e.frames[i]
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
		dst = binary.AppendUvarint(dst, w.ref(f.Func))
		dst = binary.AppendUvarint(dst, w.ref(f.Linkage))
		dst = binary.AppendUvarint(dst, w.ref(f.File))
		if f.MD5 != "" {
			dst = binary.AppendUvarint(dst, w.ref(f.MD5))
		}
		dst = binary.AppendUvarint(dst, uint64(f.CompDir))
		dst = binary.AppendUvarint(dst, uint64(f.Line))
		dst = binary.AppendUvarint(dst, uint64(f.Column))
		if f.Offset != 0 {
			dst = binary.AppendUvarint(dst, f.Offset)
		}
	}
	return dst
}

func appendProbe(dst []byte, at uint64, p *symsrc.Probe) []byte {
	flags := byte(0)
	for i, set := range [...]bool{p.Known, p.Returns, p.Calls, p.Trampoline, p.Thumb} {
		if set {
			flags |= 1 << i
		}
	}
	dst = append(dst, flags)
	dst = binary.AppendVarint(dst, int64(p.Linked-at))
	return binary.AppendUvarint(dst, p.Back)
}

func (w *pageWriter) ref(s string) uint64 {
	if s == "" {
		return 0
	}
	n, ok := w.strings[s]
	if !ok {
		n = uint64(len(w.strings) + 1)
		w.strings[s] = n
		w.table = append(binary.AppendUvarint(w.table, uint64(len(s))), s...)
	}
	return n
}

func (w *pageWriter) timeRef(made time.Time) uint64 {
	since := int64(0)
	if !made.IsZero() {
		since = made.UnixNano()
	}
	i := slices.Index(w.times, since)
	if i < 0 {
		i = len(w.times)
		w.times = append(w.times, since)
	}
	return uint64(i)
}

// appendTo appends the page under a key.
func (w *pageWriter) appendTo(dst, key []byte) []byte {
	start := len(dst)
	dst = binary.AppendUvarint(append(dst, 0, 0, 0, 0), uint64(w.entries))
	dst = binary.AppendUvarint(dst, uint64(len(w.times)))
	for _, since := range w.times {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(since))
	}
	dst = binary.AppendUvarint(dst, uint64(len(w.strings)))
	dst = append(append(dst, w.table...), w.body...)
	return seal(dst, start, key)
}

// page is a page that was read. It may be used by several goroutines at once.
type page struct {
	text    string
	times   []int64
	strings []string
	spots   []spot
}

// spot is the place of an entry in a page: its question, and where in the text the rest of it begins and ends.
type spot struct {
	at       uint64
	from, to uint32
	tag      uint8
}

// compareSpots orders entries as pages in the database have them.
func compareSpots(a, b spot) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.tag, b.tag))
}

// openPage reads a page. It shares no memory with value.
func openPage(key, value []byte) (*page, error) {
	if len(value) < 5 || binary.LittleEndian.Uint32(value) != checksum(key, value[4:]) {
		return nil, errDamaged
	}
	p := &page{text: string(value[4:])}
	d := decoder{b: p.text}
	entries := d.count(3)
	p.times = make([]int64, d.count(8))
	for i := range p.times {
		p.times[i] = int64(d.uint64())
	}
	p.strings = make([]string, d.count(1))
	for i := range p.strings {
		p.strings[i] = d.blob()
	}
	p.spots = make([]spot, entries)
	at := uint64(0)
	for i := range p.spots {
		at += uint64(d.varint())
		tag := d.byte()
		size := len(d.blob())
		to := len(p.text) - len(d.b)
		p.spots[i] = spot{at, uint32(to - size), uint32(to), tag}
	}
	if d.bad || d.b != "" {
		return nil, errDamaged
	}
	return p, nil
}

// pageEntries returns how many entries a page has.
func pageEntries(value []byte) int64 {
	if len(value) < 5 {
		return 0
	}
	n, _ := binary.Uvarint(value[4:])
	return int64(n)
}

// footprint returns the approximate memory of the page, in bytes.
func (p *page) footprint() int { return len(p.text) + 16*len(p.strings) + 24*len(p.spots) + 200 }

// find returns the spot of a question's entry, in a page whose entries are sorted.
func (p *page) find(at uint64, tag uint8) (spot, bool) {
	i, j := 0, len(p.spots)
	for i < j { // what slices.BinarySearchFunc does, in half the time
		m := (i + j) / 2
		if s := &p.spots[m]; s.at < at || s.at == at && s.tag < tag {
			i = m + 1
		} else {
			j = m
		}
	}
	if i == len(p.spots) || p.spots[i].at != at || p.spots[i].tag != tag {
		return spot{}, false
	}
	return p.spots[i], true
}

// read reads an entry. It uses the memory of frames.
func (p *page) read(s spot, frames []symsrc.Frame) (e entry, err error) {
	e.at, e.tag = s.at, s.tag
	d := decoder{b: p.text[s.from:s.to]}
	if isProbe(s.tag) {
		flags := d.byte()
		e.shows = symsrc.Probe{
			Known: flags&1 != 0, Returns: flags&2 != 0, Calls: flags&4 != 0, Trampoline: flags&8 != 0, Thumb: flags&16 != 0,
			Linked: s.at + uint64(d.varint()), Back: d.uvarint(),
		}
		if d.bad || d.b != "" {
			return entry{}, errDamaged
		}
		return e, nil
	}
	if n := d.uvarint(); n >= uint64(len(p.times)) {
		d.bad = true
	} else if since := p.times[n]; since != 0 {
		e.made = time.Unix(0, since)
	}
	for d.b != "" && !d.bad {
		flags := d.byte()
		f := symsrc.Frame{Origin: symsrc.Origin(flags & originMask), Approx: flags&hasApprox != 0}
		f.Func, f.Linkage, f.File = d.text(p), d.text(p), d.text(p)
		if flags&hasMD5 != 0 {
			f.MD5 = d.text(p)
		}
		f.CompDir, f.Line, f.Column = d.int(), d.int(), d.int()
		if flags&hasOffset != 0 {
			f.Offset = d.uvarint()
		}
		if f.CompDir > len(f.File) {
			d.bad = true
		}
		frames = append(frames, f)
	}
	if d.bad || len(frames) == 0 {
		return entry{}, errDamaged
	}
	e.frames = frames
	return e, nil
}

// decoder reads a page; bad is set once the bytes are not valid.
type decoder struct {
	b   string
	bad bool
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

func (d *decoder) varint() int64 {
	n := d.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) int() int {
	n := d.uvarint()
	if n > 1<<31-1 { // an int of 32 bits
		d.bad = true
		return 0
	}
	return int(n)
}

// count reads the number of items that follow, each of which takes at least so many bytes.
func (d *decoder) count(least int) int {
	n := d.uvarint()
	if d.bad || n > uint64(len(d.b)/least) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) byte() byte {
	if d.b == "" {
		d.bad = true
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uint64() uint64 {
	if len(d.b) < 8 {
		d.bad = true
		return 0
	}
	n := binary.LittleEndian.Uint64([]byte(d.b[:8]))
	d.b = d.b[8:]
	return n
}

func (d *decoder) blob() string {
	size := d.uvarint()
	if d.bad || size > uint64(len(d.b)) {
		d.bad = true
		return ""
	}
	s := d.b[:size]
	d.b = d.b[size:]
	return s
}

// text reads a reference to a string of p.
func (d *decoder) text(p *page) string {
	n := d.uvarint()
	if d.bad || n == 0 {
		return ""
	}
	if n > uint64(len(p.strings)) {
		d.bad = true
		return ""
	}
	return p.strings[n-1]
}
