package elfdwarf

// readRoots collects the ranges in the root entries of the units that .debug_aranges does not list. It compiles no
// abbreviation tables: the declarations before the root's are many (GCC puts it last) and only it is needed.
func (f *File) readRoots() (all []arange) {
	listed := make(map[int]bool)
	f.readAranges(func(arange) {}, func(unit int) { listed[unit] = true })
	var spans []span
	var u unit
	t := newAbbrevs(f.abbrev.all(), 0, f.formTable(layout{}), &f.abbrevBudget)
	for _, off := range f.unitOffsets() {
		if listed[off] {
			continue
		}
		table, ok := f.readUnitHeader(&u, off)
		if !ok || u.typ == unitType || table >= uint64(len(t.b)) {
			continue
		}
		b := f.info.upTo(u.end)
		code, p := uleb(b, u.die)
		t.p, t.forms, t.ops = int(table), f.formTable(u.layout), t.ops[:0]
		if d := t.only(code); !u.readRoot(b, p, &d, &compiled{ops: t.ops}) || u.tag == tagTypeUnit {
			continue
		}
		spans = u.ranges(&u.root, spans[:0])
		for _, s := range spans {
			all = append(all, arange{s, off})
		}
	}
	return all
}

// only finds one declaration without compiling those before it.
func (t *abbrevs) only(code uint64) decl {
	b, p := t.b, t.p
	if t.budget.Load() < 0 {
		return decl{}
	}
	for p != past {
		var c uint64
		if c, p = uleb(b, p); c == 0 {
			break
		}
		if c == code {
			return t.decl(p)
		}
		start := p
		p = skipLEB(b, p) + 1 // the tag, and whether there are children
		for p < len(b) {
			if b[p] == 0 && p+1 < len(b) && b[p+1] == 0 {
				p += 2
				break
			}
			p = skipLEB(b, p)
			var form uint64
			if form, p = uleb(b, p); form == formImplicitConst {
				p = skipLEB(b, p)
			}
		}
		if p >= len(b) {
			break
		}
		t.budget.Add(int64(start - p))
	}
	return decl{}
}
