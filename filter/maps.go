package filter

import (
	"qss-filter/filter/mappings"
	"qss-filter/filter/resolve"
)

// readContext takes what a line of a process's own words says of its address space.
func (f *Filter) readContext(t *resolve.Thread, text []byte) {
	if f.window > 0 {
		f.window--
	}
	window := mappings.Announces(text)
	mapping, file, id := f.resolver.ApplyListed(t, text, f.line)
	if file != "" {
		f.out.BuildID(t.Process, file, id)
	}
	if mapping {
		f.out.Listed(t.Process)
		window = mappings.Window
	}
	f.window = max(f.window, window)
}

// Preload takes a list of mappings for the processes of the log that state none themselves.
func (f *Filter) Preload(list []byte) error {
	defer f.rescan()
	return f.resolver.Preload(list)
}

// watching reports whether every line must be looked at, whatever it holds.
func (f *Filter) watching() bool { return f.dump.open || f.window > 0 || f.ahead.holding() }
