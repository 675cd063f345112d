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
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// maxGroups bounds the number of groups in memory. Stacks of further groups are only counted, in groups.over.
const maxGroups = 1 << 16

// groups are the stacks of all logs, grouped by their functions. wait has the groups of logs that are not yet kept.
type groups struct {
	seed maphash.Seed
	mu   sync.Mutex
	all  map[uint64]*group
	over int // stacks beyond maxGroups
	wait map[*logSink]map[uint64]*group
}

// group is a group of stacks with the same functions.
type group struct {
	count int
	// log, file, id and line are the position of the first stack: index and name of the log, number and first line of the stack.
	log, id, line int
	file          string
	functions     int
	shown         []place
	about         triage.Headline // of the first stack
	heads         heads
	signature     string
	// logs are the logs with such stacks, the first maxLogs of them; more counts the others.
	logs []groupLog
	more int
}

// groupLog is a log with stacks of a group: their number, and the first line of the first one.
type groupLog struct {
	index, count, line int
	name               string
}

// maxLogs bounds the logs of a group that are shown.
const maxLogs = 100

// heads are what logs say of the stacks of a group: the texts of their headlines, sorted, each once, and the first maxHeads of them.
type heads []string

// maxHeads bounds the headlines of a group, and shownHeads those that the page shows.
const (
	maxHeads   = 16
	shownHeads = 3
)

// add adds texts.
func (h *heads) add(texts ...string) {
	for _, text := range texts {
		if at, have := slices.BinarySearch(*h, text); !have && text != "" {
			*h = slices.Insert(*h, at, text)
		}
	}
	*h = (*h)[:min(len(*h), maxHeads)]
}

// after returns the texts as one, of which first is the first.
func (h heads) after(first string) string {
	list := slices.DeleteFunc(slices.Clone(h), func(text string) bool { return text == first })
	if first != "" {
		list = slices.Insert(list, 0, first)
	}
	if n := len(list) - shownHeads; n > 0 {
		list = append(list[:shownHeads], strconv.Itoa(n)+" more")
	}
	return strings.Join(list, ", ")
}

// join adds the logs and headlines of another group to those of the group, the logs in their order.
func (g *group) join(other *group) {
	g.heads.add(other.heads...)
	g.logs = append(g.logs, other.logs...)
	slices.SortFunc(g.logs, func(a, b groupLog) int { return cmp.Compare(a.index, b.index) })
	g.more += other.more
	if n := len(g.logs) - maxLogs; n > 0 {
		g.logs, g.more = g.logs[:maxLogs], g.more+n
	}
}

func newGroups() *groups {
	return &groups{seed: maphash.MakeSeed(), all: map[uint64]*group{}, wait: map[*logSink]map[uint64]*group{}}
}

// add counts a stack of a log. The stacks of a log count for the report when keep is called.
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
		have.logs[0].count++
		have.heads.add(s.about.Text)
		if s.id < have.id {
			have.id, have.line, have.about, have.logs[0].line = s.id, s.line, s.about, s.line
		}
		return
	}
	if len(of) >= maxGroups {
		g.over++
		return
	}
	added := &group{count: 1, log: l.index, id: s.id, line: s.line, file: l.name, functions: s.next, shown: s.shown, about: s.about,
		signature: s.signature.String(), logs: []groupLog{{l.index, 1, s.line, l.rel}}}
	added.heads.add(s.about.Text)
	of[sum] = added
}

// keep adds the stacks of a log to those of all logs.
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
			of.join(have)
			g.all[sum] = of
		default:
			have.count += of.count
			have.join(of)
		}
	}
	delete(g.wait, l)
}

// drop discards the stacks of a log.
func (g *groups) drop(l *logSink) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wait, l)
}

// sorted returns the groups, the largest first.
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
	// Signature is the same for stacks of one fault. Headline is what the log says of the first one, and Kind what that is.
	Signature string `json:"signature,omitempty"`
	Headline  string `json:"headline,omitempty"`
	Kind      string `json:"kind,omitempty"`
}

func summarize(list []*group) []GroupSummary {
	all := make([]GroupSummary, len(list))
	for i, g := range list {
		all[i] = GroupSummary{g.count, g.file, g.id, g.line, g.names(), g.signature, g.about.Text, g.about.Kind}
	}
	return all
}

// names returns the functions of the stacks, innermost first.
func (g *group) names() []string {
	names := make([]string, len(g.shown))
	for i := range g.shown {
		names[i] = g.shown[i].name()
	}
	return names
}

// title returns the name of the first function that is the program's own, or of the first one.
func (g *group) title() string {
	for i := range g.shown {
		if p := &g.shown[i]; p.Func != "" && p.own {
			return p.name()
		}
	}
	for i := range g.shown {
		if p := &g.shown[i]; p.own {
			return p.name()
		}
	}
	if len(g.shown) == 0 {
		return unknownName
	}
	return g.shown[0].name()
}

// nameless reports whether one of the functions that are shown has no name.
func (g *group) nameless() bool {
	return slices.ContainsFunc(g.shown, func(p place) bool { return p.Nameless })
}

// name returns the function, followed by the module in parentheses if there is no name or only the log has it.
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
	b.WriteString("count\tfile\tstack_id\tstart_line\tdepth\tfunctions\tsignature\theadline\n")
	var row []byte
	for _, g := range list {
		row = append(strconv.AppendInt(row[:0], int64(g.count), 10), '\t')
		row = append(row, g.file...)
		row = appendInt(appendInt(appendInt(row, g.id), g.line), g.functions)
		row = appendField(row, strings.Join(g.names(), " < "))
		row = appendField(appendField(row, g.signature), g.about.Text)
		b.Write(append(row, '\n'))
	}
	return b.Flush()
}

// maxShown bounds the number of groups on a page, so that a browser can show it.
const maxShown = 5000

//go:embed page.html
var pageText string

// pageTemplate parses the template when it is needed: most runs write no page.
var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// page is the data of page.html.
type page struct {
	Title  string
	Counts struct{ Logs, Stacks, Frames, Failed int }
	// Outcomes are the numbers of frames by outcome.
	Outcomes []pageOutcome
	All      []*group
	Groups   []pageGroup
	More     bool
	// Modules are the modules of all logs.
	Modules []pageModule
}

type pageOutcome struct {
	Word  string
	Count int
}

type pageGroup struct {
	Count, Line, ID int
	First, File     string
	// Headline says what happened, and Kind what the stack is.
	Headline, Kind, Signature string
	Nameless                  bool
	Frames                    template.HTML // the items of the list
	Cut                       int           // functions that are not shown
	Logs                      []pageLog
	MoreLogs                  int
}

// appendFrame appends a function as an item of the list. A page has thousands of them, for which the template takes longer than the logs.
func appendFrame(dst []byte, f *place) []byte {
	at := f.Module
	if f.Nameless { // the name has it
		at = ""
	}
	if f.File != "" {
		at = f.File + ":" + f.Line
	}
	if f.own {
		dst = append(dst, "<li>"...)
	} else {
		dst = append(dst, `<li class="other">`...)
	}
	dst = append(dst, template.HTMLEscapeString(symsrc.Visible(f.name()))...)
	dst = append(dst, ` <span class="at">`...)
	dst = append(dst, template.HTMLEscapeString(symsrc.Visible(at))...)
	return append(dst, "</span></li>"...)
}

// pageLog is a log with stacks of a group. Link is the path of what was written for it, relative to the page; "" if nothing was.
type pageLog struct {
	Name, Link  string
	Count, Line int
}

type pageModule struct {
	Name, Target, Elf, Debug, ID, Note string
	Bad, BadDebug                      bool
}

// writePage writes the page. It is self-contained and needs no network.
func (r *Report) writePage(w io.Writer, list []*group, modules []*module) error {
	p := page{Title: symsrc.Visible(r.title), All: list, More: len(list) > maxShown}
	p.Counts.Logs, p.Counts.Stacks = r.counts.logs, r.counts.stacks
	p.Counts.Frames, p.Counts.Failed = r.counts.frames.Frames, r.counts.frames.Unnamed()
	for o, n := range r.counts.frames.All {
		p.Outcomes = append(p.Outcomes, pageOutcome{o.String(), n})
	}
	var frames []byte
	for _, g := range list[:min(len(list), maxShown)] {
		pg := pageGroup{Count: g.count, Line: g.line, ID: g.id, File: g.file, Cut: g.functions - len(g.shown), First: symsrc.Visible(g.title()),
			Headline: g.heads.after(g.about.Text), Kind: g.about.Kind, Signature: symsrc.Visible(g.signature), Nameless: g.nameless(), MoreLogs: g.more}
		for _, of := range g.logs {
			pg.Logs = append(pg.Logs, pageLog{symsrc.Visible(of.name), r.link(of.name), of.count, of.line})
		}
		frames = frames[:0]
		for i := range g.shown {
			frames = appendFrame(frames, &g.shown[i])
		}
		pg.Frames = template.HTML(frames)
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

// Limits of open stacks: frames of several threads may be interleaved, and a stack ends only when its thread begins another one.
const (
	// maxIdle is the number of lines without a frame of a stack after which the stack ends.
	maxIdle = 1000
	// heldText bounds the text of stacks that are not yet written, in bytes. flushText bounds that of the first one of them, which can
	// be written before it ends.
	heldText  = 4 << 20
	flushText = 64 << 10
	// shownFrames bounds the number of functions of a stack that are shown for its group.
	shownFrames = 512
)

// stack is one stack of a log.
type stack struct {
	id, line int
	thread   any
	// run is where its frames stand, next the new number of the next function.
	run    triage.Run
	frames int
	next   int
	over   bool
	begun  bool // the header is written
	text   []byte
	// key is the hash of the functions, by which stacks are grouped; shown are the first shownFrames functions.
	key   maphash.Hash
	shown []place
	// about is what the log says of the stack.
	about     triage.Headline
	signature triage.Signature
}

// place is a function of a stack, as it is shown for its group.
type place struct {
	Func, File string
	Line       string // line number, with symsrc.Frame.Mark
	Module     string // base name
	// Nameless is set for a frame without a name. Func is then the name that the log has, and Module includes the offset.
	Nameless bool
	// own is set for a function that is the program's own.
	own bool
}

// stackOf returns the stack of a frame, or nil for a frame in a sentence. A frame whose number is not greater than that of the last
// one begins a new stack, as #0 always does.
func (l *logSink) stackOf(o *print.Observation) *stack {
	if o.Sentence {
		return nil
	}
	s := l.open[o.Thread]
	if s != nil && !s.over && s.run.Continue(o.Line, o.Number, o.Numbered) {
		return s
	}
	if s != nil {
		l.finish(s)
	}
	l.settle(o.Line)
	s = &stack{id: l.counts.stacks, line: o.Line, thread: o.Thread, run: triage.Begin(o.Line, o.Number, o.Numbered), about: l.heads.Above(o.Line)}
	if l.rep.grouping() {
		s.key.SetSeed(l.rep.groups.seed)
	}
	l.counts.stacks++
	l.open[o.Thread] = s
	l.order = append(l.order, s)
	return s
}

// finish ends a stack: further frames belong to other stacks.
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

// settle writes the ended stacks in order, up to the first one that is open. It ends that one if it has had no frame for maxIdle
// lines, or if more than heldText is waiting.
func (l *logSink) settle(line int) {
	for len(l.order) > 0 {
		s := l.order[0]
		if !s.over && (line-s.run.Line() > maxIdle || l.held > heldText) {
			l.finish(s)
		}
		if !s.over {
			return
		}
		l.write(s)
		l.order = l.order[1:]
	}
}

// add adds a line to the text of a stack.
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
		l.settle(s.run.Line())
	}
}

// write writes the text of a stack that is not yet written, after its header.
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

// put writes to the list of stacks. end returns the first error.
func (l *logSink) put(b []byte) {
	if _, err := l.stacks.Write(b); err != nil && l.err == nil {
		l.err = err
	}
}
