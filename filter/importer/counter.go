package importer

import (
	"bufio"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// counter sums values by path, a sequence of numbers. Paths with the same beginning share the entries of a tree. The tree is
// bounded: a full one is written to a temporary file in the order of its paths, as one run, and a new one is started. The
// sums are those of the tree, or of all runs merged.
type counter struct {
	width int // values of a path
	limit int // entries of the tree

	tree   []entry // 0 is the root, the empty path
	below  map[entry]int32
	values []int64 // width of them for each entry
	// spilled counts how often the tree was written out. The entry of a path is valid until then.
	spilled int
	runs    runs
	// beyond is set when a sum overflowed 64 bits and is the greatest or the least number instead.
	beyond bool
}

// entry is a number that follows the path of another entry.
type entry struct{ parent, number int32 }

const (
	// maxEntries bounds the entries of a tree, of about 50 bytes each.
	maxEntries = 1 << 20
	// maxRuns bounds the runs that are read at once. If there are more, they are merged into one first.
	maxRuns = 64
)

func newCounter(width int) *counter {
	c := &counter{width: width, limit: maxEntries}
	c.clear()
	return c
}

func (c *counter) clear() {
	c.tree, c.below, c.values = make([]entry, 1), map[entry]int32{}, make([]int64, c.width)
}

// full reports whether the tree must be spilled before a path is added.
func (c *counter) full() bool { return len(c.tree) >= c.limit }

// step returns the entry of a number that follows the path of another entry.
func (c *counter) step(from, number int32) int32 {
	e := entry{from, number}
	to, ok := c.below[e]
	if !ok {
		to = int32(len(c.tree))
		c.tree = append(c.tree, e)
		for range c.width {
			c.values = append(c.values, 0)
		}
		c.below[e] = to
	}
	return to
}

// add adds values to the path that ends at an entry.
func (c *counter) add(at int32, values ...int64) {
	for i, v := range values[:min(len(values), c.width)] {
		c.addTo(&c.values[int(at)*c.width+i], v)
	}
}

// addTo adds v to a sum, which stays at the limit on overflow.
func (c *counter) addTo(sum *int64, v int64) {
	var exact bool
	if *sum, exact = addInt64(*sum, v); !exact {
		c.beyond = true
	}
}

// addInt64 returns a+b, or the nearest number if that overflows.
func addInt64(a, b int64) (sum int64, exact bool) {
	sum = a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64, false
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64, false
	}
	return sum, true
}

// each visits the paths that have a value: in the order of their arrival, or, if the tree was spilled, in the order of their
// numbers. path and values are valid until visit returns.
func (c *counter) each(ctx context.Context, visit func(path []int32, values []int64) error) error {
	if c.spilled > 0 {
		return c.inOrder(ctx, visit)
	}
	var path []int32
	for i := range c.tree {
		values := c.values[i*c.width:][:c.width]
		if !anyValue(values) {
			continue
		}
		path = path[:0]
		for at := int32(i); at != 0; at = c.tree[at].parent {
			path = append(path, c.tree[at].number)
		}
		slices.Reverse(path)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(path, values); err != nil {
			return err
		}
	}
	return nil
}

// inOrder visits the paths that have a value in the order of their numbers.
func (c *counter) inOrder(ctx context.Context, visit func(path []int32, values []int64) error) error {
	if c.spilled == 0 {
		return c.walk(func(path []int32, values []int64) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return visit(path, values)
		})
	}
	if err := c.spill(); err != nil {
		return err
	}
	return c.merge(ctx, &c.runs, visit)
}

func anyValue(values []int64) bool {
	return slices.ContainsFunc(values, func(v int64) bool { return v != 0 })
}

// spill writes the tree out as a run.
func (c *counter) spill() error {
	c.spilled++
	if len(c.tree) == 1 && !anyValue(c.values) {
		return nil
	}
	if len(c.runs.ends) == maxRuns {
		if err := c.compact(); err != nil {
			return err
		}
	}
	err := c.runs.write(func(w *runWriter) error { return c.walk(w.put) })
	c.clear()
	return err
}

// walk visits the paths of the tree that have a value in the order of their numbers.
func (c *counter) walk(visit func(path []int32, values []int64) error) error {
	// The children of entry i are children[from[i]:from[i+1]].
	from, children := make([]int32, len(c.tree)+1), make([]int32, len(c.tree)-1)
	for _, e := range c.tree[1:] {
		from[e.parent+1]++
	}
	for i := range c.tree {
		from[i+1] += from[i]
	}
	next := slices.Clone(from)
	for i, e := range c.tree[1:] {
		children[next[e.parent]] = int32(i + 1)
		next[e.parent]++
	}
	copy(next, from)
	var path []int32
	for at := int32(0); ; {
		if next[at] == from[at] { // the first visit
			slices.SortFunc(children[from[at]:from[at+1]], func(a, b int32) int { return int(c.tree[a].number) - int(c.tree[b].number) })
			if values := c.values[int(at)*c.width:][:c.width]; anyValue(values) {
				if err := visit(path, values); err != nil {
					return err
				}
			}
		}
		switch {
		case next[at] < from[at+1]:
			child := children[next[at]]
			next[at]++
			at = child
			path = append(path, c.tree[at].number)
		case at == 0:
			return nil
		default:
			at = c.tree[at].parent
			path = path[:len(path)-1]
		}
	}
}

// compact merges all runs into one.
func (c *counter) compact() error {
	var one runs
	err := one.write(func(w *runWriter) error {
		return c.merge(context.Background(), &c.runs, w.put)
	})
	c.runs.close()
	c.runs = one
	return err
}

// merge visits the paths of all runs in the order of their numbers, with the sums.
func (c *counter) merge(ctx context.Context, from *runs, visit func(path []int32, values []int64) error) error {
	var readers runHeap
	for i := range from.ends {
		r := from.open(i, c.width)
		if more, err := r.next(); err != nil {
			return err
		} else if more {
			readers = append(readers, r)
		}
	}
	heap.Init(&readers)
	var path []int32
	sums := make([]int64, c.width)
	for n := 0; len(readers) > 0; n++ {
		path = append(path[:0], readers[0].path...)
		clear(sums)
		for len(readers) > 0 && slices.Equal(path, readers[0].path) {
			for i, v := range readers[0].values {
				c.addTo(&sums[i], v)
			}
			more, err := readers[0].next()
			if err != nil {
				return err
			}
			if more {
				heap.Fix(&readers, 0)
			} else {
				heap.Pop(&readers)
			}
		}
		if err := ctx.Err(); n%(1<<10) == 0 && err != nil {
			return err
		}
		if err := visit(path, sums); err != nil {
			return err
		}
	}
	return nil
}

// close removes the runs.
func (c *counter) close() {
	c.runs.close()
	c.clear()
}

// runs are sequences of paths with values, each sorted by path, one after the other in a temporary file. A
// path is the number of elements that it shares with the one before it, the number of further elements, and these, all as unsigned
// variable-length integers of encoding/binary; its values are signed ones.
type runs struct {
	file *os.File
	name string // of a file that cannot be removed while it is open
	ends []int64
}

// write adds a run.
func (r *runs) write(fill func(*runWriter) error) (err error) {
	if r.file == nil {
		if r.file, r.name, err = temporary(); err != nil {
			return err
		}
	}
	w := &runWriter{out: bufio.NewWriterSize(r.file, 1<<18)}
	if err := errors.Join(fill(w), w.out.Flush()); err != nil {
		return fmt.Errorf("sort stacks: %w", err)
	}
	end, err := r.file.Seek(0, io.SeekCurrent)
	r.ends = append(r.ends, end)
	return err
}

// open begins to read a run.
func (r *runs) open(i, width int) *runReader {
	start := int64(0)
	if i > 0 {
		start = r.ends[i-1]
	}
	return &runReader{in: bufio.NewReaderSize(io.NewSectionReader(r.file, start, r.ends[i]-start), 1<<16), values: make([]int64, width)}
}

func (r *runs) close() {
	if r.file != nil {
		r.file.Close()
	}
	if r.name != "" {
		os.Remove(r.name)
	}
	*r = runs{}
}

// temporary creates a file for this process alone. If the system allows the removal of open files, it is removed
// immediately, so that it never outlives the process.
func temporary() (f *os.File, name string, err error) {
	f, err = os.CreateTemp("", "qss-filter-stacks-*")
	if err != nil {
		return nil, "", fmt.Errorf("sort stacks: %w", err)
	}
	if os.Remove(f.Name()) != nil { // Windows
		name = f.Name()
	}
	return f, name, nil
}

// runWriter writes one run.
type runWriter struct {
	out  *bufio.Writer
	last []int32
}

func (w *runWriter) put(path []int32, values []int64) error {
	shared := 0
	for shared < min(len(path), len(w.last)) && path[shared] == w.last[shared] {
		shared++
	}
	b := w.out.AvailableBuffer()
	b = binary.AppendUvarint(b, uint64(shared))
	b = binary.AppendUvarint(b, uint64(len(path)-shared))
	for _, number := range path[shared:] {
		b = binary.AppendUvarint(b, uint64(number))
	}
	for _, v := range values {
		b = binary.AppendVarint(b, v)
	}
	w.last = append(w.last[:shared], path[shared:]...)
	_, err := w.out.Write(b)
	return err
}

// runReader reads one run.
type runReader struct {
	in     *bufio.Reader
	path   []int32
	values []int64
}

// next reads the next path. more is false at the end.
func (r *runReader) next() (more bool, err error) {
	shared, err := binary.ReadUvarint(r.in)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	var rest, number uint64
	if err == nil {
		rest, err = binary.ReadUvarint(r.in)
	}
	r.path = r.path[:min(shared, uint64(len(r.path)))]
	for ; err == nil && rest > 0; rest-- {
		number, err = binary.ReadUvarint(r.in)
		r.path = append(r.path, int32(number))
	}
	for i := 0; err == nil && i < len(r.values); i++ {
		r.values[i], err = binary.ReadVarint(r.in)
	}
	if err != nil {
		return false, fmt.Errorf("sort stacks: %w", err)
	}
	return true, nil
}

// runHeap is a heap with the reader of the smallest path on top.
type runHeap []*runReader

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return slices.Compare(h[i].path, h[j].path) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is never called: the heap has all readers from the start.
func (h *runHeap) Push(x any) { *h = append(*h, x.(*runReader)) }

// Pop removes the last reader, for heap.Pop.
func (h *runHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
