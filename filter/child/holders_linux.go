package child

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// linkOf returns what /proc says that an open file is: pipe:[INODE], or the path of a terminal.
func linkOf(f *os.File) string {
	link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return ""
	}
	return link
}

// holders returns the other processes that have one of the files open, as far as we may look at them. Links are only read, not
// followed: behind one may be a file server that does not answer.
func holders(links []string) (all []holder) {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == os.Getpid() || !holds(filepath.Join("/proc", p.Name(), "fd"), links) {
			continue
		}
		name, err := os.ReadFile(filepath.Join("/proc", p.Name(), "comm"))
		if err != nil { // it has ended
			continue
		}
		all = append(all, holder{pid, strings.TrimSuffix(string(name), "\n")})
	}
	return all
}

// holds reports whether one of the descriptors in a directory is of one of the files.
func holds(dir string, links []string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // of a process that ends some may be missing
	return slices.ContainsFunc(names, func(name string) bool {
		link, err := os.Readlink(filepath.Join(dir, name))
		return err == nil && link != "" && slices.Contains(links, link)
	})
}
