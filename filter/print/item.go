package print

import (
	"bytes"
	"slices"

	"qss-filter/ctxstate"
	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// Item is an element or a frame of a text, with the outcome.
type Item struct {
	Element *parse.Element // nil for a frame of another format
	Frame   *parse.Frame   // nil for an element
	// Answer is what is known of the address. It is nil if nothing was asked.
	Answer *resolve.Answer
	// Number is the number that the frame's line gets.
	Number uint64
	// Context is what a context element has done, and Err why it has done nothing.
	Context Effect
	Err     error
	// Explained is set if Err is reported.
	Explained bool
	// Name is the readable form of a symbol.
	Name string
	// Values are the values of a dump that point at something.
	Values []parse.Pair
	// Below are the lines that the observer puts below the frame. Apart asks for an empty line above it.
	Below [][]byte
	Apart bool
}

// Effect is what a context element has done.
type Effect struct {
	Tag    markup.Tag // Unknown if it had nothing to clear
	Module *ctxstate.Module
	Mapped Range
	// At is the mapping that was added. It does not change.
	At *ctxstate.Mapping
}

// Functions returns how many functions the item names.
func (it *Item) Functions() int {
	if it.Answer == nil {
		return 0
	}
	return len(it.Answer.Frames)
}

// Observation is one frame of the log with its answer, as Options.Observe gets it: each frame once, in the order of the log.
// Its byte slices are valid until the call returns. Thread, Module, Frames and Files are shared and must not be changed.
type Observation struct {
	// Line is the number of the frame's line, from 1. Text is the line without its end, or a string in a line of JSON.
	Line int
	Text []byte
	// Thread identifies the thread of the log, since stacks of threads may mix. It is comparable, and may be a key of a map.
	Thread any
	// Number is the frame's number if Numbered is set.
	Number   uint64
	Numbered bool
	// Sentence is set for a frame that stands in a sentence and is no part of a stack. Data is set for a variable.
	Sentence, Data bool
	// Whole is the frame itself in Text, and Rest the part of it after its number.
	Whole, Rest []byte
	// Address and Offset are the digits as written, with 0x if the log has it. Offset is the offset in the module. Either
	// may be empty.
	Address, Offset []byte
	// Hint is the function that the log names, with its offset if the log has that, or empty. InSymbol is set if Offset counts
	// from the begin of that function, not of the module, or if the frame is of Java, and has no place in one.
	Hint     []byte
	InSymbol bool
	// Module is what the log says of the frame's binary. It is empty if no mapping covers the address. BuildID is its build
	// ID as written at the frame, or empty.
	Module  symsrc.Module
	BuildID []byte
	// Located is set if the module is known. At is then the place of the code in the module, and Back how many bytes before
	// the logged address it lies.
	Located  bool
	At, Back uint64
	// Outcome is what became of the frame, and Unasked why nothing was asked, "" if something was. A frame that the log has named, and of which
	// something was asked, has no name from a file.
	Outcome resolve.Outcome
	Unasked string
	// Frames is the answer, innermost first. It is empty if no name is known; Files has the reason.
	Frames []symsrc.Frame
	Files  *symsrc.Files

	// Below may be set to the lines that Append writes below the frame's in place of its own, without their ends. Apart puts
	// an empty line above the frame's.
	Below [][]byte
	Apart bool
}

// Observation returns the description of a frame, in text or as an element, on a line of that number. alone is set if the
// text is the frame's line.
func (it *Item) Observation(line int, t *resolve.Thread, text []byte, alone bool) (o Observation) {
	if fr := it.Frame; fr != nil {
		rest := fr.Whole
		if !fr.Num.Empty() {
			rest.Start = fr.Num.End
		}
		o = Observation{Line: line, Text: text, Thread: t, Number: fr.Number, Numbered: !fr.Num.Empty(),
			Sentence: fr.Shape == frame.Pair || fr.Headline && fr.Space == symsrc.InScript, Data: fr.Data, Whole: fr.Whole.Of(text), Rest: rest.Of(text),
			Address: fr.Addr.Of(text), Hint: hint(fr.HintText), BuildID: fr.BuildIDText}
		if fr.Base == frame.FromSymbol {
			o.InSymbol = true
			if named := text[fr.Symbol.Start:max(fr.Symbol.End, fr.Off.End)]; bytes.IndexByte(named, 0x1b) < 0 {
				o.Hint = named
			}
		}
		if it.Answer == nil {
			o.Unasked = resolve.Unasked(fr)
		}
		if it.Answer == nil && len(fr.ModuleText) > 0 {
			o.Module.Name = string(fr.ModuleText)
		}
		if fr.Base != frame.Absolute {
			o.Offset = fr.Off.Of(text)
		}
	} else {
		e := it.Element
		whole, address := text[e.Start:e.End], e.BTFields.AddrText
		if e.Tag != markup.BT {
			address, _, _ = bytes.Cut(e.Body, []byte{':'})
		}
		o = Observation{Line: line, Text: text, Thread: t, Number: e.BTFields.Num, Numbered: alone, Sentence: !alone,
			Data: e.Tag == markup.Data, Whole: whole, Rest: whole, Address: address}
	}
	o.Outcome = resolve.OutcomeOf(it.Frame, it.Answer)
	if a := it.Answer; a != nil {
		o.Frames, o.Back = a.Frames, a.Back
		if a.Module != nil {
			o.Located, o.Module, o.At, o.Files = true, a.Module.Module, a.Offset, a.Files()
			o.InSymbol = o.InSymbol || a.Java != nil // which has no place in the module
		}
	}
	return o
}

// hint returns the name that the log has for a function, without the text around it. It is nil where a word says that there is none.
func hint(b []byte) []byte {
	b = bytes.TrimSpace(b)
	if string(b) == "in" { // the log has no name after it
		return nil
	}
	for _, word := range [...]string{"- ", ", ", "in "} {
		b = bytes.TrimPrefix(b, []byte(word))
	}
	if bytes.HasPrefix(b, []byte("<null>")) {
		return nil
	}
	switch string(b) {
	case "(unknown)", "<unknown>", "[unknown]", "n/a", "??", "?? ()", "???":
		return nil
	}
	return b
}

// observedBelow writes a text as it is, with the lines that the observer has put below it.
func (w *Text) observedBelow(dst []byte, s parse.Segment, items []Item) []byte {
	if !s.Quoted() && slices.ContainsFunc(items, func(it Item) bool { return it.Apart }) {
		dst = append(dst, s.Sep...)
	}
	dst = append(dst, s.Own()...)
	for i := range items {
		for _, line := range items[i].Below {
			dst = w.below(dst, s, func(b []byte) []byte { return append(b, line...) })
		}
	}
	return dst
}
