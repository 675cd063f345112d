package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scaler reads a trace directory: thread_0x<ID>.bin for each thread, symbol.json or symbol_0x<ID>.json with the names, and
// commonFuncId.json with the functions of pthreads and semaphores.
type scaler struct {
	dir     string
	threads []string // names of files, in order

	common *scalerNames // of symbol.json, after it was read
}

func newScaler(path string) (reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && filepath.Ext(path) != ".json" {
		return &scaler{dir: filepath.Dir(path), threads: []string{filepath.Base(path)}}, nil
	}
	if !info.IsDir() {
		path = filepath.Dir(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	s := &scaler{dir: path}
	for _, e := range entries {
		if isThreadFile(e.Name()) {
			s.threads = append(s.threads, e.Name())
		}
	}
	if len(s.threads) == 0 {
		return nil, fmt.Errorf("%s: no thread_*.bin in it", path)
	}
	return s, nil
}

// read writes one block for each thread.
func (s *scaler) read(ctx context.Context, out *output) error {
	var problems []error
	profile := out.wants(ValueKind{"calls", "count"}, ValueKind{"time", "microseconds"})
	threads := slices.DeleteFunc(slices.Clone(s.threads), func(name string) bool { return !wanted(threadOf(name), out.opt.Threads) })
	if len(threads) == 0 {
		return fmt.Errorf("%s: no such thread: it has %s", s.dir, strings.Join(s.threads, ", "))
	}
	for _, name := range threads {
		if info, err := os.Stat(filepath.Join(s.dir, name)); err == nil {
			out.expect(readings * info.Size())
		}
	}
	for _, name := range threads {
		id := threadOf(name)
		if err := out.failed(ctx); err != nil {
			return err
		}
		names, err := s.namesOf(id, out)
		if err != nil {
			problems = append(problems, err)
		}
		problems = append(problems, s.thread(ctx, &threadWalk{out: out, names: names, profile: profile}, id, name))
	}
	return errors.Join(problems...)
}

// wanted reports whether a thread is one of threads. Its ID is hexadecimal with 0x, or decimal.
func wanted(id string, threads []uint64) bool {
	if len(threads) == 0 {
		return true
	}
	digits, base := strings.CutPrefix(id, "0x")
	v, err := strconv.ParseUint(digits, map[bool]int{true: 16, false: 10}[base], 64)
	return err == nil && slices.Contains(threads, v)
}

// readings is how often a file is read: once to check it, and once for its calls.
const readings = 2

// size returns the size of an open file, or 0 if it is not known.
func size(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// thread writes the block of one thread: its calls, and those that never returned.
func (s *scaler) thread(ctx context.Context, w *threadWalk, id, name string) error {
	f, err := openRegular(filepath.Join(s.dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	defer w.out.reach(w.out.done + readings*size(f))
	t, damage := scanTree(f, &w.out.progress)
	w.t, w.perStep = t, size(f)/max(2*t.n, 1)
	w.out.printf("thread %s: %d nodes\n", plain(id), t.n)
	if t.n > 0 {
		if err := w.walk(ctx); err != nil {
			return errors.Join(err, damage)
		}
		w.hanging(id)
	}
	w.out.printf("\n")
	return damage
}

// threadWalk visits the calls of one thread in the order of time.
type threadWalk struct {
	out     *output
	t       *tree
	names   *scalerNames
	profile *Profile
	perStep int64 // bytes of the file, for the progress

	levels []level
	seen   map[functionID]seen
	room   int // bytes left for their labels
	// hung is the last call that began and never returned, and the unreturned calls around it, the innermost first.
	hung     []node
	lastHung int64
}

// level is a call whose children are being visited.
type level struct {
	node     node
	children siblings
	inner    int64 // microseconds in its children
	call     int32 // its number in the profile
	// stack is its entry in the profile, valid while the profile's spilled equals spilled.
	stack   int32
	spilled int
}

// functionID identifies a function of a trace.
type functionID struct {
	file, function int64
	kind           byte
}

// seen is what is computed once for a function: its label, and its number in the profile.
type seen struct {
	label string
	call  int32
}

const (
	// deepest bounds the nesting of calls; no thread has a stack for more.
	deepest = 1 << 20
	// maxIndent bounds the indentation; deeper levels show their number.
	maxIndent = 64
	// maxSeen and maxSeenBytes bound the remembered functions and their labels: damaged files may have one for
	// each call.
	maxSeen      = 1 << 16
	maxSeenBytes = 16 << 20
)

// walk writes the calls below node 0, which stands for the thread.
func (w *threadWalk) walk(ctx context.Context) error {
	w.lastHung = -1
	root, err := w.t.node(0)
	if err != nil {
		return err
	}
	if err := w.enter(root); err != nil {
		return err
	}
	for steps := 0; len(w.levels) > 0; steps++ {
		if steps%(1<<14) == 0 {
			w.out.read(w.perStep << 14)
			if err := w.out.failed(ctx); err != nil {
				return err
			}
		}
		index, err := w.levels[len(w.levels)-1].children.next()
		if err != nil {
			return err
		}
		if index < 0 {
			w.leave()
			continue
		}
		n, err := w.t.node(index)
		if err != nil {
			return err
		}
		w.show(&n)
		if err := w.enter(n); err != nil {
			return err
		}
	}
	return nil
}

func (w *threadWalk) enter(n node) error {
	if len(w.levels) > deepest {
		return fmt.Errorf("%s: node %d: calls nest deeper than %d levels", w.t.f.Name(), n.index, deepest)
	}
	children, err := w.t.childrenOf(&n)
	if err != nil {
		return err
	}
	l := level{node: n, children: children}
	if w.profile != nil && n.index > 0 {
		l.call, l.spilled = w.function(&n).call, -1
	}
	w.levels = append(w.levels, l)
	if w.profile != nil && w.profile.makeRoom() {
		w.stackOf(len(w.levels) - 1)
	}
	if n.index > 0 && !n.returned() {
		w.lastHung = n.index
	}
	return nil
}

// stackOf returns the entry of a level in the profile. A call that nests deeper than maxDepth counts as if it were made from
// that depth.
func (w *threadWalk) stackOf(i int) int32 {
	l := &w.levels[i]
	if l.node.index == 0 {
		return 0
	}
	if spilled := w.profile.stacks.spilled; l.spilled != spilled {
		l.stack, l.spilled = w.profile.step(w.stackOf(min(i, maxDepth)-1), l.call), spilled
	}
	return l.stack
}

func (w *threadWalk) leave() {
	last := len(w.levels) - 1
	l := &w.levels[last]
	if l.node.index > 0 {
		if l.node.index == w.lastHung {
			w.hung = w.hung[:0]
			for _, around := range slices.Backward(w.levels[1:]) {
				if !around.node.returned() {
					w.hung = append(w.hung, around.node)
				}
			}
		}
		took := l.inner
		if l.node.returned() {
			took = l.node.microseconds()
		}
		around := &w.levels[last-1]
		around.inner, _ = addInt64(around.inner, took)
		if w.profile != nil && w.profile.makeRoom() {
			w.profile.add(w.stackOf(last), 1, took-min(took, l.inner))
		}
	}
	w.levels = w.levels[:last]
}

// function returns the label and the number of a call's function.
func (w *threadWalk) function(n *node) seen {
	id := functionID{n.file, n.function, n.kind}
	f, ok := w.seen[id]
	if ok {
		return f
	}
	f.label = w.names.label(n)
	if w.room -= len(f.label); w.seen == nil || len(w.seen) >= maxSeen || w.room < 0 {
		w.seen, w.room = map[functionID]seen{}, maxSeenBytes
	}
	if w.profile != nil {
		c := w.names.call(n)
		f.call = w.profile.call(&c)
	}
	w.seen[id] = f
	return f
}

// show writes the line of a call, unless it is shorter than Options.MinDuration.
func (w *threadWalk) show(n *node) {
	shortest := w.out.opt.MinDuration
	if w.out.quiet || n.returned() && shortest > 0 && n.microseconds() <= int64((shortest-1)/time.Microsecond) {
		return
	}
	depth := len(w.levels)
	indent := strings.Repeat("  ", min(depth, maxIndent))
	if depth > maxIndent {
		indent += fmt.Sprintf("[depth %d] ", depth)
	}
	state := fmt.Sprintf("dur=%dus", n.microseconds())
	switch {
	case !n.returned():
		state = "never returned"
	case n.end < n.start:
		state = fmt.Sprintf("end=%d", n.end)
	}
	w.out.printf("%s%s start=%d %s%s\n", indent, w.function(n).label, n.start, state, w.names.objects(n))
}

// hanging writes the last calls that never returned, the innermost first.
func (w *threadWalk) hanging(id string) {
	if len(w.hung) == 0 {
		return
	}
	w.out.printf("thread %s never returned from\n", plain(id))
	for i := range w.hung {
		n := &w.hung[i]
		w.out.printf("  #%d %s since=%d%s\n", i, w.function(n).label, n.start, w.names.objects(n))
	}
}

// objects returns the objects of a pthread or semaphore function. For other functions the numbers were never set.
func (n *scalerNames) objects(c *node) string {
	name := n.function(c)
	field := func(what string, v int64) string { return fmt.Sprintf(" %s=%#x", what, uint64(v)) }
	if c.kind == semaphoreNode {
		if name == "" || strings.HasPrefix(name, "sem_") { // all functions of this kind have a semaphore
			return field("semaphore", c.extra1)
		}
		return ""
	}
	rest, ok := strings.CutPrefix(name, "pthread_")
	if c.kind != pthreadNode || !ok {
		return ""
	}
	switch {
	case rest == "create", strings.Contains(rest, "join"):
		return field("thread", c.extra1)
	case strings.HasPrefix(rest, "cond_") && strings.HasSuffix(rest, "wait"):
		return field("cond", c.extra1) + field("mutex", c.extra2)
	case rest == "cond_signal", rest == "cond_broadcast":
		return field("cond", c.extra1)
	}
	switch what, _, _ := strings.Cut(rest, "_"); what {
	case "mutex", "rwlock", "barrier":
		return field(what, c.extra1)
	case "spin":
		return field("spinlock", c.extra1)
	}
	return ""
}
