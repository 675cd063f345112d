package dwarf

import (
	"io"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
)

// rootReader reads the headers and root entries of units, one after the other. Where they are far from each other it reads
// the file instead of its mapping, of which each look brings in as much as 64 KiB.
type rootReader struct {
	f      *Data
	t      *abbrevs // has nothing compiled
	key    rootKey  // of the root entry's declaration
	decl   decl
	u      unitRoot
	in     io.ReaderAt // nil where the mapping is read
	far    bool        // the last unit was large
	window [512]byte
}

// rootKey tells which declaration a root entry has. Those of units that follow each other are often the same.
type rootKey struct {
	abbrevKey
	code uint64
}

// listedWeight is what it takes to remember that a unit is listed, in bytes.
const listedWeight = 32

// farUnit is the size of a unit from which on the next one is far.
const farUnit = 1 << 15

// readRoots collects the ranges in the root entries of the units that .debug_aranges does not list. It compiles no
// abbreviation tables: the declarations before the root's are many (GCC puts it last) and only it is needed.
func (x *unitIndex) readRoots() (all []arange) {
	f := x.of
	listed := make(map[int]bool)
	kept := budget.Tally{Of: f.budget}
	x.readAranges(func(arange) {}, func(unit int) {
		listed[unit] = true
		kept.Add(1, listedWeight)
	})
	r := rootReader{f: f, t: newAbbrevs(f, 0, f.recent.formTable(layout{}))}
	if f.infoAt > 0 && f.Info.Size > farUnit {
		if in := f.Reopen(); in != nil {
			defer in.Close()
			r.in = in
		}
	}
	var spans []elf.Span
	for off := 0; off < f.Info.Size; off = r.u.end {
		spans = r.read(off, listed[off], spans[:0])
		kept.Add(1, len(spans)*arangeWeight)
		for _, s := range spans {
			all = append(all, arange{s, off})
		}
	}
	kept.Flush()
	return all
}

// read appends the ranges of the unit at off, unless they are known. It leaves in r.u.end where the next one stands.
func (r *rootReader) read(off int, known bool, out []elf.Span) []elf.Span {
	f := r.f
	if r.far && r.in != nil {
		if n, err := r.in.ReadAt(r.window[:], f.infoAt+int64(off)); err == nil {
			if spans, ok := r.parse(off, r.window[:n], 0, known, out); ok {
				return spans
			}
		}
	}
	out, _ = r.parse(off, f.Info.UpTo(off+len(r.window)), off, known, out)
	return out
}

// parse does read's work on a header that stands at p of b. It fails where b holds too little.
func (r *rootReader) parse(off int, b []byte, p int, known bool, out []elf.Span) ([]elf.Span, bool) {
	u := &r.u
	table, ok := r.f.parseUnitHeader(u, off, b, p)
	if u.end == bin.Past {
		return out, false
	}
	r.far = u.end-off > farUnit
	if known || !ok || u.typ == unitType || table >= uint64(len(r.t.b)) {
		return out, true
	}
	if p == off {
		b = r.f.Info.UpTo(u.end)
	}
	code, p := bin.ULEB(b, p+u.die-off)
	if key := (rootKey{abbrevKey{off: table, layout: u.layout}, code}); key != r.key {
		r.t.p, r.t.forms, r.t.ops = int(table), r.f.recent.formTable(u.layout), r.t.ops[:0]
		r.key, r.decl = key, r.t.only(code)
	}
	if !u.readRoot(b, p, &r.decl, &compiled{ops: r.t.ops}) {
		return out, r.decl.tag == 0
	}
	if u.tag == tagTypeUnit {
		return out, true
	}
	return u.ranges(&u.root, out), true
}

// only finds one declaration without compiling those before it.
func (t *abbrevs) only(code uint64) decl {
	b, p := t.b, t.p
	for p != bin.Past {
		var c uint64
		if c, p = bin.ULEB(b, p); c == 0 {
			break
		}
		if c == code {
			return t.decl(p)
		}
		start := p
		p = bin.SkipLEB(b, p) + 1 // the tag, and whether there are children
		for p < len(b) {
			if p+1 < len(b) && b[p]|b[p+1] < 0x80 && b[p+1] != formImplicitConst {
				if p += 2; b[p-2]|b[p-1] == 0 {
					break
				}
				continue
			}
			p = bin.SkipLEB(b, p)
			var form uint64
			if form, p = bin.ULEB(b, p); form == formImplicitConst {
				p = bin.SkipLEB(b, p)
			}
		}
		if p >= len(b) {
			break
		}
		t.f.budget.Spend(p - start)
	}
	return decl{}
}
