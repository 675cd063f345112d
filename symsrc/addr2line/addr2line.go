// Package addr2line answers with GNU's addr2line or llvm-addr2line, as child processes: one per ELF file, which reads
// addresses from standard input.
//
//	addr2line.go  which program, the source that asks it, and what the programs print
//	ahead.go      answers to expected queries
//	child.go      one program for one file, restarted when it dies; which file of a module that is
package addr2line

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/diskcache"
)

// Options say which program answers.
type Options struct {
	// LLVM and GNU choose the program; without either the package is not used.
	LLVM, GNU bool
	// Cross is the prefix of the program's name, such as arm-linux-gnueabihf-.
	Cross string
	// Path is the program itself, "" to look for it.
	Path string
	// DebugRoots and Rootfs are where GNU mode looks for debug files, as locate.Options has them.
	DebugRoots, Rootfs []string
	// Warn, if not nil, is called if a program does not work.
	Warn func(message string)
}

// Wanted reports whether a program was chosen.
func (o *Options) Wanted() bool { return o.LLVM || o.GNU }

// maxChildren bounds the programs that run at the same time.
const maxChildren = 32

// Source answers queries for code with a program. It may be used by several goroutines at once.
type Source struct {
	opt     Options
	program string
	finder  symsrc.Finder
	native  symsrc.Source

	mu       sync.Mutex
	children map[string]*child
	targets  map[symsrc.Module]*targets
	ahead    ahead
	patience time.Duration
	clock    int64
	failed   map[string]bool
}

// NewSource returns a source for the files of a finder. native answers what the programs cannot: variables, addresses that
// count from a symbol or from a mapping, and what the machine code around an address shows. It returns an error if there is no such
// program.
func NewSource(f symsrc.Finder, native symsrc.Source, o Options) (*Source, error) {
	if o.LLVM && o.GNU {
		return nil, wrong("GNU", errors.New("want it or LLVM"))
	}
	program, err := o.find()
	if err != nil {
		return nil, err
	}
	return &Source{opt: o, program: program, finder: f, native: native, children: map[string]*child{},
		targets: map[symsrc.Module]*targets{}, failed: map[string]bool{}, patience: patience}, nil
}

// Identity returns a text that identifies the program until it is updated.
func (s *Source) Identity() string {
	identity := fmt.Sprintf("addr2line %t %q", s.opt.GNU, s.program)
	if stamp, err := diskcache.StampAt(s.program, true); err == nil { // otherwise starting it fails
		identity += " " + stamp.String()
	}
	return identity
}

// newest and oldest are the releases of LLVM whose programs are looked for by a name with the release.
const newest, oldest = 40, 11

// wrong returns an error about a field of Options.
func wrong(field string, err error) error {
	return &symsrc.OptionError{Option: "addr2line." + field, Err: err}
}

// find looks for the program.
func (o *Options) find() (string, error) {
	if o.Path != "" {
		path, err := exec.LookPath(o.Path)
		if err != nil {
			return "", &symsrc.OptionError{Option: "addr2line.Path", Value: o.Path, Err: errors.Unwrap(err)}
		}
		return path, nil
	}
	if o.GNU {
		path, err := exec.LookPath(o.Cross + "addr2line")
		if err != nil {
			return "", wrong("GNU", &symsrc.AvoidableError{Option: "addr2line.Path", Err: fmt.Errorf("%w, of binutils", err)})
		}
		return path, nil
	}
	if o.Cross != "" { // llvm's program supports every machine, but a toolchain may have its own
		if path, err := exec.LookPath(o.Cross + "llvm-addr2line"); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("llvm-addr2line")
	for release := newest; err != nil && release >= oldest; release-- {
		if versioned, missing := exec.LookPath("llvm-addr2line-" + strconv.Itoa(release)); missing == nil {
			return versioned, nil
		}
	}
	if err != nil {
		return "", wrong("LLVM", &symsrc.AvoidableError{Option: "addr2line.Path", Err: fmt.Errorf("%w, of llvm", err)})
	}
	return path, nil
}

// Frames answers one query.
func (s *Source) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	if q.Kind != symsrc.Code || q.Symbol != "" {
		return s.native.Frames(ctx, q)
	}
	for again := 0; ; again++ {
		t := s.target(ctx, q.Module)
		a := s.answer(ctx, t, q)
		if !t.files.Watch.Look() {
			return a
		}
		if again == maxAgain {
			return symsrc.Answer{Files: t.files}
		}
	}
}

// maxAgain is how often a query is repeated because the files have changed.
const maxAgain = 3

// answer answers a query for code from these files.
func (s *Source) answer(ctx context.Context, t *targets, q symsrc.Addr) symsrc.Answer {
	if len(t.paths) == 0 {
		return symsrc.Answer{Files: t.files}
	}
	addr, ok := s.linked(ctx, q)
	if !ok {
		return s.native.Frames(ctx, q)
	}
	a := symsrc.Answer{Files: t.files}
	if a.Frames, ok = s.ahead.take(ctx, place{t, addr}); ok {
		return a
	}
	for _, path := range t.paths {
		if a.Frames = s.ask(ctx, path, addr); named(a.Frames) {
			break
		}
	}
	return a
}

// linked returns the address of a query in the address space of the file. ok is false if that is not known.
func (s *Source) linked(ctx context.Context, q symsrc.Addr) (addr uint64, ok bool) {
	if q.Space == symsrc.Linked {
		return q.Offset, true
	}
	p := s.Probe(ctx, q)
	return p.Linked, p.Known
}

// Probe returns what the machine code around an address shows.
func (s *Source) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	if p, ok := s.native.(symsrc.Prober); ok {
		return p.Probe(ctx, q)
	}
	return symsrc.Probe{}
}

// Lookup returns the frames of many addresses of one file, in their order.
func (s *Source) Lookup(ctx context.Context, path string, addrs []uint64) [][]symsrc.Frame {
	c := s.child(path)
	defer c.mu.Unlock()
	answers := make([][]symsrc.Frame, len(addrs))
	c.ask(ctx, addrs, func(i int, frames []symsrc.Frame) { answers[i] = frames })
	return answers
}

func (s *Source) ask(ctx context.Context, path string, addr uint64) []symsrc.Frame {
	return s.Lookup(ctx, path, []uint64{addr})[0]
}

// child returns the program of a file, locked. If there are too many, it ends the least recently used idle ones.
func (s *Source) child(path string) *child {
	s.mu.Lock()
	c := s.children[path]
	if c == nil {
		s.makeRoom()
		c = &child{path: path, program: s.program, warn: s.warn, patience: s.patience}
		s.children[path] = c
	}
	s.clock++
	c.used = s.clock
	s.mu.Unlock()
	c.mu.Lock()
	return c
}

// makeRoom ends programs. Its caller holds the lock.
func (s *Source) makeRoom() {
	for len(s.children) >= maxChildren {
		var oldest *child
		for _, c := range s.children {
			if oldest == nil || c.used < oldest.used {
				oldest = c
			}
		}
		if !oldest.mu.TryLock() { // it is working, so the limit is exceeded for a while
			return
		}
		oldest.end()
		delete(s.children, oldest.path)
		oldest.mu.Unlock()
	}
}

// drop ends the programs of files that have changed; the next query starts them again.
func (s *Source) drop(paths []string) {
	for _, path := range paths {
		s.mu.Lock()
		c := s.children[path]
		s.mu.Unlock()
		if c != nil {
			c.mu.Lock()
			c.end()
			c.mu.Unlock()
		}
	}
}

// warn reports a cause once.
func (s *Source) warn(message string) {
	s.mu.Lock()
	told := s.failed[message]
	s.failed[message] = true
	s.mu.Unlock()
	if !told && s.opt.Warn != nil {
		s.opt.Warn(message)
	}
}

// Close ends the programs. The source must not be used after that.
func (s *Source) Close() {
	s.mu.Lock()
	children := s.children
	s.children = map[string]*child{}
	s.mu.Unlock()
	for _, c := range children {
		c.mu.Lock()
		c.end()
		c.mu.Unlock()
	}
}

// named reports whether a function of a chain has a name.
func named(frames []symsrc.Frame) bool {
	return slices.ContainsFunc(frames, func(f symsrc.Frame) bool { return f.Func != "" })
}

// unknownName is what both programs print for a function or a file that they do not know.
const unknownName = "??"

// header reads the line that `-a` adds before an answer: 0x and digits, 8 or 16 from GNU's program.
func header(line []byte) (addr uint64, ok bool) {
	digits, ok := bytes.CutPrefix(line, []byte("0x"))
	if !ok || len(digits) == 0 || len(digits) > 16 {
		return 0, false
	}
	addr, err := strconv.ParseUint(string(digits), 16, 64)
	return addr, err == nil
}

// parseFrame reads a function and its place, `file:line`, to which GNU's program adds ` (discriminator N)`. An unknown line is
// 0 or ?.
func parseFrame(function, place string) symsrc.Frame {
	var f symsrc.Frame
	if function != unknownName && function != "" {
		f.Linkage = function
		f.Func = demangle.Demangle(bin.Unversioned(function))
	}
	if i := strings.LastIndex(place, " (discriminator "); i >= 0 {
		place = place[:i]
	}
	file, line := place, ""
	if i := strings.LastIndexByte(place, ':'); i >= 0 {
		file, line = place[:i], place[i+1:]
	}
	if file != unknownName {
		f.File = file
		f.Line, _ = strconv.Atoi(line) // 0 for ?
	}
	return f
}

// known returns a chain with a name, otherwise nil.
func known(frames []symsrc.Frame) []symsrc.Frame {
	for i := range frames {
		if frames[i].Func != "" || frames[i].File != "" {
			return frames
		}
	}
	return nil
}

// trimEnd cuts a line's end off.
func trimEnd(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}
