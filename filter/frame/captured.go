package frame

import "qss-filter/filter/scan"

// readCaptured reads a native frame among those of an exception of Java, which tools for applications write in the form of these; `)` stands
// at line[at]:
//
//	at (art_quick_invoke_stub+612) (BuildId: b229f9d1b6196afaae086f29f029f907) [captured native frame] (libart.so)
//
// That is debuggerd's frame without its address: the offset, a decimal number, counts from the function, and a return address lies in the
// call already.
func readCaptured(s *Search, line []byte, at, from int, f *Frame) bool {
	id := span(scan.BackHex(line, max(from, at-maxIDDigits), at), at)
	stated := scan.BackSpaces(line, from, id.Start)
	const word = "(BuildId:"
	if id.Empty() || !scan.EndsWith(line, from, stated, word) {
		return false
	}
	end := scan.BackSpaces(line, from, stated-len(word)) - 1
	if end <= from || line[end] != ')' {
		return false
	}
	digits := scan.BackDigits(line, from, end)
	off, _, ok := scan.Decimal(line, digits)
	open := s.balanced(line, max(from, digits-maxName), digits-1)
	if !ok || digits-1 <= from || line[digits-1] != '+' || open < 0 || open+1 >= digits-1 {
		return false
	}
	start := open - len("at ")
	name := at + len(") [captured native frame] (")
	last := name
	for last < len(line) && line[last] != ')' && line[last] != ' ' {
		last++
	}
	if start < from || !scan.Has(line, start, "at ") || !scan.WordStart(line, from, start) || last == name || last >= len(line) || line[last] != ')' {
		return false
	}
	*f = Frame{Whole: span(start, last+1), Module: span(name, last), BuildID: id, Base: FromSymbol, Symbol: span(open+1, digits-1), Off: span(digits, end), Offset: off,
		Convention: Moved}
	f.answer(s, line, last+1)
	return true
}
