package filter

import (
	"bytes"
	"context"

	"qss-filter/symsrc"
)

var mmapStart, moduleStart, resetStart = []byte("{{{mmap:0x"), []byte("{{{module:"), []byte("{{{reset")

// run handles the lines at the begin of b that are known, and gives the bytes that they are. It stops before one that
// must go through line, and where the output is large.
func (l *llvmStyle) run(ctx context.Context, dst, b []byte) (out []byte, n int) {
	for len(dst) < outLimit && l.sgr.plain() && bytes.HasPrefix(b[n:], llvmOpening) {
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
	start, at, ok := hexPrefix(b[len(mmapStart):])
	if !ok || at == 0 {
		return 0, dst
	}
	at += len(mmapStart)
	k := l.expect(b[at:])
	if k == nil {
		end := bytes.IndexByte(b, '\n') + 1
		if k = l.recall(b[at:end], mmapContext); k == nil {
			if k = l.learn(b[:end], at); k == nil {
				return 0, dst
			}
		}
	}
	if k.kind != mmapContext {
		return 0, dst
	}
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
	l.follow(k)
	return at + len(k.text), dst
}

// knownModule handles the definition of a module.
func (l *llvmStyle) knownModule(dst, b []byte) (used int, out []byte) {
	k := l.knownLine(b, moduleContext)
	if k == nil || l.space.modules.of(k.mod.id) != nil {
		return 0, dst
	}
	l.crlf = k.crlf
	l.space.define(k.mod)
	dst = append(l.endInfo(dst), k.head...)
	l.openInfo(k.mod)
	l.follow(k)
	return len(k.text), dst
}

// knownReset handles a reset, which is at b[at:] of what run looks at.
func (l *llvmStyle) knownReset(dst, b []byte, at int) (used int, out []byte) {
	k := l.knownLine(b, resetContext)
	if k == nil {
		return 0, dst
	}
	l.crlf = k.crlf
	if !l.space.empty() {
		dst = l.endInfo(dst)
		l.block.begin(dst, at)
		dst = append(dst, k.head...)
		l.space.reset()
	}
	l.follow(k)
	return len(k.text), dst
}

// show handles a line that does not begin with context.
func (l *llvmStyle) show(ctx context.Context, dst, b []byte) (used int, out []byte) {
	line := b[:bytes.IndexByte(b, '\n')+1]
	if len(line) > knownLine {
		return 0, dst
	}
	s := &l.tables.shown[l.tables.place(line)]
	if s.generation == l.space.generation && len(s.text) > s.length && bytes.Equal(s.text[:s.length], line) {
		l.crlf = bytes.HasSuffix(line, []byte("\r\n"))
		return len(line), append(l.endInfo(dst), s.text[s.length:]...)
	}
	open, before, unsure := l.info.open, len(dst), l.unsure
	dst, bare := l.bareFrame(ctx, dst, line)
	if !bare {
		dst = l.line(ctx, dst, line)
	}
	if !open && l.unsure == unsure && l.sgr.plain() && len(dst)-before <= shownText && l.tables.settled(l.space.generation) {
		s.generation, s.length = l.space.generation, len(line)
		s.text = append(append(s.text[:0], line...), dst[before:]...)
	}
	return len(line), dst
}

// settled tells whether a generation has lasted for some lines: frames of a process that is soon gone do not come again.
func (t *llvmTables) settled(generation uint64) bool {
	if t.generation != generation {
		t.generation, t.lines = generation, 0
	}
	t.lines++
	return t.lines > 16
}

// bareFrame handles a bt element that is alone on its line, and well-formed and resolved: the line that markup is full of.
func (l *llvmStyle) bareFrame(ctx context.Context, dst, line []byte) (out []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("{{{bt:"))
	colon := bytes.IndexByte(rest, ':')
	if !ok || colon < 0 {
		return dst, false
	}
	number, ok := digits(rest[:colon], 10)
	rest, prefixed := bytes.CutPrefix(rest[colon+1:], []byte("0x"))
	addr, n, fits := hexPrefix(rest)
	if !ok || !prefixed || !fits || n == 0 {
		return dst, false
	}
	crlf := false
	switch string(rest[n:]) {
	case ":pc}}}\n":
	case "}}}\n", ":ra}}}\n":
		addr--
	case "}}}\r\n", ":ra}}}\r\n":
		crlf = true
		addr--
	default:
		return dst, false
	}
	m := l.space.find(addr)
	if m == nil {
		return dst, false
	}
	a := l.ask(ctx, m.mod.file, addr-m.start+m.rel, l.code())
	if m.mod.file.status != symsrc.OK {
		return dst, false
	}
	l.crlf = crlf
	return append(l.frames(l.endInfo(dst), number, addr, m, a), l.lineEnd()...), true
}
