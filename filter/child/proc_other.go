//go:build !linux

package child

import (
	"os"
	"sync"
)

// files is not used on this system.
type files map[string]struct{}

func (files) count(*Snapshot) {}

func (files) has(string) bool { return false }

func (files) soname(string) string { return "" }

func (files) away(func(path, soname string) bool) []nameOf { return nil }

func (files) heldAs(string, string) string { return "" }

func (files) holdDeleted(*Snapshot) {}

func (files) replaced(string, []struct{}) bool { return false }

func (files) mappings([]Snapshot) []struct{} { return nil }

func snapshot(int, Snapshot) (s Snapshot, ok bool) { return s, false }

// records are not there on this system.
type records struct{}

func newRecords(files) *records { return nil }

func (*records) snapshots() []Snapshot { return nil }

func (*records) complete() bool { return false }

func (*records) drain() {}

func (*records) mappings() []struct{} { return nil }

func (*records) hold(bool) {}

func (*records) follow(*sync.Mutex, func(), <-chan struct{}) {}

func descendants(int) []int { return nil }

// linkOf returns nothing on this system.
func linkOf(*os.File) string { return "" }

// holders returns none: on this system there is no cheap way to find them.
func holders([]string) []holder { return nil }
