package msvc

import (
	"fmt"
	"strings"
)

// literal reads a string literal: whether its characters are wide, its length in bytes including the final NUL, a checksum, and
// its first characters (32 bytes or 32 wide characters).
func (p *parser) literal() *symbol {
	p.expect("@_")
	wide := p.consume("1")
	if !wide {
		p.expect("0")
	}
	size := p.unsigned()
	if size < 1 || wide && (size < 2 || size%2 == 1) {
		p.fail()
	}
	_, rest, ok := strings.Cut(p.rest, "@")
	if !ok || rest == "" {
		p.fail()
		return &symbol{}
	}
	p.rest = rest
	s := &symbol{}
	if wide {
		s.text = p.wideText(size)
	} else {
		s.text = p.narrowText(size)
	}
	return s
}

func (p *parser) wideText(size uint64) string {
	truncated := size > 64
	b := []byte(`L"`)
	for !p.bad && !p.consume("@") {
		if size == 0 {
			p.fail()
		}
		c := uint32(p.char())<<8 | uint32(p.char())
		if size != 2 || truncated {
			b = appendEscaped(b, c)
		}
		size -= 2
	}
	return closeLiteral(b, truncated)
}

func (p *parser) narrowText(size uint64) string {
	var raw []byte
	for !p.bad && !p.consume("@") {
		if len(raw) >= 128 {
			p.fail()
		}
		raw = append(raw, p.char())
	}
	truncated := size > uint64(len(raw))
	b, width := []byte(`"`), charWidth(raw, size)
	switch width {
	case 2:
		b = []byte(`u"`)
	case 4:
		b = []byte(`U"`)
	}
	n := len(raw) / width
	for i := range n {
		var c uint32
		for k := range width {
			c |= uint32(raw[i*width+k]) << (8 * k)
		}
		if i+1 < n || truncated {
			b = appendEscaped(b, c)
		}
	}
	return closeLiteral(b, truncated)
}

// closeLiteral appends the closing quotation mark, and an ellipsis to a truncated literal.
func closeLiteral(b []byte, truncated bool) string {
	if truncated {
		return string(b) + `"...`
	}
	return string(b) + `"`
}

// charWidth guesses the number of bytes per character of a narrow literal, which the name does not encode: in a complete literal
// by the number of NULs at the end, in a truncated one by the proportion of NULs.
func charWidth(raw []byte, size uint64) int {
	if size%2 == 1 {
		return 1
	}
	if size < 32 {
		nuls := 0
		for nuls < len(raw) && raw[len(raw)-1-nuls] == 0 {
			nuls++
		}
		switch {
		case nuls >= 4 && size%4 == 0:
			return 4
		case nuls >= 2:
			return 2
		}
		return 1
	}
	nuls := 0
	for _, c := range raw {
		if c == 0 {
			nuls++
		}
	}
	switch {
	case nuls >= 2*len(raw)/3 && size%4 == 0:
		return 4
	case nuls >= len(raw)/3:
		return 2
	}
	return 1
}

// char reads a byte of a literal: the byte itself, a ? and a code, or ?$ and two hexadecimal digits A to P.
func (p *parser) char() byte {
	c := p.next()
	if c != '?' {
		return c
	}
	switch c = p.next(); {
	case c == '$':
		hi, lo := p.next()-'A', p.next()-'A'
		if hi > 15 || lo > 15 {
			p.fail()
		}
		return hi<<4 | lo
	case '0' <= c && c <= '9':
		return ",/\\:. \n\t'-"[c-'0']
	case 'a' <= c && c <= 'z':
		return c - 'a' + 0xE1
	case 'A' <= c && c <= 'Z':
		return c - 'A' + 0xC1
	}
	p.fail()
	return 0
}

// appendEscaped appends a character as in a C++ literal. Hexadecimal escapes have an even number of digits.
func appendEscaped(b []byte, c uint32) []byte {
	const special, letters = "\x00'\"\\\a\b\f\n\r\t\v", `0'"\abfnrtv`
	if c < 0x80 {
		if i := strings.IndexByte(special, byte(c)); i >= 0 {
			return append(b, '\\', letters[i])
		}
		if c > 0x1F && c < 0x7F {
			return append(b, byte(c))
		}
	}
	s := fmt.Sprintf("%X", c)
	if len(s)%2 == 1 {
		s = "0" + s
	}
	return append(append(b, `\x`...), s...)
}
