package child

import (
	"path/filepath"
	"slices"
)

// Ran reports whether a process of the command was seen with the file at that path mapped as code. A file that lies there now in place of the
// one that was mapped does not count, nor does one of another root with the same path.
func (m *Maps) Ran(path string) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if path, err = filepath.Abs(path); err != nil {
		return false
	}
	if !slices.ContainsFunc(m.All(), func(s Snapshot) bool { return slices.Contains(s.Files, path) }) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files.has(path)
}
