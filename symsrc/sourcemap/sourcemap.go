// Package sourcemap reads source maps (ECMA-426): which place of a source a place in generated JavaScript comes from.
//
//	sourcemap.go    a map: its fields, and where a position comes from
//	mappings.go     the mappings, as they stand in the file
//	fields.go       the fields of a JSON object, without reading what is in them
//	functions.go    the names of functions that Metro adds
//	find.go         which map a script has
package sourcemap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// Original is where a position in generated code comes from.
type Original struct {
	// Source is the URL or the path of the source, as the map has it, after its sourceRoot.
	Source string
	// Line counts from 1, Column from 0.
	Line, Column int
	// Function is the name of the function there, "" if the map does not say.
	Function string
}

// Map is a source map. It may be used by several goroutines at once.
type Map struct {
	// DebugID is the ID that the map shares with its generated code, in lower case, "" for none.
	DebugID string
	// sections are the maps of an index map, in the order of their places. The other fields are empty then.
	sections []section
	sources  []string
	mappings []byte
	points   []point   // some of the places in mappings, in their order
	sorted   []segment // in place of both, where mappings are not in order
	metro    []json.RawMessage
	mu       sync.Mutex
	named    map[int32]functions // of sources, by Metro
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

// Parse reads a map. The text must not change afterwards. It returns an error if any of the mappings is malformed.
func Parse(text []byte) (*Map, error) {
	if bytes.HasPrefix(text, guard) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return parse(text, 0)
}

func parse(text []byte, depth int) (*Map, error) {
	fields, err := fieldsOf(text)
	if err != nil {
		return nil, err
	}
	var version float64
	if json.Unmarshal(fields["version"], &version) != nil || version != 3 {
		return nil, errVersion
	}
	m := &Map{}
	for _, name := range [...]string{"debugId", "debug_id"} {
		if id, ok := fields[name]; ok && m.DebugID == "" {
			_ = json.Unmarshal(id, &m.DebugID) // one that is no string is none
		}
	}
	m.DebugID = strings.ToLower(m.DebugID)
	for _, name := range [...]string{"file", "sourceRoot"} {
		var s *string
		if field, ok := fields[name]; ok && json.Unmarshal(field, &s) != nil {
			return nil, fmt.Errorf("%s is not a string", name)
		}
	}
	if list, ok := fields["sections"]; ok {
		if fields["mappings"] != nil {
			return nil, errors.New("both sections and mappings")
		}
		return m, m.readSections(list, depth)
	}
	if err := m.readSources(fields); err != nil {
		return nil, err
	}
	names, err := m.readNames(fields)
	if err != nil {
		return nil, err
	}
	mappings, ok := fields["mappings"]
	if !ok || len(mappings) < 2 || mappings[0] != '"' {
		return nil, errors.New("no mappings")
	}
	if m.mappings = mappings[1 : len(mappings)-1]; bytes.IndexByte(m.mappings, '\\') >= 0 {
		var s string
		if err := json.Unmarshal(mappings, &s); err != nil {
			return nil, err
		}
		m.mappings = []byte(s)
	}
	return m, m.check(names)
}

// readSources reads the names of the sources.
func (m *Map) readSources(fields map[string]json.RawMessage) error {
	var sources []*string
	field, ok := fields["sources"]
	if !ok || json.Unmarshal(field, &sources) != nil || string(field) == "null" {
		return errors.New("sources is not a list of names")
	}
	if len(sources) > maxSources {
		return errors.New("too many sources")
	}
	var root string
	_ = json.Unmarshal(fields["sourceRoot"], &root) // it was checked
	m.sources = make([]string, len(sources))
	for i, s := range sources {
		if s != nil {
			m.sources[i] = join(root, *s)
		}
	}
	if list, ok := fields["sourcesContent"]; ok && !isTexts(list) {
		return errors.New("sourcesContent is not a list of texts")
	}
	for _, name := range [...]string{"ignoreList", "x_google_ignoreList"} {
		var list []int
		if field, ok := fields[name]; ok {
			if json.Unmarshal(field, &list) != nil || slices.ContainsFunc(list, func(i int) bool { return i < 0 || i >= len(sources) }) {
				return fmt.Errorf("%s has what is no source", name)
			}
		}
	}
	if list, ok := fields["x_facebook_sources"]; ok {
		_ = json.Unmarshal(list, &m.metro) // without it, functions have no names
	}
	return nil
}

// readNames returns the number of names.
func (m *Map) readNames(fields map[string]json.RawMessage) (n int, err error) {
	field, ok := fields["names"]
	if !ok {
		return 0, nil
	}
	var names []string
	if json.Unmarshal(field, &names) != nil || !isList(field) {
		return 0, errors.New("names is not a list of names")
	}
	return len(names), nil
}

// isList reports whether a value is one.
func isList(value json.RawMessage) bool {
	value = bytes.TrimSpace(value)
	return len(value) > 0 && (value[0] == '[' || string(value) == "null")
}

// isTexts reports whether a value is a list of strings, or nulls. They may be the most of a map, and are not read.
func isTexts(list json.RawMessage) bool {
	if string(list) == "null" || !isList(list) {
		return string(list) == "null"
	}
	for i := blanks(list, 1); i < len(list) && list[i] != ']'; i = blanks(list, i+1) {
		if list[i] != '"' && list[i] != 'n' {
			return false
		}
		if i = blanks(list, valueEnd(list, i)); i >= len(list) || list[i] != ',' {
			break
		}
	}
	return true
}

// join returns the URL of a source below a root.
func join(root, source string) string {
	switch {
	case root == "" || strings.HasPrefix(source, "/") || strings.Contains(source, "://"):
		return source
	case strings.HasSuffix(root, "/"):
		return root + source
	}
	return root + "/" + source
}

// readSections reads the maps of an index map.
func (m *Map) readSections(list json.RawMessage, depth int) error {
	var sections []struct {
		Offset *struct{ Line, Column *int }
		Map    json.RawMessage
	}
	if err := json.Unmarshal(list, &sections); err != nil {
		return fmt.Errorf("sections: %w", err)
	}
	if depth >= maxDepth || len(sections) > maxSections {
		return errors.New("too many sections")
	}
	for i, s := range sections {
		if s.Offset == nil || s.Offset.Line == nil || s.Offset.Column == nil || *s.Offset.Line < 0 || *s.Offset.Column < 0 || s.Map == nil {
			return fmt.Errorf("section %d has no place or no map", i)
		}
		of, err := parse(s.Map, depth+1)
		if err != nil {
			return fmt.Errorf("section %d: %w", i, err)
		}
		next := section{*s.Offset.Line, *s.Offset.Column, of}
		if i > 0 && !m.sections[i-1].before(next.line, next.column) {
			return fmt.Errorf("section %d is not after the one before it", i)
		}
		m.sections = append(m.sections, next)
	}
	return nil
}

// before reports whether a section begins before a place.
func (s *section) before(line, column int) bool {
	return s.line < line || s.line == line && s.column < column
}

// At returns where a position in the generated code comes from, both counted from 0. ok is false if the map does not say.
func (m *Map) At(line, column int) (o Original, ok bool) {
	if line < 0 || column < 0 {
		return o, false
	}
	if m.sections != nil {
		i, _ := slices.BinarySearchFunc(m.sections, section{line: line, column: column + 1}, func(s, at section) int {
			if s.before(at.line, at.column) {
				return -1
			}
			return 1
		})
		if i == 0 {
			return o, false
		}
		s := &m.sections[i-1]
		if line == s.line {
			column -= s.column
		}
		return s.of.At(line-s.line, column)
	}
	s, ok := m.find(int32(min(line, 1<<30)), int32(min(column, 1<<30)))
	if !ok || s.source < 0 {
		return o, false
	}
	o = Original{Source: m.sources[s.source], Line: int(s.line) + 1, Column: int(s.column)}
	o.Function = m.functionAt(s.source, o.Line, o.Column)
	return o, true
}

// Below returns the path of a source of a map at a path, if the map has it as a relative one.
func Below(mapPath, source string) string {
	if source == "" || strings.HasPrefix(source, "/") || strings.Contains(source, "://") || len(source) > 1 && source[1] == ':' {
		return source
	}
	return path.Join(path.Dir(mapPath), source)
}
