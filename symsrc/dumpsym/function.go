package dumpsym

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/object"
)

// function is the one whose pieces are being gathered. Addresses are those of the file.
type function struct {
	open          bool
	lo, hi, start uint64
	number        int
	name          string
	shared        bool
	rows          []row
	calls         map[int]*call
}

// row is a line record; file is −1 where there is none.
type row struct {
	lo, hi     uint64
	file, line int
}

// call is an INLINE record.
type call struct {
	id, depth, line, file, origin int
	spans                         [][2]uint64
}

// piece takes the next piece of code.
func (d *dumper) piece(p *object.Piece) error {
	if p.Lo < d.base || p.Func == "" && len(p.Calls) == 0 {
		return nil // padding may have lines, too, but a walker takes what has a name for code that was called
	}
	if p.Label && p.File == "" && len(p.Calls) == 0 {
		if p.Lo == p.Start {
			d.labels = append(d.labels, label{p.Start - d.base, p.Func, p.Shared})
		}
		return nil
	}
	fn := &d.fn
	if !fn.open || p.Lo != fn.hi || p.Start != fn.start || p.Function != fn.number || p.Func != fn.name {
		if err := d.end(); err != nil {
			return err
		}
		*fn = function{open: true, lo: p.Lo, start: p.Start, number: p.Function, name: p.Func, shared: p.Shared && p.Lo == p.Start,
			rows: fn.rows[:0], calls: map[int]*call{}}
	}
	fn.hi = p.Hi
	if p.File != "" {
		r := row{p.Lo, p.Hi, d.files.number(p.File), p.Line}
		if n := len(fn.rows) - 1; n >= 0 && fn.rows[n].hi == r.lo && fn.rows[n].file == r.file && fn.rows[n].line == r.line {
			fn.rows[n].hi = r.hi
		} else {
			fn.rows = append(fn.rows, r)
		}
	}
	for depth, c := range p.Calls {
		d.inlined(depth, &c, p)
	}
	return nil
}

// inlined notes that a piece is of an inlined call.
func (d *dumper) inlined(depth int, c *dwarf.InlinedCall, p *object.Piece) {
	x := d.fn.calls[c.ID]
	if x == nil {
		name := cmp.Or(c.Func, noName)
		x = &call{id: c.ID, depth: depth, line: c.Line, file: d.files.number(c.File), origin: d.origins.number(name)}
		d.fn.calls[c.ID] = x
	}
	if n := len(x.spans) - 1; n >= 0 && x.spans[n][1] == p.Lo {
		x.spans[n][1] = p.Hi
		return
	}
	x.spans = append(x.spans, [2]uint64{p.Lo, p.Hi})
}

// noName is what Breakpad calls a function whose name is not known.
const noName = "<name omitted>"

// end writes the function.
func (d *dumper) end() error {
	fn, b := &d.fn, d.line[:0]
	if !fn.open {
		return nil
	}
	fn.open = false
	b = append(b, "FUNC "...)
	if fn.shared {
		b = append(b, "m "...)
	}
	b = fmt.Appendf(b, "%x %x 0 %s\n", fn.lo-d.base, fn.hi-fn.lo, clean(cmp.Or(fn.name, noName)))
	calls := make([]*call, 0, len(fn.calls))
	for _, c := range fn.calls {
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b *call) int { return cmp.Compare(a.id, b.id) })
	for _, c := range calls {
		b = fmt.Appendf(b, "INLINE %d %d %d %d", c.depth, c.line, c.file, c.origin)
		for _, s := range c.spans {
			b = fmt.Appendf(b, " %x %x", s[0]-d.base, s[1]-s[0])
		}
		b = append(b, '\n')
	}
	for _, r := range fn.rows {
		b = append(strconv.AppendUint(b, r.lo-d.base, 16), ' ')
		b = append(strconv.AppendUint(b, r.hi-r.lo, 16), ' ')
		b = append(strconv.AppendInt(b, int64(r.line), 10), ' ')
		b = append(strconv.AppendInt(b, int64(r.file), 10), '\n')
	}
	d.line = b
	_, err := d.body.Write(b)
	return err
}
