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

// known is a cache of lines, and stands before a filter: it has the meaning of context elements, and the output of other lines.
type known struct {
	l        *Filter
	elements linecache.Elements[says]
	outputs  linecache.Outputs[struct{}]
	block    block
	off      bool // every line is looked at in full
}

// init makes it that of a filter.
func (k *known) init(l *Filter) {
	k.l = l
	k.elements.Init()
	k.outputs.Init()
}

// footprint returns about how many bytes of memory it takes.
func (k *known) footprint() int { return k.elements.Footprint() + k.outputs.Footprint() }

// run handles the lines at the beginning of b that are in the cache or can be put there, and returns their length. It stops before a
// line that must go through Line, and when the output is large.
func (k *known) run(ctx context.Context, dst, b []byte) (out []byte, n int) {
	l := k.l
	for !k.off && len(dst) < stream.MaxOutput && l.sgr.plain() && bytes.HasPrefix(b[n:], opening) {
		l.reach(dst, n)
		used, line := 0, b[n:]
		switch {
		case bytes.HasPrefix(line, linecache.MMapStart):
			used, dst = k.mapping(dst, line)
		case bytes.HasPrefix(line, linecache.ModuleStart):
			used, dst = k.module(dst, line)
		case bytes.HasPrefix(line, linecache.ResetStart):
			k.block.end(l, dst, b[:n])
			if used, dst = k.replay(dst, line); used == 0 {
				used, dst = k.reset(dst, line, n)
			}
		default:
			k.block.end(l, dst, b[:n])
			used, dst = k.show(ctx, dst, line)
		}
		if used == 0 {
			break
		}
		n += used
	}
	k.block.end(l, dst, b[:n])
	return dst, n
}

// mapping handles a mapping whose text after the address is in the cache.
func (k *known) mapping(dst, b []byte) (used int, out []byte) {
	l := k.l
	start, at, ok := scan.Hex(b, len(linecache.MMapStart))
	if !ok {
		return 0, dst
	}
	e := k.elements.Find(b[at:], k.learnMapping)
	if e == nil || e.Says.kind != mmapContext {
		return 0, dst
	}
	s := &e.Says
	s.m.start, s.m.mod = start, l.space.modules.of(s.id)
	if s.m.mod == nil {
		return 0, dst
	}
	in, old := l.space.add(&s.m)
	if old != nil {
		return 0, dst
	}
	l.crlf = s.crlf
	if !l.info.open || l.info.mod != in.mod {
		dst = l.endInfo(dst)
		dst = append(l.beginInfo(dst, in.mod), "; adds"...)
	}
	l.info.maps = append(l.info.maps, in)
	k.elements.Follow(e)
	return at + len(e.Text), dst
}

// module handles the definition of a module.
func (k *known) module(dst, b []byte) (used int, out []byte) {
	l := k.l
	e := k.elements.Find(b, k.learnModule)
	if e == nil || e.Says.kind != moduleContext || l.space.modules.of(e.Says.mod.id) != nil {
		return 0, dst
	}
	s := &e.Says
	l.crlf = s.crlf
	l.space.define(s.mod)
	dst = append(l.endInfo(dst), s.head...)
	l.openInfo(s.mod)
	k.elements.Follow(e)
	return len(e.Text), dst
}

// reset handles a reset. at is its offset in the text of run.
func (k *known) reset(dst, b []byte, at int) (used int, out []byte) {
	l := k.l
	e := k.elements.Find(b, k.learnReset)
	if e == nil || e.Says.kind != resetContext {
		return 0, dst
	}
	l.crlf = e.Says.crlf
	if !l.space.empty() {
		dst = l.endInfo(dst)
		k.block.begin(dst, at)
		dst = append(dst, e.Says.head...)
		l.space.reset()
	}
	k.elements.Follow(e)
	return len(e.Text), dst
}

// show handles a line that does not begin with context.
func (k *known) show(ctx context.Context, dst, b []byte) (used int, out []byte) {
	l := k.l
	line := b[:bytes.IndexByte(b, '\n')+1]
	if len(line) > linecache.MaxLine {
		return 0, dst
	}
	if s := k.outputs.Find(line, l.space.generation); s != nil {
		l.crlf = bytes.HasSuffix(line, []byte("\r\n"))
		return len(line), append(l.endInfo(dst), s.Text()...)
	}
	s, again := k.outputs.Slot(line, l.space.generation)
	open, before, unsure := l.info.open, len(dst), l.unsure
	dst, bare := k.bareFrame(ctx, dst, line)
	if !bare {
		dst = l.Line(ctx, dst, line)
	}
	if !open && l.unsure == unsure && l.sgr.plain() && len(dst)-before <= linecache.MaxText && k.outputs.Settled(l.space.generation) && again {
		k.outputs.Keep(s, line, dst[before:], l.space.generation, struct{}{})
	}
	return len(line), dst
}

// bareFrame handles a bt element that is alone on its line, and well-formed and resolved: the line that markup is full of.
func (k *known) bareFrame(ctx context.Context, dst, line []byte) (out []byte, ok bool) {
	l := k.l
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
