package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"qss-filter/symsrc"
)

// Summary is what could not be resolved.
type Summary struct {
	// Frames counts the frames whose module is known, and Unresolved those of them without a name.
	Frames, Unresolved int
	// Modules are the modules with unresolved frames, the worst first.
	Modules []Unresolved
	// Forgotten counts the unresolved frames of modules that are no longer remembered.
	Forgotten int
	// NoSource is the first source file that was asked for, if no source file was found. It is "" otherwise.
	NoSource string
}

// Unresolved is a module with frames that have no name.
type Unresolved struct {
	// Frames is the number of such frames.
	Frames int
	// Module is its name in the log, with its build ID if there is one. Reason is why it has no names.
	Module, Reason string
	// Unstripped is set if its unstripped file would help.
	Unstripped bool
}

// Summary returns which modules' frames could not be resolved so far, and why. Control characters in its texts are visible.
func (r *Resolver) Summary() Summary {
	forgotten := r.memo.forgotten
	s := Summary{Frames: forgotten.Frames, Unresolved: forgotten.Unresolved, Forgotten: forgotten.Unresolved}
	var bad []*Module
	for _, m := range r.memo.modules {
		s.Frames += m.frames
		if m.unresolved > 0 {
			s.Unresolved += m.unresolved
			bad = append(bad, m)
		}
	}
	slices.SortFunc(bad, func(a, b *Module) int {
		return cmp.Or(cmp.Compare(b.unresolved, a.unresolved), cmp.Compare(a.Name, b.Name), cmp.Compare(a.BuildID, b.BuildID))
	})
	for _, m := range bad {
		name := cmp.Or(m.Shown, "(unnamed module)")
		reason, unstripped := m.nameless()
		s.Modules = append(s.Modules, Unresolved{Frames: m.unresolved, Module: string(m.AppendID([]byte(symsrc.Visible(name)))),
			Reason: symsrc.Visible(reason), Unstripped: unstripped})
	}
	return s
}

// Tally counts the frames of a log by their outcome.
type Tally struct {
	// Frames counts the frames whose module is known, and Unresolved those of them without a name.
	Frames, Unresolved int
	// By counts the unresolved frames by the reason.
	By [symsrc.NotVerified + 1]int
}

// Tally returns the counts since New.
func (r *Resolver) Tally() (t Tally) {
	t = r.memo.forgotten
	for _, m := range r.memo.modules {
		t.add(m)
	}
	return t
}

// add counts the frames of a module.
func (t *Tally) add(m *Module) {
	t.Frames += m.frames
	t.Unresolved += m.unresolved
	t.By[m.status()] += m.unresolved - m.unproven - m.refuted
	t.By[symsrc.NotVerified] += m.unproven
	t.By[symsrc.MismatchBuildID] += m.refuted
}

// status returns why frames of the module have no name.
func (m *Module) status() symsrc.Status {
	if m.Files == nil {
		return symsrc.UnknownError
	}
	return m.Files.Reason()
}

// Count counts a frame with that answer for the summary.
func (a *Answer) Count() {
	if a.Module == nil {
		return
	}
	if t := a.Module.forgotten; t != nil {
		t.Frames++
		if len(a.Frames) == 0 {
			t.Unresolved++
			t.By[a.status()]++
		}
		return
	}
	a.Module.frames++
	if len(a.Frames) == 0 {
		a.Module.unresolved++
		a.Module.elsewhere = cmp.Or(a.Elsewhere, a.Module.elsewhere)
	}
	switch {
	case a.Refused == "":
		return
	case a.status() == symsrc.NotVerified:
		a.Module.unproven++
	default:
		a.Module.refuted++
	}
	a.Module.refusal = a.Refused
}

// status returns why the answer has no name.
func (a *Answer) status() symsrc.Status {
	if files := a.Files(); files != nil {
		return files.Reason()
	}
	return symsrc.UnknownError
}

// nameless returns why a module's frames have no names. unstripped is set if its unstripped file would help.
func (m *Module) nameless() (text string, unstripped bool) {
	if m.Files == nil {
		return symsrc.UnknownError.String(), false
	}
	s := m.Files.Reason()
	text = s.String()
	switch {
	case m.refusal != "" && m.Files.Usable():
		return m.refusal, false
	case m.elsewhere != "" && m.Files.Usable():
		return "another build: no " + m.elsewhere + " where the log has it", true
	case s == symsrc.OK:
		return "the files are good, but no symbol covers the addresses", false
	case m.Files.Detail != "":
		text += ": " + m.Files.Detail
	case m.Files.Note != "":
		text += ": " + m.Files.Note
	}
	return text + m.tried(), s == symsrc.NotFound || s == symsrc.MismatchBuildID || s == symsrc.Incomplete
}

// maxTried is how many of the places of a search are listed.
const maxTried = 3

// tried returns the places where a module's files were searched for.
func (m *Module) tried() string {
	places := m.Files.Tried
	if len(places) == 0 {
		return ""
	}
	text := "; tried " + strings.Join(places[:min(len(places), maxTried)], ", ")
	if more := len(places) - maxTried; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
