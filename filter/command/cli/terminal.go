package cli

import (
	"os"
	"strconv"

	"golang.org/x/term"
)

// Columns returns the width of a terminal: what COLUMNS says, or the terminal itself. It is 80 if neither does.
func Columns(out *os.File) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if n, _, err := term.GetSize(int(out.Fd())); err == nil && n > 0 {
		return n
	}
	return 80
}
