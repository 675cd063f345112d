package tree

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"

	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

var inWord = []byte("in ")

// unknownName is written for an unknown function or file.
const unknownName = "??"

// counts are numbers of logs, stacks and frames, of one log or of all.
type counts struct {
	// withFrames are the logs with frames.
	logs, withFrames, stacks int
	frames                   resolve.Tally
}

func (c *counts) add(d counts) {
	c.logs += d.logs
	c.withFrames += d.withFrames
	c.stacks += d.stacks
	c.frames.Add(&d.frames)
}

// logSink collects what the filter of one log observes.
type logSink struct {
	rep   *Report
	index int
	// rel is the path of the log, and name the same as it is written in tables.
	rel, name string
	// stacks receives the list of stacks; it may be nil. below is set if the functions are written below their frames.
	stacks io.Writer
	below  bool
	bar    *progress
	names  *print.Names // of the functions in stacks and below frames

	counts counts
	tables [3]rows
	kept   bool
	open   map[any]*stack
	order  []*stack // stacks not yet written, in the order of their numbers
	held   int      // bytes of text of these stacks
	err    error

	modules map[string]*seenModule
	places  places
	seq     int
	key     []byte
	// lastBelow is the last line with functions below it, lastStack its stack.
	lastBelow int
	lastStack *stack
	lines     [][]byte
	text      []byte
	single    [1]symsrc.Frame // the result of functions, if it is not from an answer
	heads     triage.Headlines
	fault     *stack // the last stack of a fault

	goroutines goroutines
}

// observe adds a frame.
func (l *logSink) observe(o *print.Observation) {
	s := l.stackOf(o)
	functions := o.Functions(&l.single)
	f := fields{o: o, s: s, id: o.BuildID, failed: o.Outcome != resolve.OK && !named(o)}
	if o.Thread == any(l.goroutines.thread) && s != nil { // no frame of the filter: it counts none, and tables of frames have none
		s.frames++
		l.rebuild(&f, functions)
		s.next += len(functions)
		return
	}
	l.counts.frames.Count(o.Outcome)
	l.bar.frame(!o.Outcome.Named())
	if l.rep.Nameless != nil && !o.Outcome.Named() {
		l.rep.Nameless(o.Module)
	}
	l.note(o)
	if len(f.id) == 0 && o.Module.BuildID != "" {
		f.id = []byte(o.Module.BuildID.String())
	}
	if s != nil {
		f.number = uint64(s.frames)
		if o.Numbered {
			f.number = o.Number
		}
		s.frames++
	}
	l.writeRows(&f, functions)
	l.rebuild(&f, functions)
	if s != nil {
		s.next += len(functions)
	}
}

// named reports whether the log names a frame, and nothing was asked about it: it stays as it is.
func named(o *print.Observation) bool { return o.Outcome == resolve.InLog && o.Unasked != "" }

// fields are the values of the rows of a frame.
type fields struct {
	o      *print.Observation
	s      *stack
	number uint64
	id     []byte
	failed bool
}

// rebuild writes the functions of a frame as lines with new numbers. It adds them to the text and the group of the stack, and to the
// lines below the frame.
func (l *logSink) rebuild(f *fields, functions []symsrc.Frame) {
	o, s := f.o, f.s
	l.lines, l.text = l.lines[:0], l.text[:0]
	shown := functions
	if l.names != nil {
		shown = l.names.InWords(functions)
	}
	for i := range functions {
		fr := &shown[i]
		start := len(l.text)
		if s != nil {
			l.text = append(appendIndex(l.text, s.next+i), ' ')
		}
		switch {
		case named(o) && s != nil, f.failed && len(o.Address)+len(o.Hint)+len(o.Module.Name) == 0:
			l.text = append(l.text, bytes.TrimLeft(o.Rest, " \t")...)
		case f.failed:
			l.text = appendNameless(l.text, f, fr)
		default:
			l.text = appendFunction(l.text, o.Address, fr)
		}
		line := l.text[start:len(l.text):len(l.text)]
		l.lines = append(l.lines, line)
		if s == nil {
			continue
		}
		l.add(s, func(b []byte) []byte { return append(b, line...) })
		if l.rep.grouping() {
			l.group(f, &functions[i])
		}
	}
	if !l.below || named(o) || s == nil && f.failed {
		return
	}
	o.Below = l.lines
	o.Apart = s != nil && l.lastBelow == o.Line-1 && l.lastStack == s
	l.lastBelow, l.lastStack = o.Line, s
}

// group adds a function to the group key of a stack. For a frame without a name it adds what the log has instead.
func (l *logSink) group(f *fields, fr *symsrc.Frame) {
	s, o := f.s, f.o
	own := s.signature.Add(&triage.Frame{Func: fr.Func, File: fr.File, Line: fr.Line, Module: o.Module.Name, At: o.At + o.Back, Located: o.Located, Foreign: fr.Foreign}, &l.rep.Own)
	at := place{own: own, outcome: o.Outcome, Func: fr.Func, File: fr.File, line: fr.Line, mark: fr.Mark(), Module: path.Base(o.Module.Name)}
	switch {
	case f.failed:
		at.Nameless = true
		if o.Module.Name == "" {
			at.Module = ""
		} else {
			at.Module = string(appendInModule([]byte(at.Module), o))
		}
		if at.Func == "" && at.Module == "" {
			at.Func = cmp.Or(string(o.Address), string(o.Rest))
		}
		s.key.WriteString(at.Func)
		s.key.WriteByte(0)
		s.key.WriteString(at.Module)
		s.key.WriteByte(0)
		s.key.Write(f.id)
	case fr.Func == "":
		s.key.WriteByte(0)
		s.key.WriteString(at.Module)
		s.key.WriteByte(0)
		s.key.WriteString(at.at())
	default:
		s.key.WriteString(fr.Func)
	}
	s.key.WriteByte('\n')
	if own && l.rep.Sources != nil && len(s.sources) < sourcesOfBug && fr.File != "" && fr.Line > 0 && len(o.Frames) > 0 {
		s.sources = append(s.sources, sourceAt{len(s.shown), symsrc.Place{Module: o.Module, Files: o.Files, Path: fr.File,
			Local: l.local(fr), MD5: fr.MD5, Line: fr.Line}})
	}
	if len(s.shown) < shownFrames {
		s.shown = append(s.shown, l.places.of(&at))
	}
}

// local returns the path of the source of a function on this machine.
func (l *logSink) local(fr *symsrc.Frame) string {
	if l.names == nil {
		return fr.File
	}
	return l.names.Mapped([]symsrc.Frame{*fr})[0].File
}

func appendIndex(dst []byte, n int) []byte { return strconv.AppendInt(append(dst, '#'), int64(n), 10) }

// appendFunction appends `addr in func file:line`.
func appendFunction(dst, addr []byte, fr *symsrc.Frame) []byte {
	if len(addr) > 0 {
		dst = append(append(dst, addr...), ' ')
	}
	dst = append(dst, inWord...)
	dst = append(append(dst, name(fr.Func)...), ' ')
	return appendLine(append(append(dst, name(fr.File)...), ':'), fr)
}

// appendNameless appends `addr in ?? ??:0 (libf.so+0x10) (BuildId: …)`, with the function name of the log if it has one.
func appendNameless(dst []byte, f *fields, fr *symsrc.Frame) []byte {
	o, m := f.o, &f.o.Module
	dst = appendFunction(dst, o.Address, fr)
	if m.Name == "" {
		return dst
	}
	dst = symsrc.AppendVisible(append(dst, " ("...), m.Name)
	if m.Member != "" {
		dst = symsrc.AppendVisible(append(dst, '!'), m.Member)
	}
	dst = append(appendInModule(dst, o), ')')
	if len(f.id) > 0 {
		dst = append(append(append(dst, " (BuildId: "...), f.id...), ')')
	}
	return dst
}

// appendInModule appends the offset of a frame in its module, such as `+0x10`, if it is known.
func appendInModule(dst []byte, o *print.Observation) []byte {
	switch {
	case o.InSymbol:
		return dst
	case o.Located:
		return strconv.AppendUint(append(dst, "+0x"...), o.At+o.Back, 16)
	case len(o.Offset) > 0:
		return append(append(dst, '+'), o.Offset...)
	}
	return dst
}

// appendLine appends the line number of a function.
func appendLine(dst []byte, fr *symsrc.Frame) []byte {
	return append(strconv.AppendInt(dst, int64(fr.Line), 10), fr.Mark()...)
}

func name(s string) string {
	if s == "" {
		return unknownName
	}
	return symsrc.Visible(s)
}

// module is a module of all logs.
type module struct {
	symsrc.Module
	id    string // build ID as the log has it first
	files *symsrc.Files
	named bool // files come from the answer of a named frame
	// log and seq are the position of its first frame: the index of the log, and its number among the modules of the log.
	log, seq int
}

// seenModule is a module of one log. named is set if files come from the answer of a named frame.
type seenModule struct {
	symsrc.Module
	id    string
	files *symsrc.Files
	named bool
	seq   int
}

// note records the module of a frame.
func (l *logSink) note(o *print.Observation) {
	if !o.Located {
		return
	}
	l.key = append(append(append(l.key[:0], o.Module.Name...), 0), o.Module.BuildID...)
	m := l.modules[string(l.key)]
	if m == nil {
		m = &seenModule{Module: o.Module, id: string(o.BuildID), seq: l.seq}
		if m.id == "" {
			m.id = o.Module.BuildID.String()
		}
		l.seq++
		l.modules[string(l.key)] = m
	}
	if o.Files != nil && (!m.named || o.Outcome == resolve.OK) { // prefer the files of a frame that has a name
		m.files, m.named = o.Files, o.Outcome == resolve.OK
	}
}

// merge adds the modules of a log. The caller must hold r.mu.
func (r *Report) merge(l *logSink) {
	for key, m := range l.modules {
		have := r.modules[key]
		if have == nil {
			r.modules[key] = &module{m.Module, m.id, m.files, m.named, l.index, m.seq}
			continue
		}
		if cmp.Or(cmp.Compare(l.index, have.log), cmp.Compare(m.seq, have.seq)) < 0 {
			have.id, have.log, have.seq = m.id, l.index, m.seq
		}
		if m.files != nil && (!have.named || m.named) {
			have.files, have.named = m.files, m.named
		}
	}
}

// sortedModules returns the modules in the order of the logs.
func (r *Report) sortedModules() []*module {
	return slices.SortedFunc(maps.Values(r.modules), func(a, b *module) int {
		return cmp.Or(cmp.Compare(a.log, b.log), cmp.Compare(a.seq, b.seq))
	})
}

// find finds the files of modules whose answers have none, since they are from a cache: reports must not depend on that.
func (r *Report) find(list []*module) {
	for _, m := range list {
		if m.files == nil && r.Finder != nil {
			m.files = r.Finder.Find(context.Background(), m.Module)
		}
	}
}

// statuses returns the status of the module's file and of its debug information.
func (m *module) statuses() (elf, debug symsrc.Status) {
	if m.files == nil {
		return symsrc.UnknownError, symsrc.UnknownError
	}
	return m.files.ElfStatus, m.files.DebugStatus
}

// target returns the file in which the addresses of a module are looked up.
func target(f *symsrc.Files) string {
	if f == nil {
		return ""
	}
	return cmp.Or(f.Elf, f.Debug)
}

// writeElfList writes elf_list.tsv.
func writeElfList(w io.Writer, list []*module) error {
	b := bufio.NewWriter(w)
	b.WriteString("orig_elf\ttarget_elf\telf_status\tdebug_status\tbuild_id\tnote\n")
	var row []byte
	for _, m := range list {
		elf, debug := m.statuses()
		note := ""
		if m.files != nil {
			note = m.files.Note
		}
		row = row[:0]
		for _, value := range [...]string{m.Name, target(m.files), elf.String(), debug.String(), m.id, note} {
			row = appendField(row, value)
		}
		b.Write(row[1:])
		b.WriteByte('\n')
	}
	return b.Flush()
}
