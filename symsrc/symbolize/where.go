package symbolize

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/debuginfod"
	"qss-filter/symsrc/symbolize/batch"
)

// WhereOptions are the means to find a module.
type WhereOptions struct {
	Finder symsrc.Finder
	// WithPrefix returns the known build IDs that begin with some digits.
	WithPrefix func(ctx context.Context, digits string) []symsrc.BuildID
	// FileID returns the build ID of a file, "" for none.
	FileID func(path string) symsrc.BuildID
	// States returns what is known of the servers that the finder asks. It may be nil.
	States func() []debuginfod.State
	// JSON is set if the answer is a JSON object.
	JSON bool
}

// leastDigits is the length of the shortest prefix of a build ID.
const leastDigits = 8

// place is a file of a module, with the result of the search for it.
type place struct {
	Path   string `json:"path,omitempty"`
	Status string `json:"status"`
}

// tried is a place that was searched, with what it lacked.
type tried struct {
	Place  string `json:"place"`
	Result string `json:"result,omitempty"`
}

// found is how a module was found.
type found struct {
	BuildID    string   `json:"build_id"`
	Module     string   `json:"module,omitempty"`
	Program    place    `json:"program"`
	Debug      place    `json:"debug"`
	Symbols    []string `json:"symbols"`
	Unverified bool     `json:"unverified"`
	Note       string   `json:"note,omitempty"`
	Detail     string   `json:"detail,omitempty"`
	Tried      []tried  `json:"tried"`

	Servers []debuginfod.State `json:"servers,omitempty"`
}

// Where writes how a module is found, by its build ID in hexadecimal digits, by the first eight of these or more, or by its path. ok is
// false if none of its files can be used.
func (o *WhereOptions) Where(ctx context.Context, what string, out io.Writer) (ok bool, err error) {
	m, err := o.module(ctx, what)
	if err != nil {
		return false, err
	}
	files := o.Finder.Find(ctx, m)
	if files == nil {
		files = &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
	}
	f := found{BuildID: o.buildID(m, files).String(), Module: m.Name, Symbols: append([]string{}, files.Symbols...), Tried: []tried{},
		Program: place{files.ElfRange.Of(files.Elf), files.ElfStatus.String()}, Debug: place{files.DebugRange.Of(files.Debug), files.DebugStatus.String()},
		Unverified: files.Unverified, Note: files.Note, Detail: files.Detail}
	for i, where := range files.Tried {
		t := tried{Place: where}
		if i < len(files.Lacked) {
			t.Result = files.Lacked[i]
		}
		f.Tried = append(f.Tried, t)
	}
	if o.States != nil {
		f.Servers = o.States()
	}
	text := f.text()
	if o.JSON {
		text = f.json()
	}
	_, err = out.Write(text)
	return files.Usable() || len(files.Symbols) > 0, err
}

// module returns the module that is meant.
func (o *WhereOptions) module(ctx context.Context, what string) (m symsrc.Module, err error) {
	id, ok := symsrc.ParseUUID(what)
	if len(what) == 2*16+4 && ok {
		what = id.String()
	}
	if !ok || len(what) < leastDigits || strings.ContainsRune(what, filepath.Separator) {
		return batch.Module(what, ""), nil
	}
	switch list := o.WithPrefix(ctx, strings.ToLower(what)); {
	case len(list) == 1:
		id = list[0]
	case len(list) > 1 && list[0] != id: // the shortest is the first
		var all []string
		for _, one := range list {
			all = append(all, one.String())
		}
		return m, fmt.Errorf("%s: %d build IDs begin so: %s", what, len(list), strings.Join(all, ", "))
	}
	return symsrc.Module{BuildID: id}, nil
}

// buildID returns the build ID of a module: that which was asked for, or that of the file that was found.
func (o *WhereOptions) buildID(m symsrc.Module, files *symsrc.Files) symsrc.BuildID {
	switch {
	case m.BuildID != "":
		return m.BuildID
	case files.Elf != "" && files.ElfRange == (symsrc.Range{}) && files.ElfStatus != symsrc.NotFound:
		return o.FileID(files.Elf)
	case files.Debug != "" && files.DebugRange == (symsrc.Range{}) && files.DebugStatus == symsrc.OK:
		return o.FileID(files.Debug)
	}
	return ""
}

// json returns the answer as a line of JSON.
func (f *found) json() []byte {
	text, err := json.Marshal(f)
	if err != nil {
		return []byte("{}\n") // cannot happen
	}
	return append(symsrc.VisibleJSON(text), '\n')
}

// text returns the answer as lines.
func (f *found) text() []byte {
	var b []byte
	row := func(key, value string) {
		if value != "" {
			b = fmt.Appendf(b, "%-10s %s\n", key, symsrc.Visible(value))
		}
	}
	id := f.BuildID
	if id == "" && f.Program.Status == symsrc.OK.String() {
		id = "none"
	}
	row("build ID", id)
	row("module", f.Module)
	row("program", strings.TrimSpace(f.Program.Status+" "+f.Program.Path))
	row("debug", strings.TrimSpace(f.Debug.Status+" "+f.Debug.Path))
	for _, path := range f.Symbols {
		row("symbols", path)
	}
	if f.Unverified {
		row("note", "unverified: there is no build ID to compare")
	}
	row("note", f.Note)
	row("detail", f.Detail)
	for _, t := range f.Tried {
		if t.Result != "" {
			t.Place += " (" + t.Result + ")"
		}
		row("tried", t.Place)
	}
	for _, s := range f.Servers {
		row("server", s.Server+": "+s.State)
	}
	return b
}
