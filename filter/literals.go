package filter

import (
	"slices"

	"qss-filter/filter/frame"
	"qss-filter/filter/mappings"
	"qss-filter/filter/scan"
)

// literals are what the recognizers rely on: those of frames, of lists of mappings, and of all else that a line may mean.
var literals = slices.Concat(frame.Literals(), mappings.Literals(), []scan.Literal{
	{Text: "{{{", Pair: 0, Set: 0, When: scan.Always},
	{Text: "<<<", Pair: 0, Set: 1, When: scan.Always},
	{Text: "Sanitizer", Pair: 0, Set: 3, When: scan.Always},
	{Text: "runtime error:", Pair: 9, Set: 4, When: scan.Always},
	{Text: "Backtrace:", Pair: 0, Set: 3, When: scan.Always},
	{Text: "<signal handler called>", Pair: 0, Set: 6, When: scan.Absolute},
	{Text: "\x1b[", Pair: 0, Set: 7, When: scan.Coloring},
})
