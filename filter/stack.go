package filter

// stack counts the numbers of one stack of frames: every number is the log's own plus the lines inserted so far, so
// gaps, late joins and stacks that do not begin at 0 stay right.
type stack struct {
	last  uint64
	shift uint64
	begun bool
}

// number gives the number to print for the log's number n. One that is not above the last begins a new stack.
func (s *stack) number(n uint64) uint64 {
	if !s.begun || n <= s.last {
		s.shift = 0
	}
	s.begun, s.last = true, n
	return n + s.shift
}

// insert notes that a frame took k lines more than one.
func (s *stack) insert(k int) { s.shift += uint64(k) }
