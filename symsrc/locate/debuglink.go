package locate

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"path"
	"path/filepath"
	"strings"
)

// links looks once for the debug file that .gnu_debuglink of the ELF file names: in the file's directory, in .debug there, and in the
// same directory below each debug root and below /usr/lib/debug of each root (GDB manual, "Separate Debug Files").
func (s *search) links() {
	e := s.verdict.elf
	if e == nil || s.verdict.linked || s.complete() {
		return
	}
	s.verdict.linked = true
	if e.arch != "" {
		s.dsyms(e)
		return
	}
	if e.link == "" || strings.ContainsAny(e.link, `/\`) || e.link == ".." { // it must be a name, not a path
		return
	}
	for _, p := range s.linkPlaces(e) {
		if s.complete() {
			return
		}
		s.look(p, asDebug, &e.linkCRC)
	}
}

// linkPlaces returns where the debug file of e may be.
func (s *search) linkPlaces(e *found) []place {
	var ps []place
	if e.place.root == "" {
		dir := filepath.Dir(e.path)
		ps = append(ps, place{path: filepath.Join(dir, e.link)}, place{path: filepath.Join(dir, ".debug", e.link)})
	}
	for _, dir := range s.dirs(e.place.root) {
		if e.place.root != "" {
			ps = append(ps, place{root: e.place.root, path: path.Join(dir, e.link)},
				place{root: e.place.root, path: path.Join(dir, ".debug", e.link)})
		}
	}
	for _, root := range s.l.roots {
		for _, dir := range s.dirs(root) {
			for _, r := range s.l.opt.DebugRoots {
				ps = append(ps, place{root: r, path: path.Join(dir, e.link)})
			}
			ps = append(ps, place{root: root, path: path.Join("usr/lib/debug", dir, e.link)})
		}
	}
	return ps
}

// openPath returns a path of the file without links that may lead out of its root.
func (f *found) openPath() string {
	if f.place.root == "" {
		return f.path
	}
	return hostPath(f.place.root, f.inside)
}

// maxChecksum bounds the size of a file whose checksum is computed, in bytes: a sparse file may have any size.
const maxChecksum = 4 << 30

var errChecksum = errors.New("too large for its checksum to be computed")

// checksum returns the CRC-32 of a whole file (IEEE 802.3, as .gnu_debuglink has it) and its size.
func checksum(ctx context.Context, path string, follow bool) (sum uint32, size int64, err error) {
	f, err := openRegular(path, follow)
	if err != nil {
		return 0, 0, err
	}
	defer f.close()
	if f.Size > maxChecksum {
		return 0, 0, errChecksum
	}
	buf := make([]byte, min(f.Size, 1<<20))
	for size < f.Size {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		n, err := f.ReadAt(buf[:min(int64(len(buf)), f.Size-size)], size)
		sum = crc32.Update(sum, crc32.IEEETable, buf[:n])
		size += int64(n)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		if n == 0 {
			break
		}
	}
	return sum, size, nil
}
