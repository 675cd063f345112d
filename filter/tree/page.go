package tree

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"qss-filter/filter/guard"
	"qss-filter/filter/resolve"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// maxBugs bounds the bugs on a page, and maxVariants the groups of stacks of one of them, so that a browser can hold the page. Bugs beyond
// that are the rarest ones, and the tables have them.
const (
	maxBugs     = 20000
	maxVariants = 64
)

// maxSources bounds the places whose source code a page shows, sourcesOfBug those of a bug, and sourceTime how long they are read: a server
// of them may be slow. sourceAround are the lines on either side.
const (
	maxSources   = 256
	sourcesOfBug = 3
	sourceTime   = 2 * time.Second
	sourceAround = 2
)

// maxSourceLine bounds a line of source code on a page, in bytes.
const maxSourceLine = 400

//go:embed page.html
var pageText string

// pageTemplate parses the template when it is needed: most runs write no page.
var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// page is the data of page.html. Its stacks are JSON, of which the page's script shows what is looked at: a browser takes seconds for
// thousands of lists in HTML.
type page struct {
	Title, Totals       string
	Time, When, Version string
	// Outcomes are the numbers of frames by outcome, in words for people.
	Outcomes []pageOutcome
	Modules  []pageModule
	// Data is dataMark.
	Data template.JS
}

// dataMark is where the data of a page goes, which is written piece by piece: no other text of a page has a NUL.
const dataMark = "\x00"

type pageOutcome struct {
	Word, Code string
	Count      int
}

type pageModule struct {
	Name, Target, Elf, Debug, ID, ShortID, Note string
	Bad, BadDebug                               bool
}

// pageData is the JSON of a page, after its bugs and frames. Frames, logs and words are numbered, and each is there once.
type pageData struct {
	// Logs are [name, link].
	Logs  [][2]string `json:"logs"`
	Words []pageWord  `json:"words"`
	// Sources are excerpts, by the number of the frame.
	Sources map[int]pageSource `json:"sources"`
}

// pageWord is what became of frames, for people. Missing is set if they have no name.
type pageWord struct {
	Word    string `json:"word"`
	Missing bool   `json:"missing,omitempty"`
}

type pageSource struct {
	First int      `json:"first"`
	Line  int      `json:"line"`
	Lines []string `json:"lines"`
}

// pageBug is all stacks with one signature and kind, and below a fault those that are about it.
type pageBug struct {
	Count     int         `json:"count"`
	Kind      string      `json:"kind,omitempty"`
	Head      string      `json:"head,omitempty"`
	Title     string      `json:"title"`
	At        string      `json:"at,omitempty"`
	Signature string      `json:"signature,omitempty"`
	Stacks    []pageStack `json:"stacks"`
	Below     []*pageBug  `json:"below,omitempty"`
}

// pageStack is a group of stacks with the same functions.
type pageStack struct {
	Count  int   `json:"count"`
	Frames []int `json:"frames"`
	Cut    int   `json:"cut,omitempty"` // functions that are not shown
	// Logs are [number of the log, stacks in it, first line].
	Logs [][3]int `json:"logs"`
	More int      `json:"more,omitempty"`
}

// outcomeWords are the outcomes of frames in words for people.
var outcomeWords = map[resolve.Outcome]string{
	resolve.OK: "named", resolve.InLog: "named by the log", resolve.NoSymbol: "no symbol there", resolve.NoMapping: "no mapping known",
	resolve.Ambiguous: "several places possible", resolve.NotAsked: "too little in the log",
	resolve.Outcome(symsrc.NotFound): "no symbols found", resolve.Outcome(symsrc.MismatchBuildID): "symbols of another build",
	resolve.Outcome(symsrc.Incomplete): "no symbols in the file", resolve.Outcome(symsrc.NotVerified): "build not verified",
	resolve.Outcome(symsrc.ReadError): "file not readable", resolve.Outcome(symsrc.UnknownError): "failed",
}

// people returns the word for an outcome, or for the status of a file.
func people(o resolve.Outcome) string {
	if word := outcomeWords[o]; word != "" {
		return word
	}
	return strings.ToLower(strings.ReplaceAll(o.String(), "_", " "))
}

// fileWords returns the words for the status of a module's file, and for that of its debug information.
func fileWords(elf, lines symsrc.Status) (string, string) {
	word := func(s symsrc.Status, good, none string) string {
		switch s {
		case symsrc.OK:
			return good
		case symsrc.Incomplete:
			return none
		case symsrc.UnknownError:
			return "not looked for"
		}
		return people(resolve.Outcome(s))
	}
	return word(elf, "found", "none in the file"), word(lines, "found", "none in the file")
}

// bug is the groups of stacks with one signature and kind. Its groups are in the order of groups.sorted.
type bug struct {
	count  int
	groups []*group
	counts []int // of each group, which is in part below another fault
	heads  heads
	below  []*bug
}

// headClass returns a headline without what differs between the reports of one fault: `SEGV` for `SIGSEGV`, and no numbers or accesses.
func headClass(text string) string {
	text = strings.TrimPrefix(text, "SIG")
	text, _, _ = strings.Cut(text, " READ")
	text, _, _ = strings.Cut(text, " WRITE")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, text)
}

// bugKey is what the stacks of a bug have in common. A stack whose log says nothing of it has the class "".
type bugKey struct{ signature, class string }

// faultKey returns the key of a fault.
func faultKey(signature, text string) bugKey { return bugKey{signature, headClass(text)} }

// isAbout reports whether a stack is about a fault that has its own, such as where memory was freed.
func (g *group) isAbout() bool { return g.about.Kind != "" && g.about.Kind != triage.Fault }

// bugs returns the groups by bug: faults first, then stacks whose log says nothing of them. list is as groups.sorted returns it.
func bugs(list []*group) []*bug {
	var all []*bug
	faults := map[bugKey]*bug{}
	known := map[string]*bug{} // the only fault of a signature, nil if there are several
	begin := func() *bug {
		b := &bug{}
		all = append(all, b)
		return b
	}
	for _, silent := range []bool{false, true} { // what the log says nothing of belongs to a fault of that signature that another log reports
		for _, g := range list {
			if g.isAbout() || (g.about.Text == "") != silent {
				continue
			}
			b := faults[faultKey(g.signature, g.about.Text)]
			if b == nil && silent {
				b = known[g.signature]
			}
			if b == nil || g.signature == "" {
				b = begin()
				if _, several := known[g.signature]; several {
					known[g.signature] = nil
				} else {
					known[g.signature] = b
				}
				faults[faultKey(g.signature, g.about.Text)] = b
			}
			b.add(g, g.count)
		}
	}
	type part struct {
		of              *bug
		kind, signature string
	}
	parts := map[part]*bug{}
	for _, g := range list {
		if !g.isAbout() {
			continue
		}
		rest := g.count
		add := func(of *bug, count int) {
			key := part{of, g.about.Kind, g.signature}
			b := parts[key]
			if b == nil {
				if of == nil {
					b = begin()
				} else {
					b = &bug{}
					of.below = append(of.below, b)
				}
				parts[key] = b
			}
			b.add(g, count)
		}
		for _, at := range slices.SortedFunc(mapKeys(g.below), compareKeys) {
			if of := faults[at]; of != nil {
				add(of, g.below[at])
				rest -= g.below[at]
			}
		}
		if rest > 0 {
			add(nil, rest)
		}
	}
	rank := func(b *bug) int {
		switch a := &b.groups[0].about; {
		case a.Text != "":
			return 0
		case a.Kind == "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b *bug) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.count, a.count)) })
	for _, b := range all {
		slices.SortStableFunc(b.below, func(a, b *bug) int {
			return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(b.count, a.count))
		})
	}
	return all
}

// order is the place of a kind below its fault.
func order(b *bug) int {
	return slices.Index([]string{"", "previous access", "freed by", "allocated by", "created by", otherGoroutine}, b.groups[0].about.Kind)
}

func mapKeys(m map[bugKey]int) func(func(bugKey) bool) {
	return func(yield func(bugKey) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

func compareKeys(a, b bugKey) int {
	return cmp.Or(strings.Compare(a.signature, b.signature), strings.Compare(a.class, b.class))
}

// add adds a group to the bug, of which count stacks belong to it.
func (b *bug) add(g *group, count int) {
	b.count += count
	b.groups, b.counts = append(b.groups, g), append(b.counts, count)
	b.heads.add(g.heads...)
}

// pageWriter makes the data of a page.
type pageWriter struct {
	r    *Report
	data pageData
	// frames are the numbers of functions, and list these in their order.
	frames map[*place]int
	list   []*place
	logs   map[string]int
	words  map[resolve.Outcome]int
	asked  []askedSource
}

// askedSource is a frame whose source is shown.
type askedSource struct {
	frame int
	at    symsrc.Place
}

// bug returns a bug as it is shown.
func (w *pageWriter) bug(b *bug) *pageBug {
	first := b.groups[0]
	p := &pageBug{Count: b.count, Kind: first.about.Kind, Head: b.heads.after(first.about.Text), Title: symsrc.Visible(withoutHash(first.title())),
		Signature: symsrc.Visible(first.signature), Stacks: []pageStack{}}
	if at := first.own(); at != nil && at.File != "" {
		p.At = symsrc.Visible(filepath.Base(at.File)) + ":" + strconv.Itoa(at.line) + at.mark
	}
	for i, g := range b.groups[:min(len(b.groups), maxVariants)] {
		s := pageStack{Count: b.counts[i], Cut: g.functions - len(g.shown), More: g.more, Frames: make([]int, len(g.shown)), Logs: [][3]int{}}
		for k := range g.shown {
			s.Frames[k] = w.frame(g.shown[k])
		}
		for _, of := range g.logs {
			s.Logs = append(s.Logs, [3]int{w.log(of.name), of.count, of.line})
		}
		if i == 0 {
			for _, at := range g.sources {
				if len(w.asked) < maxSources && at.number < len(s.Frames) {
					w.asked = append(w.asked, askedSource{s.Frames[at.number], at.Place})
				}
			}
		}
		p.Stacks = append(p.Stacks, s)
	}
	for _, below := range b.below {
		of := w.bug(below)
		of.Head = "" // that of the fault
		p.Below = append(p.Below, of)
	}
	return p
}

// withoutHash returns the name of a function without the hash that Rust puts at its end: `::h705be9795aba3b4f`.
func withoutHash(name string) string {
	at := len(name) - len("::h0123456789abcdef")
	if at > 0 && name[at:at+3] == "::h" && strings.Trim(name[at+3:], "0123456789abcdef") == "" {
		return name[:at]
	}
	return name
}

// frame returns the number of a function.
func (w *pageWriter) frame(f *place) int {
	n, have := w.frames[f]
	if !have {
		n = len(w.list)
		w.frames[f] = n
		w.list = append(w.list, f)
	}
	return n
}

// appendFrame appends a function as JSON: [name, place, whether it is the program's own, number of the word, module].
func (w *pageWriter) appendFrame(dst []byte, f *place) []byte {
	at := f.Module
	if f.Nameless { // the name has it
		at = ""
	}
	if f.File != "" {
		at = f.at()
	}
	word, have := w.words[f.outcome]
	if !have {
		word = len(w.data.Words)
		w.words[f.outcome] = word
		w.data.Words = append(w.data.Words, pageWord{people(f.outcome), !f.outcome.Named()})
	}
	module, _, _ := strings.Cut(f.Module, "+0x")
	dst = append(appendJSON(append(dst, '['), symsrc.Visible(f.name())), ',')
	dst = append(appendJSON(dst, symsrc.Visible(at)), ',')
	if f.own {
		dst = append(dst, '1', ',')
	} else {
		dst = append(dst, '0', ',')
	}
	dst = append(strconv.AppendInt(dst, int64(word), 10), ',')
	return append(appendJSON(dst, symsrc.Visible(module)), ']')
}

// log returns the number of a log.
func (w *pageWriter) log(name string) int {
	n, have := w.logs[name]
	if !have {
		n = len(w.data.Logs)
		w.logs[name] = n
		link := w.r.link(name)
		if link != "" && !strings.HasPrefix(link, "../") {
			link = "./" + link // never a scheme
		}
		w.data.Logs = append(w.data.Logs, [2]string{symsrc.Visible(name), link})
	}
	return n
}

// sources reads the source code of the frames that were asked for.
func (w *pageWriter) sources() {
	if w.r.Sources == nil || len(w.asked) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sourceTime)
	defer cancel()
	found := make([]symsrc.Excerpt, len(w.asked))
	var wg sync.WaitGroup
	most := make(chan struct{}, 8)
	seen := map[int]bool{}
	for i, a := range w.asked {
		if seen[a.frame] {
			continue
		}
		seen[a.frame] = true
		wg.Go(func() {
			most <- struct{}{}
			defer func() { <-most }()
			defer func() {
				if cause := recover(); cause != nil {
					found[i] = symsrc.Excerpt{Note: "internal error" + guard.Fault(cause)}
				}
			}()
			if a.at.Files == nil { // the answer is from a cache
				if m := w.r.modules[a.at.Module.Name+"\x00"+string(a.at.Module.BuildID)]; m != nil {
					a.at.Files = m.files
				}
			}
			if a.at.Files != nil && ctx.Err() == nil { // or it is not known whether the source is newer
				found[i] = w.r.Sources.Excerpt(ctx, a.at, sourceAround)
			}
		})
	}
	wg.Wait()
	for i, x := range found {
		if len(x.Lines) == 0 || x.Note != "" { // a page says no doubts of its sources, so it shows none that are in doubt
			continue
		}
		s := pageSource{First: x.First, Line: w.asked[i].at.Line}
		for _, line := range x.Lines {
			s.Lines = append(s.Lines, symsrc.Visible(strings.ReplaceAll(line[:min(len(line), maxSourceLine)], "\t", "    ")))
		}
		w.data.Sources[w.asked[i].frame] = s
	}
}

// asJSON returns a value of a page as JSON, without < and >, so that it ends no script.
func asJSON(value any) []byte {
	text, _ := json.Marshal(value) // no value of a page has a type that JSON lacks
	return text
}

// appendJSON appends a string as asJSON returns it, with what symsrc.Visible escapes as JSON's escapes.
func appendJSON(dst []byte, s string) []byte {
	begin := len(dst)
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < ' ' || c >= 0x7f: // seldom
			return append(dst[:begin], symsrc.VisibleJSON(asJSON(s))...)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '<' || c == '>' || c == '&':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

const hexDigits = "0123456789abcdef"

// writePage writes the page. It is self-contained and needs no network.
func (r *Report) writePage(to io.Writer, list []*group, modules []*module) error {
	all := bugs(list)
	var frame bytes.Buffer
	if err := pageTemplate().Execute(&frame, r.pageOf(len(all), modules)); err != nil {
		return err
	}
	head, end, _ := bytes.Cut(frame.Bytes(), []byte(dataMark))
	w := &pageWriter{r: r, frames: map[*place]int{}, logs: map[string]int{}, words: map[resolve.Outcome]int{},
		data: pageData{Logs: [][2]string{}, Words: []pageWord{}, Sources: map[int]pageSource{}}}
	out := bufio.NewWriter(to)
	out.Write(head)
	out.WriteString(`{"bugs":[`)
	for i, b := range all[:min(len(all), maxBugs)] {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(asJSON(w.bug(b)))
	}
	w.sources()
	out.WriteString(`],"frames":[`)
	var text []byte
	for i, f := range w.list {
		if text = text[:0]; i > 0 {
			text = append(text, ',')
		}
		text = w.appendFrame(text, f)
		out.Write(text)
	}
	out.WriteString("],")
	out.Write(asJSON(&w.data)[len("{"):])
	out.Write(end)
	return out.Flush()
}

// pageOf returns what is on the page beside its data, which has a number of bugs.
func (r *Report) pageOf(bugs int, modules []*module) *page {
	frames := &r.counts.frames
	p := &page{Title: "Stacks of " + symsrc.Visible(r.title), Version: programVersion(), Data: dataMark}
	p.Totals = count(r.counts.logs, "log") + ", " + count(r.counts.stacks, "stack") + " in " + count(bugs, "group") + ", " +
		count(frames.Frames, "frame") + ", " + strconv.Itoa(frames.Unnamed()) + " without a name."
	if bugs > maxBugs {
		p.Totals += " The first " + count(maxBugs, "group") + " are shown."
	}
	if !r.Written.IsZero() {
		p.Time, p.When = r.Written.Format(time.RFC3339), r.Written.Format("2006-01-02 15:04")
	}
	for o, n := range frames.All {
		p.Outcomes = append(p.Outcomes, pageOutcome{people(o), o.String(), n})
	}
	for _, m := range modules {
		elf, debug := m.statuses()
		pm := pageModule{Name: symsrc.Visible(m.Name), ID: m.id, ShortID: m.id[:min(len(m.id), 12)], Bad: elf != symsrc.OK, BadDebug: debug != symsrc.OK}
		pm.Elf, pm.Debug = fileWords(elf, debug)
		if elf == symsrc.OK || elf == symsrc.Incomplete || debug == symsrc.OK { // otherwise it is where it was looked for
			pm.Target = symsrc.Visible(target(m.files))
		}
		if m.files != nil {
			pm.Note = symsrc.Visible(m.files.Note)
		}
		p.Modules = append(p.Modules, pm)
	}
	return p
}

// programVersion returns the version of the program, "" if it is not known.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
}
