package ctxstate

import (
	"hash/maphash"
	"slices"
	"strings"

	"qss-filter/symsrc"
)

// Listed is one line of a list of mappings.
type Listed struct {
	// List identifies the layout of the list.
	List uint8
	// Start and Last are the first and the last address, both inclusive.
	Start, Last uint64
	// Space is the space of Offset, which is the offset of Start in the module, if the list has one.
	Space  symsrc.Space
	Offset uint64
	Mode   string
	// Module is set if a file is mapped. Path is its path; Written is the text in the log if that differs.
	Module        bool
	Path, Written []byte
	// BuildID is raw bytes.
	BuildID string
	// Apart is set if other text may stand between the lines of one list.
	Apart bool
}

// snapshot is the last list of mappings that a process printed. The next one replaces it.
//
// Its lines may have any order. So it is made of runs, whose addresses ascend: the kernel's own list is one run. A mapping in the second run
// or a later one that contradicts another mapping is of another list, since one process does not map two files at one address, nor its
// stack at two.
type snapshot struct {
	layout uint8
	line   int
	start  uint64
	// ended is set if the next line begins another list.
	ended bool
	// runs is the number of runs before the current one, and run the current one's lines if there are any. before is Process.age at its start.
	runs   int
	run    []Listed
	before uint64
	// places are the addresses of what a process has once: code of a file, and the kernel's own mappings.
	places  map[place]found
	images  map[string]*image
	modules map[string]*Module
	weight  int    // total weight of modules
	last    uint64 // last address of all mappings
	first   uint64 // first address of all mappings
}

// place is what a process has mapped at one address only: the hash of its path, since that may be long, and its offset.
type place struct{ path, offset uint64 }

// pathSeed is that of the hashes of paths.
var pathSeed = maphash.MakeSeed()

// found is the address of a place, and Process.age when it was listed.
type found struct{ start, age uint64 }

// image is where a module is mapped, in lists without offsets, which count from the lowest address.
type image struct {
	first, last uint64
	age         uint64
}

const (
	// maxGap is the largest distance, in lines, between two mappings of one list.
	maxGap = 64
	// maxHole is the largest distance, in bytes, between two mappings of one image. Linkers align segments to as much as 2 MiB.
	maxHole = 4 << 20
)

// once are the kernel's own mappings, of which a process has one.
var once = [...]string{"[stack]", "[vdso]", "[vsyscall]"}

// AddListed adds a line of a list of mappings, whose order does not matter. line is its number in the log. A mapping begins a new list if
// it is more than maxGap lines after the last one, has another layout, follows EndList, or has a lower address and other text stands before
// it. If it is not in order, and contradicts earlier mappings, these are of an older list.
func (p *Process) AddListed(m *Listed, line int) {
	p.touch()
	l := p.list
	lower := l != nil && m.Start <= l.start
	if l == nil || l.ended || l.layout != m.List || line-l.line > maxGap || line < l.line || lower && line-l.line > 1 && !m.Apart {
		l, lower = p.newList(m), false
	}
	if lower {
		l.runs, l.run, l.before = l.runs+1, l.run[:0], p.age
	}
	if l.runs > 0 {
		if stale, age := p.contradicted(l, m); stale {
			run := l.run
			if age > l.before {
				run = nil
			}
			l = p.newList(m)
			for i := range run {
				p.listed(l, &run[i])
			}
		} else {
			kept := *m
			kept.Path, kept.Written = slices.Clone(m.Path), slices.Clone(m.Written)
			l.run = append(l.run, kept)
		}
	}
	l.line, l.start = line, m.Start
	p.listed(l, m)
}

// newList replaces the list by an empty one, of which m is a line.
func (p *Process) newList(m *Listed) *snapshot {
	p.DropList()
	p.list = &snapshot{layout: m.List, first: m.Start, places: map[place]found{}, images: map[string]*image{}, modules: map[string]*Module{}}
	return p.list
}

// contradicted reports whether a mapping cannot be of the same process, at the same time, as another one of the list, and returns the latter's age.
func (p *Process) contradicted(l *snapshot, m *Listed) (is bool, age uint64) {
	for _, at := range p.mapped.overlapping(m.Start, m.Last) {
		if at.listed {
			is, age = true, max(age, at.age)
		}
	}
	if key, has := placeOf(m); has {
		if at, known := l.places[key]; known && at.start != m.Start {
			is, age = true, max(age, at.age)
		}
	}
	if m.Module && m.Space == symsrc.InImage {
		if image := l.images[string(m.Path)]; image != nil && !image.near(m) {
			is, age = true, max(age, image.age)
		}
	}
	return is, age
}

// placeOf returns what is mapped, if a process has that once.
func placeOf(m *Listed) (place, bool) {
	if m.Module {
		return place{maphash.Bytes(pathSeed, m.Path), m.Offset}, m.Space != symsrc.InImage && strings.Contains(m.Mode, "x")
	}
	return place{path: maphash.Bytes(pathSeed, m.Path)}, slices.Contains(once[:], string(m.Path))
}

// near reports whether a mapping of an image's module may be of the image.
func (i *image) near(m *Listed) bool {
	return (m.Last >= i.first || i.first-m.Last <= maxHole) && (m.Start <= i.last || m.Start-i.last <= maxHole)
}

// listed adds a mapping to the list and to the process.
func (p *Process) listed(l *snapshot, m *Listed) {
	l.first, l.last = min(l.first, m.Start), max(l.last, m.Last)
	if key, has := placeOf(m); has && len(l.places) < p.state.limits.modules {
		p.age++
		l.places[key] = found{m.Start, p.age}
	}
	if m.Module {
		p.mapListed(l, m)
	}
}

// mapListed adds a mapping of a file.
func (p *Process) mapListed(l *snapshot, m *Listed) {
	name := string(m.Path)
	module := l.modules[name]
	if module == nil {
		if l.weight >= p.state.limits.modules {
			return
		}
		p.age++
		module = &Module{ID: uint64(len(l.modules)), Name: name, Written: string(m.Written), BuildID: m.BuildID, age: p.age}
		l.modules[name] = module
		l.weight += module.weight()
	}
	added := &Mapping{Start: m.Start, Last: m.Last, Module: module, Mode: m.Mode, Rel: m.Offset, Space: m.Space, listed: true}
	if m.Space == symsrc.InImage {
		added.Rel = p.inImage(l, m, module)
	}
	p.age++
	added.age = p.age
	p.update(func() { p.mapped.add(added) })
	p.limit()
}

// inImage returns the offset of a mapping in its image. If it is the image's lowest, the offsets of the others change.
func (p *Process) inImage(l *snapshot, m *Listed, module *Module) uint64 {
	name := string(m.Path)
	i := l.images[name]
	if i == nil || !i.near(m) {
		i = &image{first: m.Start, last: m.Last}
		l.images[name] = i
	}
	if m.Start < i.first {
		for _, at := range p.mapped.overlapping(i.first, i.last) {
			if at.listed && at.Module == module {
				moved := *at
				moved.Rel += i.first - m.Start
				p.update(func() { p.mapped.add(&moved) })
			}
		}
	}
	i.first, i.last, i.age = min(i.first, m.Start), max(i.last, m.Last), p.age+1
	return m.Start - i.first
}

// LastListed returns the mapping of the last line of a list, or nil if that line has no file.
func (p *Process) LastListed() *Mapping {
	if p.list == nil {
		return nil
	}
	if at := p.mapped.find(p.list.start); at != nil && at.listed && at.Start == p.list.start {
		return at
	}
	return nil
}

// EndList notes that the next mapping of a list begins another one, as after its headline. The mappings of the last one count until then.
func (p *Process) EndList() {
	if p.list != nil {
		p.list.ended = true
	}
}

// Listed reports whether the process has printed a list of its mappings.
func (p *Process) Listed() bool { return p.list != nil }

// TakeList replaces the list of mappings of the process by that of another one, which has none then.
func (p *Process) TakeList(from *Process) {
	p.DropList()
	if p == from || from.list == nil {
		return
	}
	list := from.list
	taken := slices.DeleteFunc(from.mapped.all(), func(m *Mapping) bool { return !m.listed })
	from.DropList()
	p.touch()
	p.age, p.list = max(p.age, from.age), list
	p.update(func() {
		for _, m := range taken {
			p.mapped.add(m)
		}
	})
	p.limit()
}

// DropList removes the mappings of the last list.
func (p *Process) DropList() {
	if p.list == nil {
		return
	}
	first, last := p.list.first, p.list.last
	p.list = nil
	p.update(func() { p.mapped.dropListed(first, last) })
}
