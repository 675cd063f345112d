package filter

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"strconv"

	"qss-filter/symsrc"
)

// llvmContext tells the context elements.
type llvmContext uint8

const (
	noContext llvmContext = iota
	mmapContext
	moduleContext
	resetContext
)

func contextKind(tag []byte) llvmContext {
	switch string(tag) {
	case "mmap":
		return mmapContext
	case "module":
		return moduleContext
	case "reset":
		return resetContext
	}
	return noContext
}

// llvmSpace is the address space: the first definition of a module wins, and of mappings that overlap the first one.
type llvmSpace struct {
	modules map[uint64]*llvmModule
	maps    []*llvmMap // by start; none starts twice
	used    bool       // a module was defined, be it before a reset
}

type llvmModule struct {
	id   uint64
	name string
	file *llvmFile
}

type llvmMap struct {
	start, size, rel uint64
	mode             string
	mod              *llvmModule
}

// contains is false for all of a mapping that ends at 2^64: its end is 0. So llvm has it.
func (m *llvmMap) contains(addr uint64) bool { return m.start <= addr && addr < m.start+m.size }

// keptModules is how large a table may be to be used again after a reset.
const keptModules = 256

func (s *llvmSpace) empty() bool { return len(s.modules) == 0 && len(s.maps) == 0 }

func (s *llvmSpace) reset() {
	if s.modules == nil || len(s.modules) > keptModules {
		s.modules = map[uint64]*llvmModule{}
	}
	clear(s.modules)
	clear(s.maps)
	s.maps = s.maps[:0]
}

// search gives the place of the first mapping that starts at addr or later.
func (s *llvmSpace) search(addr uint64) (int, bool) {
	if n := len(s.maps); n == 0 || s.maps[n-1].start < addr {
		return n, false
	}
	return slices.BinarySearchFunc(s.maps, addr, func(m *llvmMap, addr uint64) int { return cmp.Compare(m.start, addr) })
}

// find gives the mapping that covers addr, nil where none does.
func (s *llvmSpace) find(addr uint64) *llvmMap {
	i, found := s.search(addr)
	if found && s.maps[i].contains(addr) {
		return s.maps[i]
	}
	if i > 0 && s.maps[i-1].contains(addr) {
		return s.maps[i-1]
	}
	return nil
}

// add puts a mapping in. Where old is not nil it overlaps, and nothing has happened. Empty mappings, and those that end at
// 2^64, do not overlap what starts at the same address; then the one that was there first is given, and stays.
func (s *llvmSpace) add(m *llvmMap) (in, old *llvmMap) {
	i, found := s.search(m.start)
	above := i
	if found {
		above++
	}
	if above < len(s.maps) && m.contains(s.maps[above].start) {
		return nil, s.maps[above]
	}
	if above > 0 && s.maps[above-1].contains(m.start) {
		return nil, s.maps[above-1]
	}
	if found {
		return s.maps[i], nil
	}
	s.maps = slices.Insert(s.maps, i, m)
	return m, nil
}

// llvmInfo is the line of a module that is open: its beginning is written, its mappings are collected.
type llvmInfo struct {
	open bool
	mod  *llvmModule
	maps []*llvmMap
}

// module defines a module.
func (l *llvmStyle) module(ctx context.Context, dst []byte, n *llvmNode) []byte {
	if !l.fieldsAtLeast(n, 3) {
		return dst
	}
	id, ok := l.integer(l.field[0], "module ID")
	if !ok {
		return dst
	}
	if string(l.field[2].Of(l.text)) != "elf" {
		l.fail(l.field[2].Start, "unknown module type")
		return dst
	}
	if !l.fieldsExactly(n, 4) {
		return dst
	}
	buildID, ok := l.buildID(l.field[3])
	if !ok {
		return dst
	}
	// llvm's table takes the ID of all ones for one of its own as soon as it holds any. (It crashes at a mapping of such a
	// module; here that is an unknown module.)
	if l.space.modules[id] != nil || id == ^uint64(0) && l.space.used {
		l.fail(l.field[0].Start, "duplicate module ID")
		return dst
	}
	name := string(l.field[1].Of(l.text))
	m := &llvmModule{id: id, name: name, file: l.memo.file(symsrc.Module{Name: name, BuildID: buildID})}
	l.space.modules[id], l.space.used = m, true
	dst = l.endInfo(dst)
	dst = l.waiting(ctx, dst)
	dst = l.beginInfo(dst, m)
	dst = append(dst, "; BuildID="...)
	dst = hex.AppendEncode(l.sgr.value(dst), []byte(buildID))
	return l.sgr.highlight(dst)
}

// mmap adds a mapping.
func (l *llvmStyle) mmap(ctx context.Context, dst []byte, n *llvmNode) []byte {
	m, ok := l.mmapFields(n)
	if !ok {
		return dst
	}
	in, old := l.space.add(m)
	if old != nil {
		l.fail(l.field[0].Start, "overlapping mmap: #0x"+strconv.FormatUint(old.mod.id, 16)+" [0x"+
			strconv.FormatUint(old.start, 16)+"-0x"+strconv.FormatUint(old.start+old.size-1, 16)+"]")
		return dst
	}
	if !l.info.open || l.info.mod != in.mod {
		dst = l.endInfo(dst)
		dst = l.waiting(ctx, dst)
		dst = l.beginInfo(dst, in.mod)
		dst = append(dst, "; adds"...)
	}
	l.info.maps = append(l.info.maps, in)
	return dst
}

func (l *llvmStyle) mmapFields(n *llvmNode) (m *llvmMap, ok bool) {
	m = &llvmMap{}
	if !l.fieldsAtLeast(n, 3) {
		return nil, false
	}
	if m.start, ok = l.address(l.field[0]); !ok {
		return nil, false
	}
	if m.size, ok = l.integer(l.field[1], "size"); !ok {
		return nil, false
	}
	if string(l.field[2].Of(l.text)) != "load" {
		l.fail(l.field[2].Start, "unknown mmap type")
		return nil, false
	}
	if !l.fieldsExactly(n, 6) {
		return nil, false
	}
	id, ok := l.integer(l.field[3], "module ID")
	if !ok {
		return nil, false
	}
	if m.mode, ok = l.mode(l.field[4]); !ok {
		return nil, false
	}
	if m.mod, ok = l.space.modules[id]; !ok {
		l.fail(l.field[3].Start, "unknown module ID")
		return nil, false
	}
	m.rel, ok = l.address(l.field[5])
	return m, ok
}

// beginInfo begins the line of a module. It stays open, for its mappings.
func (l *llvmStyle) beginInfo(dst []byte, m *llvmModule) []byte {
	s := &l.sgr
	dst = append(s.highlight(dst), "[[[ELF module"...)
	dst = strconv.AppendUint(append(s.value(dst), " #0x"...), m.id, 16)
	dst = append(s.highlight(append(dst, ' ')), '"')
	dst = append(s.text(dst, m.name), '"')
	l.info.open, l.info.mod, l.info.maps = true, m, l.info.maps[:0]
	return dst
}

// endInfo ends the open line, with its mappings by address.
func (l *llvmStyle) endInfo(dst []byte) []byte {
	if !l.info.open {
		return dst
	}
	s := &l.sgr
	slices.SortStableFunc(l.info.maps, func(a, b *llvmMap) int { return cmp.Compare(a.start, b.start) })
	for i, m := range l.info.maps {
		separator := byte(',')
		if i == 0 || m == l.info.maps[0] {
			separator = ' '
		}
		dst = append(dst, separator, '[')
		dst = strconv.AppendUint(append(s.value(dst), "0x"...), m.start, 16)
		dst = append(s.highlight(dst), '-')
		dst = strconv.AppendUint(append(s.value(dst), "0x"...), m.start+m.size-1, 16)
		dst = append(s.highlight(dst), "]("...)
		dst = append(s.text(dst, m.mode), ')')
	}
	dst = append(append(dst, "]]]"...), l.lineEnd()...)
	l.info.open, l.info.mod = false, nil
	return s.restore(dst)
}
