package resolve

import (
	"bytes"

	"qss-filter/ctxstate"
	"qss-filter/filter/mappings"
	"qss-filter/symsrc"
)

// maxBases bounds the modules of a process that are known by where they are mapped. Beyond it all are forgotten.
const maxBases = 1 << 12

// ApplyObjects applies what objects of JSON in a text state of the modules of t's process.
func (r *Resolver) ApplyObjects(t *Thread, text []byte, line int) {
	mappings.Objects(text, func(m *mappings.Object) {
		switch {
		case m.Only:
			r.Processes.addBuildID(t.Process, string(m.Name[bytes.LastIndexByte(m.Name, '/')+1:]), m.BuildID)
		case m.Last > 0:
			t.Space.AddListed(&ctxstate.Listed{List: uint8(mappings.JSON), Start: m.Base, Last: m.Last, Space: symsrc.InImage, Mode: "rx",
				Module: true, Path: m.Name, BuildID: string(m.BuildID), Apart: true}, line)
			r.Mapped = true
		default:
			if t.bases == nil || len(t.bases) >= maxBases {
				t.Process.bases = map[uint64]symsrc.Module{}
			}
			t.bases[m.Base] = symsrc.Module{Name: string(m.Name), BuildID: m.BuildID}
		}
	})
}
