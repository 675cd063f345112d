package filter

import (
	"bytes"
	"context"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// run handles the lines at the begin of b that are known, and gives the bytes that they are. It stops before one that
// must go through line, and where the output is large.
func (l *llvmStyle) run(ctx context.Context, dst, b []byte) (out []byte, n int) {
	for !l.careful && len(dst) < outLimit && l.sgr.plain() && bytes.HasPrefix(b[n:], llvmOpening) {
		l.reach(dst, n)
		used, line := 0, b[n:]
		switch {
		case bytes.HasPrefix(line, mmapStart):
			used, dst = l.knownMapping(dst, line)
		case bytes.HasPrefix(line, moduleStart):
			used, dst = l.knownModule(dst, line)
		case bytes.HasPrefix(line, resetStart):
			l.block.end(l, dst, b[:n])
			if used, dst = l.replay(dst, line); used == 0 {
				used, dst = l.knownReset(dst, line, n)
			}
		default:
			l.block.end(l, dst, b[:n])
			used, dst = l.show(ctx, dst, line)
		}
		if used == 0 {
			break
		}
		n += used
	}
	l.block.end(l, dst, b[:n])
	return dst, n
}

// knownMapping handles a mapping whose text behind the address is known.
func (l *llvmStyle) knownMapping(dst, b []byte) (used int, out []byte) {
	start, at, ok := scan.Hex(b, len(mmapStart))
	if !ok {
		return 0, dst
	}
	e := l.known.find(b[at:], l.learnMapping)
	if e == nil || e.says.kind != mmapContext {
		return 0, dst
	}
	k := &e.says
	k.m.start, k.m.mod = start, l.space.modules.of(k.id)
	if k.m.mod == nil {
		return 0, dst
	}
	in, old := l.space.add(&k.m)
	if old != nil {
		return 0, dst
	}
	l.crlf = k.crlf
	if !l.info.open || l.info.mod != in.mod {
		dst = l.endInfo(dst)
		dst = append(l.beginInfo(dst, in.mod), "; adds"...)
	}
	l.info.maps = append(l.info.maps, in)
	l.known.follow(e)
	return at + len(e.text), dst
}

// knownModule handles the definition of a module.
func (l *llvmStyle) knownModule(dst, b []byte) (used int, out []byte) {
	e := l.known.find(b, l.learnModule)
	if e == nil || e.says.kind != moduleContext || l.space.modules.of(e.says.mod.id) != nil {
		return 0, dst
	}
	k := &e.says
	l.crlf = k.crlf
	l.space.define(k.mod)
	dst = append(l.endInfo(dst), k.head...)
	l.openInfo(k.mod)
	l.known.follow(e)
	return len(e.text), dst
}

// knownReset handles a reset, which is at b[at:] of what run looks at.
func (l *llvmStyle) knownReset(dst, b []byte, at int) (used int, out []byte) {
	e := l.known.find(b, l.learnReset)
	if e == nil || e.says.kind != resetContext {
		return 0, dst
	}
	l.crlf = e.says.crlf
	if !l.space.empty() {
		dst = l.endInfo(dst)
		l.block.begin(dst, at)
		dst = append(dst, e.says.head...)
		l.space.reset()
	}
	l.known.follow(e)
	return len(e.text), dst
}

// show handles a line that does not begin with context.
func (l *llvmStyle) show(ctx context.Context, dst, b []byte) (used int, out []byte) {
	line := b[:bytes.IndexByte(b, '\n')+1]
	if len(line) > knownLine {
		return 0, dst
	}
	s, again := l.showed.slot(line, l.space.generation)
	if s.is(line, l.space.generation) {
		l.crlf = bytes.HasSuffix(line, []byte("\r\n"))
		return len(line), append(l.endInfo(dst), s.became()...)
	}
	open, before, unsure := l.info.open, len(dst), l.unsure
	dst, bare := l.bareFrame(ctx, dst, line)
	if !bare {
		dst = l.line(ctx, dst, line)
	}
	if !open && l.unsure == unsure && l.sgr.plain() && len(dst)-before <= shownText && l.showed.settled(l.space.generation) && again {
		l.showed.keep(s, line, dst[before:], l.space.generation, struct{}{})
	}
	return len(line), dst
}

// bareFrame handles a bt element that is alone on its line, and well-formed and resolved: the line that markup is full of.
func (l *llvmStyle) bareFrame(ctx context.Context, dst, line []byte) (out []byte, ok bool) {
	number, addr, typ, end, ok := readFrame(line)
	switch {
	case !ok, len(typ) > 0 && string(typ) != ":pc" && string(typ) != ":ra":
		return dst, false
	case string(typ) != ":pc":
		addr--
	}
	m := l.space.find(addr)
	if m == nil {
		return dst, false
	}
	a := l.ask(ctx, m.mod.file, addr-m.start+m.rel, l.code())
	if m.mod.file.status != symsrc.OK {
		return dst, false
	}
	l.crlf = len(end) == len("\r\n")
	return append(l.frames(l.endInfo(dst), number, addr, m, a), end...), true
}
