//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// trusted returns an error if users other than this one and root may write the open file or replace it: a
// flag may name a program to start, and `sudo` often keeps the HOME of the caller. As with OpenSSH's StrictModes,
// no other user may write the file or a directory on its path, from the home directory on.
func trusted(in *os.File, path string) error {
	info, err := in.Stat()
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if err := ours(path, info); err != nil {
		return fmt.Errorf("%s: %w: %w", path, errDistrusted, err)
	}
	home := os.Getenv("HOME")
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		real = home
	}
	return way(path, func(at string, info os.FileInfo) error {
		if above(at, home) || above(at, real) { // who may write there controls the whole home directory
			return nil
		}
		if err := ours(at, info); err != nil {
			return fmt.Errorf("%s: %w: %w", path, errDistrusted, err)
		}
		return nil
	})
}

// above reports whether a directory is above another one.
func above(dir, of string) bool {
	return dir != of && strings.HasPrefix(of, strings.TrimSuffix(dir, "/")+"/")
}

// maxLinks bounds the links of a path, as in Linux (path_resolution(7)).
const maxLinks = 40

// way visits every step of resolving a path: each directory, each link and its target, and the file.
func way(path string, visit func(at string, info os.FileInfo) error) error {
	at, links := "/", 0
	for name, rest, more := "", path, true; more; {
		name, rest, more = strings.Cut(rest, "/")
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err == nil {
			err = visit(next, info)
		}
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if links++; links > maxLinks {
			return &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest, more = strings.TrimSuffix(target+"/"+rest, "/"), true
	}
	return nil
}

// ours returns an error if users other than this one and root may write a file, or replace files in a directory. In a directory with
// the sticky bit, users can replace only their own files. The permissions of a link do not count.
func ours(name string, info os.FileInfo) error {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	uid, mode := int(owner.Uid), info.Mode()
	switch {
	case uid != os.Geteuid() && uid != 0:
		return fmt.Errorf("%s belongs to user %d", name, uid)
	case mode&os.ModeSymlink != 0 || mode.IsDir() && mode&os.ModeSticky != 0:
		return nil
	case mode.Perm()&0o002 != 0:
		return fmt.Errorf("other users may write %s", name)
	case mode.Perm()&0o020 != 0 && !alone(int(owner.Gid)):
		return fmt.Errorf("group %d may write %s", owner.Gid, name)
	}
	return nil
}

// alone reports whether a group is the user's own one, without other members.
func alone(gid int) bool {
	users, err := os.ReadFile("/etc/passwd")
	groups, missing := os.ReadFile("/etc/group")
	return errors.Join(err, missing) == nil && private(string(users), string(groups), os.Geteuid(), gid)
}

// private reports, by the lines of passwd(5) and group(5), whether a group is a user's own: it has the user's name, is not the primary
// group of another user, and has no other members. If it is not in these files, as with LDAP, its members are not known.
func private(users, groups string, uid, gid int) bool {
	name, id := "", fmt.Sprint(gid)
	for line := range strings.Lines(users) {
		user := strings.Split(strings.TrimSpace(line), ":") // name:password:uid:gid:…
		switch {
		case len(user) < 4 || user[3] != id:
		case user[2] != fmt.Sprint(uid):
			return false
		case name == "":
			name = user[0]
		}
	}
	own := false
	for line := range strings.Lines(groups) {
		group := strings.Split(strings.TrimSpace(line), ":") // name:password:gid:members
		if len(group) != 4 || group[2] != id {
			continue
		}
		if group[0] != name || group[3] != "" && group[3] != name {
			return false
		}
		own = true
	}
	return own && name != ""
}
