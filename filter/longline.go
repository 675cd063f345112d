package filter

// longestLLVM is the longest line, in bytes, that is looked at in the style of llvm, which knows no limit.
const longestLLVM = 64 << 20

// bufferSize is that of a stream's buffer: the longest line of the default style, and what comes behind it.
const bufferSize = maxLine + 64<<10

// longest is the longest line that is looked at, in bytes.
func (f *Filter) longest() int {
	if f.llvm != nil {
		return f.llvm.longest
	}
	return maxLine
}

// fit makes room behind the line in the buffer, and gives the room back when the line is gone.
func (r *stream) fit() {
	switch {
	case r.end == len(r.buf):
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	case len(r.buf) > bufferSize && r.end < bufferSize/2:
		r.buf = append(make([]byte, 0, bufferSize), r.buf[:r.end]...)[:bufferSize]
	}
}
