package resolve

import (
	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/symsrc"
)

// Outcome is what became of a frame. Every output that counts frames, or says why one has no name, has it from here.
type Outcome uint8

// Outcomes besides the statuses of a module's files, which are outcomes too.
const (
	OK        = Outcome(symsrc.OK)             // named
	NoSymbol  = lastStatus + 1 + Outcome(iota) // the files are good, but no symbol covers the address
	NoMapping                                  // no mapping covers the address
	Ambiguous                                  // several mappings may cover the address, or several instructions may be meant
	NotAsked                                   // the log does not say enough for a query
	InLog                                      // the log names the function, and no file has a line for it
	outcomes
)

const lastStatus = Outcome(symsrc.NotVerified)

var outcomeWords = [outcomes]string{NoSymbol: "NO_SYMBOL", NoMapping: "NO_MAPPING", Ambiguous: "AMBIGUOUS", NotAsked: "NOT_ASKED", InLog: "IN_LOG"}

// String returns the word for the outcome in objects of JSON, reports and summaries.
func (o Outcome) String() string {
	if o <= lastStatus {
		return symsrc.Status(o).String()
	}
	return outcomeWords[o]
}

// Named reports whether the frame has a name, from a file or in the log.
func (o Outcome) Named() bool { return o == OK || o == InLog }

// WantsFile reports whether the unstripped file of the frame's module would help.
func (o Outcome) WantsFile() bool {
	switch symsrc.Status(o) {
	case symsrc.NotFound, symsrc.MismatchBuildID, symsrc.Incomplete:
		return true
	}
	return false
}

// Outcome returns what became of a frame with that answer.
func (a *Answer) Outcome() Outcome {
	switch {
	case len(a.Frames) > 0, a.Java != nil && a.Java.Dropped:
		return OK
	case a.Ambiguous, a.Java != nil && (len(a.Java.Candidates) > 1 || a.Java.TooMany), a.Module != nil && a.Unclear != "":
		return Ambiguous
	case a.Module == nil:
		return NoMapping
	case a.Elsewhere != "":
		return Outcome(symsrc.MismatchBuildID)
	}
	files := a.Files()
	switch {
	case files == nil:
		return Outcome(symsrc.UnknownError)
	case files.Reason() == symsrc.OK:
		return NoSymbol
	}
	return Outcome(files.Reason())
}

// OutcomeOf returns what became of a frame. Its answer is nil if nothing was asked, and the frame is nil for an element.
func OutcomeOf(fr *parse.Frame, a *Answer) Outcome {
	o := NotAsked
	if a != nil {
		o = a.Outcome()
	}
	if fr != nil && !o.Named() && (a == nil || a.Java == nil) && fr.NamesFunction() {
		return InLog
	}
	return o
}

// NoProgram is what Unasked returns for a frame that is an address in the program of a board.
const NoProgram = "no program of a board is known that has code there"

// Unasked returns why nothing was asked about a frame.
func Unasked(fr *parse.Frame) string {
	switch {
	case fr.Space == symsrc.InScript && !fr.Headline && !fr.Calls():
		if fr.NamesFunction() {
			return "the log names the place already"
		}
		return "no source map of the script is known"
	case fr.NamesFunction():
		return "the log names the function already"
	case fr.Shape == frame.NumberOnly:
		return "the log gives no address in a module"
	case fr.Machines != 0:
		return NoProgram
	}
	return "the log names no module"
}

// Tally counts frames by their outcome.
type Tally struct {
	// Frames counts all of them.
	Frames int
	// By counts them by Outcome.
	By [outcomes]int
}

// Count counts one frame.
func (t *Tally) Count(o Outcome) {
	t.Frames++
	t.By[o]++
}

// Add adds the frames that another Tally counts.
func (t *Tally) Add(of *Tally) {
	t.Frames += of.Frames
	for i, n := range of.By {
		t.By[i] += n
	}
}

// Sub removes the frames that another Tally counts.
func (t *Tally) Sub(of *Tally) {
	t.Frames -= of.Frames
	for i, n := range of.By {
		t.By[i] -= n
	}
}

// Unnamed returns how many of the frames have no name.
func (t *Tally) Unnamed() int { return t.Frames - t.By[OK] - t.By[InLog] }

// All calls yield with each outcome that was counted, and how often.
func (t *Tally) All(yield func(o Outcome, n int) bool) {
	for i, n := range t.By {
		if n > 0 && !yield(Outcome(i), n) {
			return
		}
	}
}

// Outcomes returns all outcomes, in the order of Tally.By.
func Outcomes() (all []Outcome) {
	for o := range outcomes {
		all = append(all, o)
	}
	return all
}
