package debuginfod

import (
	"context"

	"qss-filter/symsrc"
)

// Wrap makes a Finder that asks next, and servers where that has no debug information of a module whose build ID is known.
// Without a client it is next itself.
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

// Find looks for the files of m. Where a download is not complete in time the answer says to ask again. Servers are asked once,
// for debug information: of a program that has none they could only add a symbol table.
func (f finder) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	local := f.next.Find(ctx, m)
	if m.BuildID == "" || ctx.Err() != nil {
		return local
	}
	if local == nil {
		local = &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: symsrc.NothingFound}
	}
	if complete(local) {
		return local
	}
	got := f.client.Fetch(ctx, m.BuildID, Debuginfo)
	files := *local
	files.Tried = append(local.Tried[:len(local.Tried):len(local.Tried)], got.Tried...)
	merge(&files, got)
	return &files
}

// complete reports whether servers could add nothing.
func complete(f *symsrc.Files) bool { return f.DebugStatus == symsrc.OK && f.Usable() }

// Announcer is told of modules that are going to be looked for.
type Announcer interface {
	Announce(ms []symsrc.Module)
}

// Announce has servers asked for modules that are going to be looked for, several at a time, and waits for nothing.
func (f finder) Announce(ms []symsrc.Module) {
	c := f.client
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range ms {
		if m.BuildID != "" && len(c.announced) < maxRunning && c.fetches[key{m.BuildID, Debuginfo}] == nil {
			c.announced = append(c.announced, m)
		}
	}
	if len(c.announced) > 0 && !c.looking && c.ctx.Err() == nil {
		c.looking = true
		c.jobs.Go(f.lookAhead)
	}
}

// lookAhead asks servers for the modules announced of which there is too little here.
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
		if local := f.next.Find(c.ctx, m); c.ctx.Err() == nil && (local == nil || !complete(local)) {
			c.fetch(key{m.BuildID, Debuginfo})
		}
	}
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

// elfUsable reports whether there is a runtime object to ask.
func elfUsable(f *symsrc.Files) bool {
	return f.Elf != "" && (f.ElfStatus == symsrc.OK || f.ElfStatus == symsrc.Incomplete)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
