package filter

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"qss-filter/symsrc"
)

// Summary writes which modules' frames could not be resolved, and why, one module a line, and whether all source files are missing:
// nothing where all is well.
func (f *Filter) Summary(w io.Writer) error {
	if err := f.summarizeModules(w); err != nil || f.code.any || f.code.missing == "" {
		return err
	}
	_, err := fmt.Fprintf(w, "qss-filter: none of the source files is there, the first is %s; pass --source-root DIR or --path-map FROM=TO\n",
		symsrc.Visible(f.code.missing))
	return err
}

func (f *Filter) summarizeModules(w io.Writer) error {
	var bad []*module
	forgotten := f.memo.forgotten
	total, unresolved := forgotten.Frames, forgotten.Unresolved
	for _, m := range f.memo.modules {
		total += m.frames
		if m.unresolved > 0 {
			unresolved += m.unresolved
			bad = append(bad, m)
		}
	}
	if unresolved == 0 {
		return nil
	}
	slices.SortFunc(bad, func(a, b *module) int {
		return cmp.Or(cmp.Compare(b.unresolved, a.unresolved), cmp.Compare(a.Name, b.Name), cmp.Compare(a.BuildID, b.BuildID))
	})
	if _, err := fmt.Fprintf(w, "qss-filter: %d of %d frames have no name:\n", unresolved, total); err != nil {
		return err
	}
	for _, m := range bad {
		name := m.shown
		if name == "" {
			name = "(unnamed module)"
		}
		if _, err := fmt.Fprintf(w, "qss-filter: %6d  %s: %s\n", m.unresolved, m.appendID([]byte(symsrc.Visible(name))), symsrc.Visible(m.advice())); err != nil {
			return err
		}
	}
	if forgotten.Unresolved == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "qss-filter: %6d  of modules that came before: there were too many to list\n", forgotten.Unresolved)
	return err
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

// advice says why a module's frames have no name, and what to do about it.
func (m *module) advice() string {
	if m.files == nil {
		return symsrc.UnknownError.String()
	}
	s := m.files.Reason()
	text := s.String()
	switch {
	case m.elsewhere != "" && m.files.Usable():
		return "another build: no " + m.elsewhere + " where the log has it; pass --symbols DIR where its unstripped file is"
	case s == symsrc.OK:
		return "the files are good, but no symbol covers the addresses"
	case m.files.Detail != "":
		text += ": " + m.files.Detail
	case m.files.Note != "":
		text += ": " + m.files.Note
	}
	text += m.tried()
	if s == symsrc.NotFound || s == symsrc.MismatchBuildID || s == symsrc.Incomplete {
		text += "; pass --symbols DIR where its unstripped file is"
	}
	return text
}

// maxTried is how many of the places that were looked at are told.
const maxTried = 3

// tried tells where a module's files were looked for.
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
