package sourcemap

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"sync"

	"qss-filter/symsrc"
)

// Script is a script of a log for which there is a map.
type Script struct {
	m    *Map
	maps *Maps
	// path is that of the map, and file that of the script, if it is here.
	path, file string
	// files are what is said of the map, and where the map is of another build.
	files *symsrc.Files
	// unnamed is set if the script is at the log's path, and the map beside it, but nothing in the script speaks of a map; or if the map is
	// elsewhere, and nothing but the name is the log's.
	unnamed bool
	// from and to are the lines of the map that are the script's, if it is a module of a RAM bundle; 0 for other scripts.
	from, to int
	// part is set if the script is a module or a segment of one, which has no map of its own.
	part bool
	// code is that of the script, nil if it is not here.
	code *code
	// generated are the scripts that sources of the map are, by their paths in frames; nil for those that are none.
	generated map[string]*Script
	held      int        // bytes of these
	mu        sync.Mutex // of both
}

// spaces are memory for the segments near a place.
var spaces = sync.Pool{New: func() any { return new([]segment) }}

// refused returns files of which the map is of another build, and why.
func refused(files *symsrc.Files, why string) *symsrc.Files {
	of := *files
	of.DebugStatus, of.ElfStatus, of.Note = symsrc.MismatchBuildID, symsrc.MismatchBuildID, why
	return &of
}

// text returns the content of a source, by its path in frames, if the map has it.
func (s *Script) text(file string) (text string, ok bool) {
	if text, ok = s.content(file); ok {
		return text, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.generated {
		if of != nil && !ok {
			text, ok = of.text(file)
		}
	}
	return text, ok
}

// content is text for the sources of the map itself.
func (s *Script) content(file string) (text string, ok bool) {
	s.m.each(func(m *Map) {
		for i := 0; i < len(m.contents) && !ok; i++ {
			if s.below(m.sources[i]) == file {
				text, ok = m.content(i)
			}
		}
	})
	return text, ok
}

// below returns the path of a source in frames.
func (s *Script) below(source string) string { return Below(filepath.ToSlash(s.path), source) }

// sourcePath returns the path in frames of the source of a place. The map keeps it.
func (s *Script) sourcePath(f *found) string {
	of, i := f.of, f.near[f.index].source
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.paths == nil {
		of.paths = make([]string, len(of.sources))
	}
	if of.paths[i] == "" {
		of.paths[i] = s.below(of.sources[i])
	}
	return of.paths[i]
}

// size returns how many bytes of memory a script takes, about.
func (s *Script) size() (n int) {
	if s == nil || s.part {
		return 0 // that of the bundle
	}
	s.m.each(func(m *Map) {
		n += len(m.mappings) + len(m.points) + len(m.sorted)*24
		if last := len(m.contents) - 1; last >= 0 { // they may all be wanted
			n += min(m.contents[last].end-m.contents[0].at, maxTexts)
		}
	})
	if s.code != nil {
		s.code.lexed.mu.Lock()
		defer s.code.lexed.mu.Unlock()
		n += len(s.code.text) + len(s.code.lexed.functions)*functionSize
	}
	return n
}

// At returns the answer for a place in a script: the offset that Pack returns. Where the map is that of hermesc, and the bundle that it has
// compiled has a map, the answer is that map's. So it is where the source itself has a map beside it: a compiler, a bundler and what makes
// scripts small may each have written one.
func (s *Script) At(offset uint64) symsrc.Answer {
	a := s.at(offset)
	for range maxComposed {
		if len(a.Frames) != 1 || a.Frames[0].Column == 0 {
			return a
		}
		fr := a.Frames[0]
		next, compiled := s.behind(fr.File), s.m.compiled
		if next == nil {
			return a
		}
		of := next.at(Pack(uint32(fr.Line-1), uint32(fr.Column-1)))
		if len(of.Frames) == 0 && !compiled {
			return a // that much is right
		}
		for i := range of.Frames {
			f := &of.Frames[i]
			f.Unverified, f.Foreign, f.Func = f.Unverified || fr.Unverified, f.Foreign || fr.Foreign, cmp.Or(f.Func, fr.Func)
		}
		if !compiled {
			of.Files = a.Files // which watch the others
		}
		if first, then := a.Named, of.Named; first != nil && then != nil {
			of.Named = func(logged string) string { return then(first(logged)) }
		} else if then == nil {
			of.Named = first
		}
		a, s = of, next
	}
	return a
}

// Bounds of maps of sources: how many follow each other, and how many sources of a map are remembered.
const (
	maxComposed  = 8
	maxGenerated = 1 << 12
)

// behind returns the script that a source of the map is, by its path in frames, nil if it is none that has a map.
func (s *Script) behind(file string) *Script {
	if s.m.compiled {
		if of := s.maps.Script(context.Background(), file); of != s && of != nil && !of.m.compiled {
			return of
		}
		return nil
	}
	if !isScript(file) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of, known := s.generated[file]
	if known {
		return of
	}
	if of = s.besideSource(file); of != nil {
		s.held += of.size()
	}
	if s.generated == nil || len(s.generated) >= maxGenerated || s.held > maxKept {
		s.generated, s.held = map[string]*Script{}, 0
	}
	s.generated[file] = of
	return of
}

// changed reports whether a script that is a source of the map has changed. The script itself is read again then.
func (s *Script) changed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.generated {
		if of != nil && of.files.Watch.Look() {
			return true
		}
	}
	return false
}

// besideSource returns the script at the path of a source, with its map. What the map has as the source's content must be the script.
func (s *Script) besideSource(file string) *Script {
	file = filepath.FromSlash(file)
	s.maps.mu.Lock()
	of := s.maps.beside(file)
	s.maps.mu.Unlock()
	if of == nil || of.code == nil || of.path == s.path {
		return nil
	}
	of.code.pieces.want(0, len(of.code.text))
	switch content, ok := s.content(filepath.ToSlash(file)); {
	case !ok:
		of.unnamed = true
	case content != string(of.code.text):
		return nil
	}
	return of
}

// at returns the answer of the script's own map.
func (s *Script) at(offset uint64) symsrc.Answer {
	a := s.read(offset)
	if s.lost() {
		s.files.Watch.Look()
		return symsrc.Answer{Files: refused(s.files, "the script or its map has changed since the first frame of it")}
	}
	return a
}

// lost reports whether what was read may be of two builds.
func (s *Script) lost() bool {
	return s.m.text.lost.Load() || s.code != nil && s.code.pieces != nil && s.code.pieces.of.lost.Load()
}

// read is at for files that have not changed.
func (s *Script) read(offset uint64) symsrc.Answer {
	a := symsrc.Answer{Files: s.files}
	line, column := Unpack(offset)
	if s.files.DebugStatus != symsrc.OK {
		return a
	}
	if s.to > 0 {
		if line >= s.to-s.from {
			a.Files = refused(s.files, "the module has no such line in the map")
			return a
		}
		line += s.from
	}
	if s.code != nil {
		r, ok := s.code.row(line)
		at := 0
		if ok {
			at, ok = r.offset(column)
		}
		switch {
		case !ok:
			a.Files = refused(s.files, "the script here has no such place")
			return a
		case parts(r.text, at):
			a.Files = refused(s.files, "the script here is of another build: the place is within a word of it")
			return a
		}
	}
	space := spaces.Get().(*[]segment)
	defer spaces.Put(space)
	f := s.m.find(line, column, *space)
	f.giveBack(space)
	sure := true
	if s.code == nil && f.index >= 0 {
		_, sure = f.next(line, column)
	} else if s.code != nil {
		switch {
		case !s.code.fits(&f):
			a.Files = refused(s.files, "the map is of another build: near this place, it has places within words of the script here")
			return a
		case !s.code.choose(&f, line, column):
			return a
		case !s.code.resembles(&f, line, column):
			a.Files = refused(s.files, "the source of the map has other code at this place")
			return a
		case !s.code.sound(&f, line, column):
			a.Files = refused(s.files, "the source does not have what the map has of it near this place")
			return a
		}
	}
	o, ok := f.original()
	if !ok || o.Source == "" {
		return a
	}
	if o.Function == anonymous { // Metro has no names of private methods, and of functions that are members by a computed key: the log has them
		o.Function = ""
	}
	framed := func(o *Original, path string) {
		a.Frames = append(a.Frames, symsrc.Frame{Func: o.Function, File: path, Line: o.Line, Column: o.Column + 1, Unverified: s.unnamed || !sure, Foreign: o.Ignored})
	}
	if o.Function == "" {
		for _, o := range f.stack(line, column) {
			framed(&o, s.below(o.Source))
		}
	}
	if len(a.Frames) == 0 {
		framed(&o, s.sourcePath(&f))
		if o.Function == "" && s.code != nil {
			q := &asked{line, column, f.of, f.near[f.index].source, f.place()}
			a.Named = func(logged string) string { return s.nameOf(q, logged) }
		}
	}
	return a
}

// giveBack has the space for segments be the one that find has made larger.
func (f *found) giveBack(space *[]segment) {
	if f.of.sorted == nil && cap(f.near) > cap(*space) {
		*space = f.near
	}
}

// Line returns a line of the script without its end, counted from 0. ok is false if there is none, or if the script is not here or of another
// build than its map.
func (s *Script) Line(n int) (text []byte, ok bool) {
	if s.code == nil || s.files.DebugStatus != symsrc.OK || s.part {
		return nil, false
	}
	r, ok := s.code.row(n)
	if !ok {
		return nil, false
	}
	r.want(0, len(r.text))
	return bytes.TrimSuffix(r.text, []byte("\r")), true
}

// Pack returns a place in a script as an offset: a line and a column that count from 0.
func Pack(line, column uint32) uint64 { return uint64(line)<<32 | uint64(column) }

// Unpack returns the place that Pack has packed.
func Unpack(offset uint64) (line, column int) { return int(offset >> 32), int(uint32(offset)) }
