package llvm

// known is the meaning of a context element in the cache.
type known struct {
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
func (l *Filter) learnMapping(text []byte) (k known, ok bool) {
	line := append([]byte("{{{mmap:0x0"), text...)
	n, ok := l.alone(line, mmapContext, 6)
	if !ok {
		return k, false
	}
	defer l.quietly()()
	k.kind, k.crlf = mmapContext, l.crlf
	if k.m, ok = l.mmapFields(&n); ok {
		k.id = k.m.mod.id
	}
	return k, ok
}

// learnModule reads the definition of a module. It refuses the ID of all ones, which is special.
func (l *Filter) learnModule(line []byte) (k known, ok bool) {
	n, ok := l.alone(line, moduleContext, 4)
	if !ok {
		return k, false
	}
	defer l.quietly()()
	k.kind, k.crlf = moduleContext, l.crlf
	if k.mod, ok = l.moduleFields(&n); !ok || k.mod.id == ^uint64(0) {
		return k, false
	}
	info := l.info
	k.head = l.beginModule(nil, k.mod)
	l.info = info
	return k, true
}

// learnReset reads a reset.
func (l *Filter) learnReset(line []byte) (k known, ok bool) {
	n, ok := l.alone(line, resetContext, 0)
	if ok {
		k.kind, k.crlf = resetContext, l.crlf
		k.head = append(l.raw(nil, &n), l.lineEnd()...)
	}
	return k, ok
}

// alone returns the element that a line consists of, and makes the line the one at hand.
func (l *Filter) alone(line []byte, kind contextTag, fields int) (n node, ok bool) {
	l.text = line
	n = l.nextElement(0)
	end := string(line[n.whole.End:])
	if n.whole.Start != 0 || contextKind(n.tag.Of(line)) != kind || end != "\n" && end != "\r\n" {
		return n, false
	}
	l.crlf = end == "\r\n"
	l.split(&n)
	return n, l.count == fields
}

// quietly drops messages until the function that it returns is called. A line that is not learned is handled in full, with its
// messages.
func (l *Filter) quietly() (loud func()) {
	errors := l.opt.Errors
	l.opt.Errors = nil
	return func() { l.opt.Errors = errors }
}
