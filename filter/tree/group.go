package tree

import (
	"bufio"
	"cmp"
	_ "embed"
	"hash/maphash"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"qss-filter/filter/print"
	"qss-filter/symsrc"
)

// maxGroups bounds the groups in memory; the stacks of more are counted together.
const maxGroups = 1 << 16

// groups are the stacks of all logs, by their functions.
type groups struct {
	seed maphash.Seed
	mu   sync.Mutex
	all  map[uint64]*group
	over int // stacks beyond maxGroups
	wait map[*logSink]map[uint64]*group
}

// group is the stacks with the same functions.
type group struct {
	count int
	// log, file, id and line say where the first one is.
	log, id, line int
	file          string
	functions     int
	shown         []place
}

func newGroups() *groups {
	return &groups{seed: maphash.MakeSeed(), all: map[uint64]*group{}, wait: map[*logSink]map[uint64]*group{}}
}

// add counts a stack of a log, that is not kept yet.
func (g *groups) add(l *logSink, s *stack) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.wait[l]
	if of == nil {
		of = map[uint64]*group{}
		g.wait[l] = of
	}
	sum := s.key.Sum64()
	if have := of[sum]; have != nil {
		have.count++
		if s.id < have.id {
			have.id, have.line = s.id, s.line
		}
		return
	}
	if len(of) >= maxGroups {
		g.over++
		return
	}
	of[sum] = &group{1, l.index, s.id, s.line, l.name, s.next, s.shown}
}

// keep counts the stacks of a log permanently.
func (g *groups) keep(l *logSink) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for sum, of := range g.wait[l] {
		have := g.all[sum]
		switch {
		case have == nil && len(g.all) >= maxGroups:
			g.over += of.count
		case have == nil:
			g.all[sum] = of
		case of.log < have.log:
			of.count += have.count
			g.all[sum] = of
		default:
			have.count += of.count
		}
	}
	delete(g.wait, l)
}

// drop forgets the stacks of a log.
func (g *groups) drop(l *logSink) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wait, l)
}

// sorted returns the largest groups first.
func (g *groups) sorted() []*group {
	return slices.SortedFunc(maps.Values(g.all), func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.log, b.log), cmp.Compare(a.id, b.id))
	})
}

// GroupSummary is a group in summary.json.
type GroupSummary struct {
	Count     int      `json:"count"`
	File      string   `json:"file"`
	StackID   int      `json:"stack_id"`
	StartLine int      `json:"start_line"`
	Functions []string `json:"functions"`
}

func summarize(list []*group) []GroupSummary {
	all := make([]GroupSummary, len(list))
	for i, g := range list {
		all[i] = GroupSummary{g.count, g.file, g.id, g.line, g.names()}
	}
	return all
}

// names are the functions of a group's stacks, innermost first.
func (g *group) names() []string {
	names := make([]string, len(g.shown))
	for i := range g.shown {
		names[i] = g.shown[i].name()
	}
	return names
}

// name is the function, with the place in the module if only the log has a name, or if there is none.
func (p *place) name() string {
	if p.Func != "" && (!p.Nameless || p.Module == "") {
		return p.Func
	}
	if p.Module == "" || p.Module == "." {
		return unknownName
	}
	return cmp.Or(p.Func, unknownName) + " (" + p.Module + ")"
}

// writeGroups writes groups.tsv.
func (r *Report) writeGroups(w io.Writer, list []*group) error {
	b := bufio.NewWriter(w)
	b.WriteString("count\tfile\tstack_id\tstart_line\tdepth\tfunctions\n")
	var row []byte
	for _, g := range list {
		row = append(strconv.AppendInt(row[:0], int64(g.count), 10), '\t')
		row = append(row, g.file...)
		row = appendInt(appendInt(appendInt(row, g.id), g.line), g.functions)
		row = appendField(row, strings.Join(g.names(), " < "))
		b.Write(append(row, '\n'))
	}
	return b.Flush()
}

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
	// Outcomes are the frames by their outcome.
	Outcomes []pageOutcome
	All      []*group
	Groups   []pageGroup
	More     bool
	// Modules are those of all logs.
	Modules []pageModule
}

type pageOutcome struct {
	Word  string
	Count int
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
	p.Counts.Frames, p.Counts.Failed = r.counts.frames.Frames, r.counts.frames.Unnamed()
	for o, n := range r.counts.frames.All {
		p.Outcomes = append(p.Outcomes, pageOutcome{o.String(), n})
	}
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

// Limits of the stacks that are open at a time: frames of several threads may mix, and a stack is over only when its thread
// begins another.
const (
	// patience is how many lines a stack waits for its next frame.
	patience = 1000
	// heldText bounds the text of open stacks in bytes, flushText that of the one that is being written.
	heldText  = 4 << 20
	flushText = 64 << 10
	// maxBetween is how many lines may come between two frames of a stack in formats without numbers.
	maxBetween = 3
	// shownFrames bounds the frames of a stack that a page shows.
	shownFrames = 512
)

// stack is one stack of a log.
type stack struct {
	id, line int
	thread   any
	// last and lastLine are the number and the line of the last frame, next is the number of the next function.
	last     uint64
	numbered bool
	lastLine int
	frames   int
	next     int
	over     bool
	begun    bool // its header is written
	text     []byte
	// The functions, for groups.
	key   maphash.Hash
	shown []place
}

// place is one function of a stack as pages show it.
type place struct {
	Func, File string
	Line       string // as it is shown
	Module     string
	// Nameless is set for a frame without a name. Func is then the one that the log has, and Module has the offset, too.
	Nameless bool
}

// stackOf returns the stack that a frame belongs to, nil for one in a sentence. A frame whose number is not above that of the
// last one begins a new stack, as #0 always does.
func (l *logSink) stackOf(o *print.Observation) *stack {
	if o.Sentence {
		return nil
	}
	s := l.open[o.Thread]
	if s != nil && !s.over && s.numbered == o.Numbered {
		if o.Numbered && o.Number > s.last || !o.Numbered && o.Line-s.lastLine <= maxBetween {
			s.last, s.lastLine = o.Number, o.Line
			return s
		}
	}
	if s != nil {
		l.finish(s)
	}
	l.settle(o.Line)
	s = &stack{id: l.counts.stacks, line: o.Line, thread: o.Thread, last: o.Number, numbered: o.Numbered, lastLine: o.Line}
	if l.rep.grouping() {
		s.key.SetSeed(l.rep.groups.seed)
	}
	l.counts.stacks++
	l.open[o.Thread] = s
	l.order = append(l.order, s)
	return s
}

// finish ends a stack: no frame will follow.
func (l *logSink) finish(s *stack) {
	if s.over {
		return
	}
	s.over = true
	if l.open[s.thread] == s {
		delete(l.open, s.thread)
	}
	if l.rep.grouping() {
		l.rep.groups.add(l, s)
	}
	s.shown = nil
}

// settle writes the stacks that are over, in their order, and ends those that have waited for too long.
func (l *logSink) settle(line int) {
	for len(l.order) > 0 {
		s := l.order[0]
		if !s.over && (line-s.lastLine > patience || l.held > heldText) {
			l.finish(s)
		}
		if !s.over {
			return
		}
		l.write(s)
		l.order = l.order[1:]
	}
}

// add puts a line into a stack's text.
func (l *logSink) add(s *stack, write func([]byte) []byte) {
	if l.stacks == nil {
		return
	}
	before := len(s.text)
	s.text = append(write(s.text), '\n')
	l.held += len(s.text) - before
	if len(s.text) > flushText && l.order[0] == s {
		l.write(s)
	}
	if l.held > heldText {
		l.settle(s.lastLine)
	}
}

// write writes what there is of a stack.
func (l *logSink) write(s *stack) {
	if l.stacks == nil {
		return
	}
	if !s.begun {
		s.begun = true
		var head []byte
		if s.id > 0 {
			head = append(head, '\n')
		}
		head = append(strconv.AppendInt(append(head, "=== STACK "...), int64(s.id), 10), " ("...)
		head = append(append(head, l.name...), ": line "...)
		head = append(strconv.AppendInt(head, int64(s.line), 10), ") ===\n"...)
		l.put(head)
	}
	l.put(s.text)
	l.held -= len(s.text)
	s.text = s.text[:0]
}

// put writes to the list of stacks. The first error is kept for the end.
func (l *logSink) put(b []byte) {
	if _, err := l.stacks.Write(b); err != nil && l.err == nil {
		l.err = err
	}
}
