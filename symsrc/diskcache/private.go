package diskcache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Safe fails where another user can put a directory of their choice in the place of dir, or has: then what is read there may be
// forged, and what is written or removed there may be somewhere else. dir is absolute and need not exist yet. Only where files have
// no owners does Safe accept everything.
func Safe(dir string) error {
	if !hasOwners {
		return nil
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		switch fi, err := os.Lstat(at); {
		case err != nil: // it is still to be made
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

// safeLink checks a symbolic link, and the directories above its target.
func safeLink(link string, fi fs.FileInfo) error {
	if uid, ok := Owner(fi); ok && uid != 0 && uid != os.Geteuid() {
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

// safeParent checks a directory above the cache's: other users must not be able to exchange what is in it. Root trusts no directory
// of another user.
func safeParent(dir string, fi fs.FileInfo) error {
	uid, ok := Owner(fi)
	switch {
	case fi.Mode().Perm()&0o002 != 0 && fi.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("others may exchange what is in %s", dir)
	case os.Geteuid() == 0 && ok && uid > 0:
		return fmt.Errorf("%s belongs to another user", dir)
	}
	return nil
}

// MakeRoot makes the directory of a cache, with those above it, and fails where another user can write to it, or this user cannot.
// It may be a symbolic link that Safe accepts: users move caches to other disks.
func MakeRoot(dir string) error {
	if err := Safe(dir); err != nil {
		return err
	}
	if err := makeChecked(dir, os.Stat); err != nil {
		return err
	}
	if err := writable(dir); err != nil {
		return fmt.Errorf("write into %s: %w", dir, err)
	}
	return nil
}

// MakeDir makes the directory name of a cache in parent, and fails where it is not private. It may not be a symbolic link.
func MakeDir(parent, name string) (dir string, err error) {
	dir = filepath.Join(parent, name)
	return dir, makeChecked(dir, os.Lstat)
}

func makeChecked(dir string, look func(string) (fs.FileInfo, error)) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the cache's directory: %w", err)
	}
	fi, err := look(dir)
	if err != nil {
		return fmt.Errorf("look at the cache's directory: %w", err)
	}
	if !fi.IsDir() {
		return fmt.Errorf("look at the cache's directory: %s is not one", dir)
	}
	return private(dir, fi)
}

// private fails unless a file or directory belongs to this user, and no other user may write to it. That others may read it is
// no reason not to use it: files are created so that they cannot, and a cache whose directory was copied or opened on purpose holds
// what it held before.
func private(path string, fi fs.FileInfo) error {
	if !hasOwners {
		return nil
	}
	switch uid, ok := Owner(fi); {
	case !ok || uid != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", path)
	case fi.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write into %s", path)
	}
	return nil
}

// IsPrivate reports whether a file or directory belongs to this user, and no other user may write to it.
func IsPrivate(fi fs.FileInfo) bool { return private("", fi) == nil }

// Open opens a file of a cache for reading. It fails unless that is a regular file, no link to one, and private. Nothing else is
// waited for or acted on.
func Open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	switch {
	case err == nil && !fi.Mode().IsRegular():
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	case err == nil:
		err = private(path, fi)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}
