package object

import (
	"io/fs"
	"os"
	"runtime/debug"
	"sync/atomic"

	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/mapped"
)

// onDisk is where the bytes of a file are from.
type onDisk struct {
	path  string
	stat  fs.FileInfo  // when it was opened; nil for a file that is not on disk
	start int64        // where in the file at path it begins
	data  []byte       // its bytes, in memory or mapped
	unmap func() error // nil for a file that is not mapped
	read  atomic.Int64 // bytes that were read since memory was last released
	marks marks
}

// maxMapped is about how many bytes of a mapped file may be read before its memory is released.
const maxMapped = 256 << 20

// touched notes that n bytes of the file were read that are not likely to be read again soon. It reports whether memory was released.
func (d *onDisk) touched(n int) bool {
	if d.unmap == nil || d.read.Add(int64(n)) < maxMapped {
		return false
	}
	d.read.Store(0)
	mapped.Release(d.data)
	return true
}

// changed reports whether another file is at the path by now.
func (d *onDisk) changed(path string) bool { return d.stat != nil && diskcache.Changed(path, d.stat) }

// partReader reads a file from a position on.
type partReader struct {
	*os.File
	start int64
}

func (r partReader) ReadAt(b []byte, off int64) (int, error) { return r.File.ReadAt(b, r.start+off) }

// again opens the file a second time; nil where that fails or another one has taken its place.
func (d *onDisk) again() dwarf.ReadAtCloser {
	if d.stat == nil || d.path == "" {
		return nil
	}
	in, err := os.Open(d.path)
	if err != nil {
		return nil
	}
	if stat, err := in.Stat(); err != nil || diskcache.StampOf(d.path, stat) != diskcache.StampOf(d.path, d.stat) {
		in.Close()
		return nil
	}
	return partReader{in, d.start}
}

// marks are the parts of a file that differ from those of other files, in the mapping, and what they were.
//
// A mapped file may be overwritten in place while questions are answered from it. That replaces its first page first, or cuts the file off
// before. So after each question the mapping must still have the headers and the build ID of the file that was opened, which costs no
// system call; edits that leave these as they are, module.stale notices on the disk.
type marks struct {
	now [][]byte
	was []string
}

// add notes another part.
func (m *marks) add(part []byte) {
	m.now, m.was = append(m.now, part), append(m.was, string(part))
}

// elfHeader is the size of the larger ELF header; its fields say where the tables of sections and segments are.
const elfHeader = 64

// shows reports whether the mapping still has these parts.
func (m *marks) shows() (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil && ok }() // the file is shorter
	for i, part := range m.now {
		if string(part) != m.was[i] {
			return false
		}
	}
	return true
}
