package msvc

import (
	"fmt"
	"strings"
)

// literal reads a string literal: whether its characters are wide, its length in bytes with the final NUL, a checksum, and
// its first characters (32 bytes of narrow ones, 32 wide ones).
func (p *parser) literal() *symbol {
	p.need("@_")
	wide := p.eat("1")
	if !wide {
		p.need("0")
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
	cut := size > 64
	b := []byte(`L"`)
	for !p.bad && !p.eat("@") {
		if size == 0 {
			p.fail()
		}
		c := uint32(p.char())<<8 | uint32(p.char())
		if size != 2 || cut {
			b = appendEscaped(b, c)
		}
		size -= 2
	}
	return closed(b, cut)
}

func (p *parser) narrowText(size uint64) string {
	var raw []byte
	for !p.bad && !p.eat("@") {
		if len(raw) >= 128 {
			p.fail()
		}
		raw = append(raw, p.char())
	}
	cut := size > uint64(len(raw))
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
		if i+1 < n || cut {
			b = appendEscaped(b, c)
		}
	}
	return closed(b, cut)
}

// closed ends a literal, of which only the beginning may be known.
func closed(b []byte, cut bool) string {
	if cut {
		return string(b) + `"...`
	}
	return string(b) + `"`
}

// charWidth guesses how many bytes a character of a narrow literal has, which its name does not tell: a whole literal by
// the NULs at its end, others by the share of NULs.
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

// char reads a byte of a literal: itself, or after a ? a code or after ?$ two hexadecimal digits of A to P.
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

// appendEscaped appends a character as C++ writes it; hexadecimal digits come in pairs.
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
