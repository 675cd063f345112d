package filter

import (
	"unicode/utf8"

	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// What becomes of a frame, beside the codes of its files.
const (
	statusNoSymbol  = "NO_SYMBOL"  // the files are good, but no symbol covers the address
	statusNoMapping = "NO_MAPPING" // no mapping covers the address
	statusAmbiguous = "AMBIGUOUS"  // several mappings may
	statusNotAsked  = "NOT_ASKED"  // there is nothing to look up
)

// answer fills in what is known of a frame.
func (r *objectPrinter) answer(fr *record.Frame, a *resolve.Answer) {
	fr.Functions = r.names.mapped(a.Frames)
	if a.Module == nil {
		fr.Status, fr.Reason = statusNoMapping, a.Explanation()
		if a.Ambiguous {
			fr.Status = statusAmbiguous
		}
		return
	}
	fr.Module, fr.Located, fr.At, fr.Back, fr.Space, fr.Why = a.Module.Module, true, a.Offset, a.Back, a.Space, a.Why()
	files := a.Module.Files
	fr.Files = files
	if len(a.Frames) > 0 {
		fr.Status, fr.Unverified = symsrc.OK.String(), a.Unverified()
		return
	}
	fr.Reason = a.Explanation()
	if files == nil {
		fr.Status = symsrc.UnknownError.String()
		return
	}
	switch fr.Status = files.Reason().String(); {
	case a.Elsewhere != "":
		fr.Status = symsrc.MismatchBuildID.String()
	case files.Reason() == symsrc.OK:
		fr.Status = statusNoSymbol
		return
	}
	if fr.Detail = files.Detail; fr.Detail == "" {
		fr.Detail = files.Note
	}
}

// partialRune returns how many bytes at the end of text are the beginning of a character.
func partialRune(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
