package batch

import (
	_ "embed"
	"html/template"
	"io"
	"sync"

	"qss-filter/symsrc"
)

// maxShown bounds the groups on a page: a browser must be able to show it.
const maxShown = 5000

//go:embed page.html
var pageText string

// pageTemplate is read when it is wanted: most runs write no page.
var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// page is what page.html shows.
type page struct {
	Title  string
	Counts struct{ Logs, Stacks, Frames, Failed int }
	All    []*group
	Groups []pageGroup
	More   bool
	// Modules are those of all logs.
	Modules []pageModule
}

type pageGroup struct {
	Count, Line, ID int
	First, File     string
	Frames          []pageFrame
	Cut             int // functions that are not shown
}

type pageFrame struct{ Name, At string }

type pageModule struct {
	Name, Target, Elf, Debug, ID, Note string
	Bad, BadDebug                      bool
}

// writePage writes one page with everything in it: it needs no network.
func (r *Report) writePage(w io.Writer, list []*group, modules []*module) error {
	p := page{Title: symsrc.Visible(r.title), All: list, More: len(list) > maxShown}
	p.Counts.Logs, p.Counts.Stacks = r.counts.logs, r.counts.stacks
	p.Counts.Frames, p.Counts.Failed = r.counts.frames, r.counts.failed
	for _, g := range list[:min(len(list), maxShown)] {
		pg := pageGroup{Count: g.count, Line: g.line, ID: g.id, File: g.file, Cut: g.functions - len(g.shown)}
		for i := range g.shown {
			f := &g.shown[i]
			at := f.Module
			if f.File != "" {
				at = f.File + ":" + f.Line
			}
			pg.Frames = append(pg.Frames, pageFrame{symsrc.Visible(f.name()), symsrc.Visible(at)})
		}
		if len(pg.Frames) > 0 {
			pg.First = pg.Frames[0].Name
		}
		p.Groups = append(p.Groups, pg)
	}
	for _, m := range modules {
		elf, debug := m.statuses()
		pm := pageModule{Name: symsrc.Visible(m.Name), Target: symsrc.Visible(target(m.files)), Elf: elf.String(), Debug: debug.String(), ID: m.id,
			Bad: elf != symsrc.OK, BadDebug: debug != symsrc.OK}
		if m.files != nil {
			pm.Note = symsrc.Visible(m.files.Note)
		}
		p.Modules = append(p.Modules, pm)
	}
	return pageTemplate().Execute(w, &p)
}
