package filter

import (
	"encoding/hex"
	"slices"
	"strconv"

	"qss-filter/ctxstate"
)

// fold collects the context elements of consecutive lines into one line per module:
//
//	[[[ELF module #0x1 "libc.so"; BuildID=83238ab5 [0x1000-0x1fff](rx),[0x2000-0x2fff](rw)]]]
//
// Mappings of a module that was defined before make a line of their own, with "adds" in place of the build ID.
type fold struct {
	module *ctxstate.Module
	fresh  bool // the module's definition is part of the line
	ranges []mapped
	indent []byte
	end    []byte
	wrote  int // bytes that the last flush has written
}

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

// add puts a range into the line of its module, and begins one where none is open.
func (f *fold) add(dst []byte, m *ctxstate.Module, r mapped, indent, end []byte) []byte {
	if f.module != m {
		dst = f.flush(dst)
		f.begin(m, false, indent, end)
	}
	f.ranges = append(f.ranges, r)
	return dst
}

func (f *fold) begin(m *ctxstate.Module, fresh bool, indent, end []byte) {
	f.module, f.fresh, f.ranges = m, fresh, f.ranges[:0]
	f.indent, f.end = append(f.indent[:0], indent...), append(f.end[:0], end...)
}

// pending tells whether a line is open.
func (f *fold) pending() bool { return f.module != nil }

// flush writes the open line.
func (f *fold) flush(dst []byte) []byte {
	before := len(dst)
	f.wrote = 0
	if f.module == nil {
		return dst
	}
	dst = append(dst, f.indent...)
	slices.SortStableFunc(f.ranges, func(a, b mapped) int {
		switch {
		case a.start < b.start:
			return -1
		case a.start > b.start:
			return 1
		}
		return 0
	})
	dst = appendModule(dst, f.module, f.fresh, f.ranges)
	dst = append(dst, f.end...)
	f.module = nil
	f.wrote = len(dst) - before
	return dst
}

// appendModule writes a module line without its end.
func appendModule(dst []byte, m *ctxstate.Module, fresh bool, ranges []mapped) []byte {
	dst = append(dst, "[[[ELF module #0x"...)
	dst = strconv.AppendUint(dst, m.ID, 16)
	dst = append(dst, ` "`...)
	dst = append(dst, m.Name...)
	dst = append(dst, `"; `...)
	if fresh {
		dst = append(dst, "BuildID="...)
		dst = hex.AppendEncode(dst, []byte(m.BuildID))
		if len(ranges) > 0 {
			dst = append(dst, ' ')
		}
	} else {
		dst = append(dst, "adds "...)
	}
	for i, r := range ranges {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, "[0x"...)
		dst = strconv.AppendUint(dst, r.start, 16)
		dst = append(dst, "-0x"...)
		dst = strconv.AppendUint(dst, r.last, 16)
		dst = append(dst, "]("...)
		dst = append(dst, r.mode...)
		dst = append(dst, ')')
	}
	return append(dst, "]]]"...)
}
