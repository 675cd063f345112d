package debuginfod

import (
	"io/fs"
	"os"
)

// foreign tells whether a file is neither the user's own, nor root's, nor of whoever keeps the directory: its build ID says
// nothing of who made the rest of it.
func (c *cache) foreign(st fs.FileInfo) bool {
	uid, ok := owner(st)
	if !ok || uid == 0 || uid == os.Geteuid() {
		return false
	}
	dir, err := os.Stat(c.dir)
	if err != nil {
		return true
	}
	keeper, _ := owner(dir)
	return uid != keeper
}
