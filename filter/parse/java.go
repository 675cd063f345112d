package parse

import "qss-filter/filter/frame"

// ReadJava fills p.Frames with the frame of Java of a text, or with the exception that it names; announced is set if words before an
// exception say that it is one. HintText is the method of a frame with its class, or the class of an exception, and SymbolText the source.
func (p *Parser) ReadJava(s Segment) (announced bool) {
	p.Frames = p.Frames[:0]
	plain, moved := p.plain(s)
	words := plain[:p.plainOf(s.End, len(plain), plain, moved)]
	from := p.plainOf(s.Start, 0, plain, moved)
	var fr frame.Frame
	if !frame.ReadJava(words, from, &fr) {
		var ok bool
		if announced, ok = frame.ReadThrown(words, from, &fr); !ok {
			return false
		}
	}
	found := Frame{Frame: fr, HintText: fr.Hint.Of(plain), SymbolText: fr.Source.Of(plain)}
	if fr.Shape == frame.Thrown {
		found.HintText = fr.Whole.Of(plain)
	}
	if moved {
		for _, span := range []*frame.Span{&found.Whole, &found.Gap, &found.Func, &found.Hint, &found.Source} {
			*span = p.unstrip(s, *span)
		}
	}
	p.Frames = append(p.Frames, found)
	return announced
}
