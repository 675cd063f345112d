package frame

var summaryWord = []byte("SUMMARY: ")

// findSummary finds the `(elf+0xoff)` of a sanitizer's last line, `SUMMARY: AddressSanitizer: heap-use-after-free
// (elf+0xoff) (BuildId: id) `. Other sentences with such a pair are left alone: it may be the address of data.
func findSummary(line []byte, from int, f *Frame) bool {
	s := indexFrom(line, summaryWord, 0)
	if s < 0 {
		return false
	}
	from = max(from, s+len(summaryWord))
	open, plus, off, end, ok := modulePair(line, from, len(line))
	if !ok {
		return false
	}
	*f = Frame{Shape: Pair, Whole: Span{open, end}, Gap: Span{open, open}, Module: Span{open + 1, plus},
		Off: Span{plus + 1, end - 1}, Offset: off, Convention: Moved}
	// Behind the pair the runtimes name the function, where they know it: then only the file is missing.
	f.Done = endsWithLine(line[:open])
	if id, e, ok := buildID(line, end); ok {
		f.BuildID, f.Whole.End = id, e
	}
	return true
}
