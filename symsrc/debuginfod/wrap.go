package debuginfod

import (
	"cmp"
	"context"
	"path"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
)

// Wrap returns a Finder that asks next, and the servers if next has no debug information for a module with a build ID. With
// Options.Programs, that may be the one of the program that next finds.
// Without a client it returns next.
func Wrap(next symsrc.Finder, c *Client) symsrc.Finder {
	if c == nil {
		return next
	}
	return finder{next, c}
}

type finder struct {
	next   symsrc.Finder
	client *Client
}

// Find looks for the files of m. If a download is not complete in time, the answer has a Retry. Servers are asked for
// debug information only: for a program without any they could add no more than a symbol table.
func (f finder) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	local := f.next.Find(ctx, m)
	id := m.BuildID
	if id == "" && f.client.opt.Programs && local != nil && !complete(local) && elfUsable(local) && local.ElfRange == (symsrc.Range{}) {
		id = locate.FileID(local.Elf)
	}
	if _, unread := id.Unread(); unread || id == "" || ctx.Err() != nil {
		return local
	}
	if local == nil {
		local = &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: symsrc.NothingFound}
	}
	if complete(local) || local.Retry != nil { // or it is still looked for here
		return local
	}
	got := f.client.Fetch(ctx, id, Debuginfo)
	if got.Outcome == Pending {
		f.client.missed(key{id, Debuginfo}, path.Base(m.Name))
	}
	files := *local
	files.Tried = append(local.Tried[:len(local.Tried):len(local.Tried)], got.Tried...)
	merge(&files, got)
	if got.Outcome == Pending || complete(&files) || len(files.Symbols) > 0 {
		return &files
	}
	if pending := f.symbols(ctx, m, id, &files); !pending && got.Outcome == Missing && !files.Usable() && len(files.Symbols) == 0 {
		f.program(ctx, m, id, &files)
	}
	return &files
}

// program asks stores for the program of a module of which nothing else was found, by its name.
func (f finder) program(ctx context.Context, m symsrc.Module, id symsrc.BuildID, files *symsrc.Files) {
	kind := Program(cmp.Or(m.Member, m.Name))
	if kind == "" || !f.client.hasStores() {
		return
	}
	got := f.client.Fetch(ctx, id, kind)
	if got.Outcome == Pending {
		f.client.missed(key{id, kind}, path.Base(m.Name))
	}
	files.Tried = append(files.Tried, got.Tried...)
	if got.Outcome == Missing {
		return
	}
	again := files.Retry // the store may have debug information later
	if merge(files, got); files.Retry == nil {
		files.Retry = again
	}
}

// symbols asks stores for the symbol file of a module that has no debug information. It reports whether the answer is still to come.
func (f finder) symbols(ctx context.Context, m symsrc.Module, id symsrc.BuildID, files *symsrc.Files) (pending bool) {
	kind := Symbols(cmp.Or(m.Member, m.Name))
	if kind == "" || !f.client.hasStores() {
		return false
	}
	got := f.client.Fetch(ctx, id, kind)
	files.Tried = append(files.Tried, got.Tried...)
	switch got.Outcome {
	case Found:
		files.Symbols = []string{got.Path}
	case Pending:
		f.client.missed(key{id, kind}, path.Base(m.Name))
		files.Retry, files.Came, files.Awaiting = got.News, got.Came, got.Awaiting
		files.Note = join(files.Note, "debuginfod: "+got.Why)
	case Failed:
		if files.Retry == nil {
			files.Retry = got.News
		}
	}
	return got.Outcome == Pending
}

// complete reports whether servers cannot add anything.
func complete(f *symsrc.Files) bool { return f.DebugStatus == symsrc.OK && f.Usable() }

// Announcer is a Finder that can prepare for searches.
type Announcer interface {
	Announce(ms []symsrc.Module)
}

// Announce starts requests for modules that will be searched for, several at a time. It does not wait.
func (f finder) Announce(ms []symsrc.Module) {
	c := f.client
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range ms {
		if _, unread := m.BuildID.Unread(); !unread && m.BuildID != "" && len(c.announced) < maxRunning && c.fetches[key{m.BuildID, Debuginfo}] == nil {
			c.announced = append(c.announced, m)
		}
	}
	if len(c.announced) > 0 && !c.looking && c.ctx.Err() == nil {
		c.looking = true
		c.jobs.Go(f.lookAhead)
	}
}

// lookAhead asks servers for announced modules that are not complete here.
func (f finder) lookAhead() {
	c := f.client
	for {
		c.mu.Lock()
		if len(c.announced) == 0 || c.ctx.Err() != nil {
			c.announced, c.looking = nil, false
			c.mu.Unlock()
			return
		}
		m := c.announced[0]
		c.announced = c.announced[1:]
		c.mu.Unlock()
		if local := f.next.Find(c.ctx, m); c.ctx.Err() == nil && (local == nil || !complete(local) && local.Retry == nil) {
			c.fetch(key{m.BuildID, Debuginfo})
		}
	}
}

// merge adds the result of a download to files.
func merge(files *symsrc.Files, got Result) {
	files.Retry, files.Unasked = got.News, got.Outcome == Failed
	if got.Came != nil {
		files.Came, files.Awaiting = got.Came, got.Awaiting
	}
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

// elfUsable reports whether the runtime object can be read.
func elfUsable(f *symsrc.Files) bool {
	return f.Elf != "" && (f.ElfStatus == symsrc.OK || f.ElfStatus == symsrc.Incomplete)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
