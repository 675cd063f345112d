package filter

import (
	"context"

	"qss-filter/filter/match"
)

// Literals are what lines are looked for.
var Literals = literals

// FullLook lets every line be looked at in full, or lines that were seen before be known.
func (f *Filter) FullLook(full bool) { f.liner.known.off = full || f.liner.known.off }

// Known handles the lines at the start of b that are known, and returns the number of bytes that they take.
func (f *Filter) Known(dst, b []byte) ([]byte, int) { return f.liner.known.run(dst, b) }

// KnownLines returns the numbers of lines that are known, by their tails and whole.
func (f *Filter) KnownLines() (tails, whole int) {
	return f.liner.known.tails.Len(), f.liner.known.frames.Len()
}

// KnownRead returns the number of frames that were kept to be printed anew.
func (f *Filter) KnownRead() int { return f.liner.known.read }

// KnownBehind is the same for lines behind the prefix of a logger.
func (f *Filter) KnownBehind(dst, b []byte) ([]byte, int) {
	return f.liner.known.behind(f.liner.splits, dst, b)
}

// KnownHeads returns the number of prefixes behind which lines are known.
func (f *Filter) KnownHeads() int { return len(f.liner.known.heads) }

// ReadsAgain reports whether the last line would be read again after itself.
func (f *Filter) ReadsAgain() bool { return !f.liner.splits.again.known }

// Recover forgets the answers that were prefetched.
func (f *Filter) Recover() { f.resolver.Prefetch.Drop() }

// Lines appends what becomes of the first line of b, and of those after it that are known.
func (f *Filter) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	return f.liner.Lines(ctx, dst, b)
}

// ReadEveryLine has the filter look at every line, whatever it holds.
func (f *Filter) ReadEveryLine() {
	every := match.NewScan([]match.Literal{{When: match.Always}}, match.Always)
	for i := range f.liner.scans {
		f.liner.scans[i] = every
	}
	f.liner.candidates = every
}
