package llvm

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"strconv"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// contextTag is the tag of a context element.
type contextTag uint8

const (
	noContext contextTag = iota
	mmapContext
	moduleContext
	resetContext
)

// contextKind returns the tag of an element, noContext if it is not context.
func contextKind(tag []byte) contextTag {
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

// info is the open line of a module. Its beginning is written, and its mappings are collected.
type info struct {
	open bool
	mod  *module
	maps []*mapping
	// first is the end of the line that was open at a mark.
	first      []byte
	was, ended bool // whether a line was open at the mark, and whether it was ended since
}

// mark notes whether a line is open. It is called before each line of the log.
func (i *info) mark() { i.was, i.ended = i.open, false }

// salvage ends the line that was open at the mark, in place of output that is lost.
func (l *Filter) salvage(dst []byte) []byte {
	switch i := &l.info; {
	case i.ended:
		dst = append(dst, i.first...)
	case i.was:
		dst = l.endInfo(dst)
	}
	l.info.open, l.info.mod, l.info.was = false, nil, false
	return dst
}

// module defines a module.
func (l *Filter) module(ctx context.Context, dst []byte, n *node) []byte {
	m, ok := l.moduleFields(n)
	if !ok {
		return dst
	}
	// llvm's table uses the ID of all ones itself as soon as it has an entry. (llvm crashes at a mapping of such a module. Here
	// that is an unknown module.)
	if l.space.modules.of(m.id) != nil || m.id == ^uint64(0) && l.space.used {
		l.fail(l.field[0].Start, "duplicate module ID")
		return dst
	}
	l.space.define(m)
	dst = l.endInfo(dst)
	dst = l.waiting(ctx, dst)
	return l.beginModule(dst, m)
}

// moduleFields reads the fields of a module.
func (l *Filter) moduleFields(n *node) (m *module, ok bool) {
	if !l.fieldsAtLeast(n, 3) {
		return nil, false
	}
	id, ok := l.integer(l.field[0], "module ID")
	if !ok {
		return nil, false
	}
	if string(l.field[2].Of(l.text)) != "elf" {
		l.fail(l.field[2].Start, "unknown module type")
		return nil, false
	}
	if !l.fieldsExactly(n, 4) {
		return nil, false
	}
	buildID, ok := l.buildID(l.field[3])
	if !ok {
		return nil, false
	}
	name := string(l.field[1].Of(l.text))
	return &module{id: id, name: name, file: l.memo.file(symsrc.Module{Name: name, BuildID: buildID})}, true
}

// mmap adds a mapping.
func (l *Filter) mmap(ctx context.Context, dst []byte, n *node) []byte {
	m, ok := l.mmapFields(n)
	if !ok {
		return dst
	}
	in, old := l.space.add(&m)
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

// mmapFields reads the fields of a mapping, and finds its module.
func (l *Filter) mmapFields(n *node) (m mapping, ok bool) {
	if !l.fieldsAtLeast(n, 3) {
		return m, false
	}
	if m.start, ok = l.address(l.field[0]); !ok {
		return m, false
	}
	if m.size, ok = l.integer(l.field[1], "size"); !ok {
		return m, false
	}
	if string(l.field[2].Of(l.text)) != "load" {
		l.fail(l.field[2].Start, "unknown mmap type")
		return m, false
	}
	if !l.fieldsExactly(n, 6) {
		return m, false
	}
	id, ok := l.integer(l.field[3], "module ID")
	if !ok {
		return m, false
	}
	if m.mode, ok = l.mode(l.field[4]); !ok {
		return m, false
	}
	if m.mod = l.space.modules.of(id); m.mod == nil {
		l.fail(l.field[3].Start, "unknown module ID")
		return m, false
	}
	m.rel, ok = l.address(l.field[5])
	return m, ok
}

// beginModule begins the line of a module that is new.
func (l *Filter) beginModule(dst []byte, m *module) []byte {
	dst = l.beginInfo(dst, m)
	dst = append(dst, "; BuildID="...)
	dst = hex.AppendEncode(l.sgr.value(dst), []byte(m.file.module.BuildID))
	return l.sgr.highlight(dst)
}

// beginInfo begins the line of a module. It stays open, for its mappings.
func (l *Filter) beginInfo(dst []byte, m *module) []byte {
	s := &l.sgr
	dst = append(s.highlight(dst), "[[[ELF module"...)
	dst = strconv.AppendUint(append(s.value(dst), " #0x"...), m.id, 16)
	dst = append(s.highlight(append(dst, ' ')), '"')
	dst = append(s.text(dst, m.name), '"')
	l.openInfo(m)
	return dst
}

// openInfo notes that the line of a module is open.
func (l *Filter) openInfo(m *module) {
	i := &l.info
	i.open, i.mod, i.maps = true, m, i.maps[:0]
}

// endInfo ends the open line, with its mappings by address.
func (l *Filter) endInfo(dst []byte) []byte {
	if !l.info.open {
		return dst
	}
	before := len(dst)
	s := &l.sgr
	order := func(a, b *mapping) int { return cmp.Compare(a.start, b.start) }
	if !slices.IsSortedFunc(l.info.maps, order) {
		slices.SortStableFunc(l.info.maps, order)
	}
	for i, m := range l.info.maps {
		separator := byte(',')
		if i == 0 || m == l.info.maps[0] {
			separator = ' '
		}
		if !s.on {
			dst = m.append(dst, separator)
			continue
		}
		dst = append(dst, separator, '[')
		dst = scan.AppendHex(append(s.value(dst), "0x"...), m.start)
		dst = append(s.highlight(dst), '-')
		dst = scan.AppendHex(append(s.value(dst), "0x"...), m.start+m.size-1)
		dst = append(s.highlight(dst), "]("...)
		dst = append(s.text(dst, m.mode), ')')
	}
	dst = append(append(dst, "]]]"...), l.lineEnd()...)
	l.info.open, l.info.mod = false, nil
	dst = s.restore(dst)
	if l.info.was && !l.info.ended {
		l.info.first, l.info.ended = append(l.info.first[:0], dst[before:]...), true
	}
	return dst
}
