package cache

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// tmpfs mounts a small file system, or skips the test.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file until that many bytes of the disk are free.
func fill(t *testing.T, dir string, left int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filling"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 64<<10)
	for free := freeBytes(t, dir); free > left; free = freeBytes(t, dir) {
		if _, err := f.Write(b[:min(int64(len(b)), free-left)]); err != nil {
			if errors.Is(err, syscall.ENOSPC) {
				return
			}
			t.Fatal(err)
		}
	}
}

// TestFullDisk fills the disk of the open database, which has no reserve: the process may die of SIGBUS, or have no space.
func TestFullDisk(t *testing.T) {
	defer func(before int64) { diskReserve = before }(diskReserve)
	diskReserve = -100000000
	t.Setenv(reserveVar, "-100000000")
	disk := tmpfs(t, "40M")
	dir := filepath.Join(disk, "c")
	s, w := source(t, dir, &engine{})
	connect(t, s)
	if ask(s, 0, 100) != expected(0, 100) {
		t.Error("the answers differ")
	}
	pid := holder(dir)
	fill(t, disk, 3<<20)
	for from := 0; from < 40000 && !s.client.off.Load(); from += 2000 {
		if ask(s, from, 2000) != expected(from, 2000) {
			t.Fatal("the answers differ")
		}
	}
	s.Close()
	if len(w.lines) > 2 || len(w.lines) == 0 && holder(dir) == pid {
		t.Errorf("it said %q", w.lines)
	}
	t.Logf("it said %q, the process died: %v", w.lines, holder(dir) != pid)

	// Once there is room, the next filter stores answers again.
	if err := os.Remove(filepath.Join(disk, "filling")); err != nil {
		t.Fatal(err)
	}
	stop(t, dir)
	if err := os.Remove(filepath.Join(dir, deathsName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	s, _ = source(t, dir, &engine{})
	connect(t, s)
	ask(s, 0, many)
	s.Close()
	eventually(t, "it keeps answers again", func() bool { f := figures(dir); return f != nil && f.Entries >= many*12/13 })
}

// TestReserve checks that 64 MiB of the disk stay free: below that no process is started, and none writes.
func TestReserve(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		dir := filepath.Join(tmpfs(t, "70M"), "c")
		s, w := source(t, dir, &engine{})
		for range 2 {
			if ask(s, 0, 50) != expected(0, 50) {
				t.Error("the answers differ")
			}
		}
		s.Close()
		w.check(t, "nearly full")
		if names := spooled(dir); len(names) > 0 {
			t.Errorf("it left %q", names)
		}
	})
	t.Run("meanwhile", func(t *testing.T) {
		disk := tmpfs(t, "160M")
		dir := filepath.Join(disk, "c")
		s, w := source(t, dir, &engine{})
		connect(t, s)
		ask(s, 0, 1)
		fill(t, disk, diskReserve+1<<20)
		if ask(s, 0, many) != expected(0, many) {
			t.Error("the answers differ")
		}
		s.Close()
		if left := freeBytes(t, disk); left < diskReserve {
			t.Errorf("%d bytes are left", left)
		}
		w.check(t, "nearly full")
		stop(t, dir)
		if left := freeBytes(t, disk); left < diskReserve {
			t.Errorf("%d bytes are left at the end", left)
		}
	})
}

// TestReadOnly uses a directory on a read-only file system, with and without answers.
func TestReadOnly(t *testing.T) {
	disk := tmpfs(t, "160M")
	full := filepath.Join(disk, "full")
	warm(t, full, 100)
	eventually(t, "the file system becomes read-only", func() bool { // once the process has ended
		return unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, "") == nil
	})
	for _, dir := range []string{full, filepath.Join(disk, "none")} {
		s, w := source(t, dir, &engine{})
		for range 2 {
			if ask(s, 0, 100) != expected(0, 100) {
				t.Error("the answers differ")
			}
		}
		eventually(t, "the cache is given up", s.client.off.Load)
		s.Close()
		w.check(t, "read-only file system")
	}
}

// bulky returns answers of 4 KB that cannot be compressed much.
type bulky struct{ r *rand.Rand }

func (b *bulky) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	name := make([]byte, 4000)
	for i := range name {
		name[i] = ' ' + byte(b.r.IntN(95))
	}
	return symsrc.Answer{Files: &symsrc.Files{Elf: "/x"}, Frames: []symsrc.Frame{{Func: string(name), Origin: symsrc.SymbolAndDebug}}}
}

// TestSizes checks the files as they grow: none is huge, their total size stays below the limit, and the last answers are
// there.
func TestSizes(t *testing.T) {
	dir := tempDir(t)
	w := &warnings{}
	s := Wrap(&bulky{rand.New(rand.NewPCG(1, 2))}, Options{Dir: dir, Program: program, Max: LeastMax, Warn: w.add})
	t.Cleanup(func() { stop(t, dir) })
	connect(t, s)
	const n = 20_000 // 80 MB
	spread := func(i int) symsrc.Addr {
		q := addr(i)
		q.Offset <<= pageBits // pages drop what they cannot hold
		return q
	}
	huge, most := int64(0), int64(0)
	db := &store{dir: filepath.Join(dir, databaseDir)}
	for i := range n {
		s.Frames(context.Background(), spread(i))
		if i%200 != 0 {
			continue
		}
		eventually(t, "what was left is taken", func() bool { return len(spooled(dir)) < 4 })
		most = max(most, db.size())
		_ = filepath.WalkDir(db.dir, func(_ string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if fi, err := e.Info(); err == nil {
					huge = max(huge, fi.Size())
				}
			}
			return nil
		})
	}
	s.Close()
	w.check(t)
	if huge > 32<<20 || most > LeastMax {
		t.Errorf("the largest file has %d bytes, all together take %d", huge, most)
	}
	f := figures(dir)
	if f == nil || f.Max != LeastMax || f.Entries == 0 || f.Entries > 3*n/4 {
		t.Errorf("the figures are %+v", f)
	}
	t.Logf("largest file %d, all %d, entries %d", huge, most, f.Entries)
	last := Wrap(&engine{gone: true}, Options{Dir: dir, Program: program})
	if a := last.Frames(context.Background(), spread(n-1)); len(a.Frames) == 0 {
		t.Error("the last answer is lost")
	}
	last.Close()
}

// TestDescriptors checks that the process inherits no descriptor, working directory or session.
func TestDescriptors(t *testing.T) {
	dir := tempDir(t)
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil { // it is inherited, as after a shell's `3>&1`
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	s, _ := source(t, dir, &engine{})
	connect(t, s)
	unix.Close(pipe[1])
	pid := figures(dir).PID
	proc := filepath.Join("/proc", itoa(pid))
	entries, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join(proc, "fd", e.Name()))
		if err != nil {
			continue
		}
		std := e.Name() == "0" || e.Name() == "1" || e.Name() == "2"
		if std && to != "/dev/null" || strings.HasPrefix(to, "pipe:") {
			t.Errorf("descriptor %s is %s", e.Name(), to)
		}
	}
	if n, err := unix.Read(pipe[0], make([]byte, 1)); n != 0 || err != nil { // it would wait for the process
		t.Errorf("the pipe returns %d, %v", n, err)
	}
	if to, _ := os.Readlink(filepath.Join(proc, "cwd")); to != "/" {
		t.Errorf("its directory is %s", to)
	}
	if sid, err := unix.Getsid(pid); err != nil || sid != pid {
		t.Errorf("its session is %d, %v", sid, err)
	}
	cmdline, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
	if args := strings.ReplaceAll(string(cmdline), "\x00", " "); !strings.Contains(args, " cache "+dir) {
		t.Errorf("it is called %s", args)
	}
	s.Close()
}

// freeBytes returns the number of free bytes on the disk of a directory.
func freeBytes(t *testing.T, dir string) int64 {
	t.Helper()
	n, ok := diskcache.Free(dir)
	if !ok {
		t.Fatal("it is not known how much is free on the disk of ", dir)
	}
	return n
}
