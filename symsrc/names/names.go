// Package names holds the names of one file's functions, from its symbol tables and its debug information, each demangled once.
package names

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/demangle"
)

// Name is a function's name.
type Name struct {
	Linkage   string // as the file has it
	Demangled string
}

// Table holds the names of a file, since demangling is expensive and the same functions are inlined in many places. They have
// numbers, from 1 on, so that what refers to them needs no pointer. A number leads to its name without a lock.
type Table struct {
	Budget *budget.File // of the file
	mu     sync.Mutex
	m      map[string]uint32
	blocks [nameBlocks]atomic.Pointer[[]*Name] // of 64, 128, 256 … names
}

const (
	nameBlocks = 24
	firstBlock = 64
)

// nameBlock returns where the name of a number is.
func nameBlock(number uint32) (block, i int) {
	n := int(number) - 1 + firstBlock
	block = bits.Len(uint(n/firstBlock)) - 1
	return block, n - firstBlock<<block
}

// At returns the name of a number; nil for 0.
func (t *Table) At(number uint32) *Name {
	if number == 0 {
		return nil
	}
	block, i := nameBlock(number)
	return (*t.blocks[block].Load())[i]
}

// Find returns the number of the name with that linkage name, demangled; 0 where there are too many.
func (t *Table) Find(linkage []byte) uint32 {
	if len(linkage) > bin.MaxString {
		linkage = nil
	}
	t.mu.Lock()
	number := t.m[string(linkage)]
	t.mu.Unlock()
	if number != 0 {
		return number
	}
	const stepsPerByte = 4 // of a name that is demangled, about
	t.Budget.Spend(stepsPerByte * len(linkage))
	n := New(string(linkage)) // without the lock: it takes long
	t.Budget.Hold(len(n.Linkage) + len(n.Demangled) + Weight)
	t.mu.Lock()
	defer t.mu.Unlock()
	if number := t.m[n.Linkage]; number != 0 {
		return number
	}
	return t.add(n)
}

// Weight is what a name takes in memory, in bytes, with what refers to it and without its text.
const Weight = 96

func (t *Table) add(n *Name) uint32 {
	if t.m == nil {
		t.m = make(map[string]uint32)
	}
	number := uint32(len(t.m) + 1)
	block, i := nameBlock(number)
	if block >= nameBlocks { // a thousand million: no file has so many
		return 0
	}
	names := t.blocks[block].Load()
	if names == nil {
		fresh := make([]*Name, firstBlock<<block)
		names = &fresh
		t.blocks[block].Store(names)
	}
	(*names)[i] = n
	t.m[n.Linkage] = number
	return number
}

// New demangles a name of the file, without its symbol version.
func New(linkage string) *Name {
	n := &Name{Linkage: linkage}
	n.Demangled = demangle.Demangle(bin.Unversioned(linkage))
	return n
}
