package filter

import (
	"qss-filter/filter/frame"
	"qss-filter/filter/scan"
)

// literals are what the recognizers rely on: those of frames, and those of all else that a line may mean.
var literals = append(frame.Literals(), []scan.Literal{
	{Text: "{{{", Pair: 0, Set: 0, When: scan.Always},
	{Text: "<<<", Pair: 0, Set: 1, When: scan.Always},
	{Text: "*** ***", Pair: 0, Set: 0, When: scan.Always}, // Android's banner
	{Text: "==Process memory map", Pair: 0, Set: 1, When: scan.Always},
	{Text: "r-x", Pair: 1, Set: 7, When: scan.Always}, // /proc/PID/maps and its like
	{Text: "build-id", Pair: 5, Set: 7, When: scan.Always},
	{Text: "Sanitizer", Pair: 0, Set: 3, When: scan.Always},
	{Text: "runtime error:", Pair: 9, Set: 4, When: scan.Always},
	{Text: "Backtrace:", Pair: 0, Set: 3, When: scan.Always},
	{Text: "<signal handler called>", Pair: 0, Set: 6, When: scan.Absolute},
	{Text: "\x1b[", Pair: 0, Set: 7, When: scan.Coloring},
}...)
