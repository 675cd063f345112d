package batch

import (
	"bufio"
	"cmp"
	"hash/maphash"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	// log, file, id and line tell where the first one stands.
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

// keep counts the stacks of a log for good.
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

// name is the function, or the module where it has no name.
func (p *place) name() string {
	if p.Func != "" {
		return p.Func
	}
	if p.Module == "" || p.Module == "." {
		return unknownName
	}
	return unknownName + " (" + p.Module + ")"
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
