package filter

import (
	"bytes"
	"unicode/utf8"

	"qss-filter/filter/frame"
	"qss-filter/filter/record"
)

// Where lines leave as JSON, of the object of a frame with a known tail everything is known but four of the line's own
// words, which are digits, blanks and the like and stand as they are in a string:
//
//	{"line":16,"text":"    #3 0x7f000003c4d0 (…","frames":[{…,"number":3,"text":"#3 0x7f000003c4d0 (…","address":"0x7f000003c4d0",…
//	                   └───────text────────┘                         number  └─────frame─────┘                └──address───┘

// objectCuts is where in what is known of an object, which begins behind the line's number, these words go.
type objectCuts [4]uint16

// objectWords are the keys that the words stand behind. No string has them in it, since its quotation marks are escaped.
var objectWords = [len(objectCuts{})][]byte{[]byte(`,"text":"`), []byte(`,"number":`), []byte(`,"text":"`), []byte(`,"address":"`)}

// words returns the words.
func (t *textFrame) words() [len(objectCuts{})][]byte {
	return [...][]byte{t.line[:t.addrEnd], t.line[t.numStart:t.numEnd], t.line[t.numStart-1 : t.addrEnd], t.line[t.address():t.addrEnd]}
}

// address is where the address begins, with its 0x.
func (t *textFrame) address() int { return t.addrEnd - t.digits - len("0x") }

// writeObject writes the object of the line of that number, of which all but the words is known.
func (t *textFrame) writeObject(dst, known []byte, at *objectCuts, line int) []byte {
	dst = record.AppendNumber(dst, line)
	from := 0
	for i, word := range t.words() {
		to := int(at[i])
		dst = append(append(dst, known[from:to]...), word...)
		from = to
	}
	return append(dst, known[from:]...)
}

// learnObject returns what is known of the object that the line at hand became, if that is of the kind that writeObject writes.
func (f *Filter) learnObject(t *textFrame, became []byte) (known []byte, at objectCuts, ok bool) {
	l, fr := &f.objects.Line, &f.parser.Frames[0]
	number, address := frame.Span{Start: t.numStart, End: t.numEnd}, frame.Span{Start: t.address(), End: t.addrEnd}
	if fr.Num != number || fr.Addr != address || fr.Whole.Start != t.numStart-1 || l.Process != f.resolver.Processes.Unnamed.Key ||
		!utf8.Valid(t.line) { // whose bytes stand beside the text, as base64
		return nil, at, false
	}
	rest := record.CutNumber(became)
	for i, word := range t.words() {
		end := bytes.Index(rest, objectWords[i])
		if end < 0 {
			return nil, at, false
		}
		end += len(objectWords[i])
		if known = append(known, rest[:end]...); !bytes.HasPrefix(rest[end:], word) {
			return nil, at, false
		}
		at[i], rest = uint16(len(known)), rest[end+len(word):]
	}
	return append(known, rest...), at, true
}
