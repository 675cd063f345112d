package breakpad

import (
	"math"

	"qss-filter/symsrc"
)

// row is a line record: which line some code is of. Its zero value covers nothing.
type row struct{ lo, size, line, file uint64 }

// call is a function inlined into another one, by the part of its code that covers the address.
type call struct{ lo, line, file, origin uint64 }

// maxNested bounds how deep calls are inlined into each other, as symsrc/elfdwarf does.
const maxNested = 1000

// function reads the records of a function.
func (f *File) function(r *record, addr uint64) []symsrc.Frame {
	head := f.fields(r)
	head.skip("m")
	head.hex()
	head.hex()
	head.hex()
	var at row
	var memory [16]call
	calls := memory[:0]
	f.below(r, func(x row) {
		if addr-x.lo < x.size {
			at = x
		}
	}, func(x fields) { calls = inlined(x, addr, calls) })
	approx := false
	if at.size > 0 && at.line == 0 {
		scope := r.addr
		if n := len(calls); n > 0 {
			scope = calls[n-1].lo
		}
		approx = f.before(r, &at, scope)
	}
	frames := f.chain(head.rest(), at, calls)
	frames[0].Approx = approx && frames[0].Line > 0
	return frames
}

// below goes over the records below a function.
func (f *File) below(r *record, line func(row), inline func(fields)) {
	text := f.text[r.off:]
	if len(text) > maxFunction {
		text = wholeLines(text[:maxFunction])
	}
	for text = nextLine(text); len(text) > 0; text = nextLine(text) {
		x := fields{text: text}
		if x.skip("INLINE") {
			inline(x)
			continue
		}
		at := row{lo: x.hex(), size: x.hex(), line: x.decimal(), file: x.decimal()}
		if x.bad {
			return // the function's records end
		}
		line(at)
	}
}

// before gives a row without a line that of the nearest row before it, of the same file and of code from scope on: what
// symsrc/elfdwarf does.
func (f *File) before(r *record, at *row, scope uint64) (found bool) {
	var best row
	f.below(r, func(x row) {
		if x.lo < at.lo && x.lo+x.size > scope && x.line != 0 && x.file == at.file && (!found || x.lo > best.lo) {
			best, found = x, true
		}
	}, func(fields) {})
	if found {
		at.line = best.line
	}
	return found
}

// inlined takes an INLINE record where it covers the address: `depth line file origin`, and pairs of address and size. A call
// stands before those within it; of several of a depth the last one counts.
func inlined(x fields, addr uint64, calls []call) []call {
	depth := x.decimal()
	c := call{line: x.decimal(), file: x.decimal(), origin: x.decimal()}
	if x.bad || depth > uint64(len(calls)) || depth >= maxNested {
		return calls
	}
	for {
		lo, n := x.hex(), x.hex()
		if x.bad {
			return calls
		}
		if addr-lo < n {
			c.lo = lo
			return append(calls[:depth], c)
		}
	}
}

// chain makes the frames.
func (f *File) chain(outer []byte, at row, calls []call) []symsrc.Frame {
	frames := make([]symsrc.Frame, 0, len(calls)+1)
	known, file, line := at.size > 0, at.file, at.line
	add := func(frame symsrc.Frame) {
		if known {
			frame.File = f.files.text(f.text, file)
		}
		if frame.File != "" && line <= math.MaxInt32 {
			frame.Line = int(line)
		}
		frames = append(frames, frame)
	}
	for i := len(calls) - 1; i >= 0; i-- {
		c := &calls[i]
		add(named(f.origins.text(f.text, c.origin)))
		known, file, line = true, c.file, c.line
	}
	add(named(string(outer)))
	return frames
}
