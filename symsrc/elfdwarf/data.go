package elfdwarf

import (
	"cmp"
	"debug/elf"
	"errors"
	"io"
	"strings"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
)

// Data is the debug information of one file. It may be asked by several goroutines at once.
type Data struct {
	debugSections
	linkage // of the file that names this one, if another one does
	elf     *image
	rules   dwarfRules
	opener  Opener // nil where no other files are read
	hooks
	isSplit bool // it holds split units

	budget  *budget.File
	names   *nameTable
	sources sourceTable

	units          unitTable
	aranges, roots rangeTable // from .debug_aranges, and from units not listed there
	recent         recent
	splits         splits
	sup            supplementary
	asked          atomic.Bool // for an address that a unit has
	lacking        atomic.Bool // a file of split units, or the supplementary one, was not found
}

// recent is what was made last of what most units of a file share.
type recent struct {
	steps atomic.Pointer[lineSteps]
	forms atomic.Pointer[formTable]
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

// hooks are called while debug information is read. None is nil.
type hooks struct {
	ahead   func()              // more than one address is asked for
	touched func(n int)         // n bytes of the file were read that are not likely to be read again soon
	reopen  func() readAtCloser // the file, to be read past its mapping; nil where that cannot be
}

type readAtCloser interface {
	io.ReaderAt
	io.Closer
}

// dwarfRules are the choices that readers of debug information make differently.
type dwarfRules struct {
	// overlaps divides functions, inlined calls and sequences of lines that lie over each other as llvm does.
	overlaps bool
	// entries makes answers say whether the entry of a function without a position has a declaration.
	entries bool
	// placedLines looks lines up by where the sections of a relocatable file were placed.
	placedLines bool
	// packageOnly looks for split units in the package alone, where there is one, and takes a file of split units for a package.
	packageOnly bool
	// skipLineZero replaces line 0 by that of the last row that has one, of whatever function.
	skipLineZero bool
}

// debugSections are the sections of debug information.
type debugSections struct {
	info, abbrev, arangeSets, line, lineStr, str, strOffsets, addr, rangeLists, rnglists, cuIndex, callFrames section

	compressed []packedSection
	packed     int          // what compressed sections unpack to, in bytes
	infoAt     int64        // where .debug_info is in the file; 0 where it is not to be read there
	unread     *StatusError // why they are not read, though the file is
}

// packedSection is a section that is compressed in the file.
type packedSection struct {
	index  int // of its header
	packed uint64
	*section
}

// loadSections finds the sections of debug information: all, or those of split units.
func (d *debugSections) load(f *image, split bool) error {
	wanted := map[string]*section{"info": &d.info, "abbrev": &d.abbrev, "aranges": &d.arangeSets, "line": &d.line,
		"line_str": &d.lineStr, "str": &d.str, "str_offsets": &d.strOffsets, "addr": &d.addr,
		"ranges": &d.rangeLists, "rnglists": &d.rnglists, "cu_index": &d.cuIndex, "frame": &d.callFrames}
	loaded := make(map[uint32]*section)
	var left []*section // that the rules leave out
	for i := range f.sections {
		sh := &f.sections[i]
		name, ok := strings.CutPrefix(sh.name, ".debug_")
		if !ok {
			name, ok = strings.CutPrefix(sh.name, ".zdebug_")
		}
		name, isSplit := strings.CutSuffix(name, ".dwo")
		s := wanted[name]
		if !ok || s == nil || (isSplit || s == &d.cuIndex) != split {
			continue
		}
		delete(wanted, name)
		if s != &d.callFrames {
			loaded[uint32(i)] = s
		}
		err := f.load(s, sh)
		if status, ok := errors.AsType[*StatusError](err); ok && status.Status == symsrc.UnsupportedCompressed {
			d.unread = cmp.Or(d.unread, status)
			continue
		}
		if err != nil {
			return err
		}
		gnu := sh.name[1] == 'z' && f.rules.noGNUPacked
		if gnu {
			left = append(left, s)
		}
		if s.unpack != nil {
			if d.packed += s.size; !gnu {
				d.compressed = append(d.compressed, packedSection{i, sh.size, s})
			}
		}
		if s == &d.info && s.unpack == nil && f.typ != elf.ET_REL {
			d.infoAt = int64(sh.off)
		}
	}
	if f.typ == elf.ET_REL && !split && d.unread == nil {
		before, ok := f.relocate(loaded)
		if !ok {
			d.info.size = 0 // it means nothing
		}
		if sets, ok := before[&d.arangeSets]; ok && f.rules.unplaced {
			d.arangeSets.plain(sets)
		}
	}
	if d.unread != nil {
		d.info.size = 0
	}
	for _, s := range left {
		*s = section{}
	}
	return nil
}

// newData reads where the debug information of a file is: all, or that of split units.
func newData(f *image, split bool, names *nameTable, by dwarfRules, h hooks) (*Data, error) {
	d := &Data{elf: f, linkage: f.linkage, rules: by, hooks: h, isSplit: split, budget: f.budget, names: names}
	d.sources.left = f.budget
	d.units.read, d.units.abbrevs = make(map[int]*unit), make(map[abbrevKey]*abbrevs)
	if err := d.load(f, split); err != nil {
		return nil, err
	}
	return d, nil
}

// follow makes d a file that another one's debug information names: addresses in it mean what they mean there.
func (d *Data) follow(of *Data) {
	starts := d.starts
	d.linkage = of.linkage
	d.starts = append(d.starts[:len(d.starts):len(d.starts)], starts...)
}

// early returns the sections that all but the first question need, but for the largest one, .debug_info.
func (d *debugSections) early() []*section {
	return []*section{&d.abbrev, &d.line, &d.str, &d.rnglists, &d.rangeLists}
}
