package print

import (
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
)

// lineAtHand is the line from Begin to End, for printers that hold stacks back: it is known at its end only whether it goes on with one.
type lineAtHand struct {
	open    bool
	start   int // of its text in the output
	flushed int // bytes of what was held back by the other printer, at its start
	number  int // of the line in the log
	end     []byte
	of      *resolve.Thread // nil if the line is no frame
}

// begin begins a line, whose text will stand after dst.
func (n *lineAtHand) begin(dst []byte, number int, line []byte) {
	_, end := scan.CutEnd(line)
	n.open, n.start, n.flushed, n.number, n.of = true, len(dst), 0, number, nil
	n.end = append(n.end[:0], end...)
}

// abandon appends a line as it came, after what is held back, which release appends.
func (n *lineAtHand) abandon(p Printer, release func([]byte) []byte, dst []byte, number int, line []byte) []byte {
	if !n.open {
		dst = release(dst)
	}
	return p.Abandon(dst, number, line)
}

// flush appends what is held back, within a line only what the other printer does.
func (n *lineAtHand) flush(p Printer, release func([]byte) []byte, dst []byte) []byte {
	if !n.open {
		return p.Flush(release(dst))
	}
	before := len(dst)
	dst = p.Flush(dst)
	if before == n.start {
		n.flushed += len(dst) - before
	}
	return dst
}
