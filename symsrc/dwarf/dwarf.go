// Package dwarf reads DWARF, versions 2 to 5: which function, inlined calls, source file and line are at an address. It does no input of
// its own: sections come from package elf, and files that the debug information names from an Opener.
//
//   - dwarf.go: Data, the debug information of one file, with its sections, its Opener and its Rules
//   - aranges.go: the unit of an address, by .debug_aranges or by the root entries of the units; the addresses of an entry
//   - unit.go: units, their headers and root entries; abbreviation declarations, compiled to steps
//   - entry.go: attributes of entries and their forms; the specifications and origins of an entry, which have its name
//   - function.go: the function of an address in a unit; overlap.go: overlapping functions, as llvm divides them
//   - inline.go: the tree of calls that were inlined into a function, and the frames of an answer
//   - line.go: line tables, their programs and source files; rows.go: the rows of a program, and the one of an address
//   - split.go: split units, in packages and in files of their own; the file that dwz moves common parts to
//
// Everything is read when it is first asked for. The first address of a file or of a unit is answered by one pass that stores nothing,
// the second one builds a sorted table. Both answers are the same, for damaged files too: an answer must not depend on the questions
// before.
//
// The input is hostile. A position that has left its bytes becomes bin.Past, every later read from it fails, and the loops end. What is
// read is counted by a budget.File, which panics where that is too much; memory that is mapped may fault. The package that opens the
// files recovers from both.
package dwarf

import (
	"cmp"
	stdelf "debug/elf"
	"errors"
	"io"
	"strings"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/names"
)

// Data is the debug information of one file. Its methods may be called by several goroutines at once.
type Data struct {
	Sections
	addressing elf.Addressing // of the file that names this one, if another one does
	elf        *elf.File
	rules      Rules
	Opener     Opener // nil where no other files are read
	hooks      Hooks

	budget  *budget.File
	names   *names.Table
	sources sourceTable

	units    unitTable
	index    unitIndex
	lastUsed lastUsed
	splits   splits
	sup      supplementary
	missing  atomic.Bool // a file of split units, or the supplementary one, was not found
}

// lastUsed is what was made last of what most units of a file share.
type lastUsed struct {
	opcodes atomic.Pointer[specialOpcodes]
	forms   atomic.Pointer[formTable]
}

// Opener finds and opens the files that debug information names.
type Opener interface {
	// Open opens a file; split says that its split units are of interest.
	Open(path string, split bool) (*Data, error)
	// Discard closes a file that was opened and is the wrong one.
	Discard(d *Data)
	// PackagePaths returns where the package of the file's split units may be.
	PackagePaths() []string
	// SplitPaths returns where a file of split units may be, of which the skeleton has the name and the compilation directory.
	SplitPaths(name, dir string) []string
	// SupplementPaths returns where the supplementary file may be, by its path and ID in the file; none if it is not to be read.
	SupplementPaths(path string, id []byte) []string
}

// Hooks are called while debug information is read. None is nil.
type Hooks struct {
	Prefetch func()              // a second address is looked up, and others will follow
	Consumed func(n int)         // n bytes of the file were read that are not likely to be read again soon
	Reopen   func() ReadAtCloser // the file, to be read past its mapping; nil where that cannot be
}

// ReadAtCloser is a file that is read at any position.
type ReadAtCloser interface {
	io.ReaderAt
	io.Closer
}

// Rules are the choices that readers of debug information make differently.
type Rules struct {
	// Overlaps divides functions, inlined calls and sequences of lines that lie over each other as llvm does.
	Overlaps bool
	// ReportEntries makes answers say whether the entry of a function without a position has a declaration.
	ReportEntries bool
	// PlacedLines looks lines up by where the sections of a relocatable file were placed.
	PlacedLines bool
	// PackageOnly looks for split units in the package alone, where there is one, and takes a file of split units for a package.
	PackageOnly bool
	// SkipLineZero replaces line 0 by that of the last row that has one, of whatever function.
	SkipLineZero bool
}

// Sections are the sections of debug information. Frame is .debug_frame.
type Sections struct {
	Info, abbrev, arangeSets, line, lineStr, str, strOffsets, addr, rangeLists, rnglists, cuIndex, Frame elf.Content

	split        bool             // they are those of split units
	Compressed   []PackedSection  // in the file's order
	UnpackedSize int              // what compressed sections unpack to, in bytes
	infoAt       int64            // where .debug_info is in the file; 0 where it is not to be read there
	Unsupported  *elf.StatusError // why they are not read, though the file is
}

// PackedSection is a section that is compressed in the file.
type PackedSection struct {
	Index  int    // of its header
	Packed uint64 // its size in the file
	*elf.Content
}

// load finds the sections of debug information: all, or those of split units.
func (d *Sections) load(f *elf.File, split bool) error {
	wanted := map[string]*elf.Content{"info": &d.Info, "abbrev": &d.abbrev, "aranges": &d.arangeSets, "line": &d.line,
		"line_str": &d.lineStr, "str": &d.str, "str_offsets": &d.strOffsets, "addr": &d.addr,
		"ranges": &d.rangeLists, "rnglists": &d.rnglists, "cu_index": &d.cuIndex, "frame": &d.Frame}
	loaded := make(map[uint32]*elf.Content)
	var left []*elf.Content // that the rules leave out
	for i := range f.Sections {
		sh := &f.Sections[i]
		name, ok := strings.CutPrefix(sh.Name, ".debug_")
		if !ok {
			name, ok = strings.CutPrefix(sh.Name, ".zdebug_")
		}
		name, isSplit := strings.CutSuffix(name, ".dwo")
		s := wanted[name]
		if !ok || s == nil || (isSplit || s == &d.cuIndex) != split {
			continue
		}
		delete(wanted, name)
		if s != &d.Frame {
			loaded[uint32(i)] = s
		}
		err := f.Load(s, sh)
		if status, ok := errors.AsType[*elf.StatusError](err); ok && status.Status == symsrc.UnsupportedCompressed {
			d.Unsupported = cmp.Or(d.Unsupported, status)
			continue
		}
		if err != nil {
			return err
		}
		gnu := sh.Name[1] == 'z' && f.Rules.SkipZdebug
		if gnu {
			left = append(left, s)
		}
		if s.Packed() {
			if d.UnpackedSize += s.Size; !gnu {
				d.Compressed = append(d.Compressed, PackedSection{i, sh.Size, s})
			}
		}
		if s == &d.Info && !s.Packed() && f.Type != stdelf.ET_REL {
			d.infoAt = int64(sh.Offset)
		}
	}
	if f.Type == stdelf.ET_REL && !split && d.Unsupported == nil {
		before, ok := f.Relocate(loaded)
		if !ok {
			d.Info.Size = 0 // it means nothing
		}
		if sets, ok := before[&d.arangeSets]; ok && f.Rules.SectionRelative {
			d.arangeSets.Replace(sets)
		}
	}
	if d.Unsupported != nil {
		d.Info.Size = 0
	}
	for _, s := range left {
		*s = elf.Content{}
	}
	return nil
}

// New reads where the debug information of a file is: all, or that of split units.
func New(f *elf.File, split bool, names *names.Table, by Rules, h Hooks) (*Data, error) {
	d := &Data{elf: f, addressing: f.Addressing, rules: by, hooks: h, budget: f.Budget, names: names}
	d.split = split
	d.sources.limits = f.Budget
	d.index.of, d.splits.of, d.sup.of = d, d, d
	d.units.read, d.units.abbrevs = make(map[int]*Unit), make(map[abbrevKey]*abbrevs)
	if err := d.load(f, split); err != nil {
		return nil, err
	}
	return d, nil
}

// MissingFiles reports whether a file of split units, or the supplementary one, was not found so far.
func (d *Data) MissingFiles() bool { return d.missing.Load() }

// InheritAddressing makes d a file that another one's debug information names: addresses in it mean what they mean there.
func (d *Data) InheritAddressing(of *Data) {
	starts := d.addressing.Starts
	d.addressing = of.addressing
	d.addressing.Starts = append(d.addressing.Starts[:len(d.addressing.Starts):len(d.addressing.Starts)], starts...)
}

// PrefetchSections returns the sections that all but the first question need, but for the largest one, .debug_info.
func (d *Sections) PrefetchSections() []*elf.Content {
	return []*elf.Content{&d.abbrev, &d.line, &d.str, &d.rnglists, &d.rangeLists}
}
