package command

import "slices"

// HiddenFlags are the flags that help does not show.
var HiddenFlags = slices.Concat(otherSymbolFlags, seedTreeFlags, llvmOwnFlags, []string{coreFlag})
