package tree

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// The tables that frames add rows to. frameTable has a row per frame, failedTable a row per frame without a name, and expandedTable a
// row per function, inlined ones included, of the frames of stacks. Their files and columns are those of QSS.
const (
	frameTable = iota
	failedTable
	expandedTable
)

var tables = [...]struct{ file, head string }{
	frameTable:    {"frames.tsv", "file\tstack_id\torig_frame_idx\taddr\torig_elf\toffset\tbuild_id\tfunc_hint\n"},
	failedTable:   {"failed_frames.tsv", "file\tstack_id\torig_frame_idx\torig_elf\toffset\tbuild_id\ttarget_elf\treason\n"},
	expandedTable: {"expanded_frames.tsv", "file\tstack_id\tnew_idx\torig_idx\tinline_depth\taddr\tfunc\tsrc_file\tsrc_line\n"},
}

// ReportOptions are the options of a report.
type ReportOptions struct {
	// Report is the directory of the tables and of summary.json.
	Report string
	// SummaryJSON is the path of a second copy of the summary, "-" for Stdout, or "" for none.
	SummaryJSON string
	// Group groups the stacks with the same functions and writes groups.tsv. HTML is the path of a page with the groups, or "" for none.
	Group bool
	HTML  string
	// Own says which functions are the program's own.
	Own triage.Rules
	// Nameless, if not nil, is called with the module of each frame without a name, from several goroutines at once.
	Nameless func(m symsrc.Module)
	// Finder finds the files of modules whose answers have none, since they are from a cache.
	Finder symsrc.Finder
	// Sources, if not nil, reads the source code that the page shows.
	Sources print.Sources
	// Written is the time that the page has, none if it is zero.
	Written time.Time
	Stdout  io.Writer
}

// Report collects the frames that filters observe, and writes frames.tsv, elf_list.tsv, failed_frames.tsv, expanded_frames.tsv and
// summary.json at the end.
type Report struct {
	ReportOptions
	files *outputs
	title string
	// link returns the path of what was written for a log, relative to the page; "" if nothing was.
	link   func(log string) string
	groups *groups
	spool  spool
	// stream is the sink of Observe; it is nil for a tree.
	stream *logSink

	mu      sync.Mutex
	sinks   []*logSink
	counts  counts
	modules map[string]*module
}

// NewReport returns a report, after a check that its files can be written. In the tables the name of the log of Observe is "-".
func NewReport(o ReportOptions) (*Report, error) {
	files, err := openOutputs(o.Report)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	r := &Report{ReportOptions: o, files: files, groups: newGroups(), modules: map[string]*module{}, title: "standard input",
		link: func(string) string { return "" }}
	r.stream = r.begin(0, "-")
	if err := r.creatable(); err != nil {
		r.discard()
		return nil, err
	}
	return r, nil
}

// creatable returns an error if a file of the report could not be written.
func (r *Report) creatable() error {
	if err := r.files.creatable("summary.json"); err != nil {
		return err
	}
	if err := creatable(r.HTML); err != nil {
		return optionError("HTML", "", err)
	}
	if err := creatable(r.SummaryJSON); err != nil {
		return optionError("SummaryJSON", "", err)
	}
	return nil
}

// grouping reports whether stacks are grouped.
func (r *Report) grouping() bool { return r.Group || r.HTML != "" }

// Observe adds a frame of a stream. It is for filter.Options.Observe. Only one goroutine may call it.
func (r *Report) Observe(o *print.Observation) { r.stream.observe(o) }

// Read reads the headlines and goroutines of a stream. It is for filter.Options.Read. Only one goroutine may call it.
func (r *Report) Read(first int, lines []byte) { r.stream.readLines(first, lines) }

// begin returns the sink of a log; index is the number of the log.
func (r *Report) begin(index int, name string) *logSink {
	return &logSink{rep: r, index: index, rel: name, name: string(appendEscaped(nil, name)), open: map[any]*stack{},
		modules: map[string]*seenModule{}, places: places{}, lastBelow: -1}
}

// end ends all stacks of the log and writes them.
func (l *logSink) end() error {
	if l.goroutines.inside {
		l.endGoroutine()
	}
	for _, s := range l.order {
		l.finish(s)
	}
	l.settle(0)
	return l.err
}

// keep adds the log to the report.
func (l *logSink) keep() {
	l.kept = true
	for i := range l.tables {
		l.tables[i].flush(&l.rep.spool)
		l.tables[i].buf = nil
	}
	l.counts.logs, l.counts.withFrames = 1, min(l.counts.frames.Frames+l.counts.stacks, 1)
	l.rep.groups.keep(l)
	r := l.rep
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.add(l.counts)
	r.merge(l)
	for len(r.sinks) <= l.index {
		r.sinks = append(r.sinks, nil)
	}
	r.sinks[l.index] = &logSink{tables: l.tables}
}

// discard drops the rows and stacks of the log, unless it was kept.
func (l *logSink) discard() {
	if l.kept {
		return
	}
	for i := range l.tables {
		l.rep.spool.drop(l.tables[i].chunks)
	}
	l.rep.groups.drop(l)
}

// discard releases the spool and the output directory.
func (r *Report) discard() {
	r.spool.close()
	r.files.close()
}

// Close writes the report.
func (r *Report) Close() error {
	defer r.discard()
	if r.stream != nil {
		if err := r.stream.end(); err != nil {
			return err
		}
		r.stream.keep()
	}
	list := r.sortedModules()
	r.find(list)
	grouped := r.groups.sorted()
	// The files have nothing in common, and the page takes as long as all others.
	work := []func() error{func() error { return r.writeSummaries(list, grouped) }}
	if r.HTML != "" {
		work = append(work, func() error {
			return writePath(r.HTML, func(w io.Writer) error { return r.writePage(w, grouped, list) })
		})
	}
	for i := range tables {
		work = append(work, func() error { return r.writeTable(i) })
	}
	work = append(work, func() error {
		return r.writeFile("elf_list.tsv", func(w io.Writer) error { return writeElfList(w, list) })
	})
	if r.Group {
		work = append(work, func() error {
			return r.writeFile("groups.tsv", func(w io.Writer) error { return r.writeGroups(w, grouped) })
		})
	}
	failed := make([]error, len(work))
	var wg sync.WaitGroup
	for i, write := range work {
		wg.Go(func() { failed[i] = write() })
	}
	wg.Wait()
	return cmp.Or(failed...)
}

func (r *Report) writeFile(name string, write func(io.Writer) error) error {
	return r.files.create(name).fill(write)
}

func writePath(path string, write func(io.Writer) error) error {
	return create(path).fill(write)
}

func (r *Report) writeTable(table int) error {
	return r.writeFile(tables[table].file, func(w io.Writer) error {
		if _, err := io.WriteString(w, tables[table].head); err != nil {
			return err
		}
		for _, l := range r.sinks {
			if l == nil {
				continue
			}
			for _, c := range l.tables[table].chunks {
				if err := r.spool.copy(w, c); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Summary is summary.json. It has the fields of QSS, and in addition outcomes of frames, statuses of debug information, and groups.
type Summary struct {
	TotalInputFiles  int `json:"total_input_files"`
	TotalStacks      int `json:"total_stacks"`
	TotalFrames      int `json:"total_frames"`
	SymbolizedFrames int `json:"symbolized_frames"`
	FailedFrames     int `json:"failed_frames"`
	// FrameStatusCounts are the numbers of frames by outcome. Frames with OK and IN_LOG, which the log names, are symbolized.
	FrameStatusCounts FrameCounts  `json:"frame_status_counts"`
	ElfStatusCounts   StatusCounts `json:"elf_status_counts"`
	// DebugStatusCounts are the numbers of modules by the status of their debug information: INCOMPLETE if there is none,
	// MISMATCH_BUILD_ID if it is of another build.
	DebugStatusCounts StatusCounts   `json:"debug_status_counts"`
	Groups            []GroupSummary `json:"groups,omitempty"`
}

// StatusCounts are the numbers of modules by status. In JSON, statuses without a module are omitted.
type StatusCounts [symsrc.NotVerified + 1]int

// MarshalJSON returns an object in the order of the statuses.
func (c StatusCounts) MarshalJSON() ([]byte, error) {
	return objectOf(func(yield func(symsrc.Status, int) bool) {
		for status, n := range c {
			if n > 0 && !yield(symsrc.Status(status), n) {
				return
			}
		}
	}), nil
}

// FrameCounts are the numbers of frames by outcome. In JSON, outcomes without a frame are omitted.
type FrameCounts resolve.Tally

// MarshalJSON returns an object in the order of the outcomes.
func (c FrameCounts) MarshalJSON() ([]byte, error) { return objectOf((*resolve.Tally)(&c).All), nil }

// objectOf returns a JSON object of numbers.
func objectOf[K fmt.Stringer](counts iter.Seq2[K, int]) []byte {
	b := []byte{'{'}
	for word, n := range counts {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, word.String()), ':')
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, '}')
}

func (r *Report) writeSummaries(list []*module, grouped []*group) error {
	frames := &r.counts.frames
	s := Summary{TotalInputFiles: r.counts.logs, TotalStacks: r.counts.stacks, TotalFrames: frames.Frames,
		SymbolizedFrames: frames.Frames - frames.Unnamed(), FailedFrames: frames.Unnamed(), FrameStatusCounts: FrameCounts(*frames)}
	for _, m := range list {
		elf, debug := m.statuses()
		s.ElfStatusCounts[elf]++
		s.DebugStatusCounts[debug]++
	}
	text, err := json.MarshalIndent(&s, "", "  ")
	if err != nil {
		return err
	}
	if !r.Group {
		grouped = nil
	}
	put := func(w io.Writer) error { return writeSummary(w, symsrc.VisibleJSON(text), grouped) }
	if err := r.writeFile("summary.json", put); err != nil {
		return err
	}
	switch r.SummaryJSON {
	case "":
		return nil
	case "-":
		return put(r.Stdout)
	}
	return writePath(r.SummaryJSON, put)
}

// writeSummary writes a summary, which is text without its groups, and then these one by one: there are many, and they have long names.
func writeSummary(to io.Writer, text []byte, grouped []*group) error {
	out := bufio.NewWriter(to)
	if len(grouped) > 0 {
		text = bytes.TrimSuffix(text, []byte("\n}"))
	}
	out.Write(text)
	between := ",\n  \"groups\": [\n    "
	var of []byte
	for _, g := range grouped {
		of = g.appendSummary(append(of[:0], between...))
		out.Write(of)
		between = ",\n    "
	}
	if len(grouped) > 0 {
		out.WriteString("\n  ]\n}")
	}
	out.WriteByte('\n')
	return out.Flush()
}

// noValue is written for a missing value.
const noValue = '-'

// writeRows adds the rows of a frame to the tables.
func (l *logSink) writeRows(f *fields, functions []symsrc.Frame) {
	o := f.o
	t := &l.tables[frameTable]
	b := appendNumber(l.place(t.buf, f.s), f)
	b = appendField(b, o.Address)
	b = appendField(b, o.Module.Name)
	b = appendOffset(append(b, '\t'), f)
	b = appendField(b, f.id)
	b = appendField(b, o.Hint)
	t.buf = append(b, '\n')
	t.flushIfFull(&l.rep.spool)
	if !o.Outcome.Named() {
		t = &l.tables[failedTable]
		b = appendNumber(l.place(t.buf, f.s), f)
		b = appendField(b, o.Module.Name)
		b = appendOffset(append(b, '\t'), f)
		b = appendField(b, f.id)
		b = appendField(b, target(o.Files))
		b = appendField(b, o.Outcome.String())
		t.buf = append(b, '\n')
		t.flushIfFull(&l.rep.spool)
	}
	if f.s == nil {
		return
	}
	for i := range functions {
		fr := &functions[i]
		t = &l.tables[expandedTable]
		b = appendInt(l.place(t.buf, f.s), f.s.next+i)
		b = strconv.AppendUint(append(b, '\t'), f.number, 10)
		b = appendInt(b, i)
		b = appendField(b, o.Address)
		b = appendField(b, name(fr.Func))
		b = appendField(b, name(fr.File))
		t.buf = append(appendLine(append(b, '\t'), fr), '\n')
		t.flushIfFull(&l.rep.spool)
	}
}

// place appends the log and the stack of a row.
func (l *logSink) place(b []byte, s *stack) []byte {
	b = append(b, l.name...)
	if s == nil {
		return append(b, '\t', noValue)
	}
	return appendInt(b, s.id)
}

// appendNumber appends the number of a frame in the log.
func appendNumber(b []byte, f *fields) []byte {
	if f.s == nil {
		return append(b, '\t', noValue)
	}
	return strconv.AppendUint(append(b, '\t'), f.number, 10)
}

// appendOffset appends the offset in the module as the log has it, or otherwise that of the logged address.
func appendOffset(b []byte, f *fields) []byte {
	switch o := f.o; {
	case len(o.Offset) > 0:
		return appendEscaped(b, o.Offset)
	case o.Located && !o.InSymbol:
		return strconv.AppendUint(append(b, "0x"...), o.At+o.Back, 16)
	}
	return append(b, noValue)
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(append(b, '\t'), int64(n), 10) }

// appendField appends a tab and a value, or noValue if it is empty.
func appendField[T string | []byte](b []byte, value T) []byte {
	b = append(b, '\t')
	if len(value) == 0 {
		return append(b, noValue)
	}
	return appendEscaped(b, value)
}

// appendEscaped appends a value. Tabs, line ends and backslashes are escaped as \t, \n, \r and \\, other control characters as in
// \x1b.
func appendEscaped[T string | []byte](b []byte, value T) []byte {
	begin := len(b)
	b = append(b, value...)
	if symsrc.IsOrdinary(value) && bytes.IndexByte(b[begin:], '\\') < 0 {
		return b
	}
	b = b[:begin]
	s := string(value)
	for {
		n := strings.IndexAny(s, "\t\n\r\\")
		if n < 0 {
			return symsrc.AppendVisible(b, s)
		}
		b = symsrc.AppendVisible(b, s[:n])
		switch s[n] {
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			b = append(b, `\\`...)
		}
		s = s[n+1:]
	}
}
