package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readFreeCAD reads a frame of FreeCAD with a function of C++, whose other frames are those of glibc:
//
//	#2  0x7f1da6284598 in Gui::DAG::Model::selectionChanged(Gui::SelectionChanges const&) from /usr/lib/libFreeCADGui.so+0x138
//
// It looks like gdb's, but the offset counts from the function, and all addresses are those of backtrace() (printBacktrace in its
// src/App/Application.cpp, until 2025).
func readFreeCAD(s *Search, line []byte, at, from int, f *Frame) bool {
	if !s.spendFast(len(line)-at) || bytes.IndexByte(line[at:], '+') < 0 || !readGDB(s, line, at, from, f) || f.Module.Empty() {
		return false
	}
	plus := f.Module.Start + s.lastIndexByte(f.Module.Of(line), '+')
	off, e, ok := scan.Address(line, plus+1)
	if !ok && scan.Has(line, plus+1, "0") { // the place of the function
		e, ok = plus+len("+0"), true
	}
	if plus <= f.Module.Start || !ok || e != f.Module.End {
		return false
	}
	f.Module.End, f.Off, f.Offset, f.Base, f.Convention = plus, span(plus+1, e), off, FromSymbol, Raw
	f.Symbol = span(f.Gap.Start+len(inWord), f.Gap.End)
	return true
}
