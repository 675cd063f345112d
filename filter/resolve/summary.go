package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"qss-filter/filter/parse"
	"qss-filter/symsrc"
)

// Summary is what could not be resolved.
type Summary struct {
	// Tally counts the frames by their outcome.
	Tally
	// Modules are the modules with unresolved frames, by the outcome, the worst first. Frames without a module come last. Those of the
	// outcome InLog have names in the log, and lack only a source line.
	Modules []Unresolved
	// Forgotten counts the unresolved frames of modules that are no longer remembered.
	Forgotten int
	// NoSource is the first source file that was asked for, if no source file was found. It is "" otherwise.
	NoSource string
}

// Unresolved is a module with frames that have no name, or no source line.
type Unresolved struct {
	// Frames is the number of such frames.
	Frames int
	// Outcome is what became of them.
	Outcome Outcome
	// Module is its name in the log, with its build ID if there is one. It is "" for frames that belong to no module. Reason is why
	// it has no names.
	Module, Reason string
	// Title is the short form of Module.
	Title string
	// Of is the module, and Files the result of the search for its files, nil if there was none.
	Of    symsrc.Module
	Files *symsrc.Files
	// Unstripped is set if its unstripped file would help.
	Unstripped bool
}

// nameless are the frames without a name, or without a source line, of one module, or of none, that have the same outcome.
type nameless struct {
	outcome Outcome
	frames  int
	last    *Answer // of the last one; nil if nothing was asked
	why     string  // if nothing was asked
}

// Counts counts what became of the frames of a log.
type Counts struct {
	// Tally counts all frames by their outcome.
	Tally Tally
	memo  *memo
	// nowhere are the frames without a name that belong to no module.
	nowhere []nameless
	// line are the frames that the line at hand has, up to maxCounted and one more.
	line []counted
}

// counted is a frame that was counted, as count has it.
type counted struct {
	outcome Outcome
	answer  *Answer
	why     string
}

// maxCounted is how many frames of a line can be counted again.
const maxCounted = 1 << 9

// Begin begins a line.
func (c *Counts) Begin() { c.line = c.line[:0] }

// Complete reports whether all frames of the line at hand can be counted again.
func (c *Counts) Complete() bool { return len(c.line) <= maxCounted }

// Repeat counts the frames of the line at hand again, for so many lines.
func (c *Counts) Repeat(lines int) {
	for i := range c.line {
		n := &c.line[i]
		c.add(n.outcome, n.answer, n.why, lines)
	}
}

// Count counts a frame with that answer. The frame is nil for an element, and the answer if nothing was asked.
func (c *Counts) Count(fr *parse.Frame, a *Answer) {
	why := ""
	if a == nil {
		why = Unasked(fr)
	}
	c.count(OutcomeOf(fr, a), a, why)
}

// Again counts a frame that has come before, with that outcome.
func (c *Counts) Again(o Outcome, a *Answer) { c.count(o, a, "") }

// count counts a frame with that outcome. why says why nothing was asked.
func (c *Counts) count(o Outcome, a *Answer, why string) {
	if len(c.line) <= maxCounted {
		c.line = append(c.line, counted{o, a, why})
	}
	c.add(o, a, why, 1)
}

// add counts so many of these frames.
func (c *Counts) add(o Outcome, a *Answer, why string, frames int) {
	c.Tally.Frames += frames
	c.Tally.By[o] += frames
	lineless := o == InLog && a != nil && a.Module != nil && a.Outcome().WantsFile()
	if o.Named() && !lineless {
		return
	}
	list := &c.nowhere
	if a != nil && a.Module != nil {
		list = &a.Module.nameless
	}
	i := slices.IndexFunc(*list, func(n nameless) bool { return n.outcome == o && n.why == why })
	if i < 0 {
		i = len(*list)
		*list = append(*list, nameless{outcome: o, why: why})
	}
	n := &(*list)[i]
	n.frames += frames
	if a != nil {
		if files := a.Files(); files != nil && files.Awaiting != nil {
			files.Awaiting.Add(int64(frames))
		}
	}
	n.last = a
}

// Summary returns which modules' frames could not be resolved so far, and why. Control characters in its texts are visible.
func (c *Counts) Summary() Summary {
	s := Summary{Tally: c.Tally, Forgotten: c.Tally.Unnamed()}
	add := func(list []nameless, of symsrc.Module, title, module string) {
		for i := range list {
			n := &list[i]
			reason, unstripped := n.reason()
			u := Unresolved{Frames: n.frames, Outcome: n.outcome, Module: module, Title: title, Of: of, Reason: symsrc.Visible(reason), Unstripped: unstripped}
			if n.last != nil {
				u.Files = n.last.Files()
			}
			s.Modules = append(s.Modules, u)
			if n.outcome != InLog {
				s.Forgotten -= n.frames
			}
		}
	}
	for _, m := range c.memo.modules {
		if len(m.nameless) > 0 {
			add(m.nameless, m.Module, Title(m.Module), string(m.AppendID([]byte(symsrc.Visible(cmp.Or(m.Shown, "(unnamed module)"))))))
		}
	}
	slices.SortFunc(s.Modules, func(a, b Unresolved) int {
		return cmp.Or(cmp.Compare(b.Frames, a.Frames), cmp.Compare(a.Module, b.Module), cmp.Compare(a.Outcome, b.Outcome))
	})
	add(c.nowhere, symsrc.Module{}, "", "")
	return s
}

// idDigits is how many digits of a build ID are shown where they are only to be recognized.
const idDigits = 8

// Lineless returns how many frames have a name in the log, and lack a source line that the module's unstripped file would have.
func (s *Summary) Lineless() (n int) {
	for i := range s.Modules {
		if s.Modules[i].Outcome == InLog {
			n += s.Modules[i].Frames
		}
	}
	return n
}

// Title returns a short name of a module, as `libf.so (BuildId 316c4e23…)`. Control characters in it are visible.
func Title(m symsrc.Module) string {
	title := m.Name[strings.LastIndexByte(m.Name, '/')+1:]
	if m.Member != "" {
		title += "!" + m.Member
	}
	title = symsrc.Visible(title)
	switch id := m.BuildID.String(); {
	case len(id) > idDigits:
		title += " (BuildId " + id[:idDigits] + "…)"
	case id != "":
		title += " (BuildId " + id + ")"
	}
	return title
}

// reason returns why the frames have no names. unstripped is set if the module's unstripped file would help.
func (n *nameless) reason() (text string, unstripped bool) {
	a := n.last
	if a == nil {
		return n.outcome.String() + ": " + n.why, false
	}
	text = n.outcome.String()
	files := a.Files()
	if files != nil && files.Came != nil && files.Came() {
		return text + ": its symbols came after these frames: run again", false
	}
	switch {
	case n.outcome == InLog && a.Space == symsrc.InScript:
		return "no place in its source: " + cmp.Or(files.Note, "the source map has none there"), false
	case n.outcome == InLog:
		return "no source line" + tried(files), true
	}
	switch {
	case a.Java != nil:
		return text + ": " + strings.TrimPrefix(a.Java.explanation(a), text+" "+a.Module.Shown+": ") + tried(files), false
	case a.Refused != "":
		return text + ": " + strings.TrimPrefix(a.Refused, "not verified: "), false
	case a.Elsewhere != "":
		return text + ": another build: no " + a.Elsewhere + " where the log has it", true
	case n.outcome == NoSymbol && a.Space == symsrc.InScript:
		return text + ": the map does not say for sure where the places are from", false
	case n.outcome == NoSymbol:
		return text + ": the files are good, but no symbol covers the addresses", false
	case n.outcome == NoMapping, n.outcome == Ambiguous:
		return text + ": " + a.Explanation(), false
	case files == nil:
		return text, false
	}
	if words := cmp.Or(files.Detail, files.Note); words != "" {
		text += ": " + words
	}
	return text + tried(files), n.outcome.WantsFile()
}

// maxTried is how many of the places of a search are listed.
const maxTried = 3

// tried returns the places where files were searched for.
func tried(files *symsrc.Files) string {
	places := files.Tried
	if len(places) == 0 {
		return ""
	}
	text := "; tried " + strings.Join(places[:min(len(places), maxTried)], ", ")
	if more := len(places) - maxTried; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
