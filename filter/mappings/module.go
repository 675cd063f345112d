package mappings

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// How many lines after one that announces something are to be looked at whatever they hold: after Android's banner stand the
// process and the build ID, after a mapping the next one.
const (
	bannerWindow = 40
	Window       = 2
)

// Literals returns what a stream is searched for: a line of a list without any of them follows one that announces it, or another
// line of its list.
func Literals() []scan.Literal {
	return []scan.Literal{
		{Text: "*** ***", Pair: 0, Set: 0, When: scan.Always}, // Android's banner
		{Text: "==Process memory map", Pair: 0, Set: 1, When: scan.Always},
		{Text: "r-x", Pair: 1, Set: 7, When: scan.Always},
		{Text: "build-id", Pair: 5, Set: 7, When: scan.Always},
	}
}

var (
	banner    = []byte("*** *** ***")
	memoryMap = []byte("Process memory map follows") // after the prefix ==PID==
)

// Announces returns how many lines after text are to be looked at whatever they hold, 0 for a text that announces nothing.
func Announces(text []byte) int {
	switch {
	case bytes.Contains(text, banner):
		return bannerWindow
	case bytes.Contains(text, memoryMap):
		return Window
	}
	return 0
}

// maxFileName is the length of the longest name of a file.
const maxFileName = 255

var (
	dartBuildID    = []byte("build_id: '")
	moduleHeadline = []byte("Module ")
	buildIDWord    = []byte("build-id")
)

// BuildID reads a build ID that stands elsewhere than at a frame, and the base name of its module:
//
//	build_id: '369f…'                                            above the frames of a Dart program; the name is nil
//	Module libfoo.so from rpm foo-1.2.x86_64, build-id=67f5…     systemd-coredump
//	Module libfoo.so with build-id 67f5…
func BuildID(text []byte) (module []byte, id symsrc.BuildID, ok bool) {
	if i := bytes.Index(text, dartBuildID); i >= 0 {
		digits, _, closed := bytes.Cut(text[i+len(dartBuildID):], []byte("'"))
		id, ok = symsrc.ParseBuildID(digits)
		return nil, id, ok && closed
	}
	i := bytes.Index(text, buildIDWord)
	if i < 0 {
		return nil, "", false
	}
	head := bytes.Index(text[:i], moduleHeadline)
	if head < 0 {
		return nil, "", false
	}
	module, _, _ = bytes.Cut(text[head+len(moduleHeadline):i], []byte(" "))
	module = module[bytes.LastIndexByte(module, '/')+1:]
	digits := bytes.TrimLeft(text[i+len(buildIDWord):], "= ")
	if end := bytes.IndexAny(digits, " .,)"); end >= 0 {
		digits = digits[:end]
	}
	id, ok = symsrc.ParseBuildID(digits)
	return module, id, ok && len(module) > 0 && len(module) <= maxFileName
}
