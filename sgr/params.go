package sgr

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
