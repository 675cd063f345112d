package cache

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync"
	"time"

	"qss-filter/symsrc"
)

// The format of a page, which has the answers for nearby addresses (key.go). These have mostly the same strings, which a page has once.
//
//	checksum   4 bytes, little-endian: CRC-32C of the key and the rest
//	entries    uvarint: how many there are
//	strings    uvarint: how many; then each as a uvarint length and bytes
//	sources    uvarint: how many; then the files that answers are from, each as
//	             8 bytes, little-endian: Answer.Made in nanoseconds since 1970, 0 if it is not known
//	             2 bytes: ElfStatus and DebugStatus
//	             Elf, Debug, Note, Detail: a uvarint each, as in frames
//	             ElfRange, DebugRange: Offset, Size and Member as a uvarint each
//	             Symbols: uvarint: how many; then a uvarint each
//
// and then entry after entry:
//
//	offset     varint: what the query asks for, less that of the entry before
//	tag        1 byte: what kind of query (key.go)
//	size       uvarint: bytes of the rest of the entry
//
// of an answer a uvarint for its source, counted from 0, and frame after frame
//
//	flags                        1 byte: origin, approx, and whether a sum, folded names and an offset follow
//	Func, Linkage, File, MD5,
//	Folded                       a uvarint each: 0 for "", n for the n-th string
//	CompDir, Line, Column        uvarints
//	Offset                       uvarint, data only
//
// and of what the machine code shows 1 byte of flags, a varint for Linked, less the offset, and a uvarint for CallDistance.
const (
	valueFormat = 7       // goes into the engine's hash, so that pages of another format are never read
	maxAnswer   = 1 << 14 // bytes of an answer's strings, and maxFrame of each of its frames beside them
	maxFrame    = 32
	maxPage     = 60 << 10 // bytes; Badger keeps what is larger than 64 KiB in a file of another kind

	originMask = 3
	hasApprox  = 4
	hasOffset  = 8
	hasMD5     = 16
	hasFolded  = 32
)

var (
	castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })
	errDamaged = errors.New("damaged page")
)

// checksum returns the checksum of a page. It includes the key: a page must not be read under another key.
func checksum(key, rest []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli()), castagnoli(), rest)
}

// seal fills in the checksum of a page that begins at start.
func seal(dst []byte, start int, key []byte) []byte {
	binary.LittleEndian.PutUint32(dst[start:], checksum(key, dst[start+4:]))
	return dst
}

// entry is the content of a page for one query: an answer, or what the machine code shows.
type entry struct {
	at     uint64
	tag    uint8
	source answerSource
	frames []symsrc.Frame
	shows  symsrc.Probe
}

// answerSource is where an answer is from: the files, as they were found, and when they were made.
type answerSource struct {
	made  time.Time
	files *symsrc.Files // nil if they are not known
}

// pageWriter encodes entries as a page.
type pageWriter struct {
	strings map[string]uint64
	sources map[string]uint64 // as they are written
	table   []byte            // the strings as they are written
	from    []byte            // the sources as they are written
	// recent is the source of the entry before, and number its number.
	recent  answerSource
	number  uint64
	body    []byte // the entries
	entries int
	last    uint64
	one     []byte // scratch
}

// reset starts a new page.
func (w *pageWriter) reset() {
	if w.strings == nil {
		w.strings, w.sources = make(map[string]uint64), make(map[string]uint64)
	}
	clear(w.strings)
	clear(w.sources)
	w.table, w.from, w.body, w.entries, w.last = w.table[:0], w.from[:0], w.body[:0], 0, 0
}

// size returns the approximate size of the page, in bytes.
func (w *pageWriter) size() int { return 32 + len(w.from) + len(w.table) + len(w.body) }

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
	dst = binary.AppendUvarint(dst, w.sourceRef(e.source))
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
		if f.Folded != "" {
			flags |= hasFolded
		}
		dst = append(dst, flags)
		dst = binary.AppendUvarint(dst, w.ref(f.Func))
		dst = binary.AppendUvarint(dst, w.ref(f.Linkage))
		dst = binary.AppendUvarint(dst, w.ref(f.File))
		if f.MD5 != "" {
			dst = binary.AppendUvarint(dst, w.ref(f.MD5))
		}
		if f.Folded != "" {
			dst = binary.AppendUvarint(dst, w.ref(f.Folded))
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
	return binary.AppendUvarint(dst, p.CallDistance)
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

// sourceRef returns the number of a source. Equal ones have the same: pages that are merged have many.
func (w *pageWriter) sourceRef(from answerSource) uint64 {
	if len(w.sources) > 0 && from == w.recent {
		return w.number
	}
	start := len(w.from)
	w.from = w.appendSource(w.from, from)
	n, known := w.sources[string(w.from[start:])]
	if known {
		w.from = w.from[:start]
	} else {
		n = uint64(len(w.sources))
		w.sources[string(w.from[start:])] = n
	}
	w.recent, w.number = from, n
	return n
}

// noFiles is written for files that are not known.
var noFiles symsrc.Files

func (w *pageWriter) appendSource(dst []byte, from answerSource) []byte {
	since, f := int64(0), from.files
	if !from.made.IsZero() {
		since = from.made.UnixNano()
	}
	if f == nil {
		f = &noFiles
	}
	dst = append(binary.LittleEndian.AppendUint64(dst, uint64(since)), byte(f.ElfStatus), byte(f.DebugStatus))
	for _, text := range [...]string{f.Elf, f.Debug, f.Note, f.Detail} {
		dst = binary.AppendUvarint(dst, w.ref(text))
	}
	for _, part := range [...]symsrc.Range{f.ElfRange, f.DebugRange} {
		dst = binary.AppendUvarint(dst, uint64(part.Offset))
		dst = binary.AppendUvarint(dst, uint64(part.Size))
		dst = binary.AppendUvarint(dst, w.ref(part.Member))
	}
	dst = binary.AppendUvarint(dst, uint64(len(f.Symbols)))
	for _, path := range f.Symbols {
		dst = binary.AppendUvarint(dst, w.ref(path))
	}
	return dst
}

// appendBlobTo appends the page under a key as a blob.
func (w *pageWriter) appendBlobTo(dst, key []byte) []byte {
	var n [3 * binary.MaxVarintLen64]byte
	counts := len(binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(n[:0], uint64(w.entries)), uint64(len(w.strings))), uint64(len(w.sources))))
	dst = binary.AppendUvarint(dst, uint64(4+counts+len(w.table)+len(w.from)+len(w.body)))
	return w.appendTo(dst, key)
}

// appendTo appends the page under a key.
func (w *pageWriter) appendTo(dst, key []byte) []byte {
	start := len(dst)
	dst = binary.AppendUvarint(append(dst, 0, 0, 0, 0), uint64(w.entries))
	dst = binary.AppendUvarint(dst, uint64(len(w.strings)))
	dst = append(dst, w.table...)
	dst = binary.AppendUvarint(dst, uint64(len(w.sources)))
	dst = append(append(dst, w.from...), w.body...)
	return seal(dst, start, key)
}

// page is a page that was read. It may be used by several goroutines at once.
type page struct {
	text    string
	strings []string
	sources []answerSource
	spots   []spot
}

// spot is the place of an entry in a page: its query, and where in the text the rest of it begins and ends.
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
	p.strings = make([]string, d.count(1))
	for i := range p.strings {
		p.strings[i] = d.blob()
	}
	p.sources = make([]answerSource, d.count(leastSource))
	for i := range p.sources {
		p.sources[i] = d.source(p)
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
func (p *page) footprint() int {
	return len(p.text) + 16*len(p.strings) + 24*len(p.spots) + 400*len(p.sources) + 200
}

// find returns the spot of a query's entry, in a page whose entries are sorted.
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
			Linked: s.at + uint64(d.varint()), CallDistance: d.uvarint(),
		}
		if d.bad || d.b != "" {
			return entry{}, errDamaged
		}
		return e, nil
	}
	if n := d.uvarint(); n >= uint64(len(p.sources)) {
		d.bad = true
	} else {
		e.source = p.sources[n]
	}
	for d.b != "" && !d.bad {
		flags := d.byte()
		f := symsrc.Frame{Origin: symsrc.Origin(flags & originMask), Approx: flags&hasApprox != 0}
		f.Func, f.Linkage, f.File = d.text(p), d.text(p), d.text(p)
		if flags&hasMD5 != 0 {
			f.MD5 = d.text(p)
		}
		if flags&hasFolded != 0 {
			f.Folded = d.text(p)
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

// leastSource is how many bytes a source takes at least.
const leastSource = 8 + 2 + 4 + 2*3 + 1

// source reads a source of p.
func (d *decoder) source(p *page) (from answerSource) {
	if since := int64(d.uint64()); since != 0 {
		from.made = time.Unix(0, since)
	}
	f := &symsrc.Files{ElfStatus: d.status(), DebugStatus: d.status(), Elf: d.text(p), Debug: d.text(p), Note: d.text(p),
		Detail: d.text(p)}
	for _, part := range [...]*symsrc.Range{&f.ElfRange, &f.DebugRange} {
		part.Offset, part.Size, part.Member = d.int64(), d.int64(), d.text(p)
	}
	for range d.count(1) {
		f.Symbols = append(f.Symbols, d.text(p))
	}
	if f.Elf != "" || f.Debug != "" {
		from.files = f
	}
	return from
}

func (d *decoder) status() symsrc.Status {
	s := symsrc.Status(d.byte())
	if s > symsrc.NotVerified {
		d.bad = true
	}
	return s
}

func (d *decoder) int64() int64 {
	n := d.uvarint()
	if n > 1<<63-1 {
		d.bad = true
		return 0
	}
	return int64(n)
}
