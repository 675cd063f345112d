package child

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The module at an address may have been another one when the line was written: another process has other mappings,
// as has the same one before or after an exec, and dlclose makes room for the next library. Looking at the maps from time to time does
// not show that, and a command may print the lines of another machine (kubectl logs). So a mapping counts only if
// the address alone proves it: the kernel chose its place at random, of 2^28 or more, so that nothing else is there by
// chance; and it stays there as long as the program runs, since it is the executable, or a library that the program needs
// to start. Places at which other programs may have code, too, are kept beside these: the reader of the log may find that its stacks prove them.

const (
	// noRandom is ADDR_NO_RANDOMIZE of personality(2).
	noRandom = 0x0040000
	// enoughBits is how many bits of a place must be random: the minimum of x86-64. Other machines may be set to as few as 18, and
	// 32-bit programs, which are below lowest, have 8.
	enoughBits = 28
	lowest     = 1 << 32
)

// mapping is a line of /proc/PID/maps that is code: `start-end r-xp offset dev inode path`.
type mapping struct {
	start, end, offset uint64
	inode              uint64
	path               string
}

// snapshot reads the mappings of a process; known is its last snapshot. It may end at any time, so that the files are not read now.
func snapshot(pid int, known Snapshot) (s Snapshot, ok bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	s = Snapshot{PID: pid, read: time.Now()}
	var err error
	if s.raw, err = os.ReadFile(filepath.Join(dir, "maps")); err != nil || len(s.raw) == 0 {
		return s, false
	}
	if bytes.Equal(s.raw, known.raw) {
		return known, true
	}
	var program unix.Stat_t
	if s.random, err = randomized(dir); err == nil {
		err = unix.Stat(filepath.Join(dir, "exe"), &program)
	}
	s.Program, s.Inode = exe(dir), program.Ino
	return s, err == nil // otherwise it has ended since
}

// count sets what is known by the mappings of a snapshot.
func (f files) count(s *Snapshot) {
	list := readMappings(s.raw)
	f.forgetChanged(list)
	list = slices.DeleteFunc(list, func(m mapping) bool { return f.of(m) != nil && !f.precedes(m, s.read) })
	f.set(s, list, f.lasting(list, s.Inode), s.random)
	s.counted = true
}

// exe returns the path of the program of a process.
func exe(dir string) string {
	path, err := os.Readlink(filepath.Join(dir, "exe"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, deletedMark)
}

// randomized reports whether the kernel chose the places of a process's mappings at random, with enough bits. Its error is that of a process that
// has ended, or is not ours.
func randomized(dir string) (bool, error) {
	personality, err := number(filepath.Join(dir, "personality"), 16)
	return err == nil && personality&noRandom == 0 && manyBits(), err
}

// manyBits reports whether the kernel chooses places at random, with enough bits.
func manyBits() bool {
	random, err := number("/proc/sys/kernel/randomize_va_space", 10)
	if err != nil || random < 1 || runtime.GOARCH == "amd64" {
		return err == nil && random >= 1
	}
	bits, err := number("/proc/sys/vm/mmap_rnd_bits", 10)
	return err == nil && bits >= enoughBits
}

// number reads a number from a file.
func number(path string, base int) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), base, 64)
}

// deletedMark follows the path of a deleted file.
const deletedMark = " (deleted)"

// readMappings returns the mappings of code.
func readMappings(raw []byte) (list []mapping) {
	for line := range strings.Lines(string(raw)) {
		slash := strings.IndexByte(line, '/')
		fields := strings.Fields(line[:max(slash, 0)])
		if len(fields) != 5 || !strings.Contains(fields[1], "x") {
			continue
		}
		var m mapping
		if _, err := fmt.Sscanf(fields[0]+" "+fields[2]+" "+fields[4], "%x-%x %x %d", &m.start, &m.end, &m.offset, &m.inode); err != nil {
			continue
		}
		m.path = strings.TrimSuffix(strings.TrimSuffix(line[slash:], "\n"), deletedMark)
		list = append(list, m)
	}
	return list
}

// lasting returns the mappings that count: the program, by its inode, and the libraries that it needs, directly or
// indirectly.
func (f files) lasting(list []mapping, program uint64) (counts []mapping) {
	counts = slices.DeleteFunc(slices.Clone(list), func(m mapping) bool { return m.inode != program })
	if len(counts) != 1 {
		return nil
	}
	byName := f.libraries(list)
	seen := map[string]bool{}
	for i := 0; i < len(counts); i++ {
		b := f.of(counts[i])
		if b == nil {
			continue
		}
		for _, name := range b.needed {
			// If two have the same name, one was loaded with dlopen, and may be unloaded.
			if name = filepath.Base(name); !seen[name] && len(byName[name]) == 1 {
				counts = append(counts, byName[name][0])
			}
			seen[name] = true
		}
	}
	return counts
}

// set sets the mappings of a snapshot: list are all whose files are those at their paths, or are not known, and counts those that count. random is
// set if places are random.
func (f files) set(s *Snapshot, list, counts []mapping, random bool) {
	for _, m := range list {
		if b := f.of(m); b != nil && b.held == nil && !slices.Contains(s.Files, m.path) {
			s.Files = append(s.Files, m.path)
		}
	}
	slices.SortFunc(counts, func(a, b mapping) int { return cmp.Compare(a.start, b.start) })
	for _, m := range counts {
		switch b := f.of(m); {
		case b == nil, b.held != nil && b.id == "": // its path alone means another file
		case random && b.movable && m.start >= lowest:
			s.Text = fmt.Appendf(s.Text, "%016x-%016x r-x %x %x %s%s\n", m.start, m.end-1, m.offset, m.end-m.start, m.path, note(b.id))
		case b.held == nil && (b.movable || m.inode == s.Inode):
			s.Fixed = fmt.Appendf(s.Fixed, "%016x-%016x r-x %x %x %s\n", m.start, m.end-1, m.offset, m.end-m.start, m.path)
		}
	}
}

// note returns a build ID as Snapshot.Text has it.
func note(id string) string {
	if id == "" {
		return ""
	}
	return " (BuildId: " + id + ")"
}

// libraries returns the files by the names that other files need them by. It returns none if a file cannot be read that might have
// such a name.
func (f files) libraries(list []mapping) map[string][]mapping {
	byName := map[string][]mapping{}
	for _, m := range list {
		name := filepath.Base(m.path)
		switch b := f.of(m); {
		case b != nil && b.soname != "":
			name = b.soname
		case b == nil && !slices.ContainsFunc(noFiles, func(begin string) bool { return strings.HasPrefix(m.path, begin) }):
			return nil
		}
		byName[name] = append(byName[name], m)
	}
	return byName
}

// noFiles begin the paths of mappings that are not libraries.
var noFiles = []string{"/memfd:", "/dev/", "/SYSV"}

// descendants returns a process and those below it, by /proc/PID/task/TID/children: proc_tid_children(5).
func descendants(root int) []int {
	pids := []int{root}
	for i := 0; i < len(pids) && len(pids) < maxProcesses; i++ {
		tasks := "/proc/" + strconv.Itoa(pids[i]) + "/task"
		dir, err := os.Open(tasks)
		if err != nil {
			continue
		}
		names, _ := dir.Readdirnames(-1) // of a process that ends some may be missing
		dir.Close()
		for _, name := range names {
			text, err := os.ReadFile(tasks + "/" + name + "/children")
			if err != nil {
				continue
			}
			for _, digits := range bytes.Fields(text) {
				if pid, err := strconv.Atoi(string(digits)); err == nil && !slices.Contains(pids, pid) {
					pids = append(pids, pid)
				}
			}
		}
	}
	return pids
}

// linkOf returns the link of an open file in /proc: pipe:[INODE], or the path of a terminal.
func linkOf(f *os.File) string {
	link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return ""
	}
	return link
}

// holders returns the other processes that have one of the files open, if we have permission to see them. Links are only read, not
// followed: one may point to a file server that does not answer.
func holders(links []string) (all []holder) {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == os.Getpid() || !holds(filepath.Join("/proc", p.Name(), "fd"), links) {
			continue
		}
		name, err := os.ReadFile(filepath.Join("/proc", p.Name(), "comm"))
		if err != nil { // it has ended
			continue
		}
		all = append(all, holder{pid, strings.TrimSuffix(string(name), "\n")})
	}
	return all
}

// holds reports whether one of the descriptors in a directory has one of the links.
func holds(dir string, links []string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // of a process that ends some may be missing
	return slices.ContainsFunc(names, func(name string) bool {
		link, err := os.Readlink(filepath.Join(dir, name))
		return err == nil && link != "" && slices.Contains(links, link)
	})
}
