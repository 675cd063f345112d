// Package index holds the answers of a whole ELF file in a form that is searched without reading anything else: for all code, the
// functions, inlined calls and source positions of each address. A process maps an index and answers from it at once, whatever the size
// of the debug information that it was built from.
//
//   - index.go: the format, and Index, which searches it
//   - builder.go: Builder, which writes it
//
// The idea is that of GSYM and of Sentry's SymCache. These lack what answers have here: columns and checksums of sources, or the linkage
// names, compilation directories, declarations and discriminators.
//
// All numbers are little-endian. After a header of nine 64-bit numbers (magic, base address, and the counts of ranges, nodes, names and
// files, the number of bytes of text, the counts of details and of folds), an index consists of:
//
//   - ranges, sorted by address, of 8 bytes each: the start relative to the base, and the number of the node of the innermost function.
//     A range ends where the next one begins. Number 0 is code without an answer, unknown marks addresses that are not in the index.
//   - nodes of 24 bytes each, numbered from 1: a function with the source position in it. Its fields are the numbers of the name and of
//     the file, the line, the column (16 bits), flags (16 bits), the number of the node of the caller if the function was inlined,
//     which is smaller than that of the node, and the number of the detail, which many nodes share, 0 for none.
//   - details of 24 bytes each, numbered from 1: the numbers of the name in the debug information and of the file of the declaration, its
//     line, the discriminator, and the start (64 bits), all ones if that is not known.
//   - folds, sorted by address, of 12 bytes each: start and end, relative to the base, of code that several functions share, and the
//     offset of their names in the text
//   - offsets of the names in the text, then of the files, 32 bits each, numbered from 1
//   - the text: for each name, file and fold the strings of which it consists, each preceded by its length in LEB128
package index

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"sort"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/names"
)

const (
	magic      = 0x3330786469737371 // "qssidx03"
	headerSize = 9 * 8
	rangeSize  = 8
	nodeSize   = 24
	detailSize = 24
	foldSize   = 12
	unknown    = math.MaxUint32
	notStarted = math.MaxUint64 // start of a function that is not known
)

// Flags of a node: the low bits are the symsrc.Origin.
const (
	originMask = 1<<4 - 1
	approxFlag = 1 << 4
)

// maxDepth bounds the frames of an answer; only damaged files have more.
const maxDepth = 1 << 11

// Index is an index in memory. Its methods are safe for concurrent use. They panic if the index is damaged, and fault if the memory that
// it is mapped to is cut off, so callers recover from both.
type Index struct {
	base                   uint64
	ranges, nodes, details []byte
	folds                  []byte
	nameAt, fileAt, text   []byte
	names                  numbered[names.Name] // of those that were used
	files                  numbered[file]
	table                  *names.Table
	limits                 *budget.File
	coarse                 func() *coarse
}

// coarse has the ranges of blocks of addresses that are all of the same size.
type coarse struct {
	shift  uint     // the size of a block is 1 << shift
	blocks []uint32 // for each block, and after the last one, the number of the first range that begins in it or later
}

// perBlock is how many ranges a block has on average: a search in all ranges takes twice as many steps as one in those of a block, nearly
// each of which reads another line of a processor's cache. manyNames is how many slots there are for the names of an index that is asked
// so much that this is worth reading all ranges.
const (
	perBlock  = 8
	manyNames = 1 << 11
)

// file is a source file.
type file struct {
	path, md5 string
	compDir   int // see symsrc.Frame.CompDir
}

// ErrDamaged is the error for an index that no Builder wrote, or that was modified.
var ErrDamaged = errors.New("the index is damaged")

// Open returns the index in data, which must not change. Names are demangled by t, and memory counts in limits.
func Open(data []byte, t *names.Table, limits *budget.File) (*Index, error) {
	if len(data) < headerSize || binary.LittleEndian.Uint64(data) != magic {
		return nil, ErrDamaged
	}
	var n [8]uint64
	for i := range n {
		n[i] = binary.LittleEndian.Uint64(data[8+8*i:])
	}
	x := &Index{base: n[0], table: t, limits: limits}
	rest := data[headerSize:]
	for _, part := range [...]struct {
		to    *[]byte
		count uint64
		size  int
	}{{&x.ranges, n[1], rangeSize}, {&x.nodes, n[2], nodeSize}, {&x.details, n[6], detailSize}, {&x.folds, n[7], foldSize}, {&x.nameAt, n[3], 4}, {&x.fileAt, n[4], 4}, {&x.text, n[5], 1}} {
		if part.count > uint64(len(rest)/part.size) {
			return nil, ErrDamaged
		}
		size := int(part.count) * part.size
		*part.to, rest = rest[:size:size], rest[size:]
	}
	if len(rest) > 0 {
		return nil, ErrDamaged
	}
	x.coarse = sync.OnceValue(x.blocks)
	return x, nil
}

// Frames returns the functions at an address, the innermost inlined one first, or nil if nothing is known about the address. It returns
// false if the address is not in the index.
func (x *Index) Frames(addr uint64) (frames []symsrc.Frame, ok bool) {
	node, depth, ok := x.chain(addr)
	if depth == 0 {
		return nil, ok
	}
	frames = make([]symsrc.Frame, depth)
	for i := range frames {
		n := x.node(node)
		x.describe(&frames[i], n)
		node = callerOf(n)
	}
	return frames, true
}

// Details returns what the index has of each function that Frames returns for an address.
func (x *Index) Details(addr uint64) (details []symsrc.Detail) {
	node, depth, _ := x.chain(addr)
	details = make([]symsrc.Detail, depth)
	for i := range details {
		n := x.node(node)
		if number := binary.LittleEndian.Uint32(n[20:]); number != 0 {
			x.detail(&details[i], number)
		}
		node = callerOf(n)
	}
	return details
}

// Folded returns the names of the functions that share the code at an address, one a line, or "" if it is that of one.
func (x *Index) Folded(addr uint64) string {
	if addr < x.base || addr-x.base >= math.MaxUint32 {
		return ""
	}
	rel := uint32(addr - x.base)
	at := sort.Search(len(x.folds)/foldSize, func(i int) bool { return binary.LittleEndian.Uint32(x.folds[i*foldSize:]) > rel }) - 1
	if at < 0 {
		return ""
	}
	fold := x.folds[at*foldSize:]
	if rel >= binary.LittleEndian.Uint32(fold[4:]) {
		return ""
	}
	all, _ := x.cut(x.text[binary.LittleEndian.Uint32(fold[8:]):])
	return string(all)
}

// chain returns the node of the innermost function at an address, and the number of functions there. It returns false if the address is
// not in the index.
func (x *Index) chain(addr uint64) (node uint32, depth int, ok bool) {
	if addr < x.base || addr-x.base >= math.MaxUint32 {
		return 0, 0, false
	}
	if node = x.nodeAt(uint32(addr - x.base)); node == unknown {
		return 0, 0, false
	}
	for at := node; at != 0; depth++ {
		caller := callerOf(x.node(at))
		if caller >= at || depth == maxDepth {
			panic(ErrDamaged)
		}
		at = caller
	}
	return node, depth, true
}

// callerOf returns the number of the node that a node was inlined into, or 0.
func callerOf(node []byte) uint32 { return binary.LittleEndian.Uint32(node[16:]) }

// detail sets the fields of a detail.
func (x *Index) detail(d *symsrc.Detail, number uint32) {
	at := int(number-1) * detailSize
	b := x.details[at : at+detailSize]
	if number := binary.LittleEndian.Uint32(b); number != 0 {
		d.Linkage = x.name(number).Linkage
	}
	if number := binary.LittleEndian.Uint32(b[4:]); number != 0 {
		f := x.file(number)
		d.File, d.CompDir = f.path, f.compDir
	}
	d.Line, d.Discriminator = int(binary.LittleEndian.Uint32(b[8:])), binary.LittleEndian.Uint32(b[12:])
	if start := binary.LittleEndian.Uint64(b[16:]); start != notStarted {
		d.Start, d.Started = start, true
	}
}

// nodeAt returns the number of the node of the range that contains an address relative to the base.
func (x *Index) nodeAt(rel uint32) uint32 {
	i, j := 0, len(x.ranges)/rangeSize
	if x.names.size() >= manyNames {
		c := x.coarse()
		block := min(int(rel>>c.shift), len(c.blocks)-2)
		i, j = int(c.blocks[block]), int(c.blocks[block+1])
	}
	for i < j {
		if h := int(uint(i+j) >> 1); binary.LittleEndian.Uint32(x.ranges[h*rangeSize:]) <= rel {
			i = h + 1
		} else {
			j = h
		}
	}
	if i == 0 {
		return unknown
	}
	return binary.LittleEndian.Uint32(x.ranges[(i-1)*rangeSize+4:])
}

// blocks returns the blocks of the ranges.
func (x *Index) blocks() *coarse {
	n := len(x.ranges) / rangeSize
	start := func(i int) uint32 { return binary.LittleEndian.Uint32(x.ranges[i*rangeSize:]) }
	c := &coarse{}
	if n > 0 {
		c.shift = uint(bits.Len32(start(n-1) / uint32(n/perBlock+1)))
	}
	for i := range n {
		if start(i) > start(n-1) {
			panic(ErrDamaged)
		}
		for uint64(start(i)) >= uint64(len(c.blocks))<<c.shift {
			c.blocks = append(c.blocks, uint32(i))
		}
	}
	c.blocks = append(c.blocks, uint32(n))
	if len(c.blocks) < 2 {
		c.blocks = []uint32{0, uint32(n)}
	}
	x.limits.Use(4 * cap(c.blocks))
	return c
}

// node returns the bytes of a node.
func (x *Index) node(number uint32) []byte {
	at := int(number-1) * nodeSize
	return x.nodes[at : at+nodeSize]
}

// describe sets the fields of a frame.
func (x *Index) describe(frame *symsrc.Frame, node []byte) {
	if number := binary.LittleEndian.Uint32(node); number != 0 {
		n := x.name(number)
		frame.Func, frame.Linkage = n.Demangled, n.Linkage
	}
	if number := binary.LittleEndian.Uint32(node[4:]); number != 0 {
		f := x.file(number)
		frame.File, frame.MD5, frame.CompDir = f.path, f.md5, f.compDir
	}
	flags := binary.LittleEndian.Uint16(node[14:])
	frame.Line, frame.Column = int(binary.LittleEndian.Uint32(node[8:])), int(binary.LittleEndian.Uint16(node[12:]))
	frame.Approx, frame.Origin = flags&approxFlag != 0, symsrc.Origin(flags&originMask)
}

// name returns a name.
func (x *Index) name(number uint32) *names.Name {
	n := x.names.get(number)
	if n == nil {
		linkage, rest := x.cut(x.textAt(x.nameAt, number))
		demangled, _ := x.cut(rest)
		if len(demangled) == 0 {
			n = x.table.At(x.table.Find(linkage))
		} else {
			x.limits.Use(names.Weight + len(linkage) + len(demangled))
			n = &names.Name{Linkage: string(linkage), Demangled: string(demangled)}
		}
		x.names.put(number, n)
	}
	return n
}

// file returns a source file.
func (x *Index) file(number uint32) *file {
	f := x.files.get(number)
	if f == nil {
		path, rest := x.cut(x.textAt(x.fileAt, number))
		md5, rest := x.cut(rest)
		compDir, _ := binary.Uvarint(rest)
		if compDir > uint64(len(path)) {
			panic(ErrDamaged)
		}
		x.limits.Use(fileWeight + len(path) + len(md5))
		f = &file{string(path), string(md5), int(compDir)}
		x.files.put(number, f)
	}
	return f
}

// fileWeight is the memory of a file without its strings, in bytes.
const fileWeight = 64

// textAt returns the text from the strings of a name or file on.
func (x *Index) textAt(offsets []byte, number uint32) []byte {
	return x.text[binary.LittleEndian.Uint32(offsets[4*(number-1):]):]
}

// cut cuts a string off the text.
func (x *Index) cut(text []byte) (s, rest []byte) {
	n, used := binary.Uvarint(text)
	if used <= 0 || n > uint64(len(text)-used) {
		panic(ErrDamaged)
	}
	return text[used : used+int(n)], text[used+int(n):]
}
