package print

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"slices"

	"qss-filter/ctxstate"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// Fold collects the context elements of consecutive lines into one line per module:
//
//	[[[ELF module #0x1 "libc.so"; BuildID=83238ab5 [0x1000-0x1fff](rx),[0x2000-0x2fff](rw)]]]
//
// Mappings of a module that was defined before make a line of their own, with "adds" in place of the build ID.
type Fold struct {
	module *ctxstate.Module
	head   []byte // the beginning of the line, with its indent
	ranges []Range
	end    []byte
	// note, if it is not empty, folds all modules into one line, `[9 modules…]`, which it ends. modules is their number.
	note    string
	modules int
	// first is what the first flush after a mark wrote, if the line was open at the mark.
	first     []byte
	open, out bool // whether a line was open at the mark, and whether it was flushed since
}

// maxRanges is how many ranges a line has at most. Further ones go to another line.
const maxRanges = 1 << 12

// Range is one range of the line. Last is inclusive, and below Start for an empty range.
type Range struct {
	Start, Last uint64
	Mode        string
}

// define begins the line of a module.
func (f *Fold) define(dst []byte, m *ctxstate.Module, indent, end []byte) []byte {
	if f.note != "" {
		f.count(m, indent, end)
		return dst
	}
	dst = f.Flush(dst)
	f.begin(m, true, indent, end)
	return dst
}

// count counts a module of the line that has all of them.
func (f *Fold) count(m *ctxstate.Module, indent, end []byte) {
	if f.module == nil {
		f.modules, f.head, f.end = 0, append(f.head[:0], indent...), append(f.end[:0], end...)
	}
	if f.module != m {
		f.module = m
		f.modules++
	}
}

// DefineKnown begins the line of a module whose head is known.
func (f *Fold) DefineKnown(dst []byte, m *ctxstate.Module, head, end []byte) []byte {
	if f.note != "" {
		f.count(m, nil, end)
		return dst
	}
	dst = f.Flush(dst)
	f.module, f.ranges = m, f.ranges[:0]
	f.head, f.end = append(f.head[:0], head...), append(f.end[:0], end...)
	return dst
}

// Add puts a range into the line of its module, and begins that line if it is not open.
func (f *Fold) Add(dst []byte, m *ctxstate.Module, r Range, indent, end []byte) []byte {
	if f.note != "" {
		f.count(m, indent, end)
		return dst
	}
	if f.module != m || len(f.ranges) >= maxRanges {
		dst = f.Flush(dst)
		f.begin(m, false, indent, end)
	}
	f.ranges = append(f.ranges, r)
	return dst
}

// begin begins a line: fresh if it defines the module.
func (f *Fold) begin(m *ctxstate.Module, fresh bool, indent, end []byte) {
	f.module, f.ranges = m, f.ranges[:0]
	f.head, f.end = AppendModuleHead(append(f.head[:0], indent...), m, fresh), append(f.end[:0], end...)
}

// Pending reports whether a line is open.
func (f *Fold) Pending() bool { return f.module != nil }

// Flush writes the open line.
func (f *Fold) Flush(dst []byte) []byte {
	before := len(dst)
	if f.module == nil {
		return dst
	}
	if f.note != "" {
		dst = append(appendFolded(append(dst, f.head...), f.modules, f.note), f.end...)
		return f.flushed(dst, before)
	}
	byStart := func(a, b Range) int { return cmp.Compare(a.Start, b.Start) }
	if !slices.IsSortedFunc(f.ranges, byStart) {
		slices.SortStableFunc(f.ranges, byStart)
	}
	dst = append(dst, f.head...)
	for i := range f.ranges {
		r := &f.ranges[i]
		separator := byte(',')
		if i == 0 {
			separator = ' '
		}
		dst = AppendRange(append(dst, separator), r.Start, r.Last, r.Mode)
	}
	dst = append(append(dst, "]]]"...), f.end...)
	return f.flushed(dst, before)
}

// flushed notes that the line was written to dst[before:].
func (f *Fold) flushed(dst []byte, before int) []byte {
	f.module = nil
	if f.open && !f.out {
		f.first, f.out = append(f.first[:0], dst[before:]...), true
	}
	return dst
}

// Mark notes whether a line is open. It is called before each line of the log.
func (f *Fold) Mark() { f.open, f.out = f.module != nil, false }

// Salvage writes the line that was open at the mark, in place of output that is lost.
func (f *Fold) Salvage(dst []byte) []byte {
	switch {
	case f.out:
		dst = append(dst, f.first...)
	case f.open:
		dst = f.Flush(dst)
	}
	f.module, f.open = nil, false
	return dst
}

// appendModule writes a module line without its end.
func appendModule(dst []byte, m *ctxstate.Module, fresh bool, ranges []Range) []byte {
	dst = AppendModuleHead(dst, m, fresh)
	for _, r := range ranges {
		dst = AppendRange(append(dst, ' '), r.Start, r.Last, r.Mode)
	}
	return append(dst, "]]]"...)
}

// AppendModuleHead appends what stands before the ranges of a module line.
func AppendModuleHead(dst []byte, m *ctxstate.Module, fresh bool) []byte {
	dst = append(dst, "[[[ELF module #0x"...)
	dst = scan.AppendHex(dst, m.ID)
	dst = append(dst, ` "`...)
	dst = symsrc.AppendVisible(dst, m.Name)
	dst = append(dst, `"; `...)
	if !fresh {
		return append(dst, "adds"...)
	}
	dst = append(dst, "BuildID="...)
	return hex.AppendEncode(dst, []byte(m.BuildID))
}

// Context appends a line on which context elements stand alone up to body[last:]: as it is, or folded.
func (w *Text) Context(dst []byte, _ *resolve.Thread, body, end []byte, last int, items []Item) []byte {
	switch {
	case w.opt.Context == ContextKeep:
		return append(append(dst, body...), end...)
	case slices.ContainsFunc(items, func(it Item) bool { return it.Err != nil }):
		return append(append(w.Fold.Flush(dst), body...), end...)
	case w.opt.Context == ContextDrop:
		return dst
	}
	indent := body[:items[0].Element.Start]
	if last < len(body) {
		end = append(bytes.Clone(body[last:]), end...)
	}
	for i := range items {
		switch e := &items[i].Context; e.Tag {
		case markup.Module:
			dst = w.Fold.define(dst, e.Module, indent, end)
		case markup.MMap:
			dst = w.Fold.Add(dst, e.Module, e.Mapped, indent, end)
		case markup.Reset:
			dst = w.Fold.Flush(dst)
			dst = append(dst, indent...)
			dst = AppendReset(dst, &items[i].Element.Element)
			dst = append(dst, end...)
		}
	}
	return dst
}

// AppendReset appends the readable form of a reset element.
func AppendReset(dst []byte, e *markup.Element) []byte {
	dst = append(dst, "[[[reset"...)
	if e.Body != nil {
		dst = symsrc.AppendVisible(append(dst, ':'), string(e.Body))
	}
	return append(dst, "]]]"...)
}

// contextInPlace writes a context element that shares its line with other text.
func (w *Text) contextInPlace(dst, raw []byte, it *Item) []byte {
	switch e := &it.Context; {
	case it.Err != nil:
		return append(dst, raw...)
	case w.opt.Context == ContextDrop:
		return dst
	case e.Tag == markup.Module:
		return appendModule(dst, e.Module, true, nil)
	case e.Tag == markup.MMap:
		return appendModule(dst, e.Module, false, []Range{e.Mapped})
	}
	return AppendReset(dst, &it.Element.Element)
}

// CopyFrom makes f a copy of o.
func (f *Fold) CopyFrom(o *Fold) {
	f.module = o.module
	f.head = append(f.head[:0], o.head...)
	f.ranges = append(f.ranges[:0], o.ranges...)
	f.end = append(f.end[:0], o.end...)
	f.note, f.modules = o.note, o.modules
}

// AppendRange appends a range of addresses with its mode: `[0x1000-0x1fff](rx)`. last is inclusive.
func AppendRange(dst []byte, start, last uint64, mode string) []byte {
	longest := len("[0x0123456789abcdef-0x0123456789abcdef]()") + len(mode)
	at := len(dst)
	dst = slices.Grow(dst, longest)[:at+longest]
	b := dst[at:]
	b[0], b[1], b[2] = '[', '0', 'x'
	n := 3 + scan.PutHex(b[3:], start)
	b[n], b[n+1], b[n+2] = '-', '0', 'x'
	n += 3
	n += scan.PutHex(b[n:], last)
	b[n], b[n+1] = ']', '('
	n += 2
	n += copy(b[n:], mode)
	b[n] = ')'
	return dst[:at+n+1]
}
