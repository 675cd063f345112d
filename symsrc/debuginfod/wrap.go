package debuginfod

import (
	"context"
	"time"

	"qss-filter/symsrc"
)

// Finder finds the files of a module. What it gives is not changed afterwards.
type Finder interface {
	Find(ctx context.Context, m symsrc.Module) *symsrc.Files
}

// Wrap makes a Finder that asks next, and servers where that has no debug information of a module whose build ID is known.
// Without a client it is next itself.
func Wrap(next Finder, c *Client) Finder {
	if c == nil {
		return next
	}
	return finder{next, c}
}

type finder struct {
	next   Finder
	client *Client
}

// Find looks for the files of m. Where a download is not complete in time the answer says to ask again.
func (f finder) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	local := f.next.Find(ctx, m)
	if m.BuildID == "" || ctx.Err() != nil {
		return local
	}
	if local == nil {
		local = &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: symsrc.NothingFound}
	}
	if local.DebugStatus == symsrc.OK && local.Usable() {
		return local
	}
	got, started := f.client.find(ctx, key{m.BuildID, Debuginfo}, time.Time{})
	files := *local
	files.Tried = append(local.Tried[:len(local.Tried):len(local.Tried)], got.Tried...)
	merge(&files, got)
	if got.Outcome == Found || got.Outcome == Pending || elfUsable(local) {
		return &files
	}
	// Without debug information the symbols of the program itself are better than nothing.
	program, _ := f.client.find(ctx, key{m.BuildID, Executable}, started)
	files.Tried = append(files.Tried, program.Tried...)
	if program.Outcome == Found || program.Outcome == Pending {
		files.Note = local.Note
		merge(&files, program)
	}
	if files.Retry == nil {
		files.Retry = got.News
	}
	return &files
}

// merge puts the outcome of a download into files.
func merge(files *symsrc.Files, got Result) {
	files.Retry = got.News
	if got.Outcome != Found {
		if got.Outcome != Missing {
			files.Note = join(files.Note, "debuginfod: "+got.Why)
		}
		return
	}
	switch {
	case got.Debug:
		files.Debug, files.DebugRange, files.DebugStatus = got.Path, symsrc.Range{}, symsrc.OK
		if elfUsable(files) {
			files.Note, files.Detail = "", ""
		}
	case !elfUsable(files):
		files.Elf, files.ElfRange, files.ElfStatus = got.Path, symsrc.Range{}, symsrc.OK
		files.DebugStatus, files.Note = symsrc.Incomplete, "no .debug_info"
	}
}

// elfUsable tells whether there is a runtime object to ask.
func elfUsable(f *symsrc.Files) bool {
	return f.Elf != "" && (f.ElfStatus == symsrc.OK || f.ElfStatus == symsrc.Incomplete)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
