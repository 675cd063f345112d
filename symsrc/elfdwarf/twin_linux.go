package elfdwarf

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// bootID names the time since the machine was started; "" where that is not known.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(b) > 64 {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// identity tells a file from every other one, and from itself before it was changed; "" where that is not known.
func identity(stat fs.FileInfo) string {
	s, ok := stat.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d changed %d.%09d", s.Dev, s.Ino, s.Ctim.Sec, s.Ctim.Nsec)
}

// private tells whether a file is ours and nobody else may write to it.
func private(stat fs.FileInfo) bool {
	s, ok := stat.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid() && stat.Mode().Perm()&0o022 == 0
}

// lastUse is when a twin was last mapped, or made.
func lastUse(stat fs.FileInfo) time.Time {
	s, ok := stat.Sys().(*syscall.Stat_t)
	if !ok {
		return stat.ModTime()
	}
	return time.Unix(s.Atim.Unix())
}

// freeSpace is what a directory's disk has left for us, in bytes.
func freeSpace(dir string) int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0
	}
	return int64(min(s.Bavail, 1<<40)) * int64(s.Frsize)
}

// lockFile locks a file, which is made where there is none, until it is closed. It fails where another one has it.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}

// sound tells whether a twin's file is what was written.
func (w *twin) sound(stat fs.FileInfo) bool {
	return stat.Mode().IsRegular() && private(stat) && stat.Size() == w.size && stat.ModTime().Equal(w.stamp)
}

// mapTwin maps the twin if it is there and sound; nil otherwise.
func (t *twins) mapTwin(w *twin) (mapped []byte, unmap func() error) {
	path := filepath.Join(t.dir, w.name)
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil || !w.sound(stat) {
		return nil, nil
	}
	head := make([]byte, twinPage)
	if _, err := file.ReadAt(head, 0); err != nil || !bytes.Equal(head, w.head) {
		return nil, nil
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, int(w.size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil
	}
	const often = time.Minute
	if time.Since(lastUse(stat)) > often {
		_ = os.Chtimes(path, time.Now(), w.stamp) // else it is dropped sooner than others
	}
	w.stat = stat
	return data, func() error { return syscall.Munmap(data) }
}
