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
	// Frames are those whose module is known, Unresolved those of them without a name.
	Frames, Unresolved int
	// Modules are those with unresolved frames, the worst first.
	Modules []Unresolved
	// Forgotten are the unresolved frames of modules that came earlier than those that are remembered.
	Forgotten int
	// NoSource is the first source file that was asked for, where none of them is there; "" otherwise.
	NoSource string
}

// Unresolved is a module with frames that have no name.
type Unresolved struct {
	Frames int
	// Module is its name in the log, perhaps with its build ID; Reason says why it has no names.
	Module, Reason string
	// Unstripped is set where its unstripped file would help.
	Unstripped bool
}

// Summary returns which modules' frames could not be resolved until now, and why. Its texts are visible ones.
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

// Tally counts the frames of a log by what became of them.
type Tally struct {
	Frames, Unresolved int
	// By counts the unresolved ones whose module is known, by the reason.
	By [symsrc.UnknownError + 1]int
}

// Tally returns the counts since the resolver was made.
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
	t.By[m.status()] += m.unresolved
}

// status returns why frames of the module have no name.
func (m *Module) status() symsrc.Status {
	if m.Files == nil {
		return symsrc.UnknownError
	}
	return m.Files.Reason()
}

// Count notes a frame of the log for the summary.
func (a *Answer) Count() {
	if a.Module == nil {
		return
	}
	if t := a.Module.forgotten; t != nil {
		t.Frames++
		if len(a.Frames) == 0 {
			t.Unresolved++
			t.By[a.Module.status()]++
		}
		return
	}
	a.Module.frames++
	if len(a.Frames) == 0 {
		a.Module.unresolved++
		a.Module.elsewhere = cmp.Or(a.Elsewhere, a.Module.elsewhere)
	}
}

// nameless says why a module's frames have no name. unstripped reports whether its unstripped file would help.
func (m *Module) nameless() (text string, unstripped bool) {
	if m.Files == nil {
		return symsrc.UnknownError.String(), false
	}
	s := m.Files.Reason()
	text = s.String()
	switch {
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

// maxTried is how many of the places that were looked at are listed.
const maxTried = 3

// tried says where a module's files were looked for.
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
