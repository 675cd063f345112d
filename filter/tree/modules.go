package tree

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"maps"
	"slices"

	"qss-filter/filter/print"
	"qss-filter/symsrc"
)

// module is one of the modules of all logs.
type module struct {
	symsrc.Module
	id    string // as first written
	files *symsrc.Files
	// log and seq are where it was first.
	log, seq int
}

// seenModule is a module of one log.
type seenModule struct {
	symsrc.Module
	id    string
	files *symsrc.Files
	seq   int
}

// note notes the module of a frame.
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
	if o.Files != nil {
		m.files = o.Files
	}
}

// merge adds the modules of a log. Its caller holds the lock.
func (r *Report) merge(l *logSink) {
	for key, m := range l.modules {
		have := r.modules[key]
		if have == nil {
			r.modules[key] = &module{m.Module, m.id, m.files, l.index, m.seq}
			continue
		}
		if cmp.Or(cmp.Compare(l.index, have.log), cmp.Compare(m.seq, have.seq)) < 0 {
			have.id, have.log, have.seq = m.id, l.index, m.seq
		}
		if m.files != nil {
			have.files = m.files
		}
	}
}

// elfs returns the modules in the order of the logs.
func (r *Report) elfs() []*module {
	return slices.SortedFunc(maps.Values(r.modules), func(a, b *module) int {
		return cmp.Or(cmp.Compare(a.log, b.log), cmp.Compare(a.seq, b.seq))
	})
}

// find looks for the files of modules whose answers did not say them: a cache has kept them, and reports must not depend on that.
func (r *Report) find(list []*module) {
	for _, m := range list {
		if m.files == nil && r.Finder != nil {
			m.files = r.Finder.Find(context.Background(), m.Module)
		}
	}
}

// statuses are those of the module's file and of its debug information.
func (m *module) statuses() (elf, debug symsrc.Status) {
	if m.files == nil {
		return symsrc.UnknownError, symsrc.UnknownError
	}
	return m.files.ElfStatus, m.files.DebugStatus
}

// target is the file that a module's addresses are looked up in.
func target(f *symsrc.Files) string {
	if f == nil {
		return ""
	}
	return cmp.Or(f.Elf, f.Debug)
}

// writeElfs writes elf_list.tsv.
func writeElfs(w io.Writer, list []*module) error {
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
