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
