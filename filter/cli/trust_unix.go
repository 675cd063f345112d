//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// trusted fails where somebody else than the user and root may write the open file or change which file has its name: a
// flag may name a program to start, and `sudo` often keeps the HOME of the user who calls it.
func trusted(in *os.File, path string) error {
	info, err := in.Stat()
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	for _, one := range []struct {
		name string
		info os.FileInfo
	}{{path, info}, {filepath.Dir(path), dir}} {
		owner, ok := one.info.Sys().(*syscall.Stat_t)
		if !ok {
			continue
		}
		if uid := int(owner.Uid); uid != os.Geteuid() && uid != 0 {
			return fmt.Errorf("%s: %w: %s belongs to user %d", path, errDistrusted, one.name, uid)
		}
		if one.info.Mode().Perm()&0o002 != 0 {
			return fmt.Errorf("%s: %w: everybody may write %s", path, errDistrusted, one.name)
		}
	}
	return nil
}
