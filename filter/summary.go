package filter

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
func (f *Filter) Summary() Summary {
	forgotten := f.memo.forgotten
	s := Summary{Frames: forgotten.Frames, Unresolved: forgotten.Unresolved, Forgotten: forgotten.Unresolved}
	if !f.code.any {
		s.NoSource = symsrc.Visible(f.code.missing)
	}
	var bad []*module
	for _, m := range f.memo.modules {
		s.Frames += m.frames
		if m.unresolved > 0 {
			s.Unresolved += m.unresolved
			bad = append(bad, m)
		}
	}
	slices.SortFunc(bad, func(a, b *module) int {
		return cmp.Or(cmp.Compare(b.unresolved, a.unresolved), cmp.Compare(a.Name, b.Name), cmp.Compare(a.BuildID, b.BuildID))
	})
	for _, m := range bad {
		name := cmp.Or(m.shown, "(unnamed module)")
		reason, unstripped := m.nameless()
		s.Modules = append(s.Modules, Unresolved{Frames: m.unresolved, Module: string(m.appendID([]byte(symsrc.Visible(name)))),
			Reason: symsrc.Visible(reason), Unstripped: unstripped})
	}
	return s
}

// count notes a frame of the log for the summary.
func (a *answer) count() {
	if a.mod == nil {
		return
	}
	if t := a.mod.forgotten; t != nil {
		t.Frames++
		if len(a.frames) == 0 {
			t.Unresolved++
			t.By[a.mod.status()]++
		}
		return
	}
	a.mod.frames++
	if len(a.frames) == 0 {
		a.mod.unresolved++
		a.mod.elsewhere = cmp.Or(a.elsewhere, a.mod.elsewhere)
	}
}

// nameless says why a module's frames have no name. unstripped reports whether its unstripped file would help.
func (m *module) nameless() (text string, unstripped bool) {
	if m.files == nil {
		return symsrc.UnknownError.String(), false
	}
	s := m.files.Reason()
	text = s.String()
	switch {
	case m.elsewhere != "" && m.files.Usable():
		return "another build: no " + m.elsewhere + " where the log has it", true
	case s == symsrc.OK:
		return "the files are good, but no symbol covers the addresses", false
	case m.files.Detail != "":
		text += ": " + m.files.Detail
	case m.files.Note != "":
		text += ": " + m.files.Note
	}
	return text + m.tried(), s == symsrc.NotFound || s == symsrc.MismatchBuildID || s == symsrc.Incomplete
}

// maxTried is how many of the places that were looked at are listed.
const maxTried = 3

// tried says where a module's files were looked for.
func (m *module) tried() string {
	places := m.files.Tried
	if len(places) == 0 {
		return ""
	}
	text := "; tried " + strings.Join(places[:min(len(places), maxTried)], ", ")
	if more := len(places) - maxTried; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
