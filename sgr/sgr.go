// Package sgr follows the colors of a log, takes escape sequences out of a line, and has our own colors.
package sgr

import (
	"bytes"
	"strconv"
)

// State is a state of Select Graphic Rendition (ECMA-48 §8.3.117, with xterm's 256 and 24-bit colors). The zero State is
// that of a terminal after ESC[0m.
type State struct {
	attr attr
	// underline is the style of ESC[4:n m, 1 to 5; ESC[4m is 1 and ESC[21m is 2. 0 is none.
	underline  uint8
	fg, bg, ul colorValue
}

type attr uint8

const (
	bold attr = 1 << iota
	dim
	italic
	blink
	inverse
	hidden
	strike
	overline
)

// color is a kind, in the highest byte, and a value. The zero color is the terminal's default.
type colorValue uint32

const (
	basic   colorValue = (iota + 1) << 24 // 0-7 and, bright, 8-15
	indexed                               // 0-255
	direct                                // 0xrrggbb

	kindMask colorValue = 0xff << 24
)

// Plain reports whether the state is that after a reset.
func (s State) Plain() bool { return s == State{} }

// Feed follows every ESC[…m in b. Other escape sequences change nothing.
func (s *State) Feed(b []byte) {
	for {
		i := bytes.IndexByte(b, esc)
		if i < 0 {
			return
		}
		b = b[i:]
		n := sequence(b)
		if isSGR(b[:n]) {
			s.apply(b[2 : n-1])
		}
		b = b[max(n, 1):]
	}
}

// apply follows the parameters of one ESC[…m. Private ones, and those with intermediate bytes, are no SGR.
func (s *State) apply(params []byte) {
	for _, c := range params {
		if c < '0' || c > ';' {
			return
		}
	}
	for more := true; more; {
		var p parameter
		p, params, more = next(params)
		if p.n > 1 {
			s.group(p)
			continue
		}
		if code := p.sub[0]; code == 38 || code == 48 || code == 58 {
			var c colorValue
			var ok bool
			c, ok, params, more = separated(params, more)
			if ok {
				*s.target(code) = c
			}
		} else {
			s.code(code)
		}
	}
}

func (s *State) target(code uint16) *colorValue {
	switch code {
	case 38:
		return &s.fg
	case 48:
		return &s.bg
	}
	return &s.ul
}

// setting is what one code turns on and off; off comes first.
type setting struct{ on, off attr }

var settings = [60]setting{
	1: {on: bold}, 2: {on: dim}, 3: {on: italic}, 5: {on: blink}, 6: {on: blink}, 7: {on: inverse}, 8: {on: hidden},
	9: {on: strike}, 22: {off: bold | dim}, 23: {off: italic}, 25: {off: blink}, 27: {off: inverse}, 28: {off: hidden},
	29: {off: strike}, 53: {on: overline}, 55: {off: overline},
}

// code follows one parameter that stands for itself. Unknown ones change nothing.
func (s *State) code(n uint16) {
	switch {
	case n == 0:
		*s = State{}
	case n == 4:
		s.underline = 1
	case n == 21:
		s.underline = 2
	case n == 24:
		s.underline = 0
	case 30 <= n && n <= 37:
		s.fg = basic | colorValue(n-30)
	case n == 39:
		s.fg = 0
	case 40 <= n && n <= 47:
		s.bg = basic | colorValue(n-40)
	case n == 49:
		s.bg = 0
	case n == 59:
		s.ul = 0
	case 90 <= n && n <= 97:
		s.fg = basic | colorValue(n-90+8)
	case 100 <= n && n <= 107:
		s.bg = basic | colorValue(n-100+8)
	case int(n) < len(settings):
		s.attr = s.attr&^settings[n].off | settings[n].on
	}
}

// attrCodes has the code that turns each attribute on.
var attrCodes = [...]byte{1, 2, 3, 5, 7, 8, 9, 53}

// Append appends the shortest sequence that leads from the reset state to s; nothing where s is Plain.
func (s State) Append(dst []byte) []byte {
	if s.Plain() {
		return dst
	}
	dst = append(dst, esc, '[')
	for i, code := range attrCodes {
		if s.attr&(1<<i) != 0 {
			dst = append(strconv.AppendUint(dst, uint64(code), 10), ';')
		}
	}
	switch s.underline {
	case 0:
	case 1:
		dst = append(dst, "4;"...)
	case 2:
		dst = append(dst, "21;"...)
	default:
		dst = append(dst, '4', ':', '0'+s.underline, ';')
	}
	dst = appendColor(dst, s.fg, 30, ';')
	dst = appendColor(dst, s.bg, 40, ';')
	// Terminals that do not know 58 skip it whole only when it is one parameter.
	dst = appendColor(dst, s.ul, 50, ':')
	dst[len(dst)-1] = 'm'
	return dst
}

// appendColor appends the parameters of a color and a semicolon; base is 30, 40 or 50.
func appendColor(dst []byte, c colorValue, base uint64, separator byte) []byte {
	number := func(n colorValue, end byte) {
		dst = append(strconv.AppendUint(dst, uint64(n), 10), end)
	}
	v := c &^ kindMask
	switch c & kindMask {
	case basic:
		if v >= 8 {
			base += 60 - 8
		}
		number(colorValue(base)+v, ';')
	case indexed:
		number(colorValue(base)+8, separator)
		number(5, separator)
		number(v, ';')
	case direct:
		number(colorValue(base)+8, separator)
		number(2, separator)
		if separator == ':' {
			dst = append(dst, ':') // the color space, which is left out
		}
		number(v>>16, separator)
		number(v>>8&0xff, separator)
		number(v&0xff, ';')
	}
	return dst
}

const (
	esc = 0x1b
	bel = 0x07
)

// sequence returns the length of the escape sequence that b, which begins with ESC, starts with; 0 is none. An unfinished
// one is none, unless the next escape sequence cuts it short: then the terminal drops its start, and so do we.
//
// The forms are those of ECMA-48 §5.4, §5.6 and of ISO 2022: ESC [ parameters intermediates final; ESC ] … BEL, or ended by
// ESC \, as the strings of ESC P, X, ^ and _ are; ESC intermediates final; and ESC with one more byte.
func sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch c := b[1]; {
	case c == '[':
		i := skip(b, 2, 0x30, 0x3f)
		return finish(b, skip(b, i, 0x20, 0x2f), 0x40)
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return stringSequence(b, c == ']')
	}
	return finish(b, skip(b, 1, 0x20, 0x2f), 0x30)
}

// skip returns the index of the first byte at or after i that is outside lo…hi.
func skip(b []byte, i int, lo, hi byte) int {
	for i < len(b) && lo <= b[i] && b[i] <= hi {
		i++
	}
	return i
}

// finish returns the sequence's length when its final byte, lo…0x7e, or another ESC is at i.
func finish(b []byte, i int, lo byte) int {
	switch {
	case i == len(b):
		return 0
	case b[i] == esc:
		return i
	case lo <= b[i] && b[i] <= 0x7e:
		return i + 1
	}
	return 0
}

func stringSequence(b []byte, belEnds bool) int {
	i := 2 + bytes.IndexByte(b[2:], esc)
	if i < 2 {
		i = len(b)
	}
	if belEnds {
		if end := bytes.IndexByte(b[2:i], bel); end >= 0 {
			return 2 + end + 1
		}
	}
	switch {
	case i+1 < len(b) && b[i+1] == '\\':
		return i + 2
	case i < len(b):
		return 2 // not a string after all: its text is text
	}
	return 0
}

// Strip appends line to dst without its escape sequences, and to pos, for each byte appended to dst, its offset in line;
// a last entry in pos is len(line). Sequences that are not finished stay, as text.
func Strip(dst []byte, pos []int32, line []byte) ([]byte, []int32) {
	for i := 0; i < len(line); {
		if line[i] == esc {
			if n := sequence(line[i:]); n > 0 {
				i += n
				continue
			}
		}
		end := i + 1 + bytes.IndexByte(line[i+1:], esc)
		if end == i {
			end = len(line)
		}
		dst = append(dst, line[i:end]...)
		for ; i < end; i++ {
			pos = append(pos, int32(i))
		}
	}
	return dst, append(pos, int32(len(line)))
}

// Escapes appends the escape sequences of line to dst, and nothing else of it.
func Escapes(dst, line []byte) []byte {
	for {
		i := bytes.IndexByte(line, esc)
		if i < 0 {
			return dst
		}
		line = line[i:]
		n := sequence(line)
		dst = append(dst, line[:n]...)
		line = line[max(n, 1):]
	}
}

// Uncolored appends line without its SGR sequences to dst. Other escape sequences stay.
func Uncolored(dst, line []byte) []byte {
	for {
		i := bytes.IndexByte(line, esc)
		if i < 0 {
			return append(dst, line...)
		}
		dst = append(dst, line[:i]...)
		line = line[i:]
		n := sequence(line)
		if !isSGR(line[:n]) {
			n = max(n, 1)
			dst = append(dst, line[:n]...)
		}
		line = line[n:]
	}
}

// isSGR reports whether an escape sequence is ESC[…m.
func isSGR(s []byte) bool { return len(s) > 2 && s[1] == '[' && s[len(s)-1] == 'm' }

// parameter is one parameter, with its sub-parameters after colons.
type parameter struct {
	sub [7]uint16 // 38:2:space:r:g:b is the longest that is looked at, and may have one more
	n   int
}

// missing is an empty sub-parameter.
const missing = 1<<16 - 1

// next reads the parameter before the first semicolon. An empty one is 0.
func next(params []byte) (p parameter, rest []byte, more bool) {
	p.n = 1
	empty := true
	value := uint16(0)
	set := func() {
		if empty && p.n > 1 {
			value = missing
		}
		if p.n <= len(p.sub) {
			p.sub[p.n-1] = value
		}
		value, empty = 0, true
	}
	for i, c := range params {
		switch c {
		case ';':
			set()
			return p, params[i+1:], true
		case ':':
			set()
			p.n++
		default:
			if value < 1000 {
				value = value*10 + uint16(c-'0')
			}
			empty = false
		}
	}
	set()
	return p, nil, false
}

// separated reads the color after 38, 48 or 58 in the form with semicolons: 5;n or 2;r;g;b.
func separated(params []byte, more bool) (c colorValue, ok bool, rest []byte, _ bool) {
	var v [4]uint16
	n, want := 0, 1
	for ; more && n < want; n++ {
		var p parameter
		p, params, more = next(params)
		v[n] = p.sub[0]
		if n == 0 {
			switch v[0] {
			case 5:
				want = 2
			case 2:
				want = 4
			}
		}
	}
	if n < want {
		return 0, false, params, more
	}
	c, ok = extended(v[0], v[1:want])
	return c, ok, params, more
}

// extended makes the color of mode 5, with an index, or of mode 2, with red, green and blue.
func extended(mode uint16, v []uint16) (colorValue, bool) {
	for _, x := range v {
		if x > 255 {
			return 0, false
		}
	}
	switch {
	case mode == 5 && len(v) == 1:
		return indexed | colorValue(v[0]), true
	case mode == 2 && len(v) == 3:
		return direct | colorValue(v[0])<<16 | colorValue(v[1])<<8 | colorValue(v[2]), true
	}
	return 0, false
}

// group follows a parameter with sub-parameters: 4:style, 38:5:n, 38:2:r:g:b, 38:2:space:r:g:b, and the same with 48 and 58.
func (s *State) group(p parameter) {
	v := p.sub[:min(p.n, len(p.sub))]
	switch v[0] {
	case 4:
		if v[1] <= 5 {
			s.underline = uint8(v[1])
		}
	case 38, 48, 58:
		mode, rest := v[1], v[2:]
		switch {
		case mode == 5 && len(rest) > 1:
			rest = rest[:1]
		case mode == 2 && len(rest) > 3:
			rest = rest[1:4]
		}
		if c, ok := extended(mode, rest); ok {
			*s.target(v[0]) = c
		}
	}
}

// Link reports whether a hyperlink is open: OSC 8 ; parameters ; URL, ended by BEL or ESC \. All text belongs to it until
// another one opens, or one without a URL closes it. The zero Link is none.
type Link bool

// Feed follows every hyperlink sequence in b.
func (l *Link) Feed(b []byte) {
	for {
		i := bytes.Index(b, []byte("\x1b]8;"))
		if i < 0 {
			return
		}
		b = b[i:]
		n := sequence(b)
		if n <= 2 { // not finished: no sequence
			b = b[2:]
			continue
		}
		content := bytes.TrimRight(b[4:n], "\x1b\\\a")
		if _, url, ok := bytes.Cut(content, []byte(";")); ok {
			*l = len(url) > 0
		}
		b = b[n:]
	}
}
