package filter

// stack counts the numbers of one stack of frames: every number is the log's own plus the lines inserted so far, so
// gaps, late joins and stacks that do not begin at 0 stay right.
type stack struct {
	last  uint64
	shift uint64
	begun bool
	// line is that of the stack's last frame.
	line int
}

// maxBetween is how many lines may stand between two frames of one stack, in formats without numbers.
const maxBetween = 3

// first reports whether a frame on that line is the first one of its stack.
func (s *stack) first(line int, numbered bool, number uint64) bool {
	if numbered {
		return number == 0
	}
	return s.line == 0 || line-s.line > maxBetween
}

// number returns the number to print for the log's number n. One that is not above the last begins a new stack.
func (s *stack) number(n uint64) uint64 {
	if !s.begun || n <= s.last {
		s.shift = 0
	}
	s.begun, s.last = true, n
	return n + s.shift
}

// insert notes that a frame took k lines more than one.
func (s *stack) insert(k int) { s.shift += uint64(k) }
