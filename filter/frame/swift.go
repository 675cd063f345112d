package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// swiftAttributes are what swift-backtrace says of a frame, in their order.
var swiftAttributes = [...]string{"[ra]", "[async]", "[inlined]", "[thunk]", "[system]"}

// The widths of addresses, which have all their digits.
const (
	wideAddress   = len("0x0123456789abcdef")
	narrowAddress = len("0x01234567")
)

// readSwiftText reads a frame of swift-backtrace; `0x` stands at line[at]:
//
//	0                  0x000055e8f7e2c9a0 level1() + 12 in crash
//	1 [ra]             0x00007f8a3e6a1d90 <unknown> in libc.so.6
//	2 [ra] [system]    0x000055e8f7e2ca01 static Main.$main() in crash at /src/main.swift:3:9
//	1 0x00007f8a3e6a1d90 <unknown> in libc.so.6
//
// or one of a Backtrace that a program prints, after a tab (Frame.description in the same file):
//
//	1	0x00007f8a3e6a1d90 [ra]
//
// `[ra]` is a return address, as it was found; others are exact (Frame.adjustedProgramCounter in Swift's Backtrace.swift, formatColumns in
// its BacktraceFormatter.swift). Without the column of attributes, as for a person at a terminal, nothing says which it is. An inlined
// frame has the address of the frame after it.
func readSwiftText(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, e, ok := scan.Address(line, at)
	if !ok || e-at != wideAddress && e-at != narrowAddress || !scan.WordEnd(line, e) {
		return false
	}
	if at > from && line[at-1] == '\t' {
		return readSwiftDescription(s, line, at, from, f)
	}
	attributes, convention := scan.BackSpaces(line, from, at), Exact
	inlined := false
	for {
		word := swiftAttribute(line, from, attributes)
		if word == "" {
			break
		}
		inlined = inlined || word == "[inlined]"
		if word == "[ra]" {
			convention = Raw
		}
		attributes = scan.BackSpaces(line, from, attributes-len(word))
	}
	num := span(scan.BackDigits(line, from, attributes), attributes)
	n, _, isNumber := scan.Decimal(line, num.Start)
	if !isNumber || num.Empty() || scan.BackSpaces(line, 0, num.Start) > s.begin {
		return false
	}
	limit := s.textEnd(line, e)
	if line[min(num.End+1, at-1)] != '[' { // no attributes
		spaces := at - num.End
		if e-at != wideAddress || limit == e && spaces < len(" [ra] ") || limit > e && !bytes.Contains(line[e:limit], inWord) {
			return false
		}
		if spaces == 1 {
			convention = Unsaid
		}
	}
	*f = Frame{Whole: span(num.Start, limit), Num: num, Number: n, Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute,
		Later: true, Convention: convention}
	if f.answer(s, line, e); f.Done {
		return true
	}
	rest := line[e:limit]
	if unknown := []byte(" <unknown>"); bytes.HasPrefix(rest, unknown) {
		f.Gap.End = e + len(unknown)
	}
	f.Whole.End = limit
	f.Done = inlined || bytes.Contains(rest, []byte(" at /")) || s.endsWithLine(rest)
	return true
}

// readSwiftDescription reads a frame of a Backtrace that a program prints; its address stands at line[at].
func readSwiftDescription(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, e, _ := scan.Address(line, at)
	num := span(scan.BackDigits(line, from, at-1), at-1)
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok || num.Empty() || scan.BackSpaces(line, 0, num.Start) > s.begin {
		return false
	}
	end, convention := e, UnsaidButFirst // others print addresses so, too
	switch {
	case scan.Has(line, e, " [ra]"):
		end, convention = e+len(" [ra]"), Raw
	case scan.Has(line, e, " [async]"):
		end, convention = e+len(" [async]"), Exact
	}
	*f = Frame{Whole: span(num.Start, end), Num: num, Number: n, Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute,
		Later: true, Convention: convention}
	f.answer(s, line, end)
	return f.Done || scan.LineEnd(line, end)
}

// swiftAttribute returns the attribute that ends before line[end], or "".
func swiftAttribute(line []byte, from, end int) string {
	for _, word := range swiftAttributes {
		if scan.EndsWith(line, from, end, word) {
			return word
		}
	}
	return ""
}
