package filter

import (
	"context"
	"slices"

	"qss-filter/filter/parse"
	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
)

// onlyStacks is a printer that leaves out the lines without a frame or a value of another printer, and puts an empty line in the place of
// those between two stacks.
type onlyStacks struct {
	print.Printer
	start int  // of the line at hand in the output
	holds bool // the line has something
	wrote bool // a line was written
	gap   bool // lines were left out since
}

// Begin begins a line.
func (o *onlyStacks) Begin(dst []byte, number int, line []byte) []byte {
	o.start, o.holds = len(dst), false
	return o.Printer.Begin(dst, number, line)
}

// begin begins a known line, which has something. Where all lines are written it does nothing, as all below.
func (o *onlyStacks) begin(dst []byte) {
	if o != nil {
		o.start, o.holds = len(dst), true
	}
}

// end ends a known line.
func (o *onlyStacks) end(dst []byte) []byte {
	if o == nil {
		return dst
	}
	return o.End(dst)
}

// begun returns where the output of the line at hand begins, which would be there if all lines were written.
func (o *onlyStacks) begun(there int) int {
	if o == nil {
		return there
	}
	return o.start
}

// writes reports whether the line at hand is written.
func (o *onlyStacks) writes() bool { return o == nil || o.holds }

// Items notes that the line has something.
func (o *onlyStacks) Items(ctx context.Context, dst []byte, t *resolve.Thread, s parse.Segment, items []print.Item, alone int) []byte {
	o.holds = true
	return o.Printer.Items(ctx, dst, t, s, items, alone)
}

// Register notes that the line has something.
func (o *onlyStacks) Register(dst, before []byte, t *resolve.Thread, v parse.Value, a *resolve.Answer, end []byte) []byte {
	o.holds = true
	return o.Printer.Register(dst, before, t, v, a, end)
}

// End leaves the line out unless it has something.
func (o *onlyStacks) End(dst []byte) []byte {
	dst = o.Printer.End(dst)
	if !o.holds {
		o.gap = true
		return dst[:o.start]
	}
	if o.wrote && o.gap {
		dst = slices.Insert(dst, o.start, '\n')
		o.start++
	}
	o.wrote, o.gap = true, false
	return dst
}
