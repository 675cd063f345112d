package filter

import (
	"bytes"

	"qss-filter/filter/frame"
	"qss-filter/markup"
)

// emitter is what the log's headers say of who prints the frames that follow.
type emitter uint8

const (
	// unknownEmitter: no header was seen.
	unknownEmitter emitter = iota
	// movedEmitter prints addresses that lie in the call already: every sanitizer but TSan's own reports. The address
	// of a fault is exact. Either way nothing is subtracted.
	movedEmitter
	// rawEmitter prints return addresses, even for frame 0: TSan's reports as markup.
	rawEmitter
)

var (
	sanitizerWord = []byte("Sanitizer")
	summaryWord   = []byte("SUMMARY: ")
	errorWord     = []byte("ERROR: ")
	warningWord   = []byte("WARNING: ")
	threadWord    = []byte("ThreadSanitizer")
	runtimeError  = []byte("runtime error:")
)

// note learns from a line. A report ends behind its summary, which belongs to it: what follows is somebody else's.
func (e *emitter) note(line []byte) {
	if i := bytes.Index(line, sanitizerWord); i >= 0 {
		before := line[:i]
		switch {
		case bytes.Contains(before, summaryWord):
		case bytes.Contains(before, warningWord) && bytes.Contains(line, threadWord):
			*e = rawEmitter
		case bytes.Contains(before, errorWord), bytes.Contains(before, warningWord):
			*e = movedEmitter
		}
		return
	}
	if bytes.Contains(line, runtimeError) {
		*e = movedEmitter
	}
}

// over notes that the line at hand ended a report.
func (e *emitter) over(line []byte) {
	if *e != unknownEmitter && bytes.Contains(line, summaryWord) {
		*e = unknownEmitter
	}
}

// markupBack gives how many bytes before the logged address of an element the code lies: 1 for a return address.
// exact is the type of an element without a suffix where nothing else is known: pc elements are exact, bt are not.
func (f *Filter) markupBack(p *process, t markup.PCType, exact bool) uint64 {
	switch {
	case f.opt.Adjust == AdjustNone, t == markup.Exact:
		return 0
	case f.opt.Adjust == AdjustRA, t == markup.ReturnAddress:
		return 1
	case p.emitter == movedEmitter:
		return 0
	case p.emitter == rawEmitter:
		return 1
	case exact:
		return 0
	}
	return 1
}

// textBack is the same for a frame of another format. What the sanitizers' own printer writes lies in the call already;
// of others the first frame is exact, and those that called it are return addresses.
func (f *Filter) textBack(p *process, fr *frame.Frame) uint64 {
	switch {
	case f.opt.Adjust == AdjustNone:
		return 0
	case f.opt.Adjust == AdjustRA:
		return 1
	case fr.Convention == frame.Moved, fr.Convention == frame.Exact, p.emitter != unknownEmitter:
		return 0
	case fr.Convention == frame.Raw:
		return 1
	case fr.Number == 0:
		return 0
	}
	return 1
}
