package addr2line

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
)

// maxDeaths is how often a program may die over one file without an answer in between; after that it is not restarted.
const maxDeaths = 3

// patience is how long a program may be silent; it may have to read gigabytes before its first answer.
const patience = 30 * time.Second

// child is one program over one file.
type child struct {
	mu      sync.Mutex
	path    string
	program string
	warn    func(string)
	used    int64

	// patience is how long it may be silent.
	patience time.Duration

	cmd    *exec.Cmd
	in     io.WriteCloser
	pipe   io.Closer
	out    *bufio.Reader // over pipe
	deaths int
	// batches counts the batches of queries.
	batches int
}

// start starts the program. It prints each address before its answer, and the whole chain with functions.
func (c *child) start() error {
	cmd := exec.Command(c.program, "-a", "-f", "-i", "-e", c.path)
	if strings.Contains(filepath.Base(c.program), "llvm-symbolizer") {
		cmd.Args[0] = "llvm-addr2line" // the same program, whose defaults depend on its name
	}
	// No downloads, and no translated messages.
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmd, c.in, c.pipe, c.out = cmd, in, out, bufio.NewReaderSize(out, 64<<10)
	return nil
}

// end ends the program.
func (c *child) end() {
	if c.cmd == nil {
		return
	}
	c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed
	c.cmd = nil
}

// ask asks for the frames of addresses and passes each answer to got when it comes, in order. It returns the number of
// answers, which is less than the number of addresses if it gives up. If the program dies, it is restarted after the last
// answer, with one address at a time; an address at which it dies again has no frames.
func (c *child) ask(ctx context.Context, addrs []uint64, got func(i int, frames []symsrc.Frame)) (done int) {
	alone := false
	for done < len(addrs) && c.deaths < maxDeaths && ctx.Err() == nil {
		if c.cmd == nil {
			if err := c.start(); err != nil {
				c.deaths = maxDeaths
				c.warn(fmt.Sprintf("%s: %v", filepath.Base(c.program), err))
				break
			}
		}
		todo, first := addrs[done:], done
		if alone {
			todo = todo[:1]
		}
		n, err := c.stream(ctx, todo, func(i int, frames []symsrc.Frame) { got(first+i, frames) })
		done += n
		if n > 0 {
			c.deaths = 0
		}
		if err == nil {
			alone = false
			continue
		}
		c.end()
		if ctx.Err() != nil {
			break
		}
		c.deaths++
		if errors.Is(err, errSilent) { // another try would delay the log for as long
			c.deaths = maxDeaths
		}
		c.warn(fmt.Sprintf("%s: over %s: %v", filepath.Base(c.program), c.path, err))
		if alone {
			got(done, nil)
			done++
		}
		alone = !alone
	}
	return done
}

// stop is an address that no file has. Its answer shows that the one before it is complete.
const stop = ^uint64(0)

// stream asks for addresses: one goroutine writes them all while this one reads, so that full pipes do not block
// either side. It returns how many were answered. A program that is silent for patience is killed.
func (c *child) stream(ctx context.Context, addrs []uint64, got func(i int, frames []symsrc.Frame)) (n int, err error) {
	c.batches++
	process, in, out := c.cmd.Process, c.in, c.pipe
	kill := func() {
		_ = process.Kill() // it may be dead
		in.Close()         // what it has started may have its pipes
		out.Close()
	}
	defer context.AfterFunc(ctx, kill)()
	var silent atomic.Bool
	watch := time.AfterFunc(c.patience, func() { silent.Store(true); kill() })
	defer watch.Stop()
	written := make(chan error, 1)
	go func() {
		w := bufio.NewWriterSize(c.in, 64<<10)
		var line []byte
		for i := range len(addrs) + 1 {
			addr := stop
			if i < len(addrs) {
				addr = addrs[i]
			}
			line = append(strconv.AppendUint(append(line[:0], "0x"...), addr, 16), '\n')
			if _, err := w.Write(line); err != nil {
				written <- err
				return
			}
		}
		written <- w.Flush()
	}()
	n, err = c.read(addrs, func(i int, frames []symsrc.Frame) {
		watch.Reset(c.patience)
		got(i, frames)
	})
	if err != nil {
		kill() // which ends the writer, too
	}
	if writeErr := <-written; err == nil && writeErr != nil {
		err = writeErr
	}
	if err != nil && silent.Load() {
		err = errSilent
	}
	return n, err
}

var (
	errOutOfStep = errors.New("prints what was not asked for")
	errSilent    = errors.New("says nothing; it is not asked again over this file")
)

// read reads the answers to addresses, up to that of stop.
func (c *child) read(addrs []uint64, got func(i int, frames []symsrc.Frame)) (n int, err error) {
	line, err := c.line()
	for i := range len(addrs) + 1 {
		if err != nil {
			return n, err
		}
		want := stop
		if i < len(addrs) {
			want = addrs[i]
		}
		if addr, ok := header(line); !ok || addr != want && addr != want&(1<<32-1) {
			return n, errOutOfStep
		}
		var frames []symsrc.Frame
		size := 0
		for count := 0; ; count++ {
			if line, err = c.line(); err != nil {
				return n, err
			}
			if _, ok := header(line); ok {
				if count == 0 { // every answer has a function, if only ??
					return n, errOutOfStep
				}
				break
			}
			function := string(line)
			if line, err = c.line(); err != nil {
				return n, err
			}
			if size += frameSize + len(function) + len(line); size <= maxAnswer {
				frames = append(frames, parseFrame(function, string(line)))
			}
			if i == len(addrs) {
				return n, nil
			}
		}
		if size > maxAnswer { // the rest of such a chain would be wrong without its end
			frames = nil
		}
		got(i, known(frames))
		n++
	}
	return n, nil
}

// Bounds of a line of the program and of an answer, in bytes; each frame of an answer counts for some besides its text.
const (
	maxLine   = 1 << 20
	maxAnswer = 1 << 20
	frameSize = 64
)

// line reads a line without its end.
func (c *child) line() ([]byte, error) {
	var long []byte
	for {
		b, err := c.out.ReadSlice('\n')
		switch {
		case err == nil && long == nil:
			return trimEnd(b), nil
		case err == nil:
			return trimEnd(append(long, b...)), nil
		case errors.Is(err, bufio.ErrBufferFull) && len(long) < maxLine:
			long = append(long, b...)
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// targets are the files that a program is given for a module, best first: the second one is asked where the first has no
// name.
type targets struct {
	files *symsrc.Files
	paths []string
}

// maxTargets bounds the modules remembered.
const maxTargets = 1 << 14

// target returns the files of a module. A search that may find more by now is done again, and so is one whose files have changed.
func (s *Source) target(ctx context.Context, m symsrc.Module) *targets {
	s.mu.Lock()
	t := s.targets[m]
	s.mu.Unlock()
	switch {
	case t == nil:
	case t.files.Watch.Look():
		s.drop(t.paths)
	case t.files.Retry == nil || !t.files.Retry():
		return t
	}
	files := s.finder.Find(ctx, m)
	if files == nil {
		files = &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
	}
	t = &targets{files: files}
	if files.Usable() {
		t.paths = s.choose(m, files)
	}
	if ctx.Err() == nil {
		s.mu.Lock()
		if len(s.targets) >= maxTargets {
			clear(s.targets)
		}
		s.targets[m] = t
		s.mu.Unlock()
	}
	return t
}

// choose lists the files to ask. The finder has checked their build IDs; those that GNU mode finds by itself are checked here.
func (s *Source) choose(m symsrc.Module, f *symsrc.Files) (paths []string) {
	add := func(path string, part symsrc.Range, status symsrc.Status) {
		if path != "" && part == (symsrc.Range{}) && (status == symsrc.OK || status == symsrc.Incomplete) {
			paths = append(paths, path)
		}
	}
	if s.opt.GNU {
		if own := s.gnuDebug(m, f); own != "" {
			paths = append(paths, own)
		}
	}
	if len(paths) == 0 {
		add(f.Debug, f.DebugRange, f.DebugStatus)
	}
	add(f.Elf, f.ElfRange, f.ElfStatus)
	return paths
}

// gnuDebug looks for the debug file in QSS's order for GNU's program: that of .gnu_debuglink beside the ELF file and in .debug
// beside it; by build ID, with .debug and without; the ELF file's own path below usr/lib/debug with .debug, as Yocto has it. ""
// stands for none.
func (s *Source) gnuDebug(m symsrc.Module, f *symsrc.Files) string {
	var id symsrc.BuildID
	var candidates []string
	if f.Elf != "" && f.ElfStatus == symsrc.OK && f.ElfRange == (symsrc.Range{}) {
		head := readHead(f.Elf)
		link := head.Link
		id = head.ID
		if link != "" && link != ".." && !strings.ContainsAny(link, `/\`) {
			dir := filepath.Dir(f.Elf)
			candidates = append(candidates, filepath.Join(dir, link), filepath.Join(dir, ".debug", link))
		}
	}
	if m.BuildID != "" {
		id = m.BuildID
	}
	if len(id) < 2 {
		return ""
	}
	digits := id.String()
	roots := append([]string(nil), s.opt.DebugRoots...)
	for _, root := range s.opt.Rootfs {
		roots = append(roots, filepath.Join(root, "usr/lib/debug"))
	}
	for _, root := range roots {
		for _, dir := range []string{root, filepath.Join(root, ".build-id")} {
			base := filepath.Join(dir, digits[:2], digits[2:])
			candidates = append(candidates, base+".debug", base)
		}
	}
	if filepath.IsAbs(m.Name) {
		for _, root := range roots {
			// Clean keeps the name of the log below the root.
			candidates = append(candidates, filepath.Join(root, filepath.Clean(m.Name)+".debug"))
		}
	}
	for _, path := range candidates {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if head := readHead(path); head.ID == id && head.Debug {
			return path
		}
	}
	return ""
}

// readHead reads the headers of an ELF file; what cannot be read has nothing.
func readHead(path string) (head locate.Head) {
	f, err := os.Open(path)
	if err != nil {
		return head
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		head, _ = locate.ReadHead(f, st.Size())
	}
	return head
}
