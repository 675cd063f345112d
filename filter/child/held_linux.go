package child

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"qss-filter/symsrc/diskcache"
)

// A program may be deleted, or another file put at its path, as soon as it runs: runners of tests compile to files that they delete, and programs are
// compiled again while they run. The processes that have it mapped still lead to it, by /proc/PID/exe for a program and
// /proc/PID/map_files for all that is mapped, as far as that is permitted. The file is opened then and kept open, since its lines may be read after
// the process has ended. It is found by its build ID alone: at its path there is nothing, or another file.
//
// What the command itself has made may be deleted as soon as its program has ended, before its lines are read: `go test` does so. Such files are opened
// while they have their names.
//
// A file that is kept open keeps scripts from unmounting what they have mounted. Files with names are therefore opened early only where the root directory or our
// own working directory are mounted. Others, as in another root or mount namespace, are opened when a frame asks for them. File systems of other machines,
// and of programs, keep a file that is deleted while it is open under another name: a script could not remove its directory. Theirs are not opened.

const (
	// maxHeld bounds the files that are kept open, and heldShare which part they are of those that may be. maxHeldSize bounds their bytes, which take room
	// on the disk for as long.
	maxHeld     = 64
	heldShare   = 8
	maxHeldSize = 512 << 20
	// tick is how far the times of files lag behind the clock, at most: kernels take them from the last tick of their timers.
	tick = 10 * time.Millisecond
)

// mostHeld returns how many files may be kept open.
func mostHeld() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(maxHeld, limit.Cur/heldShare))
}

// heldAt returns the path of a file that is held, or "".
func (b *binary) heldAt() string {
	if b.held == nil {
		return ""
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), b.held.Fd())
}

// heldAs returns the path of a held file that was mapped from a path, by its build ID in hexadecimal digits. It is "" if there is none.
func (f files) heldAs(path, id string) string {
	for key, b := range f {
		if b != nil && b.held != nil && key.path == path && b.id == id && id != "" {
			return b.heldAt()
		}
	}
	return ""
}

// away returns the paths from which held files were mapped that have a name, and their build IDs in hexadecimal digits.
func (f files) away(is func(path, soname string) bool) (list []nameOf) {
	for key, b := range f {
		if b != nil && b.held != nil && b.id != "" && is(key.path, b.soname) {
			list = append(list, nameOf{key.path, b.id})
		}
	}
	return list
}

// forget forgets a file.
func (f files) forget(key mappedFile) {
	if b := f[key]; b != nil && b.held != nil {
		b.held.Close()
	}
	delete(f, key)
}

// hold opens the files of programs that run which are not at their paths, and keeps them open. asked is set if a frame asks for them: otherwise these are
// only those that have no name any more.
func (s *images) hold(asked bool) {
	away := map[mappedFile]bool{}
	for pid, im := range s.byPID {
		for _, m := range im.code {
			key := mappedFile{m.inode, m.path}
			is, looked := away[key]
			if !looked {
				is = s.files.isAway(m)
				away[key] = is
			}
			switch {
			case is && s.files.hold(pid, m, asked):
				away[key], im.current = false, false
			case !is && !looked && s.young[key] == nil:
				s.openYoung(pid, m)
			}
		}
	}
	for key, file := range s.young {
		if m := (mapping{inode: key.inode, path: key.path}); s.files.isAway(m) {
			delete(s.young, key)
			s.files.holdOpen(file, m)
			for _, im := range s.all {
				im.current = im.current && !slices.ContainsFunc(im.code, func(m mapping) bool { return m.inode == key.inode && m.path == key.path })
			}
		}
	}
}

// openYoung opens a file that the command has made.
func (s *images) openYoung(pid int, m mapping) {
	var is unix.Stat_t
	if err := unix.Stat(m.path, &is); err != nil || time.Unix(is.Ctim.Unix()).Add(tick).Before(s.began) || is.Size > maxHeldSize {
		return
	}
	if len(s.young) >= mostHeld() { // those of running programs are opened again
		for key, file := range s.young {
			file.Close()
			delete(s.young, key)
		}
	}
	if file := openMapped(pid, m, true); file != nil {
		if mount := mountOf(int(file.Fd()), ""); mount != 0 && (mount == mountOf(unix.AT_FDCWD, "/") || mount == mountOf(unix.AT_FDCWD, ".")) {
			s.young[mappedFile{m.inode, m.path}] = file
			return
		}
		file.Close()
	}
}

// mountOf returns the ID of the mount that a file is on, 0 if it is not known.
func mountOf(dir int, path string) uint64 {
	var is unix.Statx_t
	if err := unix.Statx(dir, path, unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &is); err != nil || is.Mask&unix.STATX_MNT_ID == 0 {
		return 0
	}
	return is.Mnt_id
}

// holdDeleted does the same for the deleted files of a process.
func (f files) holdDeleted(s *Snapshot) {
	if !bytes.Contains(s.raw, []byte(deletedMark)) {
		return
	}
	for _, m := range readMappings(s.raw) {
		if f.isAway(m) {
			f.hold(s.PID, m, false)
		}
	}
}

// seen is a file that a program had mapped that was started at a time, or looked at.
type seen struct {
	mappedFile
	since time.Time
}

// replaced reports whether the file that lies at a path now is none of those that were seen from there, and came there after them. If its inode alone
// differed, it might be the same one: some file systems have other numbers in the records than in stat(2).
func (f files) replaced(path string, list []seen) (is bool) {
	now, err := diskcache.StampAt(path, true)
	if err != nil {
		return false
	}
	for _, s := range list {
		if s.path != path {
			continue
		}
		if s.inode == now.Inode {
			return false
		}
		is = is || now.Last().Add(tick).After(s.since)
	}
	return is
}

// mappings returns all files that programs were seen with.
func (r *records) mappings() (list []seen) {
	if r == nil {
		return nil
	}
	for _, im := range r.all {
		for _, m := range im.code {
			list = append(list, seen{mappedFile{m.inode, m.path}, im.since})
		}
	}
	return list
}

// mappings returns the files of snapshots. What has come to the path of a deleted one came after it, whenever the snapshot was read.
func (f files) mappings(snapshots []Snapshot) (list []seen) {
	for i := range snapshots {
		s := &snapshots[i]
		for _, m := range readMappings(s.raw) {
			is := seen{mappedFile{m.inode, m.path}, s.read}
			if bytes.Contains(s.raw, []byte(m.path+deletedMark+"\n")) {
				is.since = time.Time{}
			}
			list = append(list, is)
		}
	}
	return list
}

// isAway reports whether the file of a mapping is not at its path, and not held yet.
func (f files) isAway(m mapping) bool {
	if b := f[mappedFile{m.inode, m.path}]; b != nil && b.held != nil {
		return false
	}
	now, err := diskcache.StampAt(m.path, true)
	return err != nil || now.Inode != m.inode
}

// hold opens the file of a mapping by way of a process that has it mapped, and reports whether it could.
func (f files) hold(pid int, m mapping, asked bool) bool {
	file := openMapped(pid, m, asked)
	return file != nil && f.holdOpen(file, m)
}

// holdOpen keeps an open file of a mapping, if it is an ELF file, and closes it otherwise.
func (f files) holdOpen(file *os.File, m mapping) bool {
	b := readELF(file, m)
	if b == nil {
		file.Close()
		return false
	}
	b.held, b.since = file, time.Now()
	f.keep(mappedFile{m.inode, m.path}, b)
	return true
}

// openMapped opens the file of a mapping by way of a process that has it mapped. It returns nil if it cannot, and, unless named is set, for a file that has a
// name.
func openMapped(pid int, m mapping, named bool) *os.File {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	raw, err := os.ReadFile(filepath.Join(dir, "maps"))
	if err != nil {
		return nil
	}
	list := readMappings(raw)
	at := slices.IndexFunc(list, func(o mapping) bool { return o.inode == m.inode && m.start < o.end && o.start < m.end })
	if at < 0 { // it executes another program by now
		return nil
	}
	ways := []string{fmt.Sprintf("map_files/%x-%x", list[at].start, list[at].end)}
	if list[at].path == exe(dir) {
		ways = append(ways, "exe")
	}
	if named {
		ways = append(ways, "root"+m.path)
	}
	for _, way := range ways {
		if file := openAs(filepath.Join(dir, way), m, named); file != nil {
			return file
		}
	}
	return nil
}

// openAs opens a file if it is that of a mapping and, unless named is set, has no name.
func openAs(path string, m mapping, named bool) *os.File {
	var is unix.Stat_t // before it is opened, since that may act on a device
	if err := unix.Stat(path, &is); err != nil || is.Mode&unix.S_IFMT != unix.S_IFREG || is.Ino != m.inode || is.Nlink > 0 && !named || is.Size > maxHeldSize {
		return nil
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if !isLocal(int(file.Fd())) {
		file.Close()
		return nil
	}
	return file
}

// localTypes are the types of the file systems on which a file that is open is deleted like any other: see statfs(2).
var localTypes = []uint32{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	0x2fc12fc1} // ZFS

// isLocal reports whether an open file is on one of these.
func isLocal(fd int) bool {
	var on unix.Statfs_t
	return unix.Fstatfs(fd, &on) == nil && slices.Contains(localTypes, uint32(on.Type))
}

// keep remembers a file that is held. If these are too many, the oldest ones are closed.
func (f files) keep(key mappedFile, b *binary) {
	f.forget(key)
	f[key] = b
	most := mostHeld()
	for {
		n, size := 0, int64(0)
		var oldest mappedFile
		for other, o := range f {
			if o == nil || o.held == nil {
				continue
			}
			if size += o.read.Size; n == 0 || o.since.Before(f[oldest].since) {
				oldest = other
			}
			n++
		}
		if n <= most && size <= maxHeldSize {
			return
		}
		f.forget(oldest)
	}
}
