package sourcemap

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// functions are where the functions of a source begin, in the order of their places. What follows a function inside of another one begins
// that one again.
type functions []functionStart

type functionStart struct {
	line, column int
	name         string
}

// maxFunctions bounds those of a source.
const maxFunctions = 1 << 20

// functionAt returns the name of the function at a place of a source, "" if the map does not say.
func (m *Map) functionAt(source int32, line, column int) string {
	if int(source) >= len(m.functions) {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of, known := m.named[source]
	if !known {
		of = readFunctions(m.text.read(m.functions[source]))
		if m.named == nil {
			m.named = map[int32]functions{}
		}
		m.named[source] = of
	}
	i, found := slices.BinarySearchFunc(of, functionStart{line: line, column: column}, func(a, b functionStart) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	switch {
	case found:
		return of[i].name
	case i > 0:
		return of[i-1].name
	}
	return ""
}

// readFunctions reads what Metro has of a source in x_facebook_sources: names, and the places from which on each is the one of the function.
// The places count from the one before: column, name and, if it is another one, line. Columns begin anew after each `;`. See
// decodeFunctionMap in Metro's SourceMetadataMapConsumer.
func readFunctions(text json.RawMessage) functions {
	var metadata []struct {
		Names    []string
		Mappings string
	}
	if json.Unmarshal(text, &metadata) != nil || len(metadata) == 0 {
		return nil
	}
	of := &metadata[0]
	var all functions
	line, name := 1, 0
	for group := range strings.SplitSeq(of.Mappings, ";") {
		column := 0
		for mapping := range strings.SplitSeq(group, ",") {
			var fields [3]int32
			n := 0
			for i := 0; i < len(mapping); n++ {
				var ok bool
				if n == len(fields) {
					return nil
				}
				if fields[n], i, ok = number([]byte(mapping), i); !ok {
					return nil
				}
			}
			if n == 0 {
				continue
			}
			column, name, line = column+int(fields[0]), name+int(fields[1]), line+int(fields[2])
			if name < 0 || name >= len(of.Names) || len(all) >= maxFunctions {
				return nil
			}
			all = append(all, functionStart{line, column, of.Names[name]})
		}
	}
	slices.SortStableFunc(all, func(a, b functionStart) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return all
}
