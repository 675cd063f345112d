package addr2line

import (
	"bytes"
	"strconv"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// unknownName is what both programs print for a function or a file that they do not know.
const unknownName = "??"

// header reads the line that `-a` puts before an answer: 0x and digits, of which GNU's program has 8 or 16.
func header(line []byte) (addr uint64, ok bool) {
	digits, ok := bytes.CutPrefix(line, []byte("0x"))
	if !ok || len(digits) == 0 || len(digits) > 16 {
		return 0, false
	}
	addr, err := strconv.ParseUint(string(digits), 16, 64)
	return addr, err == nil
}

// parseFrame reads a function and its place, `file:line`, to which GNU's program adds ` (discriminator N)`. An unknown line is
// 0 or ?.
func parseFrame(function, place string) symsrc.Frame {
	var f symsrc.Frame
	if function != unknownName && function != "" {
		f.Linkage = function
		name, _, _ := strings.Cut(function, "@")
		f.Func = demangle.Demangle(name)
	}
	if i := strings.LastIndex(place, " (discriminator "); i >= 0 {
		place = place[:i]
	}
	file, line := place, ""
	if i := strings.LastIndexByte(place, ':'); i >= 0 {
		file, line = place[:i], place[i+1:]
	}
	if file != unknownName {
		f.File = file
		f.Line, _ = strconv.Atoi(line) // 0 for ?
	}
	return f
}

// known returns a chain that says something, else nil.
func known(frames []symsrc.Frame) []symsrc.Frame {
	for i := range frames {
		if frames[i].Func != "" || frames[i].File != "" {
			return frames
		}
	}
	return nil
}

// trimEnd cuts a line's end off.
func trimEnd(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}
