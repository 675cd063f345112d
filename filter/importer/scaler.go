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
)

// scaler reads a trace directory: thread_0x<ID>.bin for each thread, symbol.json or symbol_0x<ID>.json with the names, and
// commonFuncId.json with the functions of pthreads and semaphores.
type scaler struct {
	dir     string
	threads []string // names of files, in order

	common *scalerNames // of symbol.json, once it was read
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

// wanted reports whether a thread is among those asked for. Its ID is hexadecimal with 0x, or decimal.
func wanted(id string, threads []uint64) bool {
	if len(threads) == 0 {
		return true
	}
	digits, base := strings.CutPrefix(id, "0x")
	v, err := strconv.ParseUint(digits, map[bool]int{true: 16, false: 10}[base], 64)
	return err == nil && slices.Contains(threads, v)
}

// readings is how often a file is gone through: once to check it, and once for its calls.
const readings = 2

// size returns the size of an open file, 0 where it is not known.
func size(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// thread writes the block of one thread: its calls, and where it hangs.
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
