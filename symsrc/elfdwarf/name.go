package elfdwarf

import (
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/demangle"
)

// name is a function's name.
type name struct {
	linkage   string // as the file has it
	demangled string
}

// maxName bounds a name, or any other string; a longer one is damage, and to look for its end takes long.
const maxName = 1 << 16

// nameTable holds the names of a file, for demangling is dear and the same functions are inlined all over. They have
// numbers, from 1 on, so that what refers to them needs no pointer. A number leads to its name without a lock.
type nameTable struct {
	left   *budget.File // of the file
	mu     sync.Mutex
	m      map[string]uint32
	blocks [nameBlocks]atomic.Pointer[[]*name] // of 64, 128, 256 … names
}

const (
	nameBlocks = 24
	firstBlock = 64
)

// nameBlock is where the name of a number stands.
func nameBlock(number uint32) (block, i int) {
	n := int(number) - 1 + firstBlock
	block = bits.Len(uint(n/firstBlock)) - 1
	return block, n - firstBlock<<block
}

// at is the name of a number; nil for 0.
func (t *nameTable) at(number uint32) *name {
	if number == 0 {
		return nil
	}
	block, i := nameBlock(number)
	return (*t.blocks[block].Load())[i]
}

// find returns the number of the name with that linkage name, demangled; 0 where there are too many.
func (t *nameTable) find(linkage []byte) uint32 {
	if len(linkage) > maxName {
		linkage = nil
	}
	t.mu.Lock()
	number := t.m[string(linkage)]
	t.mu.Unlock()
	if number != 0 {
		return number
	}
	const stepsPerByte = 4 // of a name that is demangled, about
	t.left.Spend(stepsPerByte * len(linkage))
	n := newName(string(linkage)) // without the lock: it takes long
	t.left.Hold(len(n.linkage) + len(n.demangled) + nameWeight)
	t.mu.Lock()
	defer t.mu.Unlock()
	if number := t.m[n.linkage]; number != 0 {
		return number
	}
	return t.add(n)
}

// nameWeight is what a name takes in memory beside its bytes, and what leads to it.
const nameWeight = 96

func (t *nameTable) add(n *name) uint32 {
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
		fresh := make([]*name, firstBlock<<block)
		names = &fresh
		t.blocks[block].Store(names)
	}
	(*names)[i] = n
	t.m[n.linkage] = number
	return number
}

// newName demangles a name of the file, without its symbol version.
func newName(linkage string) *name {
	n := &name{linkage: linkage}
	plain := n.linkage
	if at := strings.IndexByte(plain, '@'); at > 0 && plain[0] != '?' { // not a name of Microsoft's
		plain = plain[:at]
	}
	n.demangled = demangle.Demangle(plain)
	return n
}
