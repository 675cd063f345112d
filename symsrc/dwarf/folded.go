package dwarf

import (
	"sync"

	"qss-filter/symsrc/names"
)

// foldedCode has the functions whose code a linker may have folded into that of others, since it is the same. gold leaves them the address of
// the code that remains. lld and mold leave none, as for other code that they discard. What gcc
// has folded (-fipa-icf) had none from the beginning.
type foldedCode struct {
	once sync.Once
	mu   sync.Mutex // of the fields that are filled in later
	all  []foldedFunction
}

// foldedFunction is a subprogram that begins at lo, which is 0 if its code was discarded. size is 0 if it never had any.
type foldedFunction struct {
	lo, size uint64
	u        *Unit
	die      int
	name     *names.Name // nil until it is first used
	alias    bool        // it is one of an assembler
}

// Limits of a search for such functions: the debug information of a file, in bytes, and the split units that are opened for it.
const (
	maxFoldedInfo  = 256 << 20
	maxFoldedSplit = 1 << 10
)

const foldedWeight = 56 // bytes of memory

// FoldedNames returns the names of the functions that have code of that size at an address, or none any more. Those of assemblers, which have
// no declarations, are aliases. shared has the addresses
// at which several functions begin, start among them. known is false if the debug information is too large for the search.
func (d *Data) FoldedNames(start, size uint64, shared func() map[uint64]bool) (all []string, known bool) {
	if d.Info.Size > maxFoldedInfo {
		return nil, false
	}
	d.folded.once.Do(func() { d.folded.read(d, shared()) })
	d.folded.mu.Lock()
	defer d.folded.mu.Unlock()
	for i := range d.folded.all {
		x := &d.folded.all[i]
		if (x.size == size || x.size == 0) && (x.lo == start || x.lo == 0) && !x.alias {
			if x.name == nil {
				if x.alias = !x.u.isDeclared(x.die); x.alias {
					continue
				}
				x.name = x.u.f.names.At(x.u.nameOf(x.die))
			}
			all = append(all, x.name.Linkage)
		}
	}
	d.budget.Answer(len(d.folded.all))
	return all, true
}

// read collects them from all units.
func (x *foldedCode) read(d *Data, shared map[uint64]bool) {
	offsets := d.unitOffsets()
	for _, off := range offsets {
		u := d.unitAt(off)
		if u == nil || u.tag == tagTypeUnit || u.tag == tagPartialUnit {
			continue
		}
		if len(offsets) <= maxFoldedSplit {
			u = u.body()
		}
		u.scanFunctions(&functionScan{visit: func(die int, lo, size uint64) {
			if lo == 0 || shared[lo] {
				u.f.budget.Hold(foldedWeight)
				x.all = append(x.all, foldedFunction{lo: lo, size: size, u: u, die: die})
			}
		}}, false)
	}
}
