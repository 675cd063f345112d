// Package budget bounds what one file may cost, in proportion to its size: a small one that is damaged, or made so, could ask for
// any amount of work and memory otherwise, since its parts may refer to each other any number of times, and what it packs may
// unpack to any size. Work is the budget of a symbol file that is text; File that of an object file, whose debug information may name
// further files.
package budget

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// What a file may cost for each of its bytes, and at least. A step takes about a nanosecond, so that leastSteps are less than a
// second.
const (
	stepsPerByte, leastSteps = 64, 1 << 29
	bytesPerByte, leastBytes = 16, 64 << 20
)

// unnoticed steps of one question are not counted: honest files take fewer.
const unnoticed = 256 << 10

// maxAnswer bounds an answer, in bytes of names and paths: calls of functions with long names may be inlined into each other.
const maxAnswer = 64 << 10

// Errors of a file, and of an answer, that cost too much.
var (
	ErrExceeded = errors.New("damaged, or made to take too much work")
	ErrTooLong  = errors.New("an answer of more than 64 KiB is left out")
)

// Bytes returns how many bytes of memory a file of that size may take.
func Bytes(size int64) int64 { return max(leastBytes, bytesPerByte*size) }

// Work is what is left of the steps that a file may take. It may be used by several goroutines at once.
type Work struct{ left atomic.Int64 }

// NewWork returns the steps of a file of that size.
func NewWork(size int64) *Work { return Steps(max(leastSteps, stepsPerByte*size)) }

// Steps returns that many of them.
func Steps(n int64) *Work {
	w := &Work{}
	w.left.Store(n)
	return w
}

// Question begins to count the steps of one answer. It fails with ErrExceeded where no steps are left: a question that costs much may
// be known only after what it costs.
func (w *Work) Question() (Question, error) {
	if w.left.Load() < 0 {
		return Question{}, ErrExceeded
	}
	return Question{of: w}, nil
}

// Question counts the steps of one answer, and the length of what it says. Few steps are not taken from the file's.
type Question struct {
	of           *Work
	steps, bytes int
}

// Spend counts steps. It fails with ErrExceeded where there are no more.
func (q *Question) Spend(steps int) error {
	before := max(q.steps-unnoticed, 0)
	q.steps += steps
	over := max(q.steps-unnoticed, 0) - before
	if over > 0 && q.of.left.Add(-int64(over)) < 0 || q.of.left.Load() < 0 {
		return ErrExceeded
	}
	return nil
}

// Say counts bytes of names and paths. It fails with ErrTooLong where they are too many.
func (q *Question) Say(bytes int) error {
	if q.bytes += bytes; q.bytes > maxAnswer {
		return ErrTooLong
	}
	return nil
}

// What an object file may cost beyond what Work counts. The steps of reading are counted, a step for about each byte or entry that is
// read; the bytes that are kept of the file; and the steps of answers, which honest files take few of, however often they are asked.
//
// A file that exceeds its budget is CORRUPTED from then on, whatever is asked of it: an answer from a part of it would depend on the
// questions before. The answers until then are those of any other order of questions, since what they are made of was read in full.
// What is at the budget's end depends on the order, as what is read does.
const (
	// leastFileSteps take about a second at most. A single answer may take as many.
	leastFileSteps = 1 << 28
	// stepsPerUnpacked are further ones for each byte that compressed sections unpack to.
	stepsPerUnpacked = 16
	// stepsPerAnswer are those of an answer, on the average.
	stepsPerAnswer = 1 << 11
	// unnoticedSteps of an answer are not counted: counting would take longer.
	unnoticedSteps = 1 << 8
)

// File is what is left to an object file and to the files that its debug information names, which share it. A nil File counts nothing.
// What exceeds it panics with an error that wraps ErrExceeded: the package that opens files recovers from it, as it does from a fault
// in mapped memory.
type File struct {
	steps, bytes, answers atomic.Int64
	questions             atomic.Int64  // so far
	size                  atomic.Int64  // of the files, with what their sections unpack to
	used                  atomic.Int64  // bytes in memory
	held, inUse           *atomic.Int64 // the same, of all files of a module, and of a Source; nil where that is not asked
}

// NewFile returns the budget of a file of that size.
func NewFile(size int) *File {
	b := &File{}
	b.size.Store(int64(size))
	b.steps.Store(max(leastFileSteps, stepsPerByte*int64(size)))
	b.bytes.Store(max(leastBytes, bytesPerByte*int64(size)))
	b.answers.Store(max(leastFileSteps, stepsPerByte*int64(size)))
	return b
}

// Left returns what may still be taken: steps of reading, bytes of memory, and steps of answers.
func (b *File) Left() (steps, bytes, answers int64) {
	return b.steps.Load(), b.bytes.Load(), b.answers.Load()
}

// Question counts a question.
func (b *File) Question() { b.questions.Add(1) }

// CountIn makes b add the bytes in memory to held and to inUse as well, from now on.
func (b *File) CountIn(held, inUse *atomic.Int64) { b.held, b.inUse = held, inUse }

// CountAs makes b add the bytes in memory where another budget adds its own.
func (b *File) CountAs(other *File) { b.held, b.inUse = other.held, other.inUse }

// Size returns the size of the files, with what their sections unpack to.
func (b *File) Size() int64 { return b.size.Load() }

// InMemory returns how many bytes are in memory.
func (b *File) InMemory() int64 { return b.used.Load() }

// Grow adds what a further file of that size may cost.
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

// Hold counts bytes that are kept of the file, before they are allocated where that may be much.
func (b *File) Hold(n int) {
	if b == nil {
		return
	}
	if b.bytes.Add(-int64(n)) < 0 {
		exceed("more memory than a file of its size takes")
	}
	b.Use(n)
}

// Use counts bytes that are in memory by now, and were held before.
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

// AddUnpacked counts bytes that compressed sections unpack to, which are in memory only when they are asked for.
func (b *File) AddUnpacked(n int) {
	if b == nil {
		return
	}
	b.size.Add(int64(n))
	b.bytes.Add(-int64(n))
	b.steps.Add(stepsPerUnpacked * int64(n))
	b.answers.Add(stepsPerUnpacked * int64(n))
}

// Room returns how many bytes may still be held.
func (b *File) Room() int64 {
	if b == nil {
		return leastBytes
	}
	return max(0, b.bytes.Load())
}

// Answer counts steps that an answer took, and that the next one takes again.
func (b *File) Answer(steps int) {
	if steps <= unnoticedSteps || b == nil {
		return
	}
	if left := b.answers.Add(-int64(steps)); left+stepsPerAnswer*b.questions.Load() < 0 {
		exceed("more steps for each answer than a good file takes")
	}
}

// exceed ends the reading of a file.
func exceed(what string) {
	panic(fmt.Errorf("%w (%s)", ErrExceeded, what))
}

// Tally counts what a loop does, and passes it on now and then.
type Tally struct {
	Of           *File
	steps, bytes int
}

// often is how much a Tally counts before it passes it on.
const often = 1 << 14

// Add counts steps and bytes.
func (t *Tally) Add(steps, bytes int) {
	if t.steps, t.bytes = t.steps+steps, t.bytes+bytes; t.steps > often || t.bytes > often {
		t.Flush()
	}
}

// Flush passes on what was counted so far.
func (t *Tally) Flush() {
	steps, bytes := t.steps, t.bytes
	t.steps, t.bytes = 0, 0
	t.Of.Spend(steps)
	t.Of.Hold(bytes)
}

// Questions returns how many questions were counted.
func (b *File) Questions() int64 { return b.questions.Load() }
