package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readClickHouse reads a frame of ClickHouse; ` @ 0x` stands at line[sign]:
//
//  4. DB::executeQuery(DB::ReadBuffer&) @ 0x000000000a1b2c3d in /usr/bin/clickhouse
//  5. ? @ 0x00007f2d3a694ac3
//
// With a module the address counts in it; without, it is the process's, or one of the file where that is not moved
// (toStringEveryLineImpl in its src/Common/StackTrace.cpp, in its versions). It is what libunwind returns: a return address, to which
// its own libunwind adds 1 where a signal interrupted. A frame with a source has `FILE:LINE: ` before the function.
func readClickHouse(s *Search, line []byte, sign, from int, f *Frame) bool {
	at := sign + len(" @ ")
	addr, e, ok := scan.Address(line, at)
	if !ok || sign <= from || !scan.WordEnd(line, e) {
		return false
	}
	num, name := s.itemBefore(line, max(from, sign-maxName), sign)
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok || name == sign {
		return false
	}
	*f = Frame{Whole: span(num.Start, e), Num: num, Number: n, Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute,
		Hint: span(name, sign), Convention: Raw}
	if scan.Has(line, e, " in ") {
		limit := s.textEnd(line[:min(len(line), e+2*maxModule)], e)
		path := span(e+len(" in "), limit)
		for path.End = path.Start; path.End < limit && !scan.IsSpace(line[path.End]); {
			path.End++
		}
		if path.Empty() || line[path.Start] != '/' {
			return false
		}
		f.Base, f.Space, f.Module, f.Whole.End, e = InModule, symsrc.Linked, path, path.End, path.End
	}
	if f.answer(s, line, e); f.Done {
		return true
	}
	f.Done = namesPlace(line[name:sign])
	return scan.LineEnd(line, e)
}

// itemBefore returns the number of the item of a list `12. text` that ends before line[end], and where its text begins.
func (s *Search) itemBefore(line []byte, from, end int) (num Span, text int) {
	for i := end; ; {
		i = from + s.lastIndex(line[from:i], []byte(". "))
		if i < from {
			return Span{}, end
		}
		if start := scan.BackDigits(line, from, i); start < i && scan.WordStart(line, from, start) {
			return span(start, i), i + len(". ")
		}
	}
}

// namesPlace reports whether a text begins with `FILE:LINE: ` or `FILE:LINE:COLUMN: `.
func namesPlace(text []byte) bool {
	i := bytes.Index(text, []byte(": "))
	return i > 0 && scan.BackDigits(text, 0, i) < i
}
