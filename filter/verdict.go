package filter

import (
	"strconv"
	"unicode/utf8"

	"qss-filter/filter/record"
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
func (r *recorder) answer(fr *record.Frame, a *answer) {
	fr.Functions = r.names.mapped(a.known)
	if a.mod == nil {
		fr.Status, fr.Reason = statusNoMapping, a.explanation()
		if a.several {
			fr.Status = statusAmbiguous
		}
		return
	}
	fr.Module, fr.Located, fr.At, fr.Back, fr.Space, fr.Why = a.mod.Module, true, a.off, a.back, a.space, a.why()
	files := a.mod.files
	fr.Files = files
	if len(a.frames) > 0 {
		fr.Status, fr.Unverified = symsrc.OK.String(), a.unverified()
		return
	}
	fr.Reason = a.explanation()
	if files == nil {
		fr.Status = symsrc.UnknownError.String()
		return
	}
	switch fr.Status = files.Reason().String(); {
	case a.elsewhere != "":
		fr.Status = symsrc.MismatchBuildID.String()
	case files.Reason() == symsrc.OK:
		fr.Status = statusNoSymbol
		return
	}
	if fr.Detail = files.Detail; fr.Detail == "" {
		fr.Detail = files.Note
	}
}

// unverified reports whether the files of an answer were taken by their path or name alone.
func (a *answer) unverified() bool {
	return a.mod != nil && a.mod.files != nil && a.mod.files.Unverified
}

// why tells on what evidence the address was taken as it was.
func (a *answer) why() string {
	switch evidence(a.take >> howBits) {
	case byTag:
		return "tag"
	case bySuffix:
		return "suffix"
	case byOption:
		return "option"
	case byHeader:
		return "header"
	case byTrampoline:
		return "trampoline"
	case byFormat:
		return "format"
	case byRegister:
		return "register"
	}
	switch {
	case a.probed:
		return "code"
	case a.take.how() == probingFirst:
		return "first"
	}
	return "assumed"
}

// explanation says why a frame has no name, or that its file was not verified.
func (a *answer) explanation() string {
	switch {
	case len(a.frames) > 0:
		return "unverified: the log has no build ID"
	case a.several:
		return "several modules may lie there: the addresses were cut to 32 bits"
	case a.mod == nil && a.running:
		return "no lasting mapping of the command at a random place covers the address"
	case a.mod == nil:
		return "no mapping covers the address"
	case a.elsewhere != "":
		return string(a.mod.appendName([]byte("another build: no " + symsrc.Visible(a.elsewhere) + " at 0x" +
			strconv.FormatUint(a.off, 16) + " in ")))
	}
	text := string(a.mod.appendName([]byte(a.mod.reason(a.off) + " ")))
	if words := a.mod.words(); words != "" {
		text += ": " + words
	}
	return text
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
