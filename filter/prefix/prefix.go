// Package prefix reads what a logger wrote before the text of a program: timestamps, levels, tags, process IDs.
//
// reader.go reads the prefixes of a line by the rows of table.go. Each row's recognizer is in the file of its like: logcat*.go, fuchsia.go,
// syslog.go, time.go, container.go, ci.go and runtime.go; parts.go has what they share. again.go knows a prefix that comes again at another
// time. key.go makes of a prefix the key of the process, json.go of a line that is a JSON object. crashed.go finds the process that a crash
// report names, prefix.go where the text begins after any prefix.
package prefix

import "qss-filter/filter/scan"

// Split returns the offset where the program's own text begins on a line that holds something of interest at offset at.
// Everything before it counts as a logger's prefix if nothing but spaces stands there, or if what stands there ends
// the way loggers end their prefixes: in a colon, a closing bracket, an angle or a bar, in a time of day, or in a single
// capital letter (CRI's F and P, pytest's E). A sentence that leads up to the place ends in a word, and is none: then Split
// returns 0 and false.
func Split(line []byte, at int) (int, bool) {
	i := scan.BackSpaces(line, 0, at)
	for i > 0 {
		k := trimEscape(line, i)
		if k == i {
			break
		}
		i = scan.BackSpaces(line, 0, k)
	}
	if i == 0 {
		return 0, true
	}
	switch line[i-1] {
	case ':', ']', '>', '|', '}':
		return i, true
	}
	if isTimeOrLevel(line[:i]) {
		return i, true
	}
	return 0, false
}

// isTimeOrLevel reports whether the last word of text is a time of day (`15:58:12.000Z`) or a single capital letter.
func isTimeOrLevel(text []byte) bool {
	start := len(text)
	colons := 0
	for start > 0 && text[start-1] != ' ' && text[start-1] != '\t' {
		start--
		switch c := text[start]; {
		case c == ':':
			colons++
		case !scan.IsDigit(c) && c != '.' && c != ',' && c != 'T' && c != 'Z' && c != '+' && c != '-':
			return start == len(text)-1 && c >= 'A' && c <= 'Z' && (start == 0 || text[start-1] == ' ')
		}
	}
	word := text[start:]
	return colons > 0 || len(word) == 1 && word[0] >= 'A'
}

// trimEscape returns the end of line[:i] without a last SGR sequence `ESC[…m`.
func trimEscape(line []byte, i int) int {
	if i == 0 || line[i-1] != 'm' {
		return i
	}
	for k := i - 2; k > 0; k-- {
		switch c := line[k]; {
		case c == '[' && line[k-1] == 0x1b:
			return k - 1
		case c != ';' && c != ':' && !scan.IsDigit(c):
			return i
		}
	}
	return i
}
