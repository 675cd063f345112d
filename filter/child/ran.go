package child

import (
	"path/filepath"
	"slices"
)

// Ran reports whether a process of the command was seen with the file at that path mapped as code. A file that lies there now in place of the
// one that was mapped does not count, nor does one of another root with the same path.
func (m *Maps) Ran(path string) bool {
	path, ok := whole(path)
	if !ok || !slices.ContainsFunc(m.All(), func(s Snapshot) bool { return slices.Contains(s.Files, path) }) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files.has(path)
}

// Named returns the path of the file that processes of the command were seen with as code, by a name: its path, the last component of that, or the name by
// which other files need it. It is "" if there is none, or several. id is the build ID, in hexadecimal digits, of one that is not at that path any
// more, by which Held finds it.
func (m *Maps) Named(name string) (path, id string) {
	if name == "" {
		return "", ""
	}
	all := m.All()
	m.mu.Lock()
	defer m.mu.Unlock()
	is := func(path, soname string) bool {
		return path == name || filepath.Base(path) == name || soname == name
	}
	list := m.files.away(is)
	for i := range all {
		for _, file := range all[i].Files {
			if is(file, "") || filepath.Base(name) == name && m.files.soname(file) == name {
				if n := (nameOf{file, ""}); !slices.Contains(list, n) {
					list = append(list, n)
				}
			}
		}
	}
	if len(list) != 1 {
		return "", ""
	}
	return list[0].path, list[0].id
}

// nameOf is a mapped file, by its path, and by its build ID if it is not there any more.
type nameOf struct{ path, id string }

// Replaced reports whether a process of the command was seen with a file from that path mapped as code, but only with such ones as lay there before the one
// that lies there now.
func (m *Maps) Replaced(path string) bool {
	path, ok := whole(path)
	if !ok {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files.replaced(path, slices.Concat(m.records.mappings(), m.files.mappings(m.kept)))
}

// whole returns the absolute path of a file, without links.
func whole(path string) (string, bool) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	path, err = filepath.Abs(path)
	return path, err == nil
}
