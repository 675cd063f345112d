package llvm

// says is the meaning of a context element in the cache.
type says struct {
	kind contextTag
	crlf bool
	// mod is the module that is defined, or in which the mapping lies.
	mod *module
	// head is the beginning of the module's line, or the line of a reset.
	head []byte
	// id is the ID of a mapping's module. The mapping has the size, mode and address in the module of m.
	id uint64
	m  mapping
}

// learnMapping reads what stands after the address of a mapping.
func (k *known) learnMapping(text []byte) (s says, ok bool) {
	l, line := k.l, append([]byte("{{{mmap:0x0"), text...)
	n, ok := l.alone(line, mmapContext, 6)
	if !ok {
		return s, false
	}
	defer l.quietly()()
	s.kind, s.crlf = mmapContext, l.crlf
	if s.m, ok = l.mmapFields(&n); ok {
		s.id = s.m.mod.id
	}
	return s, ok
}

// learnModule reads the definition of a module. It refuses the ID of all ones, which is special.
func (k *known) learnModule(line []byte) (s says, ok bool) {
	l := k.l
	n, ok := l.alone(line, moduleContext, 4)
	if !ok {
		return s, false
	}
	defer l.quietly()()
	s.kind, s.crlf = moduleContext, l.crlf
	if s.mod, ok = l.moduleFields(&n); !ok || s.mod.id == ^uint64(0) {
		return s, false
	}
	info := l.info
	s.head = l.beginModule(nil, s.mod)
	l.info = info
	return s, true
}

// learnReset reads a reset.
func (k *known) learnReset(line []byte) (s says, ok bool) {
	l := k.l
	n, ok := l.alone(line, resetContext, 0)
	if ok {
		s.kind, s.crlf = resetContext, l.crlf
		s.head = append(l.raw(nil, &n), l.lineEnd()...)
	}
	return s, ok
}

// alone returns the element that a line consists of, and makes the line the one at hand.
func (r *reader) alone(line []byte, kind contextTag, fields int) (n node, ok bool) {
	r.text = line
	n = r.nextElement(0)
	end := string(line[n.whole.End:])
	if n.whole.Start != 0 || contextKind(n.tag.Of(line)) != kind || end != "\n" && end != "\r\n" {
		return n, false
	}
	r.crlf = end == "\r\n"
	r.split(&n)
	return n, r.count == fields
}

// quietly drops messages until the function that it returns is called. A line that is not learned is handled in full, with its
// messages.
func (r *reader) quietly() (loud func()) {
	errors := r.errors
	r.errors = nil
	return func() { r.errors = errors }
}
