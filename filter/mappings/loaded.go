package mappings

import (
	"bytes"

	"qss-filter/symsrc"
)

// LoadedHeadline stands above the modules of a report of minidump-stackwalk, which follow its stacks.
var LoadedHeadline = []byte("Loaded modules:")

// The parts of a line of them.
var (
	warningPart = []byte("  (WARNING: ")
	symbolsPart = []byte(" symbols, ")
	columns     = []byte("  ")
)

// Loaded reads a module of a report of minidump-stackwalk (PrintModule in Breakpad's processor/stackwalk_common.cc):
//
//	0x7f3735d35000 - 0x7f3735ecefff  libc.so.6  ???  (WARNING: No symbols, libc.so.6, E774DB9F17B26CD093172A8243F8547F0)
//
// The debug identifier is that of a module whose symbols were missing; id is "" for others. The ID is cut to 16 bytes.
func Loaded(text []byte) (module []byte, id symsrc.BuildID, ok bool) {
	s := &fields{bytes.Trim(text, " \t\r")}
	first, prefixed, ok := s.address()
	if !ok || !prefixed || !s.byte('-') {
		return nil, "", false
	}
	last, prefixed, ok := s.address()
	module, rest, _ := bytes.Cut(s.rest, columns)
	if !ok || !prefixed || last < first || len(module) == 0 || len(module) > maxFileName || len(rest) == 0 {
		return nil, "", false
	}
	if i := bytes.LastIndex(rest, warningPart); i >= 0 {
		_, names, found := bytes.Cut(rest[i:], symbolsPart)
		if digits, closed := bytes.CutSuffix(names[bytes.LastIndexByte(names, ' ')+1:], []byte(")")); found && closed {
			id, _ = symsrc.ParseDebugID(digits)
		}
	}
	return module, id, true
}
