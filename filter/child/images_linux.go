package child

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxImages bounds the programs whose mappings are kept, maxCode the mappings of one of them.
	maxImages = 256
	maxCode   = 2048
)

// images are the programs that the command and its descendants have executed, by the kernel's records.
type images struct {
	files files
	// byPID are the current ones of processes, and fewest the number at which those of processes that have ended are removed.
	byPID  map[int]*image
	fewest int
	all    []*image // in the order of their starts
	// executed is how many programs were executed.
	executed int
	// began is when the first one may have been, and young are files that were made since and are open.
	began time.Time
	young map[mappedFile]*os.File
	// gaps is set if records are missing.
	gaps bool
	// clock is the time at which the monotonic clock was 0.
	clock time.Time
}

// image is a program that was executed, in the process that did, and in those that it has forked and that have executed no other one. The
// latter have the same mappings, and others of their own.
type image struct {
	pid     int
	program mappedFile
	// code are the mapped files, and others the ranges of code without one.
	code   []mapping
	others []span
	// since is when the program was executed.
	since time.Time
	// gaps is set if not all of its mappings may be known.
	gaps bool
	// snapshot is what is known of it, if it is current.
	snapshot Snapshot
	current  bool
}

// span is a range of addresses; end is exclusive.
type span struct{ start, end uint64 }

func newImages(f files) *images {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // it always is there
	return &images{files: f, byPID: map[int]*image{}, fewest: maxImages, began: time.Now(), young: map[mappedFile]*os.File{}, clock: time.Now().Add(-time.Duration(now.Nano()))}
}

// apply applies events, which are in the order of time.
func (s *images) apply(events []event) {
	for i := range events {
		switch e := &events[i]; e.kind {
		case lost:
			s.gaps = true
			for _, im := range s.all {
				im.gaps, im.current = true, false
			}
		case executed:
			im := &image{pid: e.pid, since: s.clock.Add(time.Duration(e.time))}
			s.set(e.pid, im)
			s.add(im)
			s.executed++
		case forked:
			if im := s.byPID[e.parent]; im != nil {
				s.set(e.pid, im)
			} else {
				delete(s.byPID, e.pid)
			}
		case mapped:
			if im := s.byPID[e.pid]; im != nil {
				im.add(e.mapping)
			}
		}
	}
}

// set sets the program of a process.
func (s *images) set(pid int, im *image) {
	if len(s.byPID) >= s.fewest {
		for pid := range s.byPID {
			if !exists(pid) {
				delete(s.byPID, pid)
			}
		}
		s.fewest = max(maxImages, 2*len(s.byPID))
	}
	s.byPID[pid] = im
}

// add adds a program. If there are too many, older ones whose processes have ended are dropped, or else the oldest.
func (s *images) add(im *image) {
	if len(s.all) >= maxImages {
		old := maxImages / 2
		kept := slices.DeleteFunc(slices.Clone(s.all[:old]), func(im *image) bool { return !exists(im.pid) })
		s.all = append(kept[max(0, len(kept)-old+1):], s.all[old:]...)
	}
	s.all = append(s.all, im)
}

// exists reports whether there is a process with that ID.
func exists(pid int) bool { return unix.Kill(pid, 0) != unix.ESRCH }

// add adds a mapping of code.
func (im *image) add(m mapping) {
	im.current = false
	if !strings.HasPrefix(m.path, "/") || strings.HasPrefix(m.path, "//") { // as perf writes //anon, and errors
		im.addOther(span{m.start, m.end})
		return
	}
	if im.program.path == "" {
		im.program = mappedFile{m.inode, m.path}
	}
	for i, known := range im.code { // a part of it has another protection now, or the same one once more
		if known.inode == m.inode && known.path == m.path && known.start-known.offset == m.start-m.offset && m.start <= known.end && known.start <= m.end {
			low := min(known.start, m.start)
			im.code[i] = mapping{low, max(known.end, m.end), m.offset - (m.start - low), m.inode, m.path}
			return
		}
	}
	if len(im.code) >= maxCode {
		im.gaps = true
		return
	}
	im.code = append(im.code, m)
}

// addOther adds a range of code without a file.
func (im *image) addOther(s span) {
	for i, known := range im.others { // generated code mostly is next to other one
		if s.start <= known.end && known.start <= s.end {
			im.others[i] = span{min(s.start, known.start), max(s.end, known.end)}
			return
		}
	}
	if len(im.others) >= maxCode {
		im.gaps = true
		return
	}
	im.others = append(im.others, s)
}

// snapshots returns what is known of all programs, the newest first.
func (s *images) snapshots() []Snapshot {
	all := make([]Snapshot, 0, len(s.all))
	for _, im := range slices.Backward(s.all) {
		if !im.current {
			s.count(im)
		}
		all = append(all, im.snapshot)
	}
	return all
}

// count finds what is known of a program.
func (s *images) count(im *image) {
	im.snapshot, im.current = Snapshot{PID: im.pid, Program: im.program.path, Inode: im.program.inode}, true
	s.files.forgetChanged(im.code)
	list := slices.DeleteFunc(slices.Clone(im.code), func(m mapping) bool { return !s.files.precedes(m, im.since) })
	random := manyBits() && !slices.ContainsFunc(im.code, func(m mapping) bool { return !isRandom(m.start - m.offset) })
	counts := im.alone(list)
	if im.gaps {
		counts = s.files.lasting(list, im.program.inode)
	}
	s.files.set(&im.snapshot, list, counts, random)
}

// alone returns the mappings of a list at whose addresses there never was anything else.
func (im *image) alone(list []mapping) []mapping {
	return slices.DeleteFunc(slices.Clone(list), func(m mapping) bool {
		over := func(start, end uint64) bool { return start < m.end && m.start < end }
		return slices.ContainsFunc(im.code, func(o mapping) bool { return o != m && over(o.start, o.end) }) ||
			slices.ContainsFunc(im.others, func(o span) bool { return over(o.start, o.end) })
	})
}

// isRandom reports whether the place of a file may have been chosen at random. Without ADDR_NO_RANDOMIZE the kernel leaves the space of the largest
// random stack, 16 GiB, and of the limit of stacks, above libraries: these begin right below, once in some 10,000 starts within 128 MiB. With it a
// program is at 2/3 of the address space, and with a stack without a limit libraries are at 1/3: these are 0x5555…, 0xaaaa… and 0x2aaa…, whose
// bits alternate.
func isRandom(base uint64) bool {
	const stack = 16 << 30
	top := uint64(1) << 47
	if runtime.GOARCH != "amd64" {
		top = 1 << 48
	}
	high := base >> 24
	return base < lowest || base < top-stack && (high^high>>1)&(high^high>>1+1) != 0
}
