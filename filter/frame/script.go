package frame

import (
	"bytes"
	"strings"

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
//	    at inner (address at /data/user/0/com.shop/files/.expo-internal/dd11be6f17c8:1:237)      the same of an update by Expo
//	  at total(app:///main.jsbundle:1:237)                   Sentry's text
//	total(file:///var/containers/A.app/app/bundle.js:1:237)  NativeScript on Darwin, alone on its line
//	Uncaught SyntaxError: x (at app.js:1:237)                Chrome, of an error without a stack
//	    at .inner(address at index.android.bundle:1:2)       Firebase Crashlytics for React Native, which makes frames of Java of them
//	1  ???   0x0 total + 1066 (main.jsbundle:1066:119:1066)  and on Darwin
//	total@http://localhost:8081/index.bundle:1234:56         JavaScriptCore and SpiderMonkey
//	total()@http://localhost/app.js:47:2                     stacktrace.js and error-stack-parser
//	@/srv/app/dist/app.js:3:1                                the same without a function
//	  at ? @index.android.bundle:28:762                      the same, as Sentry's tools convert it for Metro
//	 ❯ Cart.total dist/app.js:1:237                          Vitest
//	  › Cart.total (dist/app.js:1:237)                       AVA before version 4
//	at: 'total (/srv/app/dist/app.js:1:237)'                 strings that are nothing but that
//	total@1:557290                                           React Native: the bundle has no name, and the column counts from 0
//	total@695:2495                                           the same below a line that ends in `, stack:`
//	    shop.Cart.total (/srv/app/dist/app.js:1:237)         node --test and Safari, alone on their lines
//	    /srv/app/dist/app.js:1:237                           the same without a function
//	    index.android.bundle:1:271                           React Native's red box
//	total @ app.js:1:237                                     Chrome's developer tools
//	http://localhost:4200/main.js 0:73 Uncaught Error: x     chromedriver, of the browser's console: both count from 0
//	/srv/app/dist/app.js:7                                   Node.js, above an exception that nothing has caught: see ReadExcerpt
//
// V8's are those of CallSiteInfo::Serialize in its src/objects/call-site-info.cc, Hermes' of ErrorInstance's stack in its
// lib/VM/JSError.cpp, and React Native's without a script those of JSStackTrace.format in its ReactAndroid. Those that are objects of JSON are in scriptobject.go. They mean something only where there is a source map for the script.

// scripts is the name of the format.
const scripts = "javascript"

// readScript reads such a frame; what ends the name of the script stands at line[at], and a colon and a digit after that.
func readScript(s *Search, line []byte, at, from int, f *Frame) bool {
	return s.script(line, at, at+bytes.IndexByte(line[at:], ':'), from, f)
}

// updatesDir is the directory in which Expo keeps the bundles of updates, whose names are hashes.
const updatesDir = ".expo-internal/"

// readUpdate reads such a frame of a bundle without an ending; that directory stands at line[at:].
func readUpdate(s *Search, line []byte, at, from int, f *Frame) bool {
	colon := endOfUpdate(line, at)
	return colon > 0 && s.spend(colon-at) && s.script(line, colon, colon, from, f)
}

// endOfUpdate returns where the colon stands before the place in a bundle of that directory at line[at:], 0 if there is none, or if its name has an ending.
func endOfUpdate(line []byte, at int) (colon int) {
	name := at + len(updatesDir)
	for colon = name; colon < len(line) && (scan.IsLetter(line[colon]) || scan.IsDigit(line[colon]) || line[colon] == '-' || line[colon] == '_' || line[colon] == '/'); {
		colon++
	}
	if colon == name || !scan.Has(line, colon, ":") || !endsPlace(line, colon) {
		return 0
	}
	return colon
}

// endsUpdate reports whether such a bundle is at the place.
func endsUpdate(line []byte, at int) bool { return endOfUpdate(line, at) > 0 }

// maxAsked bounds what Metro's server may have been asked for with a bundle, in bytes.
const maxAsked = 1 << 10

// readAsked reads such a frame of a script with what a server was asked for, `app.js?v=1:2:3`, and of a bundle of Metro's server, `index.bundle?platform=ios&dev=true:12:34`, or with `//&`
// in place of the question mark; the end of the name stands at line[at:].
func readAsked(s *Search, line []byte, at, from int, f *Frame) bool {
	colon, tried, ok := endOfAsked(line, at)
	return s.spend(tried*placeLook) && ok && s.spend(colon-at) && s.script(line, at, colon, from, f)
}

// placeLook is how many bytes a place counts for that is looked for behind a colon.
const placeLook = 16

// endOfAsked returns where the colon stands before the place in a bundle whose name ends at line[at:], and how many colons were tried. No space is
// before it.
func endOfAsked(line []byte, at int) (colon, tried int, ok bool) {
	asked := line[at:min(len(line), at+maxAsked)]
	for _, space := range " \t" {
		if end := bytes.IndexByte(asked, byte(space)); end >= 0 {
			asked = asked[:end]
		}
	}
	for i := 0; ; i++ {
		k := bytes.IndexByte(asked[i:], ':')
		if k < 0 {
			return 0, tried, false
		}
		tried++
		if i += k; endsPlace(line, at+i) {
			return at + i, tried, true
		}
	}
}

// endsAsked reports the same.
func endsAsked(line []byte, at int) bool {
	_, _, ok := endOfAsked(line, at)
	return ok
}

// script reads a frame whose script ends, or goes on with what a server was asked for, at line[at], and before its place at line[colon].
func (s *Search) script(line []byte, at, colon, from int, f *Frame) bool {
	row, e, ok := scan.Decimal(line, colon+1)
	if !ok || e >= len(line) || line[e] != ':' {
		return false
	}
	column, end, ok := scan.Decimal(line, e+1)
	if !ok || row == 0 || row >= 1<<31 || column >= 1<<31 {
		return false
	}
	if again := lineAgain(line, end); again > end {
		if !scan.Has(line, end+1, string(line[colon+1:e])+")") {
			return false
		}
		end = again
	}
	*f = Frame{Family: scripts, Shape: Fields, Space: symsrc.InScript, Convention: Exact, Off: span(colon+1, end)}
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
	if scan.EndsWith(line, f.Whole.Start, f.Module.Start, addressAt) {
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

// scriptCall reads `at NAME (PLACE)` or `at .NAME(PLACE)`; the parenthesis closes at line[end].
func (s *Search) scriptCall(line []byte, low, end int, f *Frame) bool {
	open := s.balanced(line, low, end)
	if open < low || open == low && open > s.begin {
		return false
	}
	if scan.Has(line, open+1, "at ") { // Chrome, behind the message of an error without a stack
		f.Whole, f.Module = span(open+1, end), span(open+1+len("at "), open+1+len("at "))
		return true
	}
	word, start := s.lastAt(line, low, open-1)
	if open > low && line[open-1] != ' ' {
		return s.joinedCall(line, low, word, start, open, end, f)
	}
	if word < low {
		if begin := s.quoteBegin(line, low, open, end+1); begin < open-1 && begin > low && isCall(line[begin:open-1]) {
			f.call(line, begin, span(begin, open-1), open, end)
			return true
		}
		if f.crashlytics(line, low, open, end) {
			return true
		}
		word = s.lineBegin(line, low, open)
		if word == open && endsLineOrText(line, end+1) && bytes.ContainsAny(line[open:end], `/\`) { // a terminal was too narrow for the rest
			f.Whole, f.Module = span(open, end+1), span(open+1, open+1)
			return true
		}
		if word >= open-1 || !endsLineOrText(line, end+1) || !isCall(line[word:open-1]) {
			return false
		}
		start = word
	}
	if start = afterKind(line, start); start >= open-1 {
		return false
	}
	f.call(line, word, span(start, open-1), open, end)
	return true
}

// afterKind returns where the name of a function begins that V8 says more about at line[start:].
func afterKind(line []byte, start int) int {
	for _, kind := range [...]string{"async ", "new "} {
		if scan.Has(line, start, kind) {
			start += len(kind)
		}
	}
	return start
}

// joinedCall reads `at NAME(PLACE)`, where Crashlytics has a dot before the name, and `NAME(PLACE)` of a path or URL, alone on its line; the
// parentheses are line[open] and line[end], and `at` stands at line[word] if that is in the line.
func (s *Search) joinedCall(line []byte, low, word, start, open, end int, f *Frame) bool {
	if word < low {
		place := line[open+1 : end]
		if word = s.lineBegin(line, low, open); word >= open || !endsLineOrText(line, end+1) || !isPath(place) && !startsURL(place) || !isCall(line[word:open]) {
			return false
		}
		start = word
	}
	if start = afterKind(line, start); scan.Has(line, start, ".") && !scan.Has(line, start, "./") {
		start++
	}
	if name := beforeAlias(line[start:max(start, open)]); len(name) == 0 || name[len(name)-1] == '.' || bytes.ContainsAny(name, " \t\"'()=,;") {
		return false
	}
	f.call(line, word, span(start, open), open, end)
	return true
}

// beforeAlias returns a name without the `[as b]` that V8 has behind some.
func beforeAlias(name []byte) []byte {
	if i := bytes.Index(name, []byte(" [as ")); i > 0 && name[len(name)-1] == ']' {
		return name[:i]
	}
	return name
}

// quoteBegin returns where the string begins that goes on at line[at] and whose quote closes at line[end], and end where there is none.
func (s *Search) quoteBegin(line []byte, low, at, end int) int {
	if end >= len(line) || line[end] != '"' && line[end] != '\'' {
		return end
	}
	if i := s.lastIndexByte(line[low:at], line[end]); i >= 0 {
		return low + i + 1
	}
	return end
}

// lineAgain returns where a place ends whose column ends at line[end:], and that may have its line again behind that, in parentheses.
func lineAgain(line []byte, end int) int {
	if end < len(line) && line[end] == ':' {
		if _, e, ok := scan.Decimal(line, end+1); ok && e < len(line) && line[e] == ')' {
			return e
		}
	}
	return end
}

// crashlytics reads the end of `0x0 NAME + LINE (PLACE)`, whose place is between the parentheses at line[open] and line[end].
func (f *Frame) crashlytics(line []byte, low, open, end int) bool {
	const sign, nowhere = " + ", " 0x0 "
	digits := scan.BackDigits(line, low, open-1)
	name := span(0, digits-len(sign))
	if name.Start = low + bytes.LastIndex(line[low:max(low, name.End)], []byte(nowhere)) + len(nowhere); name.Start < low+len(nowhere) ||
		name.Empty() || digits == open-1 || !scan.EndsWith(line, low, digits, sign) || !scan.Has(line, f.Off.Start, string(line[digits:open-1])+":") {
		return false
	}
	f.call(line, name.Start, span(name.Start, open-1), open, end)
	f.Hint = name
	return true
}

// call sets the frame to one from line[word] on, of a function of that name, whose place is between the parentheses at line[open] and line[end].
func (f *Frame) call(line []byte, word int, name Span, open, end int) {
	f.Whole, f.Func, f.Module = span(word, end+1), name, span(open+1, open+1)
	if scan.Has(line, open+1, addressAt) {
		f.Module.Start += len(addressAt)
	}
}

// lastAt returns where the last word `at` with something behind it begins before line[end], −1 for none, and where what is behind it does. The name
// of a function may be or end in it: `at format (a.js:1:2)`, `at at [as b] (a.js:1:2)`.
func (s *Search) lastAt(line []byte, low, end int) (word, start int) {
	for end > low {
		i := s.lastIndex(line[low:end], javaAt)
		if i < 0 {
			break
		}
		word, start = low+i, low+i+len(javaAt)
		if (i == 0 || startsWord(line, word) || line[word-1] == '\'' || line[word-1] == '"') && !scan.Has(line, start, "[as ") {
			return word, start
		}
		end = word + 1
	}
	return -1, -1
}

// lineBegin returns where the words begin of the line that goes on at line[at], which may be part of a text with escaped line breaks.
func (s *Search) lineBegin(line []byte, low, at int) int {
	begin := max(low, s.begin)
	if i := s.lastIndex(line[begin:max(begin, at)], escapedBreak); i >= 0 {
		begin += i + len(escapedBreak)
	}
	begin = scan.Spaces(line, begin)
	if scan.Has(line, begin, avaMark) {
		begin += len(avaMark)
	}
	return begin
}

// avaMark begins a frame of AVA's before version 4.
const avaMark = "› "

var escapedBreak = []byte(`\n`)

// endsLineOrText reports whether nothing follows line[i:] in the line, or in a string.
func endsLineOrText(line []byte, i int) bool { return scan.LineEnd(line, i) || escapedEnd(line, i) }

// isCall reports whether a text is what V8 writes for a function: `shop.Cart.total`, `async Promise.all`, `new K`, `Object.a.b [as c]`.
func isCall(text []byte) bool {
	for _, kind := range [...]string{"async ", "new "} {
		text = bytes.TrimPrefix(text, []byte(kind))
	}
	text = beforeAlias(text)
	for _, c := range text {
		if c < 0x80 && !scan.IsLetter(c) && !scan.IsDigit(c) && strings.IndexByte("_$.#<>", c) < 0 {
			return false
		}
	}
	return len(text) > 0
}

// scriptWord reads `at PLACE` or `NAME@PLACE`, whose script ends at line[at]. Where that is no frame, a line may begin in it: a backslash and
// an n are a line break in some logs, and part of a path on Windows.
func (s *Search) scriptWord(line []byte, low, at int, f *Frame) bool {
	start := at
	for closed := 0; start > low && !scan.IsSpace(line[start-1]) && line[start-1] != '"' && (line[start-1] != '\'' || !scan.Has(line, f.Off.End, "'")) && s.spend(1); start-- {
		if line[start-1] == ')' { // `total()@`, or a group of routes in a path of Next.js, `app/(shop)/page.js`
			closed++
		} else if line[start-1] == '(' {
			if closed == 0 {
				break
			}
			closed--
		}
	}
	if bytes.HasPrefix(line[start:at], escapedBreak) {
		start += len(escapedBreak)
	}
	if s.scriptFrom(line, low, start, at, f) {
		return true
	}
	i := s.lastIndex(line[start:at], escapedBreak)
	return i >= 0 && s.scriptFrom(line, low, start+i+len(escapedBreak), at, f)
}

// scriptFrom is scriptWord for a word that begins at line[start].
func (s *Search) scriptFrom(line []byte, low, start, at int, f *Frame) bool {
	before := start
	if scan.EndsWith(line, low, before, "async ") {
		before -= len("async ")
	}
	if scan.EndsWith(line, low, before, "at ") && (before-len("at ") == low || startsWord(line, before-len("at "))) {
		f.Whole, f.Module = span(before-len("at "), f.Off.End), span(start, start)
		if sign := bytes.IndexByte(line[start:at], '@'); sign > 0 && !bytes.ContainsAny(line[start:start+sign], `/\:`) { // as Sentry's tools convert them
			f.Func, f.Module = span(start, start+sign), span(start+sign+1, start+sign+1)
		}
		return true
	}
	if path := s.spacedPath(line, low, start, at); path < start {
		f.Whole, f.Module = span(s.lineBegin(line, low, start), f.Off.End), span(path, path)
		return endsLineOrText(line, f.Off.End)
	}
	if s.vitest(line, low, start, f) {
		return true
	}
	switch begin := s.lineBegin(line, low, start); {
	case scan.EndsWith(line, begin, before, "@ "): // of a function's name
		name := scan.Span{Start: begin, End: before - len("@ ")}
		for name.End > begin && scan.IsSpace(line[name.End-1]) {
			name.End--
		}
		if scan.Has(line, begin, "at ") { // as Datadog and Boomerang join them
			name.Start = begin + len("at ")
		}
		if name.Empty() || name.End == before-len("@ ") || !isCall(bytes.Trim(name.Of(line), "()")) {
			return false
		}
		f.Whole, f.Func, f.Module = span(begin, f.Off.End), span(name.Start, name.End), span(start, start)
		return true
	case begin == start && endsLineOrText(line, f.Off.End) && bytes.IndexByte(line[start:at], '@') < 0:
		f.Whole, f.Module = span(start, f.Off.End), span(start, start)
		return true
	}
	if start > low && s.quoteBegin(line, low, at, f.Off.End) == start && (isPath(line[start:at]) || startsURL(line[start:at])) {
		f.Whole, f.Module = span(start, f.Off.End), span(start, start)
		return true
	}
	sign := bytes.IndexByte(line[start:at], '@')
	if sign < 0 {
		// A URL at the end is a place whatever stands before it: the function, in a trace of Firefox's console, or a message.
		f.Whole, f.Module = span(start, f.Off.End), span(start, start)
		if name := s.lineBegin(line, low, start); name > max(low, s.begin) && name < start-1 && isCall(line[name:start-1]) {
			f.Whole.Start, f.Func = name, span(name, start-1)
		}
		return startsURL(line[start:at]) && endsLineOrText(line, f.Off.End)
	}
	if i := s.lastIndex(line[start:start+sign], escapedBreak); i >= 0 { // no name has one
		start, sign = start+i+len(escapedBreak), sign-i-len(escapedBreak)
	}
	module := start + sign + 1
	if sign == 0 && scan.EndsWith(line, low, start, unnamedCall) && (start-len(unnamedCall) == low || startsWord(line, start-len(unnamedCall))) {
		f.Whole, f.Module = span(start-len(unnamedCall), f.Off.End), span(module, module)
		return true
	}
	if line[module] != '/' && !bytes.Contains(line[module:at], []byte("://")) && sign == 0 {
		return false
	}
	f.Whole, f.Module = span(start, f.Off.End), span(module, module)
	if sign > 0 {
		f.Func = span(start, start+len(bytes.TrimSuffix(line[start:start+sign], []byte("()"))))
		if i := bytes.LastIndexByte(f.Func.Of(line), '*'); i >= 0 && f.Func.Start+i+1 < f.Func.End { // `promise callback*f`: what Firefox says of who has called it
			f.Func.Start += i + 1
		}
		f.codeOf(line, low)
	}
	return true
}

// codeOf has a frame of a whole script, a module or of eval begin at its first word, which JavaScriptCore has a space after.
func (f *Frame) codeOf(line []byte, low int) {
	if string(f.Func.Of(line)) != "code" {
		return
	}
	for _, kind := range [...]string{"global ", "module ", "eval "} {
		if at := f.Func.Start - len(kind); scan.EndsWith(line, low, f.Func.Start, kind) && (at == low || startsWord(line, at) || line[at-1] == '"') {
			f.Whole.Start, f.Func.Start = at, at
		}
	}
}

// unnamedCall stands before the `@` of a call without a name, as Sentry's tools convert it.
const unnamedCall = "at ? "

// spacedPath returns where the path of `at PATH:LINE:COLUMN` begins that has spaces, whose last word is line[start:at], and start where there is
// none. That is alone on its line.
func (s *Search) spacedPath(line []byte, low, start, at int) int {
	path := s.lineBegin(line, low, start)
	if !scan.Has(line, path, "at ") {
		return start
	}
	path += len("at ")
	if scan.Has(line, path, "async ") {
		path += len("async ")
	}
	if path >= start || !isPath(line[path:start]) || scan.Has(line, path, "file:") {
		return start
	}
	for i := path + len("C:"); i < start && s.spend(1); i++ {
		if line[i] == ':' || line[i] == '@' || line[i] == ' ' && (line[i+1] == '/' || line[i+1] == '(' && bytes.IndexByte(line[i:at], ')') < 0) {
			return start
		}
	}
	return path
}

// startsURL reports whether a word begins with the scheme of a URL.
func startsURL(word []byte) bool {
	scheme, _, ok := bytes.Cut(word, []byte("://"))
	return ok && len(scheme) > 1 && len(bytes.Trim(scheme, "abcdefghijklmnopqrstuvwxyz-")) == 0
}

// vitestMark begins a frame of Vitest.
const vitestMark = "❯ "

// vitest reads `❯ NAME PLACE` or `❯ PLACE`, whose script begins at line[start].
func (s *Search) vitest(line []byte, low, start int, f *Frame) bool {
	word := low + s.lastIndex(line[low:start], []byte(vitestMark))
	if word < low || word > low && !startsWord(line, word) {
		return false
	}
	name := word + len(vitestMark)
	f.Whole, f.Module = span(word, f.Off.End), span(start, start)
	if name < start {
		f.Func = span(name, start-1)
	}
	return true
}

// Excerpt is what Node.js writes above an exception that nothing has caught: a script and a line of it, and below them that line itself, and a
// sign below the place in it (GetErrorSource in its src/node_errors.cc).
type Excerpt struct {
	// Place is the script and the line, Module the script alone.
	Place, Module Span
	// Line counts from 0.
	Line uint64
}

// ReadExcerpt reads the first line of an excerpt, whose words begin at text[from:].
func ReadExcerpt(text []byte, from int) (x Excerpt, ok bool) {
	words := bytes.TrimRight(text[from:], " ")
	colon := bytes.LastIndexByte(words, ':')
	if colon < 0 || !endsExcerpt(words, colon) || !isPath(words) {
		return x, false
	}
	line, end, ok := scan.Decimal(words, colon+1)
	if !ok || end < len(words) || line == 0 || line >= 1<<31 {
		return x, false
	}
	return Excerpt{Place: span(from, from+end), Module: span(from, from+colon), Line: line - 1}, true
}

// MayHoldExcerpt reports, at little cost, whether an excerpt may begin in a line.
func MayHoldExcerpt(line []byte) bool {
	for at := 0; ; at++ {
		i := bytes.Index(line[at:], excerptWord)
		if i < 0 {
			return false
		}
		if at += i + len(excerptWord) - 1; endsExcerpt(line, at) {
			return true
		}
	}
}

// excerptWord stands before the number of the line.
var excerptWord = []byte("js:")

// Frame returns the frame that an excerpt is, if its sign is below that column, which counts from 0.
func (x *Excerpt) Frame(column uint64) Frame {
	return Frame{Family: scripts, Shape: Fields, Space: symsrc.InScript, Convention: Exact, Off: span(x.Module.End+1, x.Place.End), Whole: x.Place,
		Module: x.Module, Source: x.Place, Offset: x.Line<<32 | column, Headline: true}
}

// endsExcerpt reports whether the colon at line[colon] stands between a script and a line of it, at the end of the line or of a string.
func endsExcerpt(line []byte, colon int) bool {
	_, e, ok := scan.Decimal(line, colon+1)
	return ok && scan.EndsWith(line, 0, colon, "js") && (scan.LineEnd(line, e) || escapedEnd(line, e)) && bytes.ContainsAny(line[:colon], `/\`)
}

// isPath reports whether a text begins as the path or the URL of a file.
func isPath(text []byte) bool {
	return len(text) > 3 && (text[0] == '/' || bytes.HasPrefix(text, []byte("file:")) || hasDrive(text))
}

// hasDrive reports whether a text begins as a path of Windows.
func hasDrive(text []byte) bool {
	return len(text) > 3 && scan.IsLetter(text[0]) && text[1] == ':' && (text[2] == '\\' || text[2] == '/')
}

// readBare reads `NAME@LINE:COLUMN`, alone on its line or with others behind it; `@` stands at line[at]. A minified bundle is one line. Of another line
// such a text is a frame only in a stack.
func readBare(s *Search, line []byte, at, from int, f *Frame) bool {
	row, e, ok := scan.Decimal(line, at+1)
	if !ok || e >= len(line) || line[e] != ':' {
		return false
	}
	column, end, ok := scan.Decimal(line, e+1)
	if !ok || row == 0 || row >= 1<<31 || column >= 1<<31 || !endsLineOrText(line, end) && !bareFollows(line, end) && !endsInTag(line, end) {
		return false
	}
	start := at
	for low := max(from, at-maxModule); start > low && !scan.IsSpace(line[start-1]) && line[start-1] != '"' && !startsWord(line, start) && s.spend(1); {
		start--
	}
	if start == at || start > s.begin && !startsWord(line, start) && !(line[start-1] == '"' && scan.Has(line, end, `"`)) {
		return false
	}
	*f = Frame{Family: scripts, Shape: Fields, Space: symsrc.InScript, Convention: Exact, Off: span(at+1, end), Whole: span(start, end),
		Func: span(start, at), Source: span(at+1, end), Offset: (row-1)<<32 | column}
	if row > 1 {
		f.Part = PlacePart
		f.codeOf(line, max(from, s.begin))
	}
	return true
}

// stackFollows is what React Native ends a message with that stands above the stack (its ExceptionsManagerModule.java and RCTAssert.m).
const stackFollows = ", stack:"

// readStackFollows reads it; it stands at line[at:].
func readStackFollows(_ *Search, line []byte, at, _ int, f *Frame) bool {
	end := at + len(stackFollows)
	*f = Frame{Family: scripts, Shape: Fields, Space: symsrc.InScript, Part: StackPart, Whole: span(at, end), Off: span(end, end)}
	return endsStackFollows(line, at)
}

// endsStackFollows reports whether the line or text ends behind the literal at the place, but for a tag, or frames follow.
func endsStackFollows(line []byte, at int) bool {
	end := at + len(stackFollows)
	return endsLineOrText(line, end) || bareFollows(line, end) || endsInTag(line, end)
}

// bareFollows reports whether a space stands at line[at], and another such frame behind it: reports of crashes have them on one line.
func bareFollows(line []byte, at int) bool {
	if line[at] != ' ' {
		return false
	}
	word := line[at+1 : min(len(line), at+1+maxModule)]
	if i := bytes.IndexByte(word, ' '); i >= 0 {
		word = word[:i]
	}
	sign := bytes.LastIndexByte(word, '@')
	if sign <= 0 {
		return false
	}
	_, e, ok := scan.Decimal(word, sign+1)
	if !ok || e >= len(word) || word[e] != ':' {
		return false
	}
	_, e, ok = scan.Decimal(word, e+1)
	return ok && (scan.LineEnd(word, e) || escapedEnd(word, e))
}

// endsInTag reports whether a tag in parentheses stands at line[at:], as logcat's format "process" has it behind each message.
func endsInTag(line []byte, at int) bool {
	return scan.Has(line, at, "  (") && bytes.HasSuffix(bytes.TrimRight(line[at:min(len(line), at+maxModule)], " \r\n"), []byte(")"))
}

// The ends of a script's name and what is before its line, in what NativeScript for Android writes of a frame and of an error.
const (
	wordedFrame = "js', line: "
	wordedError = "js, line: "
)

// readWordedFrame reads `Frame: function:'NAME', file:'URL', line: 1, column: 2` (GetErrorStackTrace in its NativeScriptException.cpp); wordedFrame
// stands at line[at:].
func readWordedFrame(s *Search, line []byte, at, from int, f *Frame) bool {
	const word, file = "Frame: function:'", "', file:"
	open, ok := s.worded(line, at, len(wordedFrame), from, file+"'", f)
	if !ok || f.Offset&(1<<32-1) == 0 {
		return false
	}
	name := open - len(file)
	low := max(from, at-maxModule)
	i := low + s.lastIndex(line[low:name], []byte(word))
	if i < low {
		return false
	}
	f.Offset--
	f.Whole.Start, f.Func = i, span(i+len(word), name)
	return true
}

// readWordedError reads `File: "URL, line: 1, column: 1`, whose column counts from 0 (GetErrorMessage in the same file); wordedError stands at
// line[at:].
func readWordedError(s *Search, line []byte, at, from int, f *Frame) bool {
	_, ok := s.worded(line, at, len(wordedError), from, `File: "`, f)
	return ok
}

// worded reads the place that such a text of n bytes at line[at:] is part of, with a column as the log has it. What stands before the script ends in a
// quote, at line[open].
func (s *Search) worded(line []byte, at, n, from int, before string, f *Frame) (open int, ok bool) {
	const next = ", column: "
	row, e, ok := scan.Decimal(line, at+n)
	if !ok || !scan.Has(line, e, next) {
		return 0, false
	}
	column, end, ok := scan.Decimal(line, e+len(next))
	if !ok || row == 0 || row >= 1<<31 || column >= 1<<31 {
		return 0, false
	}
	low := max(from, at-maxModule)
	open = low + s.lastIndexByte(line[low:at], before[len(before)-1])
	if open < low || !scan.EndsWith(line, low, open+1, before) {
		return 0, false
	}
	*f = Frame{Family: scripts, Shape: Fields, Space: symsrc.InScript, Convention: Exact, Off: span(at+n, end), Whole: span(open+1-len(before), end),
		Module: span(open+1, at+len("js")), Source: span(open+1, end), Offset: (row-1)<<32 | column}
	return open, true
}

// consoleWord ends the URL of a script before the place that chromedriver has after it.
const consoleWord = "js "

// readConsole reads `URL LINE:COLUMN …`; that word stands at line[at:].
func readConsole(s *Search, line []byte, at, from int, f *Frame) bool {
	space := at + len(consoleWord) - 1
	row, column, end, ok := consolePlace(line, space)
	if !ok {
		return false
	}
	start := space
	for low := max(from, space-maxModule); start > low && !scan.IsSpace(line[start-1]) && line[start-1] != '"' && line[start-1] != '\'' && s.spend(1); {
		start--
	}
	if !startsURL(line[start:space]) || row >= 1<<31 || column >= 1<<31 {
		return false
	}
	*f = Frame{Family: scripts, Shape: Fields, Space: symsrc.InScript, Convention: Exact, Off: span(space+1, end), Whole: span(start, end),
		Module: span(start, space), Source: span(start, end), Offset: row<<32 | column}
	return true
}

// consolePlace reads ` LINE:COLUMN ` at line[space:], and returns where it ends.
func consolePlace(line []byte, space int) (row, column uint64, end int, ok bool) {
	row, colon, okRow := scan.Decimal(line, space+1)
	if !okRow || colon >= len(line) || line[colon] != ':' {
		return 0, 0, 0, false
	}
	column, end, ok = scan.Decimal(line, colon+1)
	return row, column, end, ok && end < len(line) && line[end] == ' '
}

// endsConsole reports whether such a place follows the literal at the place, and the scheme of a URL is before it.
func endsConsole(line []byte, at int) bool {
	_, _, _, ok := consolePlace(line, at+len(consoleWord)-1)
	return ok && bytes.Contains(line[max(0, at-maxModule):at], []byte("://"))
}

// escapedEnd reports whether an escaped line break or the end of a string stands at line[i:].
func escapedEnd(line []byte, i int) bool {
	return line[i] == '"' || line[i] == '\\' && i+1 < len(line) && (line[i+1] == 'n' || line[i+1] == 'r')
}

// startsWord reports whether a word begins at line[i]: at a space, or after an escaped line break.
func startsWord(line []byte, i int) bool {
	return scan.IsSpace(line[i-1]) || line[i-1] == '\n' || i > 1 && line[i-2] == '\\' && (line[i-1] == 'n' || line[i-1] == 't')
}

// scriptEnds reports whether a place may end at line[end:].
func scriptEnds(line []byte, end int) bool {
	return scan.WordEnd(line, end) || line[end] == '"' || line[end] == '\'' || line[end] == ',' || line[end] == '<' || scan.Has(line, end, escapedLF)
}

// escapedLF is a line break in a message to GitHub's runner.
const escapedLF = "%0A"

// endsPlace reports whether `:LINE:COLUMN` stands at the place, whose colon is the last byte of the literal.
func endsPlace(line []byte, colon int) bool {
	_, e, ok := scan.Decimal(line, colon+1)
	if !ok || e >= len(line) || line[e] != ':' {
		return false
	}
	if _, e, ok = scan.Decimal(line, e+1); !ok {
		return false
	}
	e = lineAgain(line, e)
	return e == len(line) || line[e] == ')' || scriptEnds(line, e)
}

// endsPlaceOrExcerpt reports whether one of both stands there.
func endsPlaceOrExcerpt(line []byte, colon int) bool {
	return endsPlace(line, colon) || endsExcerpt(line, colon)
}

// endsBare reports whether the rest of the line at `@` is a place without a script.
func endsBare(line []byte, at int) bool {
	_, e, ok := scan.Decimal(line, at+len("@"))
	if !ok || at == 0 || !scan.Has(line, e, ":") {
		return false
	}
	_, e, ok = scan.Decimal(line, e+1)
	return ok && (endsLineOrText(line, e) || endsInTag(line, e))
}
