package frame

import (
	"bytes"

	"qss-filter/filter/match"
	"qss-filter/filter/scan"
)

// Frames of Java and Kotlin have no place in the table: they mean something only where a map of their names is known, or where they name
// one. Throwable.printStackTrace (JDK, and libcore of Android) writes
//
//	a.b.c: message
//		at a.b.d(SourceFile:12)
//		at app//a.b.e(Unknown Source:3) ~[app.jar:1.0]
//		Suppressed: a.b.f: message
//	Caused by: a.b.g: message
//		... 42 more
//
// and the traces of ART the same with `  at `. Reports of Crashlytics and of the Play Console have other words before exceptions, and the latter a
// space before the parenthesis:
//
//	Fatal Exception: a.b.c: message
//	Caused by a.b.g: message
//	Exception a.b.c: message
//	  at a.b.d (SourceFile:12)

// What a line with such a frame, or with the name of an exception, holds. Without a map, only frames that name theirs mean something; while
// nothing has looked for maps, all that begin so may.
var javaLiterals = []match.Literal{
	{Text: mapWord, When: match.Always, Fits: opensSource},
	{Text: "\tat ", When: match.Retracing | match.Seeking},
	{Text: `\tat `, When: match.Retracing | match.Seeking},
	{Text: "FATAL EXCEPTION", When: match.Seeking},
	{Text: "Caused by: ", When: match.Retracing | match.Seeking},
	{Text: "Exception in thread ", When: match.Retracing | match.Seeking},
	{Text: " at ", When: match.Retracing},
	{Text: "(SourceFile", When: match.Retracing | match.Seeking},
	{Text: "(Unknown Source", When: match.Retracing | match.Seeking},
	{Text: "(Native method)", When: match.Seeking},
	{Text: "Suppressed: ", When: match.Retracing},
	{Text: "Caused by ", When: match.Retracing},
	{Text: "atal Exception: ", When: match.Retracing},
	{Text: "[CIRCULAR REFERENCE:", When: match.Retracing},
}

// JavaLiterals returns what a stream is searched for, for frames of Java.
func JavaLiterals() []match.Literal { return javaLiterals }

// mapWord stands before the ID of the map that has the names of a frame, in place of its source file (R8, SourceFileRewriter), as MapWord does.
const mapWord = "r8-map-id-"

// MapWord is the word in bytes.
var MapWord = []byte(mapWord)

// opensSource reports whether the word begins the source of a frame of Java.
func opensSource(line []byte, at int) bool { return at == 0 || line[at-1] == '(' }

// JavaMap returns the ID of the map in the source of a frame of Java, without the word before it. It is empty if there is none.
func JavaMap(source []byte) []byte {
	id, found := bytes.CutPrefix(source, MapWord)
	if !found {
		return nil
	}
	return id
}

var (
	byteOrderMark = []byte("\xef\xbb\xbf")

	javaAt = []byte("at ")
	// escapedTab is before the word in bug reports of Android 6 (convertPrintable in its liblog, for logcat -v printable).
	escapedTab = []byte(`\t`)
	// thrownWords stand before the name of an exception. What follows the last one of them is the name.
	thrownWords = [...][]byte{[]byte("Caused by: "), []byte("Suppressed: "), []byte("[CIRCULAR REFERENCE: "), []byte("[CIRCULAR REFERENCE:"),
		[]byte("Caused by "), []byte("Fatal Exception: "), []byte("Non-fatal Exception: "), []byte("Exception ")}
	thrownIn = []byte(`Exception in thread "`)
)

// ReadJava reads the frame `at CLASS.METHOD(FILE:LINE)` of a program's own words, which begin at line[from]. Whole is what stands after the
// word, without the names of a class loader and a module. Func is CLASS.METHOD, Source FILE:LINE, and Gap the place of the word.
func ReadJava(line []byte, from int, f *Frame) bool {
	for i := from; ; {
		n := bytes.Index(line[i:], javaAt)
		if n < 0 {
			return false
		}
		at := i + n
		i = at + len(javaAt)
		if at > from && line[at-1] != ' ' && line[at-1] != '\t' && !(at == from+len(escapedTab) && bytes.HasPrefix(line[from:], escapedTab)) {
			continue
		}
		if readJavaAt(line, at, i, f) {
			return true
		}
	}
}

// readJavaAt reads what follows the word at line[at:], from line[i] on.
func readJavaAt(line []byte, at, i int, f *Frame) bool {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	start, dot, k := i, 0, i
	for ; k < len(line) && line[k] != '(' && line[k] != ' '; k++ {
		switch c := line[k]; {
		case c == '/':
			start, dot = k+1, 0
		case c == '.':
			dot = k
		case !isJavaName(c) && c != '@':
			return false
		}
	}
	open := scan.Spaces(line, k)
	if dot <= start || dot+1 >= k || open == len(line) || line[open] != '(' || bytes.IndexByte(line[start:k], '@') >= 0 {
		return false
	}
	end := closing(line, open)
	if end < 0 || open > k && !isJavaSource(line[open+1:end]) {
		return false
	}
	*f = Frame{Family: "java", Shape: Java, Whole: span(start, end+1), Func: span(start, k), Source: span(open+1, end), Gap: span(at, at), Hint: span(start, k)}
	return true
}

// isJavaSource reports whether the text in the parentheses of a frame is what Java writes there. V8 and Mono write a space before theirs, as
// the reports of the Play Console do.
func isJavaSource(source []byte) bool {
	file := source
	if colon := bytes.LastIndexByte(source, ':'); colon >= 0 {
		if _, end, ok := scan.Decimal(source, colon+1); !ok || end < len(source) {
			return false
		}
		file = source[:colon]
	}
	switch {
	case bytes.Equal(file, []byte("Unknown Source")), bytes.Equal(file, []byte("SourceFile")), bytes.Equal(source, []byte("Native Method")):
		return true
	case bytes.ContainsAny(file, ` /\:<>,`), scriptFile(file):
		return false
	}
	return len(file) < len(source) || bytes.HasSuffix(file, []byte(".java")) || bytes.HasSuffix(file, []byte(".kt"))
}

// scriptFile reports whether a file is a script or a source of one, by its name.
func scriptFile(name []byte) bool {
	dot := bytes.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	switch string(name[dot+1:]) {
	case "js", "jsx", "ts", "tsx", "mjs", "cjs", "bundle", "hbc":
		return true
	}
	return false
}

// maxSource bounds the source of a frame, in bytes.
const maxSource = 1 << 10

// closing returns where the parenthesis closes that opens at line[open], -1 if it does not. The name of a file may have some, too:
// `(:com.google.android.gms@203915081@20.39.15 (060808-335085812):46)`.
func closing(line []byte, open int) int {
	depth := 0
	for i := open; i < min(len(line), open+maxSource); i++ {
		switch line[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// AnyJava reports whether one of the frames of Java that a line may hold is one of those: the word before a frame may stand anywhere, since a
// program's own words may begin in the middle of the line. There must be no escape sequences in the line.
func AnyJava(line []byte, is func(class, source []byte) bool) bool {
	for i := 0; ; {
		n := bytes.Index(line[i:], javaAt)
		if n < 0 {
			return false
		}
		at := i + n
		i = at + len(javaAt)
		var f Frame
		if !readJavaAt(line, at, i, &f) {
			continue
		}
		function := f.Func.Of(line)
		if is(function[:bytes.LastIndexByte(function, '.')], f.Source.Of(line)) {
			return true
		}
	}
}

// LastJavaName returns the name of a class that a text may end in.
func LastJavaName(text []byte) []byte {
	i := len(text)
	for i > 0 && (isJavaName(text[i-1]) || text[i-1] == '.') && text[i-1] != '>' {
		i--
	}
	if bytes.IndexByte(text[i:], byteOrderMark[0]) >= 0 { // a logger may put one before its text
		if mark := bytes.LastIndex(text[i:], byteOrderMark); mark >= 0 {
			i += mark + len(byteOrderMark)
		}
	}
	if i < len(text) && scan.IsDigit(text[i]) {
		return nil
	}
	return text[i:]
}

// isJavaName reports whether a name of a class or method may have a byte: those of Java, of Kotlin, and of compilers, such as <init>.
func isJavaName(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || scan.IsDigit(c) || c == '_' || c == '$' || c == '-' || c == '<' || c == '>' || c >= 0x80
}

// SplitJava returns the parts of a frame that ReadJava has found.
func SplitJava(function, source []byte) (class, method, file []byte, number int, numbered bool) {
	dot := bytes.LastIndexByte(function, '.')
	class, method, file = function[:dot], function[dot+1:], source
	if colon := bytes.LastIndexByte(source, ':'); colon >= 0 {
		n, end, ok := scan.Decimal(source, colon+1)
		if ok && end == len(source) && n < 1<<31 {
			return class, method, source[:colon], int(n), true
		}
	}
	return class, method, file, 0, false
}

// ReadThrown reads the name of the exception of a program's own words, which begin at line[from]. announced is set if words before it say
// that it is one; otherwise the words begin with a name and nothing else, or a colon follows it. Whole is the name.
func ReadThrown(line []byte, from int, f *Frame) (announced, ok bool) {
	at := from
	for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
		at++
	}
	words := line[at:]
	if bytes.HasPrefix(words, thrownIn) {
		k := bytes.Index(words[len(thrownIn):], []byte(`" `))
		if k < 0 {
			return false, false
		}
		at, announced = at+len(thrownIn)+k+2, true
	} else {
		for _, word := range thrownWords {
			if bytes.HasPrefix(words, word) {
				at, announced = at+len(word), true
				break
			}
		}
	}
	for k := at; k <= len(line); k++ {
		switch {
		case k < len(line) && (isJavaName(line[k]) || line[k] == '.'):
			continue
		case k < len(line) && line[k] == '/' && announced:
			at = k + 1
			continue
		case k == at || scan.IsDigit(line[at]):
			return false, false
		case k == len(line), line[k] == ':' && (k+1 == len(line) || line[k+1] == ' '), line[k] == ']' && announced:
			*f = Frame{Family: "java", Shape: Thrown, Whole: span(at, k)}
			return announced, true
		}
		return false, false
	}
	return false, false
}
