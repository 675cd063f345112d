package llvm

import (
	"bytes"
	"context"

	"qss-filter/filter/linecache"
	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// run handles the lines at the beginning of b that are in the cache or can be put there, and returns their length. It stops before a
// line that must go through Line, and when the output is large.
func (l *Filter) run(ctx context.Context, dst, b []byte) (out []byte, n int) {
	for !l.careful && len(dst) < stream.MaxOutput && l.sgr.plain() && bytes.HasPrefix(b[n:], opening) {
		l.reach(dst, n)
		used, line := 0, b[n:]
		switch {
		case bytes.HasPrefix(line, linecache.MMapStart):
			used, dst = l.knownMapping(dst, line)
		case bytes.HasPrefix(line, linecache.ModuleStart):
			used, dst = l.knownModule(dst, line)
		case bytes.HasPrefix(line, linecache.ResetStart):
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

// knownMapping handles a mapping whose text after the address is in the cache.
func (l *Filter) knownMapping(dst, b []byte) (used int, out []byte) {
	start, at, ok := scan.Hex(b, len(linecache.MMapStart))
	if !ok {
		return 0, dst
	}
	e := l.known.Find(b[at:], l.learnMapping)
	if e == nil || e.Says.kind != mmapContext {
		return 0, dst
	}
	k := &e.Says
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
	l.known.Follow(e)
	return at + len(e.Text), dst
}

// knownModule handles the definition of a module.
func (l *Filter) knownModule(dst, b []byte) (used int, out []byte) {
	e := l.known.Find(b, l.learnModule)
	if e == nil || e.Says.kind != moduleContext || l.space.modules.of(e.Says.mod.id) != nil {
		return 0, dst
	}
	k := &e.Says
	l.crlf = k.crlf
	l.space.define(k.mod)
	dst = append(l.endInfo(dst), k.head...)
	l.openInfo(k.mod)
	l.known.Follow(e)
	return len(e.Text), dst
}

// knownReset handles a reset. at is its offset in the text of run.
func (l *Filter) knownReset(dst, b []byte, at int) (used int, out []byte) {
	e := l.known.Find(b, l.learnReset)
	if e == nil || e.Says.kind != resetContext {
		return 0, dst
	}
	l.crlf = e.Says.crlf
	if !l.space.empty() {
		dst = l.endInfo(dst)
		l.block.begin(dst, at)
		dst = append(dst, e.Says.head...)
		l.space.reset()
	}
	l.known.Follow(e)
	return len(e.Text), dst
}

// show handles a line that does not begin with context.
func (l *Filter) show(ctx context.Context, dst, b []byte) (used int, out []byte) {
	line := b[:bytes.IndexByte(b, '\n')+1]
	if len(line) > linecache.MaxLine {
		return 0, dst
	}
	s, again := l.showed.Slot(line, l.space.generation)
	if s.Is(line, l.space.generation) {
		l.crlf = bytes.HasSuffix(line, []byte("\r\n"))
		return len(line), append(l.endInfo(dst), s.Text()...)
	}
	open, before, unsure := l.info.open, len(dst), l.unsure
	dst, bare := l.bareFrame(ctx, dst, line)
	if !bare {
		dst = l.Line(ctx, dst, line)
	}
	if !open && l.unsure == unsure && l.sgr.plain() && len(dst)-before <= linecache.MaxText && l.showed.Settled(l.space.generation) && again {
		l.showed.Keep(s, line, dst[before:], l.space.generation, struct{}{})
	}
	return len(line), dst
}

// bareFrame handles a bt element that is alone on its line, and well-formed and resolved: the line that markup is full of.
func (l *Filter) bareFrame(ctx context.Context, dst, line []byte) (out []byte, ok bool) {
	bt, end, ok := markup.BTLine(line)
	if !ok {
		return dst, false
	}
	addr := bt.Addr
	if bt.Type != markup.Exact {
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
	return append(l.frames(l.endInfo(dst), bt.Num, addr, m, a), end...), true
}
