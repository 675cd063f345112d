package elfdwarf

import (
	"errors"
	"fmt"
	"sync/atomic"

	"qss-filter/symsrc"
)

// A file may cost what a file of its size has a use for, and no more. A small one that is damaged, or made so, could ask for any
// amount of work and memory otherwise: its parts may refer to each other any number of times. All of it is counted here: the
// steps of reading, a step for about each byte or entry that is read; the bytes that are kept of the file; and the steps of
// answers, which honest files take few of, however often they are asked.
//
// A file that goes beyond its budget is CORRUPTED from then on, whatever is asked of it: an answer from a part of it would
// depend on the questions before. The answers until then are those of any other order of questions, for what they are made of
// was read in full. What is at the budget's end depends on the order, as what is read does.
const (
	stepsPerByte, leastSteps = 64, 1 << 28 // the latter take about a second at most
	bytesPerByte, leastBytes = 16, 64 << 20
	// stepsPerUnpacked are further ones for each byte that compressed sections unpack to.
	stepsPerUnpacked = 16
	// stepsPerQuestion are those of an answer, on the average; a single one may take leastSteps.
	stepsPerQuestion = 1 << 11
	// unnoticed steps of an answer are not counted: counting would take longer.
	unnoticed = 1 << 8
)

// maxAnswer bounds an answer, in bytes of names and paths: calls of functions with long names may be inlined into each other.
const maxAnswer = 64 << 10

// tooLong reports whether an answer has more text than may be told.
func tooLong(frames []symsrc.Frame) bool {
	n := 0
	for i := range frames {
		n += len(frames[i].Func) + len(frames[i].File)
	}
	return n > maxAnswer
}

// withoutLong are files with what is to be said where an answer is left out.
func withoutLong(of *symsrc.Files) *symsrc.Files {
	files := *of
	if files.Note != "" {
		files.Note += "; "
	}
	files.Note += fmt.Sprintf("answers of more than %d KiB are left out", maxAnswer>>10)
	return &files
}

// budget is what is left to a file and its companions.
type budget struct {
	steps, bytes, answers atomic.Int64
	questions             atomic.Int64  // so far
	size                  atomic.Int64  // of the files, with what their sections unpack to
	used                  atomic.Int64  // bytes in memory
	held, inUse           *atomic.Int64 // the same, of all files of a module, and of a Source; nil where that is not asked
}

// newBudget is that of a file of a size.
func newBudget(size int) *budget {
	b := &budget{}
	b.size.Store(int64(size))
	b.steps.Store(max(leastSteps, stepsPerByte*int64(size)))
	b.bytes.Store(max(leastBytes, bytesPerByte*int64(size)))
	b.answers.Store(max(leastSteps, stepsPerByte*int64(size)))
	return b
}

// grow adds what a companion of a size may cost.
func (b *budget) grow(size int) {
	b.size.Add(int64(size))
	b.steps.Add(stepsPerByte * int64(size))
	b.bytes.Add(bytesPerByte * int64(size))
	b.answers.Add(stepsPerByte * int64(size))
}

// errEndless is the error of a file that takes more work or memory than it may.
var errEndless = errors.New("damaged, or made to take too much work")

// spend counts steps of reading, and ends it where they are too many.
func (b *budget) spend(steps int) {
	if b != nil && b.steps.Add(-int64(steps)) < 0 {
		exceed("more steps than a file of its size takes")
	}
}

// hold counts bytes that are kept of the file, before they are allocated where that may be much.
func (b *budget) hold(n int) {
	if b == nil {
		return
	}
	if b.bytes.Add(-int64(n)) < 0 {
		exceed("more memory than a file of its size takes")
	}
	b.use(n)
}

// use counts bytes that are in memory by now.
func (b *budget) use(n int) {
	if b == nil {
		return
	}
	b.used.Add(int64(n))
	if b.held != nil {
		b.held.Add(int64(n))
		b.inUse.Add(int64(n))
	}
}

// unpacks counts bytes that compressed sections unpack to, which are in memory once they are asked for.
func (b *budget) unpacks(n int) {
	if b == nil {
		return
	}
	b.size.Add(int64(n))
	b.bytes.Add(-int64(n))
	b.steps.Add(stepsPerUnpacked * int64(n))
	b.answers.Add(stepsPerUnpacked * int64(n))
}

// room is how many bytes may still be held.
func (b *budget) room() int64 {
	if b == nil {
		return leastBytes
	}
	return max(0, b.bytes.Load())
}

// answer counts steps that an answer took, which the next one takes again.
func (b *budget) answer(steps int) {
	if steps <= unnoticed || b == nil {
		return
	}
	if left := b.answers.Add(-int64(steps)); left+stepsPerQuestion*b.questions.Load() < 0 {
		exceed("more steps for each answer than a good file takes")
	}
}

// exceed ends the reading of a file. File.guard recovers.
func exceed(what string) {
	panic(&StatusError{symsrc.Corrupted, fmt.Errorf("%w (%s)", errEndless, what)})
}

// tally counts what a loop does, and tells the budget now and then.
type tally struct {
	of           *budget
	steps, bytes int
}

// often is how much a tally counts before it tells.
const often = 1 << 14

func (t *tally) add(steps, bytes int) {
	if t.steps, t.bytes = t.steps+steps, t.bytes+bytes; t.steps > often || t.bytes > often {
		t.tell()
	}
}

func (t *tally) tell() {
	steps, bytes := t.steps, t.bytes
	t.steps, t.bytes = 0, 0
	t.of.spend(steps)
	t.of.hold(bytes)
}
