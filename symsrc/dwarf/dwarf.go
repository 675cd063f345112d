// Package dwarf reads DWARF, versions 2 to 5: the function, the inlined calls, the source file and the line of an address. It does no
// I/O: sections come from package elf, and files that the debug information refers to from an Opener.
//
//   - dwarf.go: Data, the debug information of one file, with its sections, its Opener and its Rules
//   - aranges.go: the unit of an address, by .debug_aranges or by the root entries of the units; the address ranges of an entry
//   - unit.go: units, their headers and root entries; abbreviation declarations, compiled to read operations
//   - entry.go: attributes of entries and their forms; the specifications and abstract origins of an entry, which have its name
//   - function.go: the function of an address in a unit; overlap.go: overlapping functions, resolved as in llvm
//   - inline.go: the tree of calls that were inlined into a function, and the frames of an answer
//   - die.go: entries with all that they declare; detail.go: what a function declares, and the discriminators of its lines;
//     variables.go: the variables of functions and of the program
//   - line.go: line tables, their programs and source files; rows.go: the rows of a program, and the row of an address
//   - split.go: split units, in packages and in separate files; the supplementary file, which dwz creates
//
// Everything is read lazily. The first address of a file or of a unit is answered by one pass that stores nothing; the second one
// builds a sorted table. Both answers are the same, for damaged files too: an answer must not depend on earlier queries.
//
// The input is hostile. A position beyond the end of its data becomes bin.Past, every later read from it fails, and the loops end. A
// budget.File counts what is read, and panics if that is too much; mapped memory may fault. The package that opens the files recovers
// from both.
package dwarf

import (
	"cmp"
	stdelf "debug/elf"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/names"
)

// Data is the debug information of one file. Its methods are safe for concurrent use.
type Data struct {
	Sections
	addressing elf.Addressing // that of the file that refers to this one, if there is one
	elf        *elf.File
	rules      Rules
	Opener     Opener // nil if no other files are to be read
	hooks      Hooks

	budget  *budget.File
	names   *names.Table
	sources sourceTable

	units    unitTable
	index    unitIndex
	lastUsed lastUsed
	splits   splits
	sup      supplementary
	globals  globals
	folded   foldedCode
	missing  atomic.Bool // see MissingFiles
}

// lastUsed holds the tables that were built last. Most units of a file share them.
type lastUsed struct {
	opcodes atomic.Pointer[specialOpcodes]
	forms   atomic.Pointer[formTable]
}

// Opener finds and opens the files that debug information refers to.
type Opener interface {
	// Open opens a file: for its split units if split is set, otherwise as a supplementary file.
	Open(path string, split bool) (*Data, error)
	// Discard closes a file that Open returned and that turned out to be the wrong one.
	Discard(d *Data)
	// PackagePaths returns the possible paths of the package (.dwp) with the file's split units.
	PackagePaths() []string
	// SplitPaths returns the possible paths of the file (.dwo) of a split unit. name and dir are the DW_AT_dwo_name and the
	// DW_AT_comp_dir of its skeleton.
	SplitPaths(name, dir string) []string
	// SupplementPaths returns the possible paths of the supplementary file with the path and the ID that the file contains, or
	// none if it is not to be read.
	SupplementPaths(path string, id []byte) []string
}

// Hooks are called while debug information is read. They must not be nil.
type Hooks struct {
	Prefetch func()              // called before the second address is looked up, because more will follow
	Consumed func(n int)         // called after n bytes of the file were read that are unlikely to be read again soon
	Reopen   func() ReadAtCloser // opens the file, to read it without its mapping; returns nil if it cannot
}

// ReadAtCloser is a file with random access.
type ReadAtCloser interface {
	io.ReaderAt
	io.Closer
}

// Rules select the behavior where readers of debug information differ.
type Rules struct {
	// Overlaps resolves overlaps of functions, inlined calls and line sequences as llvm does.
	Overlaps bool
	// ReportEntries sets symsrc.Frame.Entry in frames without a position.
	ReportEntries bool
	// PlacedLines looks up lines by the addresses at which the sections of a relocatable file were placed.
	PlacedLines bool
	// PackageOnly looks for split units only in the package if there is one, and accepts a .dwo file as a package.
	PackageOnly bool
	// SkipLineZero replaces line 0 with the line of the last row before it that has one, also if that is another function's.
	SkipLineZero bool
}

// Sections are the sections of debug information. Frame is .debug_frame.
type Sections struct {
	Info, abbrev, arangeSets, line, lineStr, str, strOffsets, addr, rangeLists, rnglists, cuIndex, Frame elf.Content
	locations, loclists                                                                                  elf.Content // rarely read

	split        bool             // they are the .dwo sections of split units
	Compressed   []PackedSection  // in file order
	UnpackedSize int              // total uncompressed size of the compressed sections, in bytes
	infoAt       int64            // file offset of .debug_info; 0 if it must not be read from the file
	Unsupported  *elf.StatusError // why the sections are not read although the file is; nil if they are
}

// PackedSection is a section that is compressed in the file.
type PackedSection struct {
	Index  int    // in the section header table
	Packed uint64 // compressed size, in bytes
	*elf.Content
}

// load finds the sections of debug information: those of split units if split is set, otherwise the other ones.
func (d *Sections) load(f *elf.File, split bool) error {
	wanted := map[string]*elf.Content{"info": &d.Info, "abbrev": &d.abbrev, "aranges": &d.arangeSets, "line": &d.line,
		"line_str": &d.lineStr, "str": &d.str, "str_offsets": &d.strOffsets, "addr": &d.addr,
		"ranges": &d.rangeLists, "rnglists": &d.rnglists, "cu_index": &d.cuIndex, "frame": &d.Frame,
		"loc": &d.locations, "loclists": &d.loclists}
	loaded := make(map[uint32]*elf.Content)
	var skipped []*elf.Content // by the rules
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
		rare := s == &d.locations || s == &d.loclists
		err := f.Load(s, sh)
		if rare && err != nil {
			*s = elf.Content{}
			continue
		}
		if status, ok := errors.AsType[*elf.StatusError](err); ok && status.Status == symsrc.UnsupportedCompressed {
			d.Unsupported = cmp.Or(d.Unsupported, status)
			continue
		}
		if err != nil {
			return err
		}
		if split && s == &d.Info && isTypeUnit(s.UpTo(8)) && another(f.Sections[i+1:], sh.Name) {
			*s, wanted[name] = elf.Content{}, s
			continue
		}
		gnu := sh.Name[1] == 'z' && f.Rules.SkipZdebug
		if gnu {
			skipped = append(skipped, s)
		}
		if s.Packed() && !rare {
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
			d.Info.Size = 0 // meaningless without its relocations
		}
		if sets, ok := before[&d.arangeSets]; ok && f.Rules.SectionRelative {
			d.arangeSets.Replace(sets)
		}
	}
	if d.Unsupported != nil {
		d.Info.Size = 0
	}
	for _, s := range skipped {
		*s = elf.Content{}
	}
	return nil
}

// isTypeUnit reports whether a unit with a header is a type unit of DWARF 5 (§7.5.1). gcc writes a section for each of those that it splits
// off, before that of the compile unit, whose functions have names of their own.
func isTypeUnit(header []byte) bool {
	return len(header) > 6 && (header[4] == 5 || header[5] == 5) && header[6] == unitSplitType
}

// another reports whether there is a section of a name.
func another(sections []elf.Section, name string) bool {
	return slices.ContainsFunc(sections, func(s elf.Section) bool { return s.Name == name })
}

// New returns the debug information of a file: that of its split units if split is set, otherwise the other. It reads only the
// section headers.
func New(f *elf.File, split bool, names *names.Table, by Rules, h Hooks) (*Data, error) {
	d := &Data{elf: f, addressing: f.Addressing, rules: by, hooks: h, budget: f.Budget, names: names}
	d.split = split
	d.sources.limits = f.Budget
	d.index.of, d.splits.of, d.sup.of, d.globals.of = d, d, d, d
	d.units.read, d.units.abbrevs = make(map[int]*Unit), make(map[abbrevKey]*abbrevs)
	if err := d.load(f, split); err != nil {
		return nil, err
	}
	return d, nil
}

// MissingFiles reports whether a file with split units, or the supplementary file, was needed and not found.
func (d *Data) MissingFiles() bool { return d.missing.Load() }

// SetMissing makes MissingFiles report that a file was needed and not found.
func (d *Data) SetMissing() { d.missing.Store(true) }

// InheritAddressing makes d interpret addresses like of, the file whose debug information refers to d.
func (d *Data) InheritAddressing(of *Data) {
	starts := d.addressing.Starts
	d.addressing = of.addressing
	d.addressing.Starts = append(d.addressing.Starts[:len(d.addressing.Starts):len(d.addressing.Starts)], starts...)
}

// PrefetchSections returns the sections that every query after the first one needs, except the largest one, .debug_info.
func (d *Sections) PrefetchSections() []*elf.Content {
	return []*elf.Content{&d.abbrev, &d.line, &d.str, &d.rnglists, &d.rangeLists}
}
