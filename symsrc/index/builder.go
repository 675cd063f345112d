package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"qss-filter/symsrc"
	"qss-filter/symsrc/names"
)

// Builder collects the answers of a file and writes them as an index.
type Builder struct {
	max    int64 // size of the index in bytes
	base   uint64
	end    uint64 // of the last range
	ranges []byte
	last   uint32 // node of the last range

	nodes         []byte
	recent        map[node]uint32 // the numbers of the last nodes
	details       []byte
	recentDetails map[detail]uint32 // the numbers of the last details

	folds   []byte
	foldsAt map[string]uint32 // where the names of folded functions stand in the text

	names          map[[2]string]uint32 // numbers, by linkage name and demangled name
	files          map[file]uint32
	nameAt, fileAt []byte
	text           []byte
}

// node is a node as in the format.
type node struct {
	name, file, line uint32
	column, flags    uint16
	caller, detail   uint32
}

// detail is a detail as in the format.
type detail struct {
	name, file, line, discriminator uint32
	start                           uint64
}

// maxRecent is the number of nodes, and of details, that are compared with new ones. Equal nodes are those of one function, which are close
// to each other.
const maxRecent = 1 << 14

// NewBuilder returns a Builder of an index of at most max bytes.
func NewBuilder(max int64) *Builder {
	return &Builder{max: max, recent: make(map[node]uint32), recentDetails: make(map[detail]uint32),
		names: make(map[[2]string]uint32), files: make(map[file]uint32), foldsAt: make(map[string]uint32)}
}

// ErrTooLarge is the error for an index that would exceed its limit, or for code that spans 4 GiB.
var ErrTooLarge = errors.New("the index would be too large")

var (
	errOrder   = errors.New("the ranges are not in order")
	errContent = errors.New("an answer has what an index does not hold")
)

// Add adds the answer for all addresses from lo on and below hi. There are either as many details as frames, or none. Ranges are added in the
// order of addresses and do not overlap. Addresses between them are not in the index.
func (b *Builder) Add(lo, hi uint64, frames []symsrc.Frame, details []symsrc.Detail) error {
	if len(b.ranges) == 0 {
		b.base, b.end, b.last = lo, lo, unknown
	}
	switch {
	case lo < b.end || hi <= lo:
		return fmt.Errorf("%#x-%#x after %#x: %w", lo, hi, b.end, errOrder)
	case hi-b.base >= math.MaxUint32:
		return fmt.Errorf("code from %#x to %#x: %w", b.base, hi, ErrTooLarge)
	}
	if lo > b.end {
		b.begin(b.end, unknown)
	}
	caller := uint32(0)
	for i := len(frames) - 1; i >= 0; i-- {
		n, err := b.node(&frames[i], caller)
		if err == nil && len(details) > 0 {
			n.detail, err = b.detail(&details[i], &frames[i], n.name)
		}
		if err != nil {
			return err
		}
		caller = b.number(n)
	}
	b.begin(lo, caller)
	b.end = hi
	if b.Size() > b.max {
		return fmt.Errorf("more than %d MiB: %w", b.max>>20, ErrTooLarge)
	}
	return nil
}

// Fold adds the names, one a line, of the functions that share the code of the range that was added last.
func (b *Builder) Fold(lo uint64, names string) {
	from, to := uint32(lo-b.base), uint32(b.end-b.base)
	at, have := b.foldsAt[names]
	if !have {
		at = uint32(len(b.text))
		b.foldsAt[names] = at
		b.text = appendString(b.text, names)
	}
	if n := len(b.folds) - foldSize; n >= 0 && binary.LittleEndian.Uint32(b.folds[n+4:]) == from && binary.LittleEndian.Uint32(b.folds[n+8:]) == at {
		binary.LittleEndian.PutUint32(b.folds[n+4:], to)
		return
	}
	for _, v := range [...]uint32{from, to, at} {
		b.folds = binary.LittleEndian.AppendUint32(b.folds, v)
	}
}

// begin begins a range, unless its node is that of the range before it.
func (b *Builder) begin(lo uint64, node uint32) {
	if node == b.last && len(b.ranges) > 0 {
		return
	}
	b.ranges = binary.LittleEndian.AppendUint32(b.ranges, uint32(lo-b.base))
	b.ranges = binary.LittleEndian.AppendUint32(b.ranges, node)
	b.last = node
}

// node returns the node of a frame.
func (b *Builder) node(f *symsrc.Frame, caller uint32) (n node, err error) {
	if f.Line < 0 || uint64(f.Line) > math.MaxUint32 || f.Column < 0 || f.Column > math.MaxUint16 || f.Origin > originMask ||
		f.Entry != symsrc.NoEntry || f.Offset != 0 || f.Size != 0 {
		return n, fmt.Errorf("%+v: %w", *f, errContent)
	}
	n = node{line: uint32(f.Line), column: uint16(f.Column), flags: uint16(f.Origin), caller: caller}
	if f.Approx {
		n.flags |= approxFlag
	}
	if f.Linkage != "" || f.Func != "" {
		n.name = b.name(f.Linkage, f.Func)
	}
	if f.File != "" || f.MD5 != "" {
		n.file = b.file(file{f.File, f.MD5, f.CompDir})
	}
	return n, nil
}

// detail returns the number of the detail of a frame, whose name has a number, too, and adds it if it is new.
func (b *Builder) detail(d *symsrc.Detail, f *symsrc.Frame, name uint32) (number uint32, err error) {
	if *d == (symsrc.Detail{}) {
		return 0, nil
	}
	if d.Line < 0 || uint64(d.Line) > math.MaxUint32 || d.Started && d.Start == notStarted {
		return 0, fmt.Errorf("%+v: %w", *d, errContent)
	}
	n := detail{line: uint32(d.Line), discriminator: d.Discriminator, start: notStarted}
	if d.Started {
		n.start = d.Start
	}
	switch d.Linkage {
	case "":
	case f.Linkage:
		n.name = name
	default:
		n.name = b.name(d.Linkage, "")
	}
	if d.File != "" {
		n.file = b.file(file{d.File, "", d.CompDir})
	}
	if number = b.recentDetails[n]; number == 0 {
		if len(b.recentDetails) == maxRecent {
			clear(b.recentDetails)
		}
		number = uint32(len(b.details)/detailSize + 1)
		b.recentDetails[n] = number
		for _, v := range [...]uint32{n.name, n.file, n.line, n.discriminator} {
			b.details = binary.LittleEndian.AppendUint32(b.details, v)
		}
		b.details = binary.LittleEndian.AppendUint64(b.details, n.start)
	}
	return number, nil
}

// name returns the number of a name, and adds it if it is new.
func (b *Builder) name(linkage, demangled string) uint32 {
	key := [...]string{linkage, demangled}
	number := b.names[key]
	if number == 0 {
		number = uint32(len(b.names) + 1)
		b.names[key] = number
		b.nameAt = binary.LittleEndian.AppendUint32(b.nameAt, uint32(len(b.text)))
		if names.New(linkage).Demangled == demangled {
			demangled = "" // the reader finds it
		}
		b.text = appendString(appendString(b.text, linkage), demangled)
	}
	return number
}

// file returns the number of a source file, and adds it if it is new.
func (b *Builder) file(f file) uint32 {
	number := b.files[f]
	if number == 0 {
		number = uint32(len(b.files) + 1)
		b.files[f] = number
		b.fileAt = binary.LittleEndian.AppendUint32(b.fileAt, uint32(len(b.text)))
		b.text = binary.AppendUvarint(appendString(appendString(b.text, f.path), f.md5), uint64(f.compDir))
	}
	return number
}

// appendString appends the length of a string and the string.
func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// number returns the number of a node, and adds it if it is new.
func (b *Builder) number(n node) uint32 {
	number := b.recent[n]
	if number == 0 {
		if len(b.recent) == maxRecent {
			clear(b.recent)
		}
		number = uint32(len(b.nodes)/nodeSize + 1)
		b.recent[n] = number
		for _, v := range [...]uint32{n.name, n.file, n.line, uint32(n.column) | uint32(n.flags)<<16, n.caller, n.detail} {
			b.nodes = binary.LittleEndian.AppendUint32(b.nodes, v)
		}
	}
	return number
}

// parts returns the parts of the index after the header.
func (b *Builder) parts() [][]byte {
	return [][]byte{b.ranges, b.nodes, b.details, b.folds, b.nameAt, b.fileAt, b.text}
}

// Size returns the size of the index, in bytes.
func (b *Builder) Size() (size int64) {
	for _, part := range b.parts() {
		size += int64(len(part))
	}
	return size + headerSize + rangeSize
}

// WriteTo writes the index. No range may be added afterwards.
func (b *Builder) WriteTo(w io.Writer) (n int64, err error) {
	b.begin(b.end, unknown)
	header := binary.LittleEndian.AppendUint64(nil, magic)
	for _, v := range [...]int{int(b.base), len(b.ranges) / rangeSize, len(b.nodes) / nodeSize, len(b.nameAt) / 4, len(b.fileAt) / 4, len(b.text), len(b.details) / detailSize, len(b.folds) / foldSize} {
		header = binary.LittleEndian.AppendUint64(header, uint64(v))
	}
	for _, part := range slices.Concat([][]byte{header}, b.parts()) {
		k, err := w.Write(part)
		if n += int64(k); err != nil {
			return n, err
		}
	}
	return n, nil
}
