package triage

import "sync"

// verdict is what is said of a function without rules of the user: its name without what differs from build to build, whether it is none of
// a runtime or of a system, and whether its source is a dependency.
type verdict struct {
	name            string
	own, dependency bool
}

// function is a function as a frame has it.
type function struct{ name, module, file string }

// source is what the path of a source file says.
type source struct{ system, dependency bool }

// judged has the verdicts on functions, and what is said of source files: the frames of a log are few functions again and again, and
// those are of fewer files. It is bounded, and begins anew when it is full.
var judged = struct {
	sync.RWMutex
	functions map[function]verdict
	files     map[string]source
}{functions: map[function]verdict{}, files: map[string]source{}}

// maxJudged bounds the functions and the files that are remembered, and maxRemembered the length of their texts in bytes.
const (
	maxJudged     = 1 << 14
	maxRemembered = 1 << 10
)

// judge returns the verdict on a function.
func judge(name, module, file string) verdict {
	of := function{name, module, file}
	judged.RLock()
	v, ok := judged.functions[of]
	var at source
	have := false
	if !ok {
		at, have = judged.files[file]
	}
	judged.RUnlock()
	if ok {
		return v
	}
	if !have {
		at = source{contains(file, notOwnPaths), isDependency(file)}
	}
	v = verdict{name: Name(name), dependency: at.dependency}
	v.own = !at.system && own(v.name, module, file)
	if len(name)+len(module)+len(file) > maxRemembered {
		return v
	}
	judged.Lock()
	defer judged.Unlock()
	if len(judged.functions) >= maxJudged {
		clear(judged.functions)
	}
	if len(judged.files) >= maxJudged {
		clear(judged.files)
	}
	judged.functions[of], judged.files[file] = v, at
	return v
}
