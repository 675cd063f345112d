package filter

import (
	"bytes"
	"hash/maphash"
)

// A log repeats its lines: the modules of a process that starts again and again, and its mappings but for their
// addresses. What a line of context says is therefore kept by its bytes, with what followed it, and what a line of
// presentation becomes as long as the address space is the same. Only lines that are one good element, alone, are known;
// all others, and those whose effect has conditions that do not hold, go through line.

// llvmKnown is a context element that was seen before, alone on its line.
type llvmKnown struct {
	kind llvmContext
	crlf bool
	// text is the line with its end; of a mapping what stands behind its address.
	text []byte
	// next is what followed last time.
	next *llvmKnown
	// mod is the module, and of a mapping only says what is constant in it.
	mod *llvmModule
	// head is the begin of the module's line, or the line of a reset.
	head []byte
	// id is the module's of a mapping, which has m's size, mode and address in the module.
	id uint64
	m  llvmMap
}

// llvmShown is what a line without context became in one generation of the address space.
type llvmShown struct {
	generation uint64
	// text is the line, and behind length what it became.
	text   []byte
	length int
}

const (
	knownLines = 1 << 12 // of each table
	knownLine  = 512     // bytes of a line in it
	shownText  = 2048    // bytes of what a line became
)

// llvmTables hold them by the hash of the text.
type llvmTables struct {
	seed  maphash.Seed
	known []*llvmKnown
	shown []llvmShown
	// lines have been shown in a generation.
	generation, lines uint64
	// before is the element of the line before.
	before llvmKnown
	last   *llvmKnown
}

func (t *llvmTables) init() {
	t.seed = maphash.MakeSeed()
	t.known = make([]*llvmKnown, knownLines)
	t.shown = make([]llvmShown, knownLines)
	t.last = &t.before
}

// expect gives what followed last time if it follows now.
func (l *llvmStyle) expect(b []byte) *llvmKnown {
	if k := l.tables.last.next; k != nil && bytes.HasPrefix(b, k.text) {
		return k
	}
	return nil
}

// follow notes that k came.
func (l *llvmStyle) follow(k *llvmKnown) {
	l.tables.last.next = k
	l.tables.last = k
}

// recall gives what is known of a text.
func (l *llvmStyle) recall(text []byte, kind llvmContext) *llvmKnown {
	k := l.tables.known[l.tables.place(text)]
	if k == nil || k.kind != kind || !bytes.Equal(k.text, text) {
		return nil
	}
	return k
}

func (t *llvmTables) place(text []byte) uint64 { return maphash.Bytes(t.seed, text) % knownLines }

// knownLine gives what is known of the line that b begins with.
func (l *llvmStyle) knownLine(b []byte, kind llvmContext) *llvmKnown {
	k := l.expect(b)
	if k == nil {
		line := b[:bytes.IndexByte(b, '\n')+1]
		if k = l.recall(line, kind); k == nil {
			k = l.learn(line, 0)
		}
	}
	if k == nil || k.kind != kind {
		return nil
	}
	return k
}

// learn reads a line that is one context element and nothing else. at is where the constant part of a mapping begins.
func (l *llvmStyle) learn(line []byte, at int) *llvmKnown {
	if len(line) > knownLine {
		return nil
	}
	errors := l.opt.Errors
	l.opt.Errors = nil
	defer func() { l.opt.Errors = errors }()
	l.text = line
	n := l.nextElement(0)
	crlf := bytes.HasSuffix(line, []byte("\r\n"))
	if end := string(line[n.whole.End:]); n.whole.Start != 0 || end != "\n" && end != "\r\n" {
		return nil
	}
	l.split(&n)
	k := &llvmKnown{kind: contextKind(n.tag.Of(line)), crlf: crlf, text: bytes.Clone(line[at:])}
	l.crlf = crlf
	ok := false
	switch k.kind {
	case mmapContext:
		if l.count == 6 {
			if k.m, ok = l.mmapFields(&n); ok {
				k.id = k.m.mod.id
			}
		}
	case moduleContext:
		if l.count == 4 {
			k.mod, ok = l.moduleFields(&n)
		}
		if ok = ok && k.mod.id != ^uint64(0); ok {
			info := l.info
			k.head = l.beginModule(nil, k.mod)
			l.info = info
		}
	case resetContext:
		if ok = l.count == 0; ok {
			k.head = append(l.raw(nil, &n), l.lineEnd()...)
		}
	}
	if !ok {
		return nil
	}
	l.tables.known[l.tables.place(k.text)] = k
	return k
}
