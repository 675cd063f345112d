package llvm

// Colors of SGR 30 to 37. noColor is the terminal's own.
const (
	noColor = -1
	green   = 2
	blue    = 4
	cyan    = 6
)

// sgrState is the log's color. It writes colors as llvm does, if on is set.
type sgrState struct {
	on    bool
	color int8
	bold  bool
}

// plain reports whether the log has no color.
func (s *sgrState) plain() bool { return s.color == noColor && !s.bold }

// apply follows an escape sequence of the log. A color is written without the boldness that is still on, as llvm does.
func (s *sgrState) apply(dst, sequence []byte) []byte {
	switch {
	case len(sequence) == len("\x1b[30m"):
		s.color = int8(sequence[3] - '0')
		return s.change(dst, s.color, false)
	case sequence[2] == '1':
		s.bold = true
		if s.on {
			dst = append(dst, "\x1b[1m"...)
		}
		return dst
	}
	return s.reset(dst)
}

// reset restores the terminal's own color if another one is set.
func (s *sgrState) reset(dst []byte) []byte {
	if s.plain() {
		return dst
	}
	s.color, s.bold = noColor, false
	if s.on {
		dst = append(dst, "\x1b[0m"...)
	}
	return dst
}

// change writes a color.
func (s *sgrState) change(dst []byte, color int8, bold bool) []byte {
	if !s.on {
		return dst
	}
	dst = append(dst, "\x1b[0;"...)
	if bold {
		dst = append(dst, "1;"...)
	}
	return append(dst, '3', byte('0'+color), 'm')
}

// highlight begins the replacement of an element: in blue, or in cyan if the log is blue already.
func (s *sgrState) highlight(dst []byte) []byte {
	if s.color == blue {
		return s.change(dst, cyan, s.bold)
	}
	return s.change(dst, blue, s.bold)
}

// value begins a value in a replacement. highlight ends it.
func (s *sgrState) value(dst []byte) []byte { return s.change(dst, green, s.bold) }

// restore restores the log's color.
func (s *sgrState) restore(dst []byte) []byte {
	switch {
	case !s.on:
		return dst
	case s.color != noColor:
		return s.change(dst, s.color, s.bold)
	}
	dst = append(dst, "\x1b[0m"...)
	if s.bold {
		dst = append(dst, "\x1b[1m"...)
	}
	return dst
}

// text writes a value in its color.
func (s *sgrState) text(dst []byte, value string) []byte {
	return s.highlight(append(s.value(dst), value...))
}
