package dwarf

import (
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/names"
)

// Frames are what the unit's debug information says of an address; the physical function's name only if outerName is
// set. Short names are not kept: few ask for them.
func (u *Unit) Frames(addr uint64, outerName, short bool) []symsrc.Frame {
	first := !u.touched.Load() && u.touched.CompareAndSwap(false, true)
	var memory [64]int32
	calls := memory[:0]
	body := u.body()
	fn, in := body.functionAt(addr, first && u.f.index.asked.CompareAndSwap(false, true))
	scope := in.Lo
	lines := u.lineTable()
	var t *tree
	if fn != nil {
		t = body.treeOf(fn)
		if in.call != 0 {
			calls = t.around(in.call-1, calls)
		} else if inner, lo, found := t.chain(addr, calls, u.f.budget); found {
			calls, scope = inner, lo
		}
	}
	at, located := lines.positionAt(u.f.lineAddr(addr), scope, first)
	if fn == nil && !located {
		return nil
	}
	frames := make([]symsrc.Frame, len(calls)+1)
	for i := range frames {
		frame := &frames[i]
		if located {
			if file := lines.sourceFile(uint64(at.file)); file != nil {
				frame.File, frame.CompDir, frame.MD5 = file.path, file.compDir, file.md5
			}
			if frame.File != "" || i > 0 {
				frame.Line, frame.Column, frame.Approx = int(at.line), int(at.col), at.approx
			}
		}
		var n *names.Name
		die := -1
		if i < len(calls) {
			c := &t.calls[calls[i]]
			n, die = body.nameOfCall(c, short), c.die
			at, located = position{file: c.file, line: c.line, col: c.col}, true
		} else if fn != nil {
			if die = fn.die; outerName || short {
				n = body.nameOfFunction(fn, short)
			}
		}
		if n != nil {
			frame.Func, frame.Linkage = n.Demangled, n.Linkage
		}
		if u.f.rules.Entries && frame.File == "" && frame.Line == 0 && frame.Column == 0 {
			frame.Entry = body.entryOf(die)
		}
	}
	return frames
}

// nameOfCall is the name of the function that is inlined.
func (u *Unit) nameOfCall(c *call, short bool) *names.Name {
	if short {
		return u.f.names.At(u.readName(c.die, true))
	}
	number := atomic.LoadUint32(&c.name)
	if number == 0 {
		number = u.nameOf(c.die)
		atomic.StoreUint32(&c.name, number)
	}
	return u.f.names.At(number)
}

// nameOfFunction is the name of a physical function by the debug information.
func (u *Unit) nameOfFunction(f *function, short bool) *names.Name {
	if short {
		return u.f.names.At(u.readName(f.die, true))
	}
	n := f.name.Load()
	if n == nil {
		n = u.f.names.At(u.nameOf(f.die))
		f.name.Store(n)
	}
	return n
}
