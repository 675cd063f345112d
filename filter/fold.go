package filter

import (
	"cmp"
	"encoding/hex"
	"slices"

	"qss-filter/ctxstate"
	"qss-filter/filter/print"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// fold collects the context elements of consecutive lines into one line per module:
//
//	[[[ELF module #0x1 "libc.so"; BuildID=83238ab5 [0x1000-0x1fff](rx),[0x2000-0x2fff](rw)]]]
//
// Mappings of a module that was defined before make a line of their own, with "adds" in place of the build ID.
type fold struct {
	module *ctxstate.Module
	head   []byte // the begin of the line, with its indent
	ranges []mapped
	end    []byte
	wrote  int // bytes that the last flush has written
	// first is what the first flush after a mark has written, where the line was open at the mark.
	first     []byte
	open, out bool // whether a line was open at the mark, and was flushed since
}

// maxRanges bounds the ranges of a line. Those beyond it are on lines of their own.
const maxRanges = 1 << 12

// mapped is one range of the line; last is inclusive, and below start for an empty range.
type mapped struct {
	start, last uint64
	mode        string
}

// define begins the line of a module.
func (f *fold) define(dst []byte, m *ctxstate.Module, indent, end []byte) []byte {
	dst = f.flush(dst)
	f.begin(m, true, indent, end)
	return dst
}

// defineKnown is define where the begin of the line is known.
func (f *fold) defineKnown(dst []byte, m *ctxstate.Module, head, end []byte) []byte {
	dst = f.flush(dst)
	f.module, f.ranges = m, f.ranges[:0]
	f.head, f.end = append(f.head[:0], head...), append(f.end[:0], end...)
	return dst
}

// add puts a range into the line of its module, and begins one where none is open.
func (f *fold) add(dst []byte, m *ctxstate.Module, r mapped, indent, end []byte) []byte {
	if f.module != m || len(f.ranges) >= maxRanges {
		dst = f.flush(dst)
		f.begin(m, false, indent, end)
	}
	f.ranges = append(f.ranges, r)
	return dst
}

func (f *fold) begin(m *ctxstate.Module, fresh bool, indent, end []byte) {
	f.module, f.ranges = m, f.ranges[:0]
	f.head, f.end = appendModuleHead(append(f.head[:0], indent...), m, fresh), append(f.end[:0], end...)
}

// pending reports whether a line is open.
func (f *fold) pending() bool { return f.module != nil }

// flush writes the open line.
func (f *fold) flush(dst []byte) []byte {
	before := len(dst)
	f.wrote = 0
	if f.module == nil {
		return dst
	}
	byStart := func(a, b mapped) int { return cmp.Compare(a.start, b.start) }
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
		dst = print.AppendRange(append(dst, separator), r.start, r.last, r.mode)
	}
	dst = append(append(dst, "]]]"...), f.end...)
	f.module = nil
	f.wrote = len(dst) - before
	if f.open && !f.out {
		f.first, f.out = append(f.first[:0], dst[before:]...), true
	}
	return dst
}

// mark is called before a line is handled.
func (f *fold) mark() { f.open, f.out = f.module != nil, false }

// salvage writes the line that was open at the mark, in place of output that is lost.
func (f *fold) salvage(dst []byte) []byte {
	switch {
	case f.out:
		dst = append(dst, f.first...)
	case f.open:
		dst = f.flush(dst)
	}
	f.module, f.open = nil, false
	return dst
}

// appendModule writes a module line without its end.
func appendModule(dst []byte, m *ctxstate.Module, fresh bool, ranges []mapped) []byte {
	dst = appendModuleHead(dst, m, fresh)
	for _, r := range ranges {
		dst = print.AppendRange(append(dst, ' '), r.start, r.last, r.mode)
	}
	return append(dst, "]]]"...)
}

// appendModuleHead writes what stands before the ranges of a module line.
func appendModuleHead(dst []byte, m *ctxstate.Module, fresh bool) []byte {
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
