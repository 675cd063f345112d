package locate

import (
	"path"
	"path/filepath"
	"strings"
)

// moduleName is a parsed name of a module in a log.
type moduleName struct {
	path    string // "" if the name is not the path of a file
	base    string // last component of path
	deleted bool   // the log says that the file was deleted or replaced while in use (proc(5), maps)
}

func parseName(name string) moduleName {
	var n moduleName
	n.path, n.deleted = strings.CutSuffix(name, " (deleted)")
	if !isPath(n.path) {
		n.path = ""
		return n
	}
	n.base = path.Base(n.path)
	if len(n.base) > maxComponent || n.base == ".." || n.base == "." || n.base == "/" {
		n.path, n.base = "", ""
	}
	return n
}

// isPath reports whether a name is that of a file, and not a placeholder of a loader or unwinder: [vdso], <unknown module>.
func isPath(s string) bool {
	switch {
	case s == "", len(s) > maxPath, s[len(s)-1] == '/', strings.IndexByte(s, 0) >= 0:
		return false
	case s[0] == '[' && s[len(s)-1] == ']', s[0] == '<' && s[len(s)-1] == '>':
		return false
	case s == "linux-gate.so.1", strings.HasPrefix(s, "linux-vdso") && !strings.Contains(s, "/"):
		return false
	}
	return true
}

// absolute reports whether the path is absolute.
func (n moduleName) absolute() bool { return strings.HasPrefix(n.path, "/") }

// single reports whether the name has no directory.
func (n moduleName) single() bool { return n.path != "" && !strings.Contains(n.path, "/") }

// agreement counts the last components that the path of a file has in common with the module's, including the file name.
func (n moduleName) agreement(file string) int {
	mine := strings.Split(path.Clean("/"+n.path), "/")
	its := strings.Split(withoutDebugSuffix(filepath.ToSlash(file)), "/")
	mine[len(mine)-1] = withoutDebugSuffix(mine[len(mine)-1])
	same := 0
	for same < len(mine)-1 && same < len(its) && abi(mine[len(mine)-1-same]) == abi(its[len(its)-1-same]) {
		same++
	}
	return same
}

func withoutDebugSuffix(file string) string {
	for _, suffix := range debugSuffixes {
		if name, ok := strings.CutSuffix(file, suffix); ok {
			return name
		}
	}
	return file
}

// abi maps the directories of one Android ABI to one name: installed apps have lib/arm64 for the lib/arm64-v8a of their
// archive and the obj/local/arm64-v8a of their build.
func abi(dir string) string {
	switch dir {
	case "arm64-v8a":
		return "arm64"
	case "armeabi-v7a", "armeabi":
		return "arm"
	}
	return dir
}

// tail returns the path without ".", ".." and empty components, to be joined to another directory: "../a//b" → "a/b".
func (n moduleName) tail() string {
	return strings.TrimPrefix(path.Clean("/"+n.path), "/")
}
