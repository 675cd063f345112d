package parse

import (
	"bytes"
	"unsafe"

	"qss-filter/filter/frame"
)

// Ahead has the frames of lines that were looked at ahead, for when their turn comes: to find frames takes a good part of the time for a line.
// The zero Ahead is ready for use.
type Ahead struct {
	search frame.Search
	text   []byte        // of the lines
	frames []frame.Frame // of the lines
	lines  []aheadLine
	// next is the first line whose turn has not come.
	next int
}

// aheadLine is where a line and its frames end in those of all lines.
type aheadLine struct{ text, frames int }

const (
	// maxAheadLine bounds a line that is kept, in bytes: long ones may have thousands of frames.
	maxAheadLine = 1 << 10
	// maxPassed is how many lines may be left out, because nothing is to be read in them again.
	maxPassed = 8
)

// Reset forgets all lines.
func (a *Ahead) Reset() { a.text, a.frames, a.lines, a.next = a.text[:0], a.frames[:0], a.lines[:0], 0 }

// Pass forgets the lines whose turn has come.
func (a *Ahead) Pass() {
	if a.next == 0 {
		return
	}
	passed := a.lines[a.next-1]
	a.text = a.text[:copy(a.text, a.text[passed.text:])]
	a.frames = a.frames[:copy(a.frames, a.frames[passed.frames:])]
	a.lines, a.next = a.lines[:copy(a.lines, a.lines[a.next:])], 0
	for i := range a.lines {
		a.lines[i].text -= passed.text
		a.lines[i].frames -= passed.frames
	}
}

// Read returns the first frame of a line, or nil. It is good until the next call.
func (a *Ahead) Read(line []byte) *frame.Frame {
	a.search.Reset(line)
	if len(line) > maxAheadLine {
		return a.search.Next(0)
	}
	first := len(a.frames)
	for fr := a.search.Next(0); fr != nil; fr = a.search.Next(fr.Whole.End) {
		a.frames = append(a.frames, *fr)
	}
	if a.search.Spent() {
		a.frames = a.frames[:first]
		return nil
	}
	a.text = append(a.text, line...)
	a.lines = append(a.lines, aheadLine{len(a.text), len(a.frames)})
	if first == len(a.frames) {
		return nil
	}
	return &a.frames[first]
}

// take appends the frames of a line whose turn has come, and reports whether they are known.
func (a *Ahead) take(to []frame.Frame, line []byte) (frames []frame.Frame, ok bool) {
	for i := a.next; i < min(a.next+maxPassed, len(a.lines)); i++ {
		var from aheadLine
		if i > 0 {
			from = a.lines[i-1]
		}
		if end := a.lines[i]; bytes.Equal(a.text[from.text:end.text], line) {
			a.next = i + 1
			return append(to, a.frames[from.frames:end.frames]...), true
		}
	}
	return to, false
}

// footprint returns how many bytes of memory it keeps. a may be nil.
func (a *Ahead) footprint() int {
	if a == nil {
		return 0
	}
	return cap(a.text) + cap(a.frames)*int(unsafe.Sizeof(frame.Frame{})) + cap(a.lines)*int(unsafe.Sizeof(aheadLine{}))
}
