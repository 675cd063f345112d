package tree

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"sync"
	"unicode/utf8"

	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// The tables with a row per frame, as the seed of QSS has them: Con.md §1.3, §3.3, §4.3.
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

// ReportOptions say what a report has.
type ReportOptions struct {
	// Report is the directory of the tables and of summary.json.
	Report string
	// SummaryJSON is a path for the summary beside that in Report, "-" for Stdout; "" for none.
	SummaryJSON string
	// Group counts the stacks that are the same; HTML is the path of a page with them, "" for none.
	Group bool
	HTML  string
	// Finder finds the files of modules whose answers a cache has kept.
	Finder symsrc.Finder
	Stdout io.Writer
}

// Report collects what filters say of their frames, and writes it at the end: frames.tsv, elf_list.tsv, failed_frames.tsv,
// expanded_frames.tsv, summary.json.
type Report struct {
	ReportOptions
	files  *outputs
	title  string
	groups *groups
	spool  spool
	// stream is the one log of a report that is not of a tree.
	stream *logSink

	mu      sync.Mutex
	sinks   []*logSink
	counts  counts
	modules map[string]*module
}

// NewReport makes a report, once that could be written. The tables of what Observe takes have - in the place of a log's name.
func NewReport(o ReportOptions) (*Report, error) {
	files, err := openOutputs(o.Report)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	r := &Report{ReportOptions: o, files: files, groups: newGroups(), modules: map[string]*module{}, title: "standard input"}
	r.stream = r.begin(0, "-")
	if err := r.creatable(); err != nil {
		r.discard()
		return nil, err
	}
	return r, nil
}

// creatable fails where the report could not be written.
func (r *Report) creatable() error {
	if err := r.files.creatable("summary.json"); err != nil {
		return err
	}
	if err := creatable(r.HTML); err != nil {
		return wrong("HTML", "", err)
	}
	if err := creatable(r.SummaryJSON); err != nil {
		return wrong("SummaryJSON", "", err)
	}
	return nil
}

// grouping reports whether stacks are compared.
func (r *Report) grouping() bool { return r.Group || r.HTML != "" }

// Observe takes the frames of a stream, as filter.Options.Observe. It is for one goroutine.
func (r *Report) Observe(o *print.Observation) { r.stream.observe(o) }

// begin makes the sink of a log; index is its place among the logs.
func (r *Report) begin(index int, name string) *logSink {
	return &logSink{rep: r, index: index, name: string(appendEscaped(nil, name)), open: map[any]*stack{},
		modules: map[string]*seenModule{}, lastBelow: -1}
}

// end ends the stacks of a log.
func (l *logSink) end() error {
	for _, s := range l.order {
		l.finish(s)
	}
	l.settle(0)
	return l.err
}

// keep adds what was said of a log to the report.
func (l *logSink) keep() {
	l.kept = true
	for i := range l.tables {
		l.tables[i].flush(&l.rep.spool)
		l.tables[i].buf = nil
	}
	l.counts.logs = 1
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

// discard forgets a log that was not kept.
func (l *logSink) discard() {
	if l.kept {
		return
	}
	for i := range l.tables {
		l.rep.spool.drop(l.tables[i].chunks)
	}
	l.rep.groups.drop(l)
}

// discard lets go of what waits for Close.
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
	for i := range tables {
		if err := r.writeTable(i); err != nil {
			return err
		}
	}
	list := r.elfs()
	r.find(list)
	if err := r.writeFile("elf_list.tsv", func(w io.Writer) error { return writeElfs(w, list) }); err != nil {
		return err
	}
	grouped := r.groups.sorted()
	if r.Group {
		if err := r.writeFile("groups.tsv", func(w io.Writer) error { return r.writeGroups(w, grouped) }); err != nil {
			return err
		}
	}
	if r.HTML != "" {
		if err := writePath(r.HTML, func(w io.Writer) error { return r.writePage(w, grouped, list) }); err != nil {
			return err
		}
	}
	return r.writeSummaries(list, grouped)
}

func (r *Report) writeFile(name string, write func(io.Writer) error) error {
	w, err := r.files.create(name)
	if err != nil {
		return err
	}
	return w.fill(write)
}

func writePath(path string, write func(io.Writer) error) error {
	w, err := create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return w.fill(write)
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

// Summary is summary.json, as the seed of QSS has it, with the state of debug information, and the groups where they were asked for.
type Summary struct {
	TotalInputFiles  int `json:"total_input_files"`
	TotalStacks      int `json:"total_stacks"`
	TotalFrames      int `json:"total_frames"`
	SymbolizedFrames int `json:"symbolized_frames"`
	FailedFrames     int `json:"failed_frames"`
	// FrameStatusCounts are the frames by their outcome. OK and IN_LOG, those that the log names, are symbolized.
	FrameStatusCounts FrameCounts  `json:"frame_status_counts"`
	ElfStatusCounts   StatusCounts `json:"elf_status_counts"`
	// DebugStatusCounts are the modules by the status of their debug information: INCOMPLETE where there is none, MISMATCH_BUILD_ID
	// where it is of another build.
	DebugStatusCounts StatusCounts   `json:"debug_status_counts"`
	Groups            []GroupSummary `json:"groups,omitempty"`
}

// StatusCounts are the modules of each status; in JSON those that there are, by their codes.
type StatusCounts [symsrc.NotVerified + 1]int

// MarshalJSON writes an object in the order of the codes.
func (c StatusCounts) MarshalJSON() ([]byte, error) {
	return objectOf(func(yield func(symsrc.Status, int) bool) {
		for status, n := range c {
			if n > 0 && !yield(symsrc.Status(status), n) {
				return
			}
		}
	}), nil
}

// FrameCounts are frames by their outcome; in JSON those outcomes that there are, by their words.
type FrameCounts resolve.Tally

// MarshalJSON writes an object in the order of the outcomes.
func (c FrameCounts) MarshalJSON() ([]byte, error) { return objectOf((*resolve.Tally)(&c).All), nil }

// objectOf returns an object of numbers.
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
	if r.Group {
		s.Groups = summarize(grouped)
	}
	text, err := json.MarshalIndent(&s, "", "  ")
	if err != nil {
		return err
	}
	text = append(symsrc.VisibleJSON(text), '\n')
	put := func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
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

// none stands for a value that there is not.
const none = '-'

// write3 adds a frame to the tables.
func (l *logSink) write3(f *fields, functions []symsrc.Frame) {
	o := f.o
	t := &l.tables[frameTable]
	b := appendPair(l.place(t.buf, f.s), f)
	b = appendField(b, o.Address)
	b = appendField(b, o.Module.Name)
	b = appendOffset(append(b, '\t'), f)
	b = appendField(b, f.id)
	b = appendField(b, o.Hint)
	t.buf = append(b, '\n')
	t.add(&l.rep.spool)
	if f.failed {
		t = &l.tables[failedTable]
		b = appendPair(l.place(t.buf, f.s), f)
		b = appendField(b, o.Module.Name)
		b = appendOffset(append(b, '\t'), f)
		b = appendField(b, f.id)
		b = appendField(b, target(o.Files))
		b = appendField(b, o.Outcome.String())
		t.buf = append(b, '\n')
		t.add(&l.rep.spool)
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
		t.add(&l.rep.spool)
	}
}

// place writes which stack a row is of.
func (l *logSink) place(b []byte, s *stack) []byte {
	b = append(b, l.name...)
	if s == nil {
		return append(b, '\t', none)
	}
	return appendInt(b, s.id)
}

// appendPair writes a frame's number in the log.
func appendPair(b []byte, f *fields) []byte {
	if f.s == nil {
		return append(b, '\t', none)
	}
	return strconv.AppendUint(append(b, '\t'), f.number, 10)
}

// appendOffset writes the offset in the module as logged; in markup, that of the address that is logged.
func appendOffset(b []byte, f *fields) []byte {
	switch o := f.o; {
	case len(o.Offset) > 0:
		return appendEscaped(b, o.Offset)
	case o.Located:
		return strconv.AppendUint(append(b, "0x"...), o.At+o.Back, 16)
	}
	return append(b, none)
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(append(b, '\t'), int64(n), 10) }

// appendField writes a value, or a hyphen for none.
func appendField[T string | []byte](b []byte, value T) []byte {
	b = append(b, '\t')
	if len(value) == 0 {
		return append(b, none)
	}
	return appendEscaped(b, value)
}

// appendEscaped writes a value with \t, \n, \r and \\ for what would end it, or be one of these, and \x1b for other control
// characters.
func appendEscaped[T string | []byte](b []byte, value T) []byte {
	s := string(value)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\\':
			b = append(b, `\\`...)
		default:
			_, n := utf8.DecodeRuneInString(s[i:])
			b = symsrc.AppendVisible(b, s[i:i+n])
			i += n - 1
		}
	}
	return b
}
