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
	Module *ctxstate.Module
	Head   []byte // the begin of the line, with its indent
	Ranges []Range
	End    []byte
	Wrote  int // bytes that the last flush has written
	// first is what the first flush after a mark has written, where the line was open at the mark.
	first     []byte
	open, out bool // whether a line was open at the mark, and was flushed since
}

// MaxRanges bounds the ranges of a line. Those beyond it are on lines of their own.
const MaxRanges = 1 << 12

// Range is one range of the line; last is inclusive, and below start for an empty range.
type Range struct {
	Start, Last uint64
	Mode        string
}

// define begins the line of a module.
func (f *Fold) define(dst []byte, m *ctxstate.Module, indent, end []byte) []byte {
	dst = f.Flush(dst)
	f.begin(m, true, indent, end)
	return dst
}

// DefineKnown is define where the begin of the line is known.
func (f *Fold) DefineKnown(dst []byte, m *ctxstate.Module, head, end []byte) []byte {
	dst = f.Flush(dst)
	f.Module, f.Ranges = m, f.Ranges[:0]
	f.Head, f.End = append(f.Head[:0], head...), append(f.End[:0], end...)
	return dst
}

// Add puts a range into the line of its module, and begins one where none is open.
func (f *Fold) Add(dst []byte, m *ctxstate.Module, r Range, indent, end []byte) []byte {
	if f.Module != m || len(f.Ranges) >= MaxRanges {
		dst = f.Flush(dst)
		f.begin(m, false, indent, end)
	}
	f.Ranges = append(f.Ranges, r)
	return dst
}

func (f *Fold) begin(m *ctxstate.Module, fresh bool, indent, end []byte) {
	f.Module, f.Ranges = m, f.Ranges[:0]
	f.Head, f.End = AppendModuleHead(append(f.Head[:0], indent...), m, fresh), append(f.End[:0], end...)
}

// Pending reports whether a line is open.
func (f *Fold) Pending() bool { return f.Module != nil }

// Flush writes the open line.
func (f *Fold) Flush(dst []byte) []byte {
	before := len(dst)
	f.Wrote = 0
	if f.Module == nil {
		return dst
	}
	byStart := func(a, b Range) int { return cmp.Compare(a.Start, b.Start) }
	if !slices.IsSortedFunc(f.Ranges, byStart) {
		slices.SortStableFunc(f.Ranges, byStart)
	}
	dst = append(dst, f.Head...)
	for i := range f.Ranges {
		r := &f.Ranges[i]
		separator := byte(',')
		if i == 0 {
			separator = ' '
		}
		dst = AppendRange(append(dst, separator), r.Start, r.Last, r.Mode)
	}
	dst = append(append(dst, "]]]"...), f.End...)
	f.Module = nil
	f.Wrote = len(dst) - before
	if f.open && !f.out {
		f.first, f.out = append(f.first[:0], dst[before:]...), true
	}
	return dst
}

// Mark is called before a line is handled.
func (f *Fold) Mark() { f.open, f.out = f.Module != nil, false }

// Salvage writes the line that was open at the mark, in place of output that is lost.
func (f *Fold) Salvage(dst []byte) []byte {
	switch {
	case f.out:
		dst = append(dst, f.first...)
	case f.open:
		dst = f.Flush(dst)
	}
	f.Module, f.open = nil, false
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

// AppendModuleHead writes what stands before the ranges of a module line.
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

// Context writes a line on which context elements stand alone up to body[last:]: as it is, or folded.
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

// Become makes f what o is.
func (f *Fold) Become(o *Fold) {
	f.Module = o.Module
	f.Head = append(f.Head[:0], o.Head...)
	f.Ranges = append(f.Ranges[:0], o.Ranges...)
	f.End = append(f.End[:0], o.End...)
}
