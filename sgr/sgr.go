// Package sgr tracks the colors of a log, removes escape sequences from lines, and defines the colors of text that is added to a log.
package sgr

import (
	"bytes"
	"strconv"
)

// State is a state of Select Graphic Rendition (ECMA-48 §8.3.117, with xterm's 256 and 24-bit colors). The zero State is the state
// after ESC[0m.
type State struct {
	attr attr
	// underline is the style of ESC[4:n m, 1 to 5; ESC[4m is 1 and ESC[21m is 2. 0 is none.
	underline  uint8
	fg, bg, ul colorValue
}

// attr is a set of attributes.
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

// colorValue is a color: its kind is in the highest byte, its value in the others. The zero colorValue is the terminal's default color.
type colorValue uint32

const (
	basic   colorValue = (iota + 1) << 24 // 0-7, and 8-15 for the bright colors
	indexed                               // 0-255
	direct                                // 0xrrggbb

	kindMask colorValue = 0xff << 24
)

// Plain reports whether the state is the one after a reset.
func (s State) Plain() bool { return s == State{} }

// Feed applies every ESC[…m in b to the state. It ignores other escape sequences.
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

// apply applies the parameters of one ESC[…m. Private parameters, and sequences with intermediate bytes, are not SGR.
func (s *State) apply(params []byte) {
	for _, c := range params {
		if c < '0' || c > ';' {
			return
		}
	}
	for more := true; more; {
		var p parameter
		p, params, more = nextParameter(params)
		if p.n > 1 {
			s.applyGroup(p)
			continue
		}
		if code := p.sub[0]; code == 38 || code == 48 || code == 58 {
			var c colorValue
			var ok bool
			c, ok, params, more = semicolonColor(params, more)
			if ok {
				*s.target(code) = c
			}
		} else {
			s.applyCode(code)
		}
	}
}

// target returns the color that the code 38, 48 or 58 sets.
func (s *State) target(code uint16) *colorValue {
	switch code {
	case 38:
		return &s.fg
	case 48:
		return &s.bg
	}
	return &s.ul
}

// setting is the attributes that one code turns off and then on.
type setting struct{ on, off attr }

// settings are the codes of attributes.
var settings = [60]setting{
	1: {on: bold}, 2: {on: dim}, 3: {on: italic}, 5: {on: blink}, 6: {on: blink}, 7: {on: inverse}, 8: {on: hidden},
	9: {on: strike}, 22: {off: bold | dim}, 23: {off: italic}, 25: {off: blink}, 27: {off: inverse}, 28: {off: hidden},
	29: {off: strike}, 53: {on: overline}, 55: {off: overline},
}

// applyCode applies one parameter without sub-parameters. It ignores unknown codes.
func (s *State) applyCode(n uint16) {
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

// attrCodes are the codes that turn on the attributes, in the order of their bits.
var attrCodes = [...]byte{1, 2, 3, 5, 7, 8, 9, 53}

// Append appends the shortest sequence that changes the reset state to s. It appends nothing if s is Plain.
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
	// Terminals that do not support 58 ignore it completely only if it is one parameter.
	dst = appendColor(dst, s.ul, 50, ':')
	dst[len(dst)-1] = 'm'
	return dst
}

// appendColor appends the parameters of a color, each group followed by a semicolon. base is 30, 40 or 50.
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
			dst = append(dst, ':') // the empty color space
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

// sequence returns the length of the escape sequence at the start of b, which begins with ESC, or 0 if there is none. An unfinished
// sequence is none, unless it is interrupted by the next one: then its beginning is a sequence, because terminals ignore it.
//
// The forms are those of ECMA-48 §5.4, §5.6 and of ISO 2022: ESC [ parameters intermediates final; ESC ] … BEL or ESC \; the strings that
// begin with ESC P, X, ^ and _ and end with ESC \; ESC intermediates final; and ESC with one more byte.
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

// skip returns the index of the first byte at or after i that is not in lo…hi.
func skip(b []byte, i int, lo, hi byte) int {
	for i < len(b) && lo <= b[i] && b[i] <= hi {
		i++
	}
	return i
}

// finish returns the length of a sequence whose final byte, lo…0x7e, is at i, or which is interrupted by an ESC there; otherwise 0.
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

// stringSequence returns the length of a control string at the start of b, or 0 if it is not finished.
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
		return 2 // the string is interrupted: only its opening is a sequence, its contents are text
	}
	return 0
}

// Strip appends line without its escape sequences to dst. To pos it appends the offset in line of each byte that it appends to dst, and
// then len(line). Unfinished sequences are text.
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

// Escapes appends only the escape sequences of line to dst.
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

// Uncolored appends line without its SGR sequences to dst. It keeps other escape sequences.
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
	sub [7]uint16 // long enough for 38:2:space:r:g:b; further sub-parameters are ignored
	n   int       // number of sub-parameters, including ignored ones
}

// missing is the value of an empty sub-parameter.
const missing = 1<<16 - 1

// nextParameter returns the parameter before the first semicolon, the text after it, and whether there is a semicolon. An empty parameter
// is 0.
func nextParameter(params []byte) (p parameter, rest []byte, more bool) {
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

// semicolonColor returns the color after 38, 48 or 58 in the form with semicolons: 5;n or 2;r;g;b. It returns false if it is malformed.
func semicolonColor(params []byte, more bool) (c colorValue, ok bool, rest []byte, _ bool) {
	var v [4]uint16
	n, want := 0, 1
	for ; more && n < want; n++ {
		var p parameter
		p, params, more = nextParameter(params)
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
	c, ok = extendedColor(v[0], v[1:want])
	return c, ok, params, more
}

// extendedColor returns the color of mode 5, with an index, or of mode 2, with red, green and blue. It returns false if it is malformed.
func extendedColor(mode uint16, v []uint16) (colorValue, bool) {
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

// applyGroup applies a parameter with sub-parameters: 4:style, 38:5:n, 38:2:r:g:b, 38:2:space:r:g:b, and the same with 48 and 58.
func (s *State) applyGroup(p parameter) {
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
		if c, ok := extendedColor(mode, rest); ok {
			*s.target(v[0]) = c
		}
	}
}

// Link is true while a hyperlink is open. The sequence OSC 8 ; parameters ; URL, which ends with BEL or ESC \, opens a hyperlink; one
// without a URL closes it.
type Link bool

// Feed applies every hyperlink sequence in b to the state.
func (l *Link) Feed(b []byte) {
	for {
		i := bytes.Index(b, []byte("\x1b]8;"))
		if i < 0 {
			return
		}
		b = b[i:]
		n := sequence(b)
		if n <= 2 { // unfinished or interrupted
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
