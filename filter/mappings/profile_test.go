package mappings_test

import (
	"fmt"
	"strings"
	"testing"

	"qss-filter/filter/mappings"
	"qss-filter/symsrc"
)

// profile is one whose only mapping is given, and whose only location is.
const profile = `{"dictionary":{"mappingTable":[{},%s],"locationTable":[{},%s],"stringTable":["","/bin/a","process.executable.build_id.gnu","profile.frame.type"],
"attributeTable":[{},{"keyStrindex":2,"value":{"stringValue":"8fe381949ea8c7644d1ff4a0d5e3a5e6d1b2c3d4"}},{"keyStrindex":3,"value":{"stringValue":"jvm"}},{"keyStrindex":2,"value":{"stringValueStrindex":1}}]}}`

// TestProfileAt finds the place of an address of a profile.
func TestProfileAt(t *testing.T) {
	const mapping, location = `{"memoryStart":"8192","memoryLimit":"12288","fileOffset":"4096","filenameStrindex":1,"attributeIndices":[1]}`, `{"mappingIndex":1,"address":"8300"}`
	for _, tc := range []struct {
		mapping, location string
		index, addr       uint64
		offset            uint64
		space             symsrc.Space
	}{
		{mapping, location, 1, 8300, 4204, symsrc.InFile},
		{mapping, location, 1, 12287, 8191, symsrc.InFile},
		{`{"memory_start":1,"memoryLimit":12288,"attributeIndices":[1]}`, location, 1, 8300, 8300, symsrc.InFileOrLinked},
		{mapping: mapping, location: location, index: 1, addr: 12288}, // behind the mapping
		{mapping: mapping, location: location, index: 1, addr: 8191},
		{mapping: mapping, location: location, index: 0, addr: 8300},
		{mapping: mapping, location: location, index: 1 << 60, addr: 8300},
		{mapping: `{"memoryStart":"8192","memoryLimit":"12288"}`, location: location, index: 1, addr: 8300}, // of no file that is known
		{mapping: `{"memoryStart":"8192","memoryLimit":"12288","attributeIndices":[3,-1,77]}`, location: location, index: 1, addr: 8300},
		{mapping: `{"memoryStart":"8192","memoryLimit":"8192","attributeIndices":[1]}`, location: location, index: 1, addr: 8192},
		{mapping: `{"memoryStart":"1","memoryLimit":"18446744073709551615","fileOffset":"4096","attributeIndices":[1]}`, location: location, index: 1, addr: 8300},
		{mapping: mapping, location: `{"mappingIndex":1,"address":"8300","lines":[{"functionIndex":1}]}`, index: 1, addr: 8300}, // has a function
		{mapping: mapping, location: `{"mappingIndex":1,"address":8300,"attributeIndices":[2]}`, index: 1, addr: 8300},          // is of Java
	} {
		p, ok := mappings.WholeProfile(fmt.Appendf(nil, profile, tc.mapping, tc.location))
		if !ok {
			t.Fatalf("%s: no profile", tc.mapping)
		}
		m, offset, space, ok := p.At(tc.index, tc.addr)
		if ok != (tc.offset > 0) || offset != tc.offset || space != tc.space || ok && m.BuildID == "" {
			t.Errorf("%s %s: %v %#x %v %v", tc.mapping, tc.location, m, offset, space, ok)
		}
	}
	for _, line := range []string{`{"mappingIndex":1`, `{"mappingIndex":1}{}`, `{"dictionary":{"mappingTable":[{"memoryStart":"x"}],"mappingIndex":1}}`, `{}`, ``} {
		if _, ok := mappings.WholeProfile([]byte(line)); ok {
			t.Errorf("%s is a profile", line)
		}
	}
}

// TestProfileText reads tables that have a line for each member, with and without a dictionary around them, and ends where a line is none of them.
func TestProfileText(t *testing.T) {
	const tables = "    \"mappingTable\": [\n      {},\n      {\n        \"memoryStart\": \"8192\", \"memoryLimit\": \"12288\", \"attributeIndices\": [1]\n      }\n    ],\n" +
		"    \"stringTable\": [\"\", \"process.executable.build_id.gnu\"],\n" +
		"    \"attributeTable\": [{}, {\"keyStrindex\": 1, \"value\": {\"stringValue\": \"8fe381949ea8c7644d1ff4a0d5e3a5e6d1b2c3d4\"}}]\n  }\n"
	for text, want := range map[string]bool{
		"  \"dictionary\": {\n" + tables: true,
		tables:                           true,
		"  \"dictionary\": {\n    \"words\": [\n" + tables:         false,
		"  \"dictionary\": {\n  }\n":                               false,
		strings.Replace(tables, "\"8192\"", "8192,,", 1):           false,
		strings.Replace(tables, "    \"stringTable\"", "other", 1): false,
	} {
		var open mappings.ProfileText
		var p *mappings.Profile
		for i, line := range strings.Split(text, "\n") {
			if i == 0 {
				if !mappings.OpensProfile([]byte(line)) {
					t.Fatalf("%q opens nothing", line)
				}
				open.Open([]byte(line))
				continue
			}
			var ok bool
			if p, ok = open.Line([]byte(line)); !ok || p != nil {
				break
			}
		}
		if _, offset, _, ok := p.At(1, 8200); ok != want || want && offset != 8 {
			t.Errorf("%q: %v %#x", text, ok, offset)
		}
	}
}
