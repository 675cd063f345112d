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

// Named returns the path of the file of that name that processes of the command were seen with as code: its last component, or the name by which other
// files need it. It is "" if there is none, or several.
func (m *Maps) Named(name string) (path string) {
	if name == "" {
		return ""
	}
	all := m.All()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range all {
		for _, file := range all[i].Files {
			switch {
			case file == path || filepath.Base(file) != name && m.files.soname(file) != name:
			case path != "":
				return ""
			default:
				path = file
			}
		}
	}
	return path
}

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
