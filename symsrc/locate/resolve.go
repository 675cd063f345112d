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
	maxLinks     = 40   // links on the way to one file, as Linux bounds them (path_resolution(7))
	maxPath      = 4096 // PATH_MAX
	maxComponent = 255  // NAME_MAX
)

var (
	errLoop   = errors.New("too many symbolic links")
	errNoPath = errors.New("no path of a file")
)

// notRegular is the refusal to open what is not a file of bytes.
func notRegular(mode fs.FileMode) *fileError {
	if mode.IsDir() {
		return &fileError{status: symsrc.ReadError, note: "is a directory"}
	}
	return &fileError{status: symsrc.ReadError, note: "not a regular file"}
}

// resolved is where a path of a log leads to inside a root.
type resolved struct {
	inside string // slash-separated, from the root on, without a leading slash, free of links
	// exact is set where the operating system would find the same file below the root by the path as it was written: no
	// link on the way named an absolute path or left the root by "..".
	exact bool
}

// resolve follows name component by component inside root, as in a chroot: an absolute link begins at root again and
// ".." stays in it. /proc, /sys and /dev of a root are never looked at: they have files that do not end, that act when
// they are opened, or that are the memory of a process, and no libraries.
func resolve(root, name string) (resolved, error) {
	w := walk{root: root, hostRoot: root == "/", exact: true}
	if strings.IndexByte(name, 0) >= 0 || len(name) > maxPath {
		return resolved{}, errNoPath
	}
	w.rest = name
	return w.run()
}

// walk is a path that is being followed.
type walk struct {
	root     string
	hostRoot bool   // the root is the host's own: its absolute links mean what they say
	done     string // resolved so far
	rest     string // still to be followed
	links    int
	exact    bool
}

// run follows all of it.
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

// step follows one component.
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

// up goes to the parent directory, which for the root is the root.
func (w *walk) up() {
	if w.done == "" {
		w.exact = w.exact && w.hostRoot
		return
	}
	w.done = w.done[:max(strings.LastIndexByte(w.done, '/'), 0)]
}

// follow puts a link's target before what is still to be followed.
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

// hostPath is the path of inside, a slash-separated path, below root.
func hostPath(root, inside string) string {
	inside = filepath.FromSlash(strings.TrimPrefix(inside, "/"))
	if root == "" || os.IsPathSeparator(root[len(root)-1]) {
		return root + inside
	}
	return root + string(filepath.Separator) + inside
}

// hostRoot splits an absolute path of the host into the root it hangs on and the path from there. Where there are
// volumes that is the volume's root.
func hostRoot(abs string) (root, inside string) {
	vol := filepath.VolumeName(abs)
	return vol + string(filepath.Separator), strings.TrimLeft(filepath.ToSlash(abs[len(vol):]), "/")
}

// special names the directories of a root that hold no libraries but files that act when they are opened.
func special(top string) bool { return top == "proc" || top == "sys" || top == "dev" }
