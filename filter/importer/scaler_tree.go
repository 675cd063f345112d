package importer

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// The file of a thread is the tree of its calls in level order: the children of a node are contiguous, those of the first
// node of a level before those of the second. A node is a type of one byte and six numbers of 64 bits, little endian and
// packed: file ID, function ID, start and end in microseconds of Unix time, the index of the first child, the number of
// children; two more numbers for pthread functions, one for those of semaphores. Node 0 stands for the thread.
const (
	normalNode    = 1
	pthreadNode   = 2
	semaphoreNode = 3

	plainSize = 1 + 6*8
)

// nodeSizes are the sizes of nodes by type, 0 for unknown types.
var nodeSizes = [256]int64{normalNode: plainSize, pthreadNode: plainSize + 16, semaphoreNode: plainSize + 8}

// node is one call.
type node struct {
	kind                 byte
	file, function       int64
	start, end           int64 // end is −1 of a call that never returned
	firstChild, children int64
	extra1, extra2       int64
	index                int64
}

func (n *node) returned() bool { return n.end != -1 }

// microseconds returns the duration of a call that returned, 0 if it ended before it began, and the greatest number on overflow.
func (n *node) microseconds() int64 {
	if n.end < n.start {
		return 0
	}
	return int64(min(uint64(n.end)-uint64(n.start), math.MaxInt64))
}

// tree is a thread's file. Its nodes vary in size: the offset of every 256th is known, and the nodes between two of these are read as
// a block. Some blocks are cached. That bounds the memory: eight bytes per block of the file.
type tree struct {
	f      *os.File
	marks  []int64 // the offset of block i; one more for the end
	n      int64   // nodes that can be read
	blocks map[int64]*block
	clock  int64
	raw    []byte
	// maxBatch bounds the siblings that are sorted at once.
	maxBatch int64
}

type block struct {
	nodes []node
	used  int64
}

const (
	blockNodes = 256
	maxBlocks  = 512
)

// scanTree reads the file once to check it: types, sizes, and that the children of each node begin where those of the node
// before it ended. The tree has the nodes before the first damage.
func scanTree(f *os.File, p *progress) (t *tree, damage error) {
	t = &tree{f: f, blocks: map[int64]*block{}, maxBatch: maxBatch}
	info, err := f.Stat()
	if err != nil {
		return t, err
	}
	s := treeScan{t: t, in: bufio.NewReaderSize(&counted{f, p}, 1<<18), size: info.Size(), expected: 1}
	for {
		at := s.at
		if t.n%blockNodes == 0 && at < s.size {
			t.marks = append(t.marks, at)
		}
		if more, err := s.next(); err != nil || !more {
			t.marks = append(t.marks, at)
			return t, err
		}
		t.n++
	}
}

// treeScan is the first reading of a file.
type treeScan struct {
	t        *tree
	in       *bufio.Reader
	at, size int64
	expected int64 // nodes, as far as known
	node     [plainSize + 16]byte
}

// next reads one node. more is false at the end.
func (s *treeScan) next() (more bool, err error) {
	name, index := s.t.f.Name(), s.t.n
	damage := func(at int64, format string, args ...any) (bool, error) {
		return false, &DamageError{name, at, fmt.Sprintf(format, args...)}
	}
	kind, err := s.in.ReadByte()
	switch {
	case errors.Is(err, io.EOF) && index == 0:
		return damage(0, "the file is empty: not even the thread's own node is there")
	case errors.Is(err, io.EOF) && index < s.expected:
		return damage(s.at, "the file ends before node %d of %d", index, s.expected)
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read %s: %w", name, err)
	case index == s.expected:
		return damage(s.at, "%d bytes after the last of %d nodes", s.size-s.at, s.expected)
	}
	size := nodeSizes[kind]
	if size == 0 {
		return damage(s.at, "node %d has type %d, not 1, 2 or 3", index, int8(kind))
	}
	s.node[0] = kind
	if n, err := io.ReadFull(s.in, s.node[1:size]); err != nil {
		return damage(s.at, "node %d is cut off: %d of %d bytes", index, n+1, size)
	}
	n := decodeNode(s.node[:size])
	rest := s.size - s.at - size
	if n.children < 0 || n.children > rest/plainSize {
		return damage(s.at+41, "node %d has %d children, and %d bytes follow", index, n.children, rest)
	}
	if n.children > 0 && n.firstChild != s.expected {
		return damage(s.at+33, "node %d has its first child at index %d, not %d", index, n.firstChild, s.expected)
	}
	s.expected += n.children
	s.at += size
	return true, nil
}

// decodeNode reads a node of a known type.
func decodeNode(b []byte) node {
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[1+8*i:])) }
	n := node{kind: b[0], file: word(0), function: word(1), start: word(2), end: word(3), firstChild: word(4), children: word(5)}
	if len(b) > plainSize {
		n.extra1 = word(6)
	}
	if len(b) > plainSize+8 {
		n.extra2 = word(7)
	}
	return n
}

// node returns the node of an index below t.n.
func (t *tree) node(index int64) (node, error) {
	number := index / blockNodes
	b := t.blocks[number]
	if b == nil {
		var err error
		if b, err = t.load(number); err != nil {
			return node{}, err
		}
	}
	t.clock++
	b.used = t.clock
	if index%blockNodes >= int64(len(b.nodes)) { // the file has changed
		return node{}, &DamageError{t.f.Name(), t.marks[number], "the file was changed while it was read"}
	}
	return b.nodes[index%blockNodes], nil
}

// load reads a block and evicts the least recently used one.
func (t *tree) load(number int64) (*block, error) {
	b := &block{}
	if len(t.blocks) >= maxBlocks {
		oldest, at := int64(-1), int64(0)
		for i, k := range t.blocks {
			if oldest < 0 || k.used < at {
				oldest, at = i, k.used
			}
		}
		b.nodes = t.blocks[oldest].nodes[:0]
		delete(t.blocks, oldest)
	}
	from, to := t.marks[number], t.marks[number+1]
	if int64(cap(t.raw)) < to-from {
		t.raw = make([]byte, blockNodes*(plainSize+16))
	}
	raw := t.raw[:to-from]
	if _, err := t.f.ReadAt(raw, from); err != nil {
		return nil, fmt.Errorf("read %s: %w", t.f.Name(), err)
	}
	for len(raw) > 0 {
		size := nodeSizes[raw[0]]
		if size == 0 || size > int64(len(raw)) {
			break
		}
		n := decodeNode(raw[:size])
		n.index = number*blockNodes + int64(len(b.nodes))
		b.nodes = append(b.nodes, n)
		raw = raw[size:]
	}
	t.blocks[number] = b
	return b, nil
}

// siblings returns the children of one node by their start, those with the same start in the reverse order of the file: the
// recorder puts a new call before the older ones, so usually the file is only read backwards, and nothing is
// sorted.
type siblings struct {
	t        *tree
	first, n int64
	// backwards is set if the reverse order of the file is the order of time; given counts the returned siblings.
	backwards bool
	given     int64
	// Otherwise batch has the next siblings, at most maxBatch; last is the last one of the batches before.
	batch []sibling
	last  sibling
}

type sibling struct{ start, index int64 }

func (a sibling) compare(b sibling) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.index, a.index))
}

// maxBatch is tree.maxBatch of a new tree. If there are more siblings, they are read again for each batch.
const maxBatch = 1 << 18

// childrenOf returns the children of n that can be read.
func (t *tree) childrenOf(n *node) (siblings, error) {
	s := siblings{t: t, first: n.firstChild, n: n.children}
	s.n = max(0, min(s.n, t.n-s.first))
	if s.n == 0 {
		return s, nil
	}
	s.backwards = true
	for i := s.n - 1; i >= 0; i-- {
		c, err := t.node(s.first + i)
		if err != nil {
			return s, err
		}
		if i < s.n-1 && c.start < s.last.start {
			s.backwards = false
			break
		}
		s.last.start = c.start
	}
	s.last = sibling{}
	return s, nil
}

// next returns the index of the next child, or −1 after the last one.
func (s *siblings) next() (int64, error) {
	if s.given == s.n {
		return -1, nil
	}
	s.given++
	if s.backwards {
		return s.first + s.n - s.given, nil
	}
	if len(s.batch) == 0 {
		if err := s.fill(); err != nil {
			return -1, err
		}
	}
	s.last = s.batch[0]
	s.batch = s.batch[1:]
	return s.last.index, nil
}

// fill collects the next batch: the smallest siblings after last.
func (s *siblings) fill() error {
	began := s.given > 1
	batch := make([]sibling, 0, min(2*s.t.maxBatch, s.n))
	smallest := func() {
		slices.SortFunc(batch, sibling.compare)
		batch = batch[:min(int64(len(batch)), s.t.maxBatch)]
	}
	for i := s.n - 1; i >= 0; i-- {
		c, err := s.t.node(s.first + i)
		if err != nil {
			return err
		}
		if k := (sibling{c.start, c.index}); !began || k.compare(s.last) > 0 {
			if batch = append(batch, k); int64(len(batch)) == 2*s.t.maxBatch {
				smallest()
			}
		}
	}
	smallest()
	s.batch = batch
	return nil
}
