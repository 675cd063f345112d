package llvm

import (
	"context"
	"strconv"

	"qss-filter/filter/scan"
	"qss-filter/markup"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// symbol writes the readable form of a name.
func (l *Filter) symbol(dst []byte, n *node) []byte {
	if !l.fieldsExactly(n, 1) {
		return dst
	}
	name := demangle.LLVM(string(l.field[0].Of(l.text)), true)
	return l.sgr.restore(append(l.sgr.highlight(dst), name...))
}

// raw writes an element that cannot be resolved: `[[[tag:field:field]]]`.
func (l *Filter) raw(dst []byte, n *node) []byte {
	s := &l.sgr
	dst = append(s.highlight(dst), "[[["...)
	dst = s.highlight(append(s.value(dst), n.tag.Of(l.text)...))
	if n.fields.Start > 0 {
		dst = append(dst, ':')
		dst = s.value(dst)
		for _, c := range n.fields.Of(l.text) {
			if c == ':' {
				dst = s.value(append(s.highlight(dst), ':'))
				continue
			}
			dst = append(dst, c)
		}
		dst = s.highlight(dst)
	}
	return s.restore(append(dst, "]]]"...))
}

// covering returns the mapping that covers an address. If there is none, the element is written as it is.
func (l *Filter) covering(dst []byte, n *node, addr uint64) (*mapping, []byte) {
	m := l.space.find(addr)
	if m == nil {
		l.fail(l.field[0].Start, "no mmap covers address")
		dst = l.raw(dst, n)
	}
	return m, dst
}

// look asks for an address. If the module has no file, or if this is the first look at a file that cannot be read, the element is
// written as it is.
func (l *Filter) look(ctx context.Context, dst []byte, n *node, m *mapping, addr uint64, kind symsrc.Kind) (*answer, []byte) {
	a := l.ask(ctx, m.mod.file, addr-m.start+m.rel, kind)
	if m.mod.file.status != symsrc.OK {
		l.unsure++
	}
	why := m.mod.file.failure()
	if why == "" {
		return a, dst
	}
	if l.errors != nil {
		l.say("error: ", "\x1b[0;1;31m", why)
	}
	return nil, l.raw(dst, n)
}

// codeAt looks up the address in field i. Its type is typ, or that of the next field if that is the last one: with more fields llvm
// ignores it. If there is no answer, a is nil, and out has what llvm prints instead.
func (l *Filter) codeAt(ctx context.Context, dst []byte, n *node, i int, typ markup.PCType) (a *answer, m *mapping, addr uint64, out []byte) {
	addr, ok := l.address(l.field[i])
	if ok && l.count == i+2 {
		typ, ok = l.pcType(l.field[i+1])
	}
	if !ok {
		return nil, nil, 0, dst
	}
	if typ == markup.ReturnAddress {
		addr--
	}
	if m, dst = l.covering(dst, n, addr); m == nil {
		return nil, nil, 0, dst
	}
	a, out = l.look(ctx, dst, n, m, addr, l.code())
	return a, m, addr, out
}

// pc writes `function[file:line]`. Without a type the address is exact.
func (l *Filter) pc(ctx context.Context, dst []byte, n *node) []byte {
	if !l.fieldsAtLeast(n, 1) {
		return dst
	}
	l.fieldsAtMost(n, 2)
	a, _, _, dst := l.codeAt(ctx, dst, n, 0, markup.Exact)
	if a == nil {
		return dst
	}
	if !a.pc.known() {
		return l.raw(dst, n)
	}
	s, f := &l.sgr, &a.pc
	dst = append(s.text(s.highlight(dst), f.function), '[')
	dst = append(s.text(dst, f.file), ':')
	dst = strconv.AppendInt(s.value(dst), int64(f.line), 10)
	return s.restore(append(s.highlight(dst), ']'))
}

// bt writes a line for each function at an address, innermost first. Without a type it is a return address.
func (l *Filter) bt(ctx context.Context, dst []byte, n *node) []byte {
	if !l.fieldsAtLeast(n, 2) {
		return dst
	}
	l.fieldsAtMost(n, 3)
	number, ok := l.frameNumber(l.field[0])
	if !ok {
		return dst
	}
	a, m, addr, dst := l.codeAt(ctx, dst, n, 1, markup.ReturnAddress)
	if a == nil {
		return dst
	}
	return l.frames(dst, number, addr, m, a)
}

// frames writes the lines of a bt element.
func (l *Filter) frames(dst []byte, number, addr uint64, m *mapping, a *answer) []byte {
	dst = l.sgr.highlight(dst)
	for i := range a.frames {
		inlined := i + 1
		if inlined == len(a.frames) {
			inlined = 0
		}
		dst = l.frame(dst, number, inlined, addr, m, &a.frames[i])
		if inlined > 0 {
			dst = append(dst, l.lineEnd()...)
		}
	}
	return l.sgr.restore(dst)
}

// frame writes one line of a bt element: `    #0.1  0x0123456789abcdef f a.c:8:11 (a.so+0x1130)`. inlined counts the
// inlined functions from 1. It is 0 for the function that they are inlined into.
func (l *Filter) frame(dst []byte, number uint64, inlined int, addr uint64, m *mapping, f *frameOf) []byte {
	s := &l.sgr
	for limit, k := uint64(10), 0; k < 4; k++ {
		if number < limit {
			dst = append(dst, ' ')
		}
		limit *= 10
	}
	dst = append(dst, '#')
	dst = s.highlight(strconv.AppendUint(s.value(dst), number, 10))
	if inlined == 0 {
		dst = append(dst, "   "...)
	} else {
		dst = strconv.AppendInt(s.value(append(dst, '.')), int64(inlined), 10)
		if inlined < 10 {
			dst = append(dst, ' ')
		}
		dst = s.highlight(dst)
	}
	dst = append(s.value(dst), " 0x"...)
	dst = s.highlight(append(scan.AppendHex16(dst, addr), ' '))
	if f.known() {
		dst = append(s.text(dst, f.function), ' ')
		dst = append(s.text(dst, f.file), ':')
		dst = append(s.highlight(strconv.AppendInt(s.value(dst), int64(f.line), 10)), ':')
		dst = append(s.highlight(strconv.AppendInt(s.value(dst), int64(f.column), 10)), ' ')
	}
	dst = append(s.text(append(dst, '('), m.mod.name), '+')
	dst = scan.AppendHex(append(s.value(dst), "0x"...), addr-m.start+m.rel)
	return append(s.highlight(dst), ')')
}

// data writes the name of the symbol that covers an address.
func (l *Filter) data(ctx context.Context, dst []byte, n *node) []byte {
	if !l.fieldsExactly(n, 1) {
		return dst
	}
	addr, ok := l.address(l.field[0])
	if !ok {
		return dst
	}
	m, dst := l.covering(dst, n, addr)
	if m == nil {
		return dst
	}
	a, dst := l.look(ctx, dst, n, m, addr, symsrc.Data)
	if a == nil {
		return dst
	}
	return l.sgr.restore(append(l.sgr.highlight(dst), a.pc.function...))
}
