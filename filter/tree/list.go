package tree

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"qss-filter/filter/print"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
)

// Listed is a module in the JSON list of Modules.
type Listed struct {
	Path         string   `json:"path"`
	LogBuildID   string   `json:"log_build_id"`
	Found        string   `json:"found,omitempty"`
	FoundBuildID string   `json:"found_build_id,omitempty"`
	Effective    string   `json:"effective_build_id"`
	Mismatch     bool     `json:"mismatch"`
	Status       string   `json:"status,omitempty"`
	Tags         []string `json:"tags"`
}

// emptySource returns an empty answer for each address: a list of modules needs no names.
type emptySource struct{}

func (emptySource) Frames(context.Context, symsrc.Addr) symsrc.Answer { return symsrc.Answer{} }

// Modules writes the modules of logs to Options.Stdout: of files, and of all files below directories. It returns ErrUnread
// if some logs failed and the others count, the error of ctx if it was canceled, and another error if an input is missing.
func Modules(ctx context.Context, inputs []string, o Options) error {
	r := newRun(&o)
	for _, input := range inputs {
		logs, tree, err := r.open(input)
		if err != nil {
			return err
		}
		defer tree.close()
		for _, log := range logs {
			log.index = len(r.logs)
			r.logs = append(r.logs, log)
		}
	}
	switch err := r.listModules(ctx); {
	case err != nil:
		return err
	case r.failed.Load() > 0:
		return ErrUnread
	}
	return nil
}

// open returns the logs of an input. The caller must close the tree.
func (r *run) open(input string) ([]logFile, *tree, error) {
	info, err := os.Stat(input)
	switch {
	case err != nil:
		return nil, nil, err
	case info.IsDir():
		return walk(input, r.opt, r.noteUnread)
	}
	if info.Mode().IsRegular() { // a log that is named must be readable, one below a directory need not be
		f, err := os.Open(input)
		if err != nil {
			return nil, nil, err
		}
		f.Close()
	}
	dir, name := filepath.Split(input)
	return []logFile{{rel: filepath.ToSlash(input), tree: &tree{dir: dir}, path: name, size: info.Size(), written: info.ModTime()}}, &tree{dir: dir}, nil
}

// listModules reads all logs and writes the list of their modules.
func (r *run) listModules(ctx context.Context) error {
	r.report = &Report{groups: newGroups(), modules: map[string]*module{}}
	r.each(ctx, func(ctx context.Context, log *logFile) error {
		in, err := open(ctx, log, r.bar)
		if err != nil {
			return err
		}
		defer in.Close()
		sink := r.report.begin(log.index, log.rel)
		o := r.options(log)
		o.Symbols, o.Observe = emptySource{}, func(o *print.Observation) { sink.note(o) }
		if err := r.filter(o).Run(ctx, stream.Steady(in), io.Discard); err != nil {
			return err
		}
		r.report.mu.Lock()
		defer r.report.mu.Unlock()
		r.report.merge(sink)
		return nil
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	list := make([]Listed, 0, len(r.report.modules))
	for _, m := range r.report.sortedModules() {
		list = append(list, r.listed(ctx, m))
	}
	return writeList(r.opt.Stdout, list, r.opt.JSON, r.opt.Check)
}

// listed returns the entry of a module. With Check it has the file that was found.
func (r *run) listed(ctx context.Context, m *module) Listed {
	l := Listed{Path: m.Name, LogBuildID: m.id, Effective: m.id, Tags: []string{}}
	if m.id != "" {
		l.Tags = append(l.Tags, "LOG")
	}
	if !r.opt.Check || r.opt.Finder == nil {
		return l
	}
	files := r.opt.Finder.Find(ctx, m.Module)
	if files == nil {
		l.Status = symsrc.NotFound.String()
		return l
	}
	l.Status = files.ElfStatus.String()
	if files.ElfStatus == symsrc.NotFound && files.DebugStatus != symsrc.NotFound {
		l.Found, l.Status = files.Debug, files.DebugStatus.String()
	} else if files.ElfStatus != symsrc.NotFound {
		l.Found = files.Elf
	}
	if l.Found == "" {
		return l
	}
	l.Tags = append(l.Tags, "FOUND")
	if files.ElfRange == (symsrc.Range{}) {
		l.FoundBuildID = locate.FileID(l.Found).String()
	}
	if l.Effective == "" {
		l.Effective = l.FoundBuildID
	}
	l.Mismatch = files.ElfStatus == symsrc.MismatchBuildID ||
		m.BuildID != "" && l.FoundBuildID != "" && l.FoundBuildID != m.BuildID.String()
	if l.Mismatch {
		l.Tags = append(l.Tags, "MISMATCH")
	}
	return l
}

// writeList writes the list as JSON, or a line `path\tBuildId:id` for each module, with check followed by `\tfile\tid\tstatus`.
func writeList(out io.Writer, list []Listed, asJSON, check bool) error {
	if asJSON {
		text, err := json.Marshal(list) // on a line, as other commands do
		if err != nil {
			return err
		}
		_, err = out.Write(append(symsrc.VisibleJSON(text), '\n'))
		return err
	}
	w := bufio.NewWriter(out)
	var row []byte
	for _, l := range list {
		id := l.LogBuildID
		if id == "" {
			id = "None"
		}
		row = append(append(appendEscaped(row[:0], l.Path), "\tBuildId:"...), id...)
		if check {
			row = appendField(appendField(row, l.Found), l.FoundBuildID)
			verdict := l.Status
			if l.Mismatch {
				verdict = "MISMATCH"
			}
			row = appendField(row, verdict)
		}
		w.Write(append(row, '\n'))
	}
	return w.Flush()
}
