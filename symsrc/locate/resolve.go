package locate

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"qss-filter/symsrc"
)

const (
	maxLinks     = 40   // links in a path, as in Linux (path_resolution(7))
	maxPath      = 4096 // PATH_MAX
	maxComponent = 255  // NAME_MAX
)

var (
	errLoop   = errors.New("too many symbolic links")
	errNoPath = errors.New("no path of a file")
)

// notRegular returns the error of a file that is not regular.
func notRegular(mode fs.FileMode) *fileError {
	if mode.IsDir() {
		return &fileError{status: symsrc.ReadError, note: "is a directory"}
	}
	return &fileError{status: symsrc.ReadError, note: "not a regular file"}
}

// resolved is a path of a log, resolved inside a root.
type resolved struct {
	inside string // slash-separated, from the root on, without a leading slash, free of links
	// exact is set if the operating system would find the same file by the original path below the root: no
	// link was absolute or left the root by "..".
	exact bool
}

// resolve resolves name inside root component by component, as in a chroot: an absolute link starts at root again and
// ".." stays in it. /proc, /sys and /dev of a root are never read: they have no libraries, but files without an end, files that act when
// they are opened, and the memory of processes.
func resolve(root, name string) (resolved, error) {
	w := walk{root: root, hostRoot: root == "/", exact: true}
	if strings.IndexByte(name, 0) >= 0 || len(name) > maxPath {
		return resolved{}, errNoPath
	}
	w.rest = name
	return w.run()
}

// walk is a path that is being resolved.
type walk struct {
	root     string
	hostRoot bool   // the root is the host's own: absolute links are valid
	done     string // resolved so far
	rest     string // to be resolved
	links    int
	exact    bool
}

// run resolves the whole path.
func (w *walk) run() (resolved, error) {
	for w.rest != "" {
		var comp string
		comp, w.rest, _ = strings.Cut(w.rest, "/")
		if err := w.step(comp); err != nil {
			return resolved{}, err
		}
	}
	return resolved{w.done, w.exact}, nil
}

// step resolves one component.
func (w *walk) step(comp string) error {
	switch {
	case comp == "" || comp == ".":
		return nil
	case comp == "..":
		w.up()
		return nil
	case len(comp) > maxComponent || !filepath.IsLocal(comp) || strings.ContainsRune(comp, filepath.Separator):
		return errNoPath
	case w.done == "" && special(comp):
		return notRegular(fs.ModeIrregular)
	}
	next := path.Join(w.done, comp)
	fi, err := os.Lstat(hostPath(w.root, next))
	if err != nil {
		return err
	}
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		return w.follow(next)
	case strings.Trim(w.rest, "/") != "" && !fi.IsDir():
		return &fs.PathError{Op: "open", Path: hostPath(w.root, next), Err: syscall.ENOTDIR}
	}
	w.done = next
	return nil
}

// up goes to the parent directory; the parent of the root is the root.
func (w *walk) up() {
	if w.done == "" {
		w.exact = w.exact && w.hostRoot
		return
	}
	w.done = w.done[:max(strings.LastIndexByte(w.done, '/'), 0)]
}

// follow puts a link's target before the rest.
func (w *walk) follow(link string) error {
	if w.links++; w.links > maxLinks {
		return errLoop
	}
	target, err := os.Readlink(hostPath(w.root, link))
	if err != nil {
		return err
	}
	target = filepath.ToSlash(target)
	if strings.HasPrefix(target, "/") {
		w.done = ""
		w.exact = w.exact && w.hostRoot
	}
	if w.rest != "" {
		target += "/" + w.rest
	}
	if len(target) > 2*maxPath || strings.IndexByte(target, 0) >= 0 {
		return errNoPath
	}
	w.rest = target
	return nil
}

// hostPath returns the path of inside, a slash-separated path, below root.
func hostPath(root, inside string) string {
	inside = filepath.FromSlash(strings.TrimPrefix(inside, "/"))
	if root == "" || os.IsPathSeparator(root[len(root)-1]) {
		return root + inside
	}
	return root + string(filepath.Separator) + inside
}

// hostRoot splits an absolute path of the host into the root and the path from there. On systems with volumes, the root is that of the
// volume.
func hostRoot(abs string) (root, inside string) {
	vol := filepath.VolumeName(abs)
	return vol + string(filepath.Separator), strings.TrimLeft(filepath.ToSlash(abs[len(vol):]), "/")
}

// special reports whether a directory of a root has special files and no libraries.
func special(top string) bool { return top == "proc" || top == "sys" || top == "dev" }
