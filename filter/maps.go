package filter

import (
	"bytes"
	"errors"
	"hash/maphash"

	"qss-filter/ctxstate"
	"qss-filter/filter/record"
	"qss-filter/symsrc"
)

// mappingSpaces are those of a mapping that an address of a module may be of.
var mappingSpaces = [...]symsrc.Space{ctxstate.Linked: symsrc.Linked, ctxstate.InFile: symsrc.InFile,
	ctxstate.InImage: symsrc.InImage, ctxstate.InText: symsrc.InText}

// How many lines behind one that announces something are looked at whatever they hold: behind Android's banner stand the
// process and the build ID, behind a mapping the next one.
const (
	bannerWindow  = 40
	mappingWindow = 2
)

var (
	banner    = []byte("*** *** ***")
	memoryMap = []byte("Process memory map follows") // behind the prefix ==PID==
)

// readContext takes what a line of a process's own words says of its address space.
func (f *Filter) readContext(t *thread, text []byte) {
	if f.window > 0 {
		f.window--
	}
	f.readBuildID(t, text)
	switch {
	case t.space.ReadDump(text, f.line):
		f.recorder.listed(t.process)
		f.window = max(f.window, mappingWindow)
		f.mapped = true
	case bytes.Contains(text, banner):
		f.window = bannerWindow
	case bytes.Contains(text, memoryMap):
		f.window = max(f.window, mappingWindow)
	}
}

// maxBuildIDs bounds the build IDs remembered of all processes; beyond it all are forgotten. maxFileName is the longest
// name of a file.
const (
	maxBuildIDs = 1 << 15
	maxFileName = 255
)

var (
	dartBuildID    = []byte("build_id: '")
	moduleHeadline = []byte("Module ")
	buildIDWord    = []byte("build-id")
)

// readBuildID takes a build ID that stands elsewhere than at a frame: `build_id: '369f…'` above the frames of a Dart program, and
// systemd-coredump's `Module libfoo.so from rpm foo-1.2.x86_64, build-id=67f5…` or `Module libfoo.so with build-id 67f5…`.
func (f *Filter) readBuildID(t *thread, text []byte) {
	if i := bytes.Index(text, dartBuildID); i >= 0 {
		rest := text[i+len(dartBuildID):]
		if end := bytes.IndexByte(rest, '\''); end >= 0 {
			if id, ok := symsrc.ParseBuildID(rest[:end]); ok {
				t.dart = id
				f.recorder.note(t.process, record.Context{Type: record.BuildID, Name: string(dartLibrary), BuildID: id})
			}
		}
		return
	}
	i := bytes.Index(text, buildIDWord)
	if i < 0 {
		return
	}
	head := bytes.Index(text[:i], moduleHeadline)
	if head < 0 {
		return
	}
	name, _, _ := bytes.Cut(text[head+len(moduleHeadline):i], []byte(" "))
	digits := bytes.TrimLeft(text[i+len(buildIDWord):], "= ")
	if end := bytes.IndexAny(digits, " .,)"); end >= 0 {
		digits = digits[:end]
	}
	id, ok := symsrc.ParseBuildID(digits)
	name = name[bytes.LastIndexByte(name, '/')+1:]
	if !ok || len(name) == 0 || len(name) > maxFileName {
		return
	}
	file := string(name)
	f.origins.addBuildID(t.process, file, id)
	f.recorder.note(t.process, record.Context{Type: record.BuildID, Name: file, BuildID: id})
}

// standIn returns the process whose mappings count for one that has stated none: those named on the command line, those of the
// running processes that write the log, or those of lines without a prefix, where no other process of the log could have
// stated them.
func (f *Filter) standIn(p *process, addr uint64) *process {
	o := f.origins
	switch {
	case f.preload != nil:
		return f.preload
	case !o.nobody.space.Empty() && o.nobody.anonymous && len(o.processes) == 2:
		return o.nobody.process
	case f.opt.Maps != nil:
		if live := f.running(addr); live != nil {
			return live
		}
	}
	return p
}

// running returns the mappings of a running process that cover an address. Where several processes map different things there,
// the log does not tell which of them is meant, and there is none.
func (f *Filter) running(addr uint64) *process {
	var at *ctxstate.Mapping
	var found *process
	for _, list := range f.opt.Maps() {
		p := f.read(list)
		m, ok := p.space.Resolve(addr)
		switch {
		case !ok:
		case at == nil:
			at, found = m, p
		case at.Module.Name != m.Module.Name || at.ModuleAddr(addr) != m.ModuleAddr(addr):
			return nil
		}
	}
	return found
}

// maxLive bounds the lists of running processes that are remembered.
const maxLive = 64

// read returns the process of a list, which is likely to be one that was read before.
func (f *Filter) read(list []byte) *process {
	key := maphash.Bytes(seed, list)
	p := f.live[key]
	if p == nil {
		if f.live == nil || len(f.live) >= maxLive {
			f.live = map[uint64]*process{}
		}
		p = newPreload(list)
		f.live[key] = p
	}
	return p
}

var seed = maphash.MakeSeed()

// watching reports whether every line must be looked at, whatever it holds.
func (f *Filter) watching() bool { return f.dump.open || f.window > 0 || f.ahead.holding() }

// ErrNoMappings is a file that was named as a list of mappings and is none.
var ErrNoMappings = errors.New("no mappings in it: want lines as in /proc/PID/maps")

// Preload takes a list of mappings for the processes of the log that state none themselves.
func (f *Filter) Preload(list []byte) error {
	p := newPreload(list)
	if !p.space.Dumped() {
		return ErrNoMappings
	}
	f.preloaded(p)
	return nil
}

// preloaded takes mappings for the processes of the log that state none themselves.
func (f *Filter) preloaded(p *process) {
	f.preload, f.mapped = p, true
	f.rescan()
}

// newPreload reads a list of mappings.
func newPreload(list []byte) *process {
	p := &process{space: ctxstate.New().Process("")}
	n := 0
	for line := range bytes.Lines(list) {
		n++
		body, _ := cutEnd(line)
		p.space.ReadDump(body, n)
	}
	return p
}
