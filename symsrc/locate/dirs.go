package locate

import (
	"strings"
	"sync"
	"time"
)

// knownDirs remembers for a short time how directories are resolved. A module without a directory is looked
// for in each directory of loaders, which would take about fifty system calls for each module of a log.
type knownDirs struct {
	mu    sync.Mutex
	began time.Time // when the first of them was resolved
	all   map[knownDir]dirOutcome
}

type knownDir struct{ root, dir string }

type dirOutcome struct {
	resolved
	err error
}

// dirsTime is how long a resolved directory is valid, and maxDirs bounds the remembered ones.
const (
	dirsTime = time.Second
	maxDirs  = 1 << 10
)

// resolve is the function resolve with the memo, which may be nil.
func (k *knownDirs) resolve(root, name string) (resolved, error) {
	cut := strings.LastIndexByte(name, '/')
	if k == nil || cut <= 0 || len(name) > maxPath || name[cut+1:] == "" || strings.IndexByte(name, 0) >= 0 {
		return resolve(root, name)
	}
	dir := k.dir(root, name[:cut])
	if dir.err != nil {
		return resolved{}, dir.err
	}
	w := walk{root: root, hostRoot: root == "/", exact: dir.exact, done: dir.inside, rest: name[cut+1:]}
	return w.run()
}

// dir resolves a directory.
func (k *knownDirs) dir(root, dir string) dirOutcome {
	key := knownDir{root, dir}
	k.mu.Lock()
	if time.Since(k.began) >= dirsTime || len(k.all) >= maxDirs {
		k.began, k.all = time.Now(), make(map[knownDir]dirOutcome)
	}
	all := k.all
	out, ok := all[key]
	k.mu.Unlock()
	if ok {
		return out
	}
	out.resolved, out.err = resolve(root, dir+"/.") // with the dot it must be a directory
	k.mu.Lock()
	all[knownDir{root, strings.Clone(dir)}] = out
	k.mu.Unlock()
	return out
}
