package tree

import (
	"bufio"
	"cmp"
	"hash/maphash"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// maxGroups bounds the number of groups in memory. Stacks of further groups are only counted, in groups.over.
const maxGroups = 1 << 16

// groups are the stacks of all logs, grouped by their functions. wait has the groups of logs that are not yet kept. places has what the
// groups of all logs show.
type groups struct {
	seed   maphash.Seed
	mu     sync.Mutex
	all    map[uint64]*group
	places places
	over   int // stacks beyond maxGroups
	wait   map[*logSink]map[uint64]*group
}

// group is a group of stacks with the same functions, of which logs say the same.
type group struct {
	same  uint64 // the hash of the functions
	count int
	// log, file, id and line are the position of the first stack: index and name of the log, number and first line of the stack.
	log, id, line int
	file          string
	functions     int
	shown         []*place
	about         triage.Headline // of the first stack
	heads         heads
	signature     string
	// logs are the logs with such stacks, the first maxLogs of them; more counts the others.
	logs []groupLog
	more int
	// below are the faults that such stacks are about, and how many of them; at most maxBelow. sources are places in its own code.
	below   map[bugKey]int
	sources []sourceAt
}

// maxBelow bounds the faults that a group of stacks is about.
const maxBelow = 64

// sourceAt is the place in the source of a function that is shown, by its number.
type sourceAt struct {
	number int
	symsrc.Place
}

// addBelow adds stacks to those that are about a fault.
func (g *group) addBelow(at bugKey, n int) {
	if g.below == nil {
		g.below = map[bugKey]int{}
	}
	if _, have := g.below[at]; have || len(g.below) < maxBelow {
		g.below[at] += n
	}
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
	slices.SortStableFunc(g.logs, func(a, b groupLog) int { return cmp.Compare(a.index, b.index) })
	for i := 1; i < len(g.logs); i++ { // a log whose stacks were in both
		if a, b := &g.logs[i-1], g.logs[i]; a.index == b.index {
			a.count, a.line = a.count+b.count, min(a.line, b.line)
			g.logs = slices.Delete(g.logs, i, i+1)
			i--
		}
	}
	g.more += other.more
	for at, n := range other.below {
		g.addBelow(at, n)
	}
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
	functions := s.key.Sum64()
	s.key.WriteString(s.about.Kind + "\x00" + headClass(s.about.Text))
	sum := s.key.Sum64()
	if have := of[sum]; have != nil {
		have.count++
		have.logs[0].count++
		have.heads.add(s.about.Text)
		s.noteBelow(have)
		if s.id < have.id {
			have.id, have.line, have.about, have.logs[0].line = s.id, s.line, s.about, s.line
		}
		return
	}
	if len(of) >= maxGroups {
		g.over++
		return
	}
	added := &group{same: functions, count: 1, log: l.index, id: s.id, line: s.line, file: l.name, functions: s.next, shown: s.shown, about: s.about,
		signature: s.signature.String(), logs: []groupLog{{l.index, 1, s.line, l.rel}}, sources: s.sources}
	s.noteBelow(added)
	added.heads.add(s.about.Text)
	of[sum] = added
}

// noteBelow notes in the group of the stack the fault that it is about.
func (s *stack) noteBelow(g *group) {
	if s.fault != nil {
		g.addBelow(faultKey(s.fault.signature.String(), s.fault.about.Text), 1)
	}
}

// keep adds the stacks of a log to those of all logs.
func (g *groups) keep(l *logSink) {
	g.mu.Lock()
	defer g.mu.Unlock()
	first := g.places == nil
	if first {
		g.places = l.places
	}
	set := func(sum uint64, of *group) {
		g.all[sum] = of
		if !first {
			g.places.share(of.shown)
		}
	}
	for sum, of := range g.wait[l] {
		have := g.all[sum]
		switch {
		case have == nil && len(g.all) >= maxGroups:
			g.over += of.count
		case have == nil:
			set(sum, of)
		case of.log < have.log:
			of.count += have.count
			of.join(have)
			set(sum, of)
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

// sorted returns the groups, the largest first. Stacks of which a log says nothing are joined with those of the same functions of which
// other logs say what happened, if these say the same.
func (g *groups) sorted() []*group {
	list := slices.SortedFunc(maps.Values(g.all), compareGroups)
	said := map[uint64]*group{}
	for _, of := range list {
		if of.about == (triage.Headline{}) {
			continue
		}
		if _, several := said[of.same]; several {
			said[of.same] = nil
		} else {
			said[of.same] = of
		}
	}
	joined := false
	list = slices.DeleteFunc(list, func(of *group) bool {
		to := said[of.same]
		if of.about != (triage.Headline{}) || to == nil {
			return false
		}
		joined = true
		to.count += of.count
		if of.log < to.log || of.log == to.log && of.id < to.id {
			to.log, to.id, to.line, to.file = of.log, of.id, of.line, of.file
		}
		to.join(of)
		return true
	})
	if joined {
		slices.SortFunc(list, compareGroups)
	}
	return list
}

// compareGroups orders groups by their numbers of stacks, and then by the first one.
func compareGroups(a, b *group) int {
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.log, b.log), cmp.Compare(a.id, b.id))
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

// appendSummary appends the group as summary.json has it, a GroupSummary.
func (g *group) appendSummary(dst []byte) []byte {
	const line, item = "\n      ", "\n        "
	dst = strconv.AppendInt(append(dst, "{"+line+`"count": `...), int64(g.count), 10)
	dst = appendJSON(append(dst, ","+line+`"file": `...), g.file)
	dst = strconv.AppendInt(append(dst, ","+line+`"stack_id": `...), int64(g.id), 10)
	dst = strconv.AppendInt(append(dst, ","+line+`"start_line": `...), int64(g.line), 10)
	dst = append(dst, ","+line+`"functions": [`...)
	between := item
	for _, at := range g.shown {
		dst = appendJSON(append(dst, between...), at.name())
		between = "," + item
	}
	if len(g.shown) > 0 {
		dst = append(dst, line...)
	}
	dst = append(dst, ']')
	if g.signature != "" {
		dst = appendJSON(append(dst, ","+line+`"signature": `...), g.signature)
	}
	if g.about.Text != "" {
		dst = appendJSON(append(dst, ","+line+`"headline": `...), g.about.Text)
	}
	if g.about.Kind != "" {
		dst = appendJSON(append(dst, ","+line+`"kind": `...), g.about.Kind)
	}
	return append(dst, "\n    }"...)
}

// own returns the first function that is the program's own, one with a name if there is any; nil if there is none.
func (g *group) own() *place {
	var first *place
	for i := range g.shown {
		switch p := g.shown[i]; {
		case p.own && p.Func != "":
			return p
		case p.own && first == nil:
			first = p
		}
	}
	return first
}

// title returns the name of the first function that is the program's own, or otherwise of that which the signature begins with: it is of a
// dependency, if one is there, and not of an allocator or of what has printed the stack. Another goroutine than
// the one that has crashed has the name of what it was begun with.
func (g *group) title() string {
	if p := g.own(); p != nil {
		return p.name()
	}
	if len(g.shown) == 0 {
		return unknownName
	}
	if g.about.Kind == otherGoroutine { // all of the runtime's wait in the same function: what began it says which one it is
		for i := range slices.Backward(g.shown) {
			if p := g.shown[i]; p.Func != "runtime.goexit" && !strings.Contains(p.Func, ".gowrap") {
				return p.name()
			}
		}
	}
	first, _, _ := strings.Cut(g.signature, triage.Between)
	for i := range g.shown {
		if p := g.shown[i]; p.Func != "" && triage.Name(p.Func) == first {
			return p.name()
		}
	}
	return g.shown[0].name()
}

// at returns the source file and the line.
func (p *place) at() string { return p.File + ":" + strconv.Itoa(p.line) + p.mark }

// name returns the function, followed by the module in parentheses if there is no name or only the log has it.
func (p *place) name() string {
	if p.Func != "" && (!p.Nameless || p.Module == "") {
		return p.Func
	}
	switch {
	case !p.Nameless && p.File != "":
		return unknownName + " (" + path.Base(p.File) + ":" + strconv.Itoa(p.line) + ")"
	case p.Module == "", p.Module == ".":
		return unknownName
	}
	return cmp.Or(p.Func, unknownName) + " (" + p.Module + ")"
}

// writeGroups writes groups.tsv.
func (r *Report) writeGroups(w io.Writer, list []*group) error {
	b := bufio.NewWriter(w)
	b.WriteString("count\tfile\tstack_id\tstart_line\tdepth\tfunctions\tsignature\theadline\tkind\n")
	var row []byte
	for _, g := range list {
		row = append(strconv.AppendInt(row[:0], int64(g.count), 10), '\t')
		row = append(row, g.file...)
		row = appendInt(appendInt(appendInt(row, g.id), g.line), g.functions)
		row = append(row, '\t')
		for i, at := range g.shown {
			if i > 0 {
				row = append(row, " < "...)
			}
			row = appendEscaped(row, at.name())
		}
		if len(g.shown) == 0 {
			row = append(row, noValue)
		}
		row = appendField(appendField(appendField(row, g.signature), g.about.Text), g.about.Kind)
		b.Write(append(row, '\n'))
	}
	return b.Flush()
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
	// alone is the address of the first frame if that has no number. again is set if the stack is that frame alone and a numbered one begins with
	// it: gdb shows where a program has stopped, and then its stack.
	alone string
	again bool
	text  []byte
	// key is the hash of the functions, by which stacks are grouped; shown are the first shownFrames functions.
	key   maphash.Hash
	shown []*place
	// about is what the log says of the stack.
	about     triage.Headline
	signature triage.Signature
	// fault is the stack of the fault that this one is about, nil for none. sources are places in its own code.
	fault   *stack
	sources []sourceAt
}

// places has functions of stacks, each once: stacks have the same few.
type places map[place]*place

// of returns the function that is equal to one.
func (all places) of(at *place) *place {
	have := all[*at]
	if have == nil {
		have = new(place)
		*have = *at
		all[*have] = have
	}
	return have
}

// share replaces functions by those that are equal to them.
func (all places) share(list []*place) {
	for i, at := range list {
		list[i] = all.of(at)
	}
}

// place is a function of a stack, as it is shown for its group.
type place struct {
	Func, File string
	line       int
	mark       string // symsrc.Frame.Mark
	Module     string // base name
	// Nameless is set for a frame without a name. Func is then the name that the log has, and Module includes the offset.
	Nameless bool
	// own is set for a function that is the program's own.
	own bool
	// outcome is what became of the frame.
	outcome resolve.Outcome
}

// stackOf returns the stack of a frame, or nil for a frame in a sentence. A frame whose number is not greater than that of the last
// one begins a new stack, as #0 always does.
func (l *logSink) stackOf(o *print.Observation) *stack {
	if o.Sentence {
		return nil
	}
	s := l.open[o.Thread]
	if s != nil && !s.over && (o.Numbered || !l.heads.Between(s.run.Line(), o.Line)) && s.run.Continue(o.Line, o.Number, o.Numbered) {
		if s.frames == 1 && s.about == (triage.Headline{}) { // glog says PC: above what happened
			l.describe(s, o.Line)
		}
		return s
	}
	var before *stack
	if s != nil {
		if o.Numbered && o.Number == 0 && s.frames == 1 && s.alone != "" && s.alone == string(o.Address) {
			before, s.again = s, true
		}
		l.finish(s)
	}
	l.settle(o.Line)
	s = &stack{id: l.counts.stacks, line: o.Line, thread: o.Thread, run: triage.Begin(o.Line, o.Number, o.Numbered)}
	if l.describe(s, o.Line); before != nil && s.about == (triage.Headline{}) {
		if s.about = before.about; s.about.Kind == triage.Fault {
			l.fault = s
		}
	}
	if !o.Numbered {
		s.alone = string(o.Address)
	}
	if l.rep.grouping() {
		s.key.SetSeed(l.rep.groups.seed)
	}
	l.counts.stacks++
	l.open[o.Thread] = s
	l.order = append(l.order, s)
	return s
}

// describe takes what the log says of a stack above a line.
func (l *logSink) describe(s *stack, line int) {
	s.about = l.heads.Above(line)
	switch {
	case s.about.Kind == triage.Fault:
		l.fault = s
	case s.about.Kind != "" && l.fault != nil && l.fault.about.Text == s.about.Text:
		s.fault = l.fault
	}
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
	if l.rep.grouping() && !s.again {
		l.rep.groups.add(l, s)
	}
	s.shown, s.sources = nil, nil
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
