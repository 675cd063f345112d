package symsrc

import "time"

// Place is a line of a source file, as the debug information of a module names it.
type Place struct {
	// Module is the binary that was compiled from it, and Files are where that lies, nil where that is not known; Made is then
	// what Answer.Made is.
	Module Module
	Files  *Files
	Made   time.Time
	// Path is the file as the debug information has it, Local the same on this machine.
	Path, Local string
	// MD5 is what Frame.MD5 is.
	MD5 string
	// Line counts from 1.
	Line int
}

// Excerpt is the text around a Place.
type Excerpt struct {
	// First is the number of the first of Lines.
	First int
	// Lines are without their ends, as they are in the file, in any length and with any bytes; there are none where no file is
	// known to be the right one.
	Lines []string
	// Note says in words what speaks against the lines, or why there are none; "" where nothing is to be said.
	Note string
	// Absent is set where there simply is no file.
	Absent bool
	// Retry, if not nil, reports whether asking again may bring more by now. It is cheap.
	Retry func() bool
}
