package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Frames of JavaScript name a function, a script, and a line and column in it, all counted from 1:
//
//	    at shop.Cart.total (/srv/app/dist/app.js:1:237)      V8: Node.js, Deno, Chromium; also Bun
//	    at async Promise.all (index 0)                       has no place
//	    at new K (file:///srv/app/dist/o.mjs:2:16)
//	    at https://example.com/assets/app-1a2b3c.js:1:5512
//	    at inner (address at index.android.bundle:1:237392)  Hermes: the column is an offset of the byte code, which counts from 0
//	total@http://localhost:8081/index.bundle:1234:56         JavaScriptCore and SpiderMonkey
//	@/srv/app/dist/app.js:3:1                                the same without a function
//
// V8's are those of CallSiteInfo::Serialize in its src/objects/call-site-info.cc, Hermes' of ErrorInstance's stack in its
// lib/VM/JSError.cpp. They mean something only where there is a source map for the script.

// readScript reads such a frame; what ends the name of the script stands at line[at], and a colon and a digit after that.
func readScript(s *Search, line []byte, at, from int, f *Frame) bool {
	colon := at + bytes.IndexByte(line[at:], ':')
	row, e, ok := scan.Decimal(line, colon+1)
	if !ok || e >= len(line) || line[e] != ':' {
		return false
	}
	column, end, ok := scan.Decimal(line, e+1)
	if !ok || row == 0 || row >= 1<<31 || column >= 1<<31 {
		return false
	}
	*f = Frame{Family: "javascript", Shape: Fields, Space: symsrc.InScript, Convention: Exact, Off: span(colon+1, end)}
	low := max(from, at-maxModule)
	switch {
	case end < len(line) && line[end] == ')':
		ok = s.scriptCall(line, low, end, f)
	case scriptEnds(line, end):
		ok = s.scriptWord(line, low, at, f)
	default:
		ok = false
	}
	if !ok || f.Module.Start >= colon {
		return false
	}
	f.Module.End, f.Source = colon, span(f.Module.Start, end)
	if scan.EndsWith(line, low, f.Module.Start, addressAt) {
		f.Source.Start -= len(addressAt)
	} else if column == 0 {
		return false
	} else {
		column--
	}
	f.Offset = (row-1)<<32 | column
	return true
}

// addressAt stands before the place of a frame of Hermes.
const addressAt = "address at "

// scriptCall reads `at NAME (PLACE)`; the parenthesis closes at line[end].
func (s *Search) scriptCall(line []byte, low, end int, f *Frame) bool {
	open := s.balanced(line, low, end)
	if open <= low || line[open-1] != ' ' {
		return false
	}
	word := low + s.lastIndex(line[low:open], javaAt)
	if word < low || word > low && !startsWord(line, word) {
		return false
	}
	start := word + len(javaAt)
	for _, kind := range [...]string{"async ", "new "} {
		if scan.Has(line, start, kind) {
			start += len(kind)
		}
	}
	if start >= open-1 {
		return false
	}
	f.Whole, f.Func, f.Module = span(word, end+1), span(start, open-1), span(open+1, open+1)
	if scan.Has(line, open+1, addressAt) {
		f.Module.Start += len(addressAt)
	}
	return true
}

// scriptWord reads `at PLACE` or `NAME@PLACE`, whose script ends at line[at].
func (s *Search) scriptWord(line []byte, low, at int, f *Frame) bool {
	start := at
	for start > low && !scan.IsSpace(line[start-1]) && line[start-1] != '"' && line[start-1] != '(' && s.spend(1) {
		start--
	}
	before := start
	if scan.EndsWith(line, low, before, "async ") {
		before -= len("async ")
	}
	if scan.EndsWith(line, low, before, "at ") && (before-len("at ") == low || startsWord(line, before-len("at "))) {
		f.Whole, f.Module = span(before-len("at "), f.Off.End), span(start, start)
		return true
	}
	sign := bytes.IndexByte(line[start:at], '@')
	if sign < 0 {
		return false
	}
	module := start + sign + 1
	if line[module] != '/' && !scan.Has(line, module, "http") && !scan.Has(line, module, "file:") && sign == 0 {
		return false
	}
	f.Whole, f.Module = span(start, f.Off.End), span(module, module)
	if sign > 0 {
		f.Func = span(start, start+sign)
	}
	return true
}

// startsWord reports whether a word begins at line[i]: at a space, or after an escaped line break.
func startsWord(line []byte, i int) bool {
	return scan.IsSpace(line[i-1]) || line[i-1] == '\n' || i > 1 && line[i-2] == '\\' && (line[i-1] == 'n' || line[i-1] == 't')
}

// scriptEnds reports whether a place may end at line[end:].
func scriptEnds(line []byte, end int) bool {
	return scan.WordEnd(line, end) || line[end] == '"' || line[end] == ',' || line[end] == '<'
}

// endsPlace reports whether `:LINE:COLUMN` stands at the place, whose colon is the last byte of the literal.
func endsPlace(line []byte, colon int) bool {
	_, e, ok := scan.Decimal(line, colon+1)
	if !ok || e >= len(line) || line[e] != ':' {
		return false
	}
	_, e, ok = scan.Decimal(line, e+1)
	return ok && (e == len(line) || line[e] == ')' || scriptEnds(line, e))
}
