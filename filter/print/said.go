package print

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// Functions returns the functions of a frame, at least one: that of the log, which may have no name, if there is no answer. single is
// used for that one.
func (o *Observation) Functions(single *[1]symsrc.Frame) []symsrc.Frame {
	switch {
	case len(o.Frames) > 0:
		return o.Frames
	case o.Outcome == resolve.InLog && o.Unasked != "":
		if single[0] = readNamed(o.Rest); single[0].Func == "" {
			single[0] = readPlaced(cmp.Or(string(o.Hint), string(bytes.TrimSpace(o.Rest))))
		}
	default:
		single[0] = symsrc.Frame{Func: string(o.Hint)}
		if name, _, _ := parse.SplitHint(o.Hint); strings.HasPrefix(name, "_") {
			if readable := demangle.Demangle(name); readable != name {
				single[0].Func = readable
			}
		}
	}
	return single[:]
}

var (
	inWord = []byte(" in ")
	// placeWords stand before the place of a function: gdb's ` at FILE:LINE` and ` from LIBRARY`.
	placeWords = [...][]byte{[]byte(" at "), []byte(" from ")}
)

// readNamed reads a frame that the log names, such as `0x401136 in main /src/main.c:12:3 (a.out+0x1136)`, or gdb's
// `0x401136 in f (n=1) at main.c:12`.
func readNamed(rest []byte) (fr symsrc.Frame) {
	_, text, ok := bytes.Cut(rest, inWord)
	if bytes.HasSuffix(rest, bytes.TrimRight(inWord, " ")) { // there is no name, and no space either
		return symsrc.Frame{}
	}
	if !ok {
		text = bytes.TrimSpace(rest)
		if after, found := ofMarkup(text); found {
			text = after
		} else if !bytes.Contains(text, []byte(") at ")) { // gdb's frame 0 has no address
			return fr
		}
	}
	if text = bytes.TrimRight(text, " \t"); len(text) == 0 {
		return fr
	}
	for bytes.HasSuffix(text, []byte(")")) { // `(a.out+0x1136) (BuildId: 316c4e23)`
		i := bytes.LastIndex(text, []byte(" ("))
		if i < 0 || !bytes.Contains(text[i:], []byte("+0x")) && !bytes.HasPrefix(text[i:], []byte(" (BuildId:")) {
			break
		}
		text = bytes.TrimRight(text[:i], " ")
	}
	text = fr.CutMark(withoutModule(text))
	at, skip := bytes.LastIndexByte(text, ' '), 1
	if i := bytes.LastIndex(text, []byte(" /")); i >= 0 {
		at = i
	}
	for _, word := range placeWords {
		if i := bytes.LastIndex(text, word); i >= 0 && closed(text[:i]) {
			at, skip = i, len(word)
		}
	}
	if at < 0 {
		fr.Func = string(text)
		return fr
	}
	file := text[at+skip:]
	if noFile(file) {
		fr.Func = string(withoutValues(text[:at]))
		return fr
	}
	var numbers []int
	for len(numbers) < 2 {
		i := bytes.LastIndexByte(file, ':')
		n, err := strconv.Atoi(string(file[i+1:]))
		if i < 0 || err != nil {
			break
		}
		file, numbers = file[:i], append(numbers, n)
	}
	if skip == 1 && len(numbers) == 0 && !bytes.ContainsAny(file, `/\`) { // the end of the name, as in `f(int) const`
		fr.Func = string(withoutValues(text))
		return fr
	}
	fr.Func = string(withoutValues(text[:at]))
	if len(numbers) > 0 {
		fr.Line = numbers[len(numbers)-1]
	}
	if len(numbers) == 2 {
		fr.Column = numbers[0]
	}
	if fr.File = string(file); fr.File == invalidFile {
		fr.File = ""
	}
	return fr
}

// withoutModule cuts the module that Fuchsia has after the place: ` <libc.so>+0x9840e`, or ` <>+0xb8bff` for the program.
func withoutModule(text []byte) []byte {
	at, plus := bytes.LastIndex(text, []byte(" <")), bytes.LastIndex(text, []byte(">+0x"))
	if at < 0 || plus < at || bytes.IndexByte(text[plus:], ' ') >= 0 {
		return text
	}
	return bytes.TrimRight(text[:at], " ")
}

// noFile reports whether the place of a function says that nothing is known of it, as addr2line does.
func noFile(place []byte) bool { return string(place) == "??:?" || string(place) == "??:0" }

// invalidFile is the file of a function whose file llvm-symbolizer --filter-markup does not know.
const invalidFile = "<invalid>"

// ofMarkup returns what follows the address in a frame as llvm-symbolizer --filter-markup writes it:
// `0x000055bd418fe2a2 main /src/main.c:12:3 (/bin/a.out+0x1136)`.
func ofMarkup(text []byte) (after []byte, found bool) {
	address, after, _ := bytes.Cut(text, []byte(" "))
	place := after[:max(0, bytes.LastIndex(after, []byte(" (")))]
	_, err := strconv.Atoi(string(place[bytes.LastIndexByte(place, ':')+1:]))
	return after, err == nil && bytes.HasPrefix(address, []byte("0x"))
}

// readPlaced reads a name that may have its place in parentheses, as valgrind and Firefox write it: `f(int) (m.cc:12)`.
func readPlaced(text string) (fr symsrc.Frame) {
	fr.Func = strings.TrimPrefix(text, ": ") // of Firefox, after the number
	place, ended := strings.CutSuffix(fr.Func, ")")
	open, at := strings.LastIndex(place, " ("), strings.LastIndexByte(place, ':')
	if !ended || open < 0 || at < open {
		return fr
	}
	line, err := strconv.Atoi(place[at+1:])
	if err != nil {
		return fr
	}
	return symsrc.Frame{Func: place[:open], File: place[open+len(" (") : at], Line: line}
}

// closed reports whether a text ends outside of all brackets.
func closed(text []byte) bool {
	return bytes.Count(text, []byte("(")) == bytes.Count(text, []byte(")"))
}

// withoutValues returns a name without the values of its parameters, as gdb has them after a space: `f (n=1, s=...)`.
func withoutValues(name []byte) []byte {
	i := bytes.Index(name, []byte(" ("))
	if i < 0 || !bytes.HasSuffix(name, []byte(")")) {
		return name
	}
	if values := name[i+2 : len(name)-1]; len(values) == 0 || bytes.IndexByte(values, '=') >= 0 {
		return name[:i]
	}
	return name
}
