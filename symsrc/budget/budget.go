// Package budget bounds the work and memory that a file may take, in proportion to its size. Otherwise a small file that is damaged
// or hostile could take any amount: its parts may refer to each other any number of times, and its compressed data may have any size.
// Work is the budget of a Breakpad or GSYM file, File that of an object file, whose debug information may name further files.
package budget

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// The steps and the memory in bytes that a file may take for each of its bytes, and the minimum of both budgets. A step takes about a
// nanosecond, so that minSteps take less than a second.
const (
	stepsPerByte, minSteps = 64, 1 << 29
	bytesPerByte, minBytes = 16, 64 << 20
)

// uncounted is the number of steps of a query that are not counted: queries of real files take fewer.
const uncounted = 256 << 10

// maxAnswer bounds the total length of the names and paths of an answer, in bytes: hostile files have nested inlined calls of functions
// with long names.
const maxAnswer = 64 << 10

// Errors of a file that exceeds its budget, and of an answer that is too long.
var (
	ErrExceeded = errors.New("damaged, or made to take too much work")
	ErrTooLong  = errors.New("an answer of more than 64 KiB is left out")
)

// Bytes returns how many bytes of memory a file of that size may take.
func Bytes(size int64) int64 { return max(minBytes, bytesPerByte*size) }

// Work is the remaining steps of a file. Several goroutines may use it at once.
type Work struct{ left atomic.Int64 }

// NewWork returns the budget of a file of that size.
func NewWork(size int64) *Work { return Steps(max(minSteps, stepsPerByte*size)) }

// Steps returns a budget of n steps.
func Steps(n int64) *Work {
	w := &Work{}
	w.left.Store(n)
	return w
}

// Query returns a Query that counts against w. It fails with ErrExceeded if earlier queries have exceeded the budget: the steps of a
// query may be known only after it has taken them.
func (w *Work) Query() (Query, error) {
	if w.left.Load() < 0 {
		return Query{}, ErrExceeded
	}
	return Query{work: w}, nil
}

// Query counts the steps of a query and the length of its answer. The first steps, up to uncounted, are not taken from the budget of the
// file.
type Query struct {
	work         *Work
	steps, bytes int
}

// Spend counts steps. It fails with ErrExceeded if the budget is exceeded.
func (q *Query) Spend(steps int) error {
	before := max(q.steps-uncounted, 0)
	q.steps += steps
	over := max(q.steps-uncounted, 0) - before
	if over > 0 && q.work.left.Add(-int64(over)) < 0 || q.work.left.Load() < 0 {
		return ErrExceeded
	}
	return nil
}

// AddBytes counts bytes of names and paths of the answer. It fails with ErrTooLong if there are more than maxAnswer.
func (q *Query) AddBytes(bytes int) error {
	if q.bytes += bytes; q.bytes > maxAnswer {
		return ErrTooLong
	}
	return nil
}

// Limits of a File. It counts the steps of reading, about one for each byte or entry that is read; the bytes of the file that are kept in
// memory; and the steps of answers, of which each query of a real file takes few.
//
// A file that exceeds its budget is CORRUPTED for all further queries: an answer from a part of it would depend on the queries before.
// Earlier answers do not depend on the order of queries, since the parts they are from were read completely. When the budget is
// exceeded depends on the order, because the order decides which parts are read.
const (
	// minFileSteps is the minimum of the steps of reading, and of those of answers. They take about a second at most, and a single
	// answer may take all of them.
	minFileSteps = 1 << 28
	// stepsPerUnpacked is the number of additional steps for each byte that compressed sections decompress to.
	stepsPerUnpacked = 16
	// stepsPerAnswer is the number of additional steps of answers for each query.
	stepsPerAnswer = 1 << 11
	// uncountedSteps is the number of steps up to which an answer is not counted: counting would take longer.
	uncountedSteps = 1 << 8
)

// File is the remaining budget of an object file and of the files that its debug information names, which share it. Methods that exceed
// it panic with an error that wraps ErrExceeded: the package that opens files recovers from it, as it does from a fault in mapped
// memory. Spend, Hold, Use, AddUnpacked and Answer count nothing for a nil File.
type File struct {
	steps, bytes, answers atomic.Int64
	queries               atomic.Int64  // number of queries
	size                  atomic.Int64  // of the files, and of the content of their compressed sections
	used                  atomic.Int64  // bytes in memory
	held, inUse           *atomic.Int64 // bytes in memory of all files of a module, and of a Source; both may be nil
}

// NewFile returns the budget of a file of that size.
func NewFile(size int) *File {
	b := &File{}
	b.size.Store(int64(size))
	b.steps.Store(max(minFileSteps, stepsPerByte*int64(size)))
	b.bytes.Store(max(minBytes, bytesPerByte*int64(size)))
	b.answers.Store(max(minFileSteps, stepsPerByte*int64(size)))
	return b
}

// Left returns the remaining steps of reading, bytes of memory, and steps of answers.
func (b *File) Left() (steps, bytes, answers int64) {
	return b.steps.Load(), b.bytes.Load(), b.answers.Load()
}

// CountQuery counts a query.
func (b *File) CountQuery() { b.queries.Add(1) }

// CountIn makes b also add further bytes in memory to held and inUse.
func (b *File) CountIn(held, inUse *atomic.Int64) { b.held, b.inUse = held, inUse }

// CountAs makes b also add further bytes in memory to the counters of another budget.
func (b *File) CountAs(other *File) { b.held, b.inUse = other.held, other.inUse }

// Size returns the total size of the files and of the content of their compressed sections, as far as it was counted.
func (b *File) Size() int64 { return b.size.Load() }

// InMemory returns the number of bytes in memory.
func (b *File) InMemory() int64 { return b.used.Load() }

// Grow adds the budget of another file of that size.
func (b *File) Grow(size int) {
	b.size.Add(int64(size))
	b.steps.Add(stepsPerByte * int64(size))
	b.bytes.Add(bytesPerByte * int64(size))
	b.answers.Add(stepsPerByte * int64(size))
}

// Spend counts steps of reading.
func (b *File) Spend(steps int) {
	if b != nil && b.steps.Add(-int64(steps)) < 0 {
		exceed("more steps than a file of its size takes")
	}
}

// Hold counts bytes that are kept of the file. It is called before large allocations.
func (b *File) Hold(n int) {
	if b == nil {
		return
	}
	if b.bytes.Add(-int64(n)) < 0 {
		exceed("more memory than a file of its size takes")
	}
	b.Use(n)
}

// Use counts bytes as in memory, without taking them from the budget.
func (b *File) Use(n int) {
	if b == nil {
		return
	}
	b.used.Add(int64(n))
	if b.held != nil {
		b.held.Add(int64(n))
		b.inUse.Add(int64(n))
	}
}

// AddUnpacked counts the decompressed size of compressed sections, which are not in memory until they are needed.
func (b *File) AddUnpacked(n int) {
	if b == nil {
		return
	}
	b.size.Add(int64(n))
	b.bytes.Add(-int64(n))
	b.steps.Add(stepsPerUnpacked * int64(n))
	b.answers.Add(stepsPerUnpacked * int64(n))
}

// Room returns the number of bytes that Hold may still take.
func (b *File) Room() int64 {
	if b == nil {
		return minBytes
	}
	return max(0, b.bytes.Load())
}

// Answer counts the steps of an answer.
func (b *File) Answer(steps int) {
	if steps <= uncountedSteps || b == nil {
		return
	}
	if left := b.answers.Add(-int64(steps)); left+stepsPerAnswer*b.queries.Load() < 0 {
		exceed("more steps for each answer than a good file takes")
	}
}

// exceed panics with an error that wraps ErrExceeded.
func exceed(what string) {
	panic(fmt.Errorf("%w (%s)", ErrExceeded, what))
}

// Tally counts the steps and bytes of a loop, and adds them to Of in batches.
type Tally struct {
	Of           *File
	steps, bytes int
}

// tallyLimit is the number of steps or of bytes after which a Tally flushes.
const tallyLimit = 1 << 14

// Add counts steps and bytes.
func (t *Tally) Add(steps, bytes int) {
	if t.steps, t.bytes = t.steps+steps, t.bytes+bytes; t.steps > tallyLimit || t.bytes > tallyLimit {
		t.Flush()
	}
}

// Flush adds the counts to Of and resets them.
func (t *Tally) Flush() {
	steps, bytes := t.steps, t.bytes
	t.steps, t.bytes = 0, 0
	t.Of.Spend(steps)
	t.Of.Hold(bytes)
}

// Queries returns the number of queries that were counted.
func (b *File) Queries() int64 { return b.queries.Load() }
