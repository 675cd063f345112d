package filter

import (
	"bytes"
	"unsafe"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/resolve"
	"qss-filter/filter/stream"
)

// A frame's line behind a logger's prefix is known if its tail is, and if what precedes it is the prefix of a thread that comes again at another
// time. Then it is neither read nor searched, and what it leaves behind is what reading it would: the writer's last line, and the end of a text
// that the next line may go on with.

// knownHead is the prefix of a thread whose frames are known.
type knownHead struct {
	head   prefix.Head
	thread *resolve.Thread
	// forgotten is how often all threads had been forgotten.
	forgotten int
}

// maxHeads is how many prefixes are remembered.
const maxHeads = 8

// headWeight is about how many bytes of memory a prefix takes.
const headWeight = int(unsafe.Sizeof(knownHead{})) + prefix.MaxHead

// isPlain reports whether a part of a known line means nothing to any reader but those of its frame and its prefix.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c == '{' || c == '<' || c == 0x1b || c == '\r' {
			return false
		}
	}
	return !bytes.Contains(text, resolve.SummaryWord) && !frame.MayOpenHostFrame(text)
}

// learnHead notes the prefix of the line at hand, which is that of t and has a known tail.
func (k *known) learnHead(t *resolve.Thread, l *parse.Line, s *shownTail) {
	if !s.plain || k.head(l.Body) != nil || !isPlain(l.Body[:l.Start]) {
		return
	}
	var h prefix.Head
	if !h.Learn(l.Body, &k.f.parser.Prefix) {
		return
	}
	is := knownHead{h, t, k.f.resolver.Processes.Forgotten()}
	if len(k.heads) < maxHeads {
		k.heads = append(k.heads, is)
		return
	}
	k.heads[k.nextHead], k.nextHead = is, (k.nextHead+1)%maxHeads
}

// head returns the prefix that a line begins with, nil if it is not known.
func (k *known) head(line []byte) *knownHead {
	for i := range k.heads {
		if is := &k.heads[i]; is.forgotten == k.f.resolver.Processes.Forgotten() && k.f.parser.Repeats(&is.head, line) {
			if i > 0 { // the next line is probably of the same thread
				k.heads[0], k.heads[i] = k.heads[i], k.heads[0]
			}
			return &k.heads[0]
		}
	}
	return nil
}

// quiet reports whether no line is held back, and none of those around the filter waits for the next one.
func (l *liner) quiet() bool {
	return l.ahead == nil && !l.held.holding() && len(l.joints) == 0 && (l.traces == nil || !l.traces.holding() && l.java().State() == 0)
}

// behind handles the lines at the start of b that are known behind their prefixes, and returns the number of bytes that they take. h looks at them
// for parts of lines, and awaits none.
func (k *known) behind(h *splits, dst, b []byte) (out []byte, n int) {
	f := k.f
	f.reach(dst, 0)
	defer f.rescueLines(&out, &n, b)
	for len(dst) < stream.MaxOutput && n < len(b) {
		is := k.head(b[n:])
		if is == nil {
			break
		}
		t := is.thread
		line, ok := readTextFrame(b[n:], is.head.Prefix.Start)
		if !ok || len(line.line) >= longEntry {
			break
		}
		s := k.tail(t, &line, f.line+1)
		if s == nil || !s.By.plain || s.By.read != nil || !h.passes(line.line, &is.head.Prefix, f.line+1) {
			break
		}
		if n > 0 {
			f.reach(dst, n)
		}
		f.line++
		by := line.line[:is.head.Prefix.Start]
		f.resolver.Prefetch.Expect(t)
		f.resolver.Begin(by)
		f.only.begin(dst)
		dst = f.only.end(k.again(dst, t, &line, s))
		t.Wrote(by, f.line)
		f.resolver.Processes.Handled(t)
		k.last = n
		n += len(line.line)
		h.pass(len(line.line))
	}
	if n > 0 {
		f.rescan()
		f.held.pass(b[k.last:n])
	}
	return dst, n
}
