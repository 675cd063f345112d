//go:build !linux

package child

import (
	"os"
)

// files is not used on this system.
type files map[string]struct{}

func (files) snapshot(int, Snapshot) (s Snapshot, ok bool) { return s, false }

func descendants(int) []int { return nil }

// linkOf returns nothing on this system.
func linkOf(*os.File) string { return "" }

// holders returns none: on this system there is no cheap way to find them.
func holders([]string) []holder { return nil }
