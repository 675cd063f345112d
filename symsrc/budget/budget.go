// Package budget bounds what one file may cost, in proportion to its size: a small one that is damaged, or made so, could ask for
// any amount of work and memory otherwise, since its parts may refer to each other any number of times, and what it packs may
// unpack to any size. Work is the budget of a symbol file that is text; File that of an object file, whose debug information may name
// further files.
package budget

import (
	"errors"
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
