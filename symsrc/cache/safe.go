//go:build linux || darwin

package cache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Safe fails where another user could put a directory of his choice in the place of dir, or has: then neither what is read
// there is ours, nor what is written or removed. dir is absolute and need not be there yet.
func Safe(dir string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		switch fi, err := os.Lstat(at); {
		case err != nil: // it is to be made
		case fi.Mode()&fs.ModeSymlink != 0:
			if err := safeLink(at, fi); err != nil {
				return err
			}
		case at != dir:
			if err := safeParent(at, fi); err != nil {
				return err
			}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// safeLink checks a symbolic link, and the directories around what it leads to.
func safeLink(link string, fi fs.FileInfo) error {
	if uid := owner(fi); uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("%s is a link of another user", link)
	}
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return fmt.Errorf("follow the link to the cache's directory: %w", err)
	}
	for at := real; at != filepath.Dir(at); {
		at = filepath.Dir(at)
		fi, err := os.Lstat(at)
		if err != nil {
			return fmt.Errorf("look at the cache's directory: %w", err)
		}
		if err := safeParent(at, fi); err != nil {
			return err
		}
	}
	return nil
}

// safeParent checks a directory above the cache's: others may not exchange what is in it. Root trusts nobody else's.
func safeParent(dir string, fi fs.FileInfo) error {
	switch uid := owner(fi); {
	case fi.Mode().Perm()&0o002 != 0 && fi.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("others may exchange what is in %s", dir)
	case os.Geteuid() == 0 && uid > 0:
		return fmt.Errorf("%s belongs to another user", dir)
	}
	return nil
}

// owner is the user that a file belongs to, -1 where that is not known.
func owner(fi fs.FileInfo) int {
	if stat, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
