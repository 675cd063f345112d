package filter

import (
	"bytes"
	"errors"

	"qss-filter/ctxstate"
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
	memoryMap = []byte("==Process memory map follows")
)

// readContext takes what a line of a process's own words says of its address space.
func (f *Filter) readContext(t *thread, text []byte) {
	if f.window > 0 {
		f.window--
	}
	switch {
	case t.space.ReadDump(text, f.line):
		f.window = max(f.window, mappingWindow)
		f.mapped = true
	case bytes.Contains(text, banner):
		f.window = bannerWindow
	case bytes.Contains(text, memoryMap):
		f.window = max(f.window, mappingWindow)
	}
}

// watching tells whether every line must be looked at, whatever it holds.
func (f *Filter) watching() bool { return f.dump.open || f.window > 0 || f.ahead.holding() }

// ErrNoMappings is a file that was named as a list of mappings and is none.
var ErrNoMappings = errors.New("no mappings in it: want lines as in /proc/PID/maps")

// Preload takes a list of mappings for the processes of the log that state none themselves.
func (f *Filter) Preload(list []byte) error {
	p := &process{space: ctxstate.New().Process("")}
	n := 0
	for line := range bytes.Lines(list) {
		n++
		body, _ := cutEnd(line)
		p.space.ReadDump(body, n)
	}
	if !p.space.Dumped() {
		return ErrNoMappings
	}
	f.preload, f.mapped = p, true
	f.rescan()
	return nil
}
