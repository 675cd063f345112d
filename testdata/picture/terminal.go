package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// style is how a piece of text looks.
type style struct {
	bold, dim, italic, underline bool
	colour                       int // of xterm's 256, or -1 for the default
}

// piece is text of one style from a column on.
type piece struct {
	style
	column int
	text   string
}

// lay puts text with SGR sequences on lines of so many columns. Other escape sequences show nothing.
func lay(text []byte, columns int) (lines [][]piece) {
	now, column := style{colour: -1}, 0
	var line []piece
	end := func() { lines, line, column = append(lines, line), nil, 0 }
	for s := strings.TrimSuffix(string(text), "\n"); s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '\n':
			end()
		case r == 0x1b:
			n = escape(s, &now)
		default:
			if column == columns {
				end()
			}
			if k := len(line); k > 0 && line[k-1].style == now {
				line[k-1].text += s[:n]
			} else {
				line = append(line, piece{now, column, s[:n]})
			}
			column++
		}
		s = s[n:]
	}
	end()
	return lines
}

// escape follows the escape sequence that s begins with, and returns its length.
func escape(s string, now *style) int {
	if strings.HasPrefix(s, "\x1b]") {
		if end := strings.Index(s, "\x1b\\"); end > 0 {
			return end + 2
		}
		return len(s)
	}
	end := strings.IndexAny(s[1:], "mK")
	if !strings.HasPrefix(s, "\x1b[") || end < 0 {
		return 1
	}
	end++
	if s[end] != 'm' {
		return end + 1
	}
	codes := strings.Split(s[2:end], ";")
	for i := 0; i < len(codes); i++ {
		n, _ := strconv.Atoi(codes[i])
		if n == 38 && i+2 < len(codes) {
			now.colour, _ = strconv.Atoi(codes[i+2])
			i += 2
			continue
		}
		now.apply(n)
	}
	return end + 1
}

// apply follows one parameter.
func (s *style) apply(n int) {
	switch {
	case n == 0:
		*s = style{colour: -1}
	case n == 1:
		s.bold = true
	case n == 2:
		s.dim = true
	case n == 3:
		s.italic = true
	case n == 4:
		s.underline = true
	case n == 22:
		s.bold, s.dim = false, false
	case n == 39:
		s.colour = -1
	case 30 <= n && n <= 37:
		s.colour = n - 30
	case 90 <= n && n <= 97:
		s.colour = n - 90 + 8
	}
}
