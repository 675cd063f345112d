//go:build unix

package command

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// The least address space, in bytes, and the fewest open files with which the program works.
const (
	leastSpace = 7 << 28
	leastFiles = 24
)

// checkLimits returns an error if the shell has left the program less address space than its runtime reserves, which would end it with the
// runtime's own words, and says if it can open only few files: some symbols are not found then.
func checkLimits() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err == nil && uint64(limit.Cur) < leastSpace {
		return errors.New("the limit of memory is too low (ulimit -v): want 1835008 or more")
	}
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && uint64(limit.Cur) < leastFiles {
		warn(fmt.Sprintf("only %d files may be open at once (ulimit -n): symbols may be missing", uint64(limit.Cur)))
	}
	return nil
}
