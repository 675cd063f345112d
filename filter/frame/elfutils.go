package frame

// readElfutils reads the second line of a frame of `eu-stack -b`, `    [67f5bdb4]@0x555555554000+0x13ab`: the build ID, where the
// module begins, and how far behind that the call lies. `+` stands at line[plus].
func readElfutils(s *Search, line []byte, plus, from int, f *Frame) bool {
	low := max(from, plus-len("0x0123456789abcdef"))
	base := plus
	for base > low && line[base-1] != 'x' {
		if _, ok := hexDigit(line[base-1]); !ok {
			return false
		}
		base--
	}
	base -= 2
	if base < from+3 || !has(line, base-2, "]@0x") {
		return false
	}
	idEnd := base - 2
	open := idEnd
	for low := max(from, idEnd-128); open > low; open-- {
		if _, ok := hexDigit(line[open-1]); !ok {
			break
		}
	}
	off, end, ok := hexNumber(line, plus+1)
	if open == idEnd || open == from || line[open-1] != '[' || !ok {
		return false
	}
	*f = Frame{Whole: Span{open - 1, end}, BuildID: Span{open, idEnd}, Off: Span{plus + 1, end}, Offset: off, Space: InImage,
		Convention: Moved}
	f.answer(s, line, end)
	return true
}
