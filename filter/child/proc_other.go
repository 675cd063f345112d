//go:build !linux

package child

import (
	"os"
)

// files would be what is known of mapped files.
type files map[string]struct{}

func (files) snapshot(int, Snapshot) (s Snapshot, ok bool) { return s, false }

func descendants(int) []int { return nil }

// linkOf would return what identifies an open file for other processes.
func linkOf(*os.File) string { return "" }

// holders would return the processes that have one of the files open: there is no cheap way to ask for them here.
func holders([]string) []holder { return nil }
