package filter

// Literals are what lines are looked for.
var Literals = literals

// FullLook lets every line be looked at in full, or lines that were seen before be known.
func (f *Filter) FullLook(full bool) { f.known.off = full || f.known.off }

// Known handles the lines at the start of b that are known, and returns the number of bytes that they take.
func (f *Filter) Known(dst, b []byte) ([]byte, int) { return f.known.run(dst, b) }

// KnownLines returns the numbers of lines that are known, by their tails and whole.
func (f *Filter) KnownLines() (tails, whole int) { return f.known.tails.Len(), f.known.frames.Len() }

// Recover forgets the answers that were prefetched.
func (f *Filter) Recover() { f.resolver.Prefetch.Drop() }
