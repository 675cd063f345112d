//go:build !linux

package child

import "os"

// linkOf would return what tells an open file from others in the view of other processes.
func linkOf(*os.File) string { return "" }

// holders would return the processes that have one of the files open: there is no cheap way to ask for them here.
func holders([]string) []holder { return nil }
