// Package sourcemap reads source maps (ECMA-426): which place of a source a place in generated JavaScript comes from.
//
//	sourcemap.go    a map: its fields, and where a position comes from
//	mappings.go     the mappings, as they stand in the file
//	fields.go       the fields of a JSON object, without reading what is in them
//	scopes.go       the functions that scopes have
//	functions.go    the names of functions that Metro adds
//	text.go         the text of a map, of which only parts are kept in memory
//	kept.go         what is kept of a map for the next run
//	code.go         generated code: its lines, columns and words
//	build.go        whether a map is of the code's build
//	choose.go       which segment has the place of a frame
//	compare.go      sources as a map has them, and what they say of code
//	enclosing.go    the functions of generated code
//	types.go        what TypeScript has between a function and its body
//	declared.go     the original names of functions of generated code
//	find.go         which map a script has
//	script.go       what a script with a map answers
package sourcemap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
)

// Original is where a position in generated code comes from.
type Original struct {
	// Source is the URL or the path of the source, as the map has it, after its sourceRoot.
	Source string
	// Line counts from 1, Column from 0. That is −1 if only the line is known.
	Line, Column int
	// Function is the name of the function there, "" if the map does not say.
	Function string
	// Ignored is set if the map says that the source is not the program's own.
	Ignored bool
}

// Map is a source map. It may be used by several goroutines at once.
type Map struct {
	// DebugID is the ID that the map shares with its generated code, in lower case, "" for none.
	DebugID string
	// sections are the maps of an index map, in the order of their places. The other fields are empty then.
	sections []section
	// offsets are the lines at which the modules of a RAM bundle begin, by their numbers, −1 for those that are not there; and segments are the
	// maps of its other parts, by their names in frames. They are nil for other bundles.
	offsets  []int
	segments map[string]*Map
	sources  []string
	ignored  []int // the sources that are not the program's own
	compiled bool  // it is of hermesc, from generated code to its byte code
	mappings []byte
	mapped   span    // where these are in the text; nowhere if they were escaped there
	pieces   *pieces // what is read of them when it is wanted, nil if they are there
	points   points
	sorted   []segment // in place of both, where mappings are not in order
	// contents and functions are where the text has the content of each source, and what Metro says of its functions.
	contents, functions []span
	text                *text
	// scoped is where the text has scopes, nowhere without them, and names where the names are that these use. They are read once.
	scoped      span
	names       []span
	scopesRead  bool
	functionsOf *scopes
	mu          sync.Mutex
	named       map[int32]functions   // of sources, by Metro
	paths       []string              // of sources in frames, as far as these were asked for
	texts       map[int32]*sourceText // of sources, nil for those without one
	textBytes   int                   // of these
}

// section is a map of the code from a place on.
type section struct {
	line, column int
	of           *Map
}

// Bounds of what a map may have.
const (
	maxSources  = 1 << 20
	maxSections = 1 << 14
	maxDepth    = 8 // of index maps in index maps
)

var (
	errVersion = errors.New("want version 3")
	// guard is what may stand before a map, so that no other page can read it as a script.
	guard = []byte(")]}'")
)

// Parse reads a map. The data must not change afterwards. It returns an error if any of the mappings is malformed.
func Parse(data []byte) (*Map, error) { return parseAll(data, &text{data: data}) }

func parseAll(data []byte, of *text) (*Map, error) {
	at := span{0, len(data)}
	if bytes.HasPrefix(data, guard) {
		line := bytes.IndexByte(data, '\n')
		at.at = line + 1
		if line < 0 {
			at.at = len(data)
		}
	}
	return of.parse(data, at, 0)
}

// parse reads the map at a place of its text.
func (t *text) parse(data []byte, at span, depth int) (*Map, error) {
	var contents, functions, names list
	fields, err := fieldsOf(data, at, map[string]*list{"sourcesContent": &contents, "x_facebook_sources": &functions, "names": &names})
	if err != nil {
		return nil, err
	}
	read := func(name string, into any) (ok, is bool) {
		field, is := fields[name]
		return is && json.Unmarshal(field.of(data), into) == nil, is
	}
	var version float64
	if ok, _ := read("version", &version); !ok || version != 3 {
		return nil, errVersion
	}
	m := &Map{text: t}
	for _, name := range [...]string{"debugId", "debug_id"} {
		if m.DebugID == "" {
			read(name, &m.DebugID) // one that is no string is none
		}
	}
	m.DebugID = strings.ToLower(m.DebugID)
	var root *string
	for _, name := range [...]string{"file", "sourceRoot"} {
		root = nil
		if ok, is := read(name, &root); is && !ok {
			return nil, fmt.Errorf("%s is not a string", name)
		}
	}
	m.readModules(data, fields, depth)
	if list, ok := fields["sections"]; ok {
		if _, both := fields["mappings"]; both {
			return nil, errors.New("both sections and mappings")
		}
		return m, m.readSections(data, list, depth)
	}
	var sources []*string
	if ok, _ := read("sources", &sources); !ok || sources == nil {
		return nil, errors.New("sources is not a list of names")
	}
	if len(sources) > maxSources {
		return nil, errors.New("too many sources")
	}
	m.sources = make([]string, len(sources))
	for i, s := range sources {
		if s != nil {
			m.sources[i] = join(root, *s)
		}
	}
	for _, name := range [...]string{"x_google_ignoreList", "ignoreList"} {
		var list []int
		if ok, is := read(name, &list); is {
			if !ok || slices.ContainsFunc(list, func(i int) bool { return i < 0 || i >= len(sources) }) {
				return nil, fmt.Errorf("%s has what is no source", name)
			}
			slices.Sort(list)
			m.ignored = slices.Compact(list)
		}
	}
	if _, ok := fields["x_hermes_function_offsets"]; ok && len(sources) == 1 {
		m.compiled = isScript(m.sources[0])
	}
	// The contents of sources and their functions are most of a map, and are not read.
	if _, ok := fields["sourcesContent"]; ok && !contents.all(data, `"n`) {
		return nil, errors.New("sourcesContent is not a list of texts")
	}
	m.contents = contents.values[:min(len(contents.values), len(sources))]
	if functions.is && len(functions.values) <= len(sources) { // without it, functions have no names
		m.functions = functions.values
	}
	if _, ok := fields["names"]; ok && !names.all(data, `"`) {
		return nil, errors.New("names is not a list of names")
	}
	if m.scoped = fields["scopes"]; m.scoped != (span{}) {
		m.names = names.values
	}
	mappings, ok := fields["mappings"]
	if !ok || mappings.end-mappings.at < 2 || data[mappings.at] != '"' {
		return nil, errors.New("no mappings")
	}
	m.mapped = span{mappings.at + 1, mappings.end - 1}
	if m.mappings = m.mapped.of(data); bytes.IndexByte(m.mappings, '\\') >= 0 {
		var s string
		if err := json.Unmarshal(mappings.of(data), &s); err != nil {
			return nil, err
		}
		m.mappings, m.mapped = []byte(s), span{}
	}
	return m, m.check(len(names.values))
}

// content returns the content of the i-th source, if the map has it.
func (m *Map) content(i int) (text string, ok bool) {
	if i >= len(m.contents) {
		return "", false
	}
	var content *string
	if json.Unmarshal(m.text.read(m.contents[i]), &content) != nil || content == nil {
		return "", false
	}
	return *content, true
}

// join returns the URL of a source below a root.
func join(below *string, source string) string {
	root := ""
	if below != nil {
		root = *below
	}
	switch {
	case root == "" || strings.HasPrefix(source, "/") || strings.Contains(source, "://"):
		return source
	case strings.HasSuffix(root, "/"):
		return root + source
	}
	return root + "/" + source
}

// readModules reads what Metro adds to the map of a RAM bundle. What is no list of lines and no map is left out.
func (m *Map) readModules(data []byte, fields map[string]span, depth int) {
	var offsets []*int
	if at, ok := fields["x_facebook_offsets"]; ok && json.Unmarshal(at.of(data), &offsets) == nil {
		for _, line := range offsets[:min(len(offsets), maxSections)] {
			first := -1
			if line != nil && *line >= 0 && *line < math.MaxInt32 {
				first = *line
			}
			m.offsets = append(m.offsets, first)
		}
	}
	at, ok := fields["x_facebook_segments"]
	if !ok || depth >= maxDepth {
		return
	}
	segments, err := fieldsOf(data, at, nil)
	if err != nil || len(segments) > maxSections {
		return
	}
	for name, at := range segments {
		of, err := m.text.parse(data, at, depth+1)
		if err != nil {
			continue
		}
		if m.segments == nil {
			m.segments = map[string]*Map{}
		}
		m.segments[name] = of
	}
}

// module returns the first line of a module of a RAM bundle, and the one after its last. ok is false if it is not there.
func (m *Map) module(number int) (from, to int, ok bool) {
	if number < 0 || number >= len(m.offsets) || m.offsets[number] < 0 {
		return 0, 0, false
	}
	from, to = m.offsets[number], math.MaxInt32
	for i, line := range m.offsets {
		switch {
		case i == number:
		case line == from:
			return 0, 0, false
		case line > from:
			to = min(to, line)
		}
	}
	return from, to, true
}

// readSections reads the maps of an index map.
func (m *Map) readSections(data []byte, list span, depth int) (err error) {
	if depth >= maxDepth {
		return errors.New("too many sections")
	}
	if !eachOf(data, list, func(value span) bool {
		if len(m.sections) >= maxSections {
			err = errors.New("too many sections")
		} else {
			err = m.readSection(data, value, depth)
		}
		return err == nil
	}) && err == nil {
		err = errors.New("sections is not a list of maps")
	}
	return err
}

// readSection reads the next map of an index map.
func (m *Map) readSection(data []byte, value span, depth int) error {
	i := len(m.sections)
	var offset struct{ Line, Column *int }
	fields, err := fieldsOf(data, value, nil)
	if err != nil {
		return err
	}
	at, of := fields["offset"], fields["map"]
	if json.Unmarshal(at.of(data), &offset) != nil || offset.Line == nil || offset.Column == nil || *offset.Line < 0 || *offset.Column < 0 || of == (span{}) {
		return fmt.Errorf("section %d has no place or no map", i)
	}
	one, err := m.text.parse(data, of, depth+1)
	if err != nil {
		return fmt.Errorf("section %d: %w", i, err)
	}
	next := section{*offset.Line, *offset.Column, one}
	if i > 0 && !m.sections[i-1].before(next.line, next.column) {
		return fmt.Errorf("section %d is not after the one before it", i)
	}
	m.sections = append(m.sections, next)
	return nil
}

// before reports whether a section begins before a place.
func (s *section) before(line, column int) bool {
	return s.line < line || s.line == line && s.column < column
}

// found is what a map has near a place in generated code.
type found struct {
	of *Map
	// line and column are where that begins which of is the map of.
	line, column int
	// near are its segments there, and index that of the place, −1 for none.
	near  []segment
	index int
	// moved is set if the place is before that segment, and part of its expression.
	moved bool
	// word is where the source has the word at the place, if that is known. It is in the source of the segment.
	word *position
	// windows are the texts of the sources that it was compared with.
	windows []window
}

// position is a place in a source.
type position struct{ line, column int32 }

// generated returns where the i-th segment near a place begins.
func (f *found) generated(i int) (line, column int) {
	s := &f.near[i]
	column = int(s.generatedColumn)
	if s.generatedLine == 0 {
		column += f.column
	}
	return int(s.generatedLine) + f.line, column
}

// next returns the next segment of the line after a place that has one, −1 if that is not near. sure is set if the place has a segment of its
// own, or is between some of one line of a source: where it comes from does not depend on which of them it belongs to.
func (f *found) next(line, column int) (next int, sure bool) {
	_, begin := f.generated(f.index)
	for next = f.index + 1; next < len(f.near); next++ {
		n, at := f.generated(next)
		if n != line {
			break
		}
		if at > column {
			sure = true
			for i := next; sure && i < len(f.near) && f.near[i].compare(f.near[next].generatedLine, f.near[next].generatedColumn) == 0; i++ {
				sure = f.near[i].source == f.near[f.index].source && f.near[i].line == f.near[f.index].line
			}
			return next, sure || begin == column
		}
	}
	return -1, begin == column
}

// find returns what the map has near a position in the generated code, both counted from 0. What it returns is valid until the next call
// with the same space.
func (m *Map) find(line, column int, space []segment) (f found) {
	f = found{of: m, index: -1}
	for f.of.sections != nil {
		i, _ := slices.BinarySearchFunc(f.of.sections, section{line: line - f.line, column: column + 1}, func(s, at section) int {
			if s.before(at.line, at.column) {
				return -1
			}
			return 1
		})
		if i == 0 {
			return f
		}
		s := &f.of.sections[i-1]
		if line-f.line == s.line {
			column -= s.column
			f.column += s.column
		} else {
			f.column = 0
		}
		f.line += s.line
		f.of = s.of
	}
	l, c := int32(min(line-f.line, 1<<30)), int32(min(column, 1<<30))
	f.near = f.of.near(l, c, space)
	f.index = last(f.near, l, c)
	return f
}

// At returns where a position in the generated code comes from, both counted from 0. ok is false if the map does not say.
func (m *Map) At(line, column int) (o Original, ok bool) {
	if line < 0 || column < 0 {
		return o, false
	}
	f := m.find(line, column, nil)
	return f.original()
}

// original returns where the place comes from.
func (f *found) original() (o Original, ok bool) {
	if f.index < 0 {
		return o, false
	}
	s := &f.near[f.index]
	if s.source < 0 || int(s.source) >= len(f.of.sources) {
		return o, false
	}
	_, ignored := slices.BinarySearch(f.of.ignored, int(s.source))
	o = Original{Source: f.of.sources[s.source], Line: int(s.line) + 1, Column: int(s.column), Ignored: ignored}
	if f.word != nil {
		o.Line, o.Column = int(f.word.line)+1, int(f.word.column)
	}
	o.Function = f.of.functionAt(s.source, o.Line, o.Column)
	if f.moved {
		o.Column = -1
	}
	return o, true
}

// place returns where the place is in its source.
func (f *found) place() position {
	if f.word != nil {
		return *f.word
	}
	return position{f.near[f.index].line, f.near[f.index].column}
}

// Below returns the path of a source of a map at a path, if the map has it as a relative one.
func Below(mapPath, source string) string {
	if source == "" || strings.HasPrefix(source, "/") || strings.Contains(source, "://") || len(source) > 1 && source[1] == ':' {
		return source
	}
	return path.Join(path.Dir(mapPath), source)
}
