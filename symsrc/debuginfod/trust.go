package debuginfod

import (
	"io/fs"
	"os"

	"qss-filter/symsrc/diskcache"
)

// foreign reports whether a file belongs neither to this user, nor to root, nor to the owner of the directory: its build ID says
// nothing of who made the rest of it.
func (c *cache) foreign(st fs.FileInfo) bool {
	uid, ok := diskcache.Owner(st)
	if !ok || uid == 0 || uid == os.Geteuid() {
		return false
	}
	dir, err := os.Stat(c.dir)
	if err != nil {
		return true
	}
	keeper, _ := diskcache.Owner(dir)
	return uid != keeper
}
