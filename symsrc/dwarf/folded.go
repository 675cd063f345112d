package dwarf

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/names"
)

// foldedCode has the functions whose code a linker may have folded into that of others, since it is the same. gold leaves them the address of
// the code that remains. lld and mold leave none, as for other code that they discard. What gcc has folded (-fipa-icf) had none from the
// beginning.
type foldedCode struct {
	once sync.Once
	// at are those that begin at an address, and gone those without code, by their size, which is 0 if they never had any.
	at, gone map[uint64][]*foldedFunction
	mu       sync.Mutex // of what follows, and of the names
	never    map[string]bool
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

const foldedWeight = 80 // bytes of memory

// Defined says which functions the debug information defines, of those that may share some code.
type Defined struct {
	names map[string]bool
	never map[string]bool // those without any code
}

// Has reports whether a function of that linkage name is defined.
func (d *Defined) Has(name string) bool { return d.names[name] || d.never[name] }

// Any reports whether any is.
func (d *Defined) Any() bool { return len(d.names)+len(d.never) > 0 }

// Folded returns the functions that have code of that size at an address, or none any more. Those of assemblers, which have
// no declarations, are aliases. shared has the addresses at which several functions begin, start among them. Nothing is known of debug
// information that is too large for the search.
func (d *Data) Folded(start, size uint64, shared func() map[uint64]bool) (all Defined) {
	if d.Info.Size > maxFoldedInfo {
		return all
	}
	x := &d.folded
	x.once.Do(func() { x.read(d, shared()) })
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.never == nil {
		x.never = make(map[string]bool)
		for _, f := range x.gone[0] {
			if name := f.linkage(); name != "" {
				x.never[name] = true
			}
		}
	}
	all = Defined{make(map[string]bool), x.never}
	found := 0
	for _, list := range [...][]*foldedFunction{x.at[start], x.gone[size]} {
		for _, f := range list {
			found++
			if name := f.linkage(); name != "" && (f.size == size || f.size == 0) {
				all.names[name] = true
			}
		}
	}
	d.budget.Answer(found)
	return all
}

// linkage returns the linkage name, "" for a function of an assembler. foldedCode.mu is locked.
func (x *foldedFunction) linkage() string {
	if x.name == nil && !x.alias {
		if x.alias = !x.u.isDeclared(x.die); !x.alias {
			x.name = x.u.f.names.At(x.u.nameOf(x.die))
		}
	}
	if x.alias {
		return ""
	}
	return x.name.Linkage
}

// read collects them from all units, on several cores.
func (x *foldedCode) read(d *Data, shared map[uint64]bool) {
	offsets := d.unitOffsets()
	var next atomic.Int64
	var wg sync.WaitGroup
	lists := make([][]*foldedFunction, min(runtime.GOMAXPROCS(0), maxFoldedReaders, 1+len(offsets)/leastFoldedUnits))
	faults := make([]any, len(lists))
	for i := range lists {
		wg.Go(func() {
			// As for the caller: a mapped file may be cut off, and a budget exceeded.
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() { faults[i] = recover() }()
			for {
				n := int(next.Add(1)) - 1
				if n >= len(offsets) {
					return
				}
				if u := d.unitAt(offsets[n]); u != nil && u.tag != tagTypeUnit && u.tag != tagPartialUnit {
					if len(offsets) <= maxFoldedSplit {
						u = u.body()
					}
					lists[i] = u.appendFolded(lists[i], shared)
				}
			}
		})
	}
	wg.Wait()
	x.at, x.gone = make(map[uint64][]*foldedFunction), make(map[uint64][]*foldedFunction)
	for i, list := range lists {
		if faults[i] != nil {
			panic(faults[i])
		}
		for _, f := range list {
			if f.lo == 0 {
				x.gone[f.size] = append(x.gone[f.size], f)
			} else {
				x.at[f.lo] = append(x.at[f.lo], f)
			}
		}
	}
}

// Limits of the goroutines that read units: their number, and the units for which there is one.
const maxFoldedReaders, leastFoldedUnits = 4, 64

// appendFolded appends those of a unit.
func (u *Unit) appendFolded(all []*foldedFunction, shared map[uint64]bool) []*foldedFunction {
	u.scanFunctions(&functionScan{visit: func(die int, lo, size uint64) {
		if lo == 0 || shared[lo] {
			u.f.budget.Hold(foldedWeight)
			all = append(all, &foldedFunction{lo: lo, size: size, u: u, die: die})
		}
	}}, false)
	return all
}
