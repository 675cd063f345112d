package importer

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"qss-filter/symsrc"
)

// mapping is a line of /proc/PID/maps, or of a similar list.
type mapping struct {
	start, end uint64 // end is exclusive
	perm       string
	offset     uint64 // in the file
	path       string // "[anon]" if the line has none
	image      *image
}

// image is a module at one place in memory.
type image struct {
	name string
	// start is the address of the byte at offset of the file: the start of the lowest mapping, or of the executable one.
	start, offset uint64
	from          symsrc.Space // the meaning of start
	// bias is the difference between an address of the process and that in the module.
	bias   uint64
	placed placement
}

type placement uint8

const (
	unasked placement = iota
	placed
	unplaced
)

// space has the executable mappings of a process, in the order of addresses.
type space struct {
	starts   []uint64
	mappings []mapping
	wide     bool // there are addresses beyond 4 GiB
}

// parseMapping reads a line of /proc/PID/maps (proc_pid_maps(5)): `start-end perms offset dev inode [path]`.
func parseMapping(line []byte) (m mapping, ok bool) {
	dash := bytes.IndexByte(line, '-')
	if dash < 1 || dash > 16 {
		return m, false
	}
	rest := line[dash+1:]
	var fields [5][]byte // end, perms, offset, device, inode
	for i := range fields {
		n := bytes.IndexByte(rest, ' ')
		if n < 0 {
			n = len(rest)
		}
		fields[i] = rest[:n]
		rest = bytes.TrimLeft(rest[n:], " ")
	}
	var err [3]error
	m.start, err[0] = strconv.ParseUint(string(line[:dash]), 16, 64)
	m.end, err[1] = strconv.ParseUint(string(fields[0]), 16, 64)
	m.offset, err[2] = strconv.ParseUint(string(fields[2]), 16, 64)
	if err != [3]error{} || m.end <= m.start || len(fields[1]) != 4 || len(fields[4]) == 0 || !isPerm(fields[1]) {
		return m, false
	}
	m.perm = string(fields[1])
	// The mark of a deleted file stays in the name, since the path now has another file.
	m.path = cmp.Or(strings.TrimRight(string(rest), "\r\n"), "[anon]")
	return m, len(m.path) <= maxPathLength
}

// maxPathLength is the maximum length of a path in maps: 4096 bytes (PATH_MAX), each of which may be escaped, as `\012`.
const maxPathLength = 1 << 14

// isPerm reports whether p is `rwxp` with some letters as dashes. For [vsyscall] the first may be one, too.
func isPerm(p []byte) bool {
	return (p[0] == 'r' || p[0] == '-') && (p[1] == 'w' || p[1] == '-') && (p[2] == 'x' || p[2] == '-') && (p[3] == 'p' || p[3] == 's')
}

func (m *mapping) executable() bool { return len(m.perm) > 2 && m.perm[2] == 'x' }

// known says what a list of mappings lacks.
type known uint8

const (
	wholeMaps known = iota
	// noOffsets: the file offsets are not known, and anonymous mappings have the path of the mapping before them.
	noOffsets
	// textOnly: mappings that are not executable are not known, either.
	textOnly
)

// newSpace returns the space of a process with these mappings, which may be in any order.
func newSpace(all []mapping, k known) *space {
	s := &space{}
	slices.SortStableFunc(all, func(a, b mapping) int { return cmp.Compare(a.start, b.start) })
	files := map[string]*mapping{} // the last mapping of each
	for i := range all {
		m := &all[i]
		s.wide = s.wide || m.start>>32 != 0 && m.path != "[vsyscall]"
		if !strings.HasPrefix(m.path, "/") {
			m.image = &image{name: m.path, bias: m.start, placed: placed}
			continue
		}
		last := files[m.path]
		switch {
		case last == nil, k == textOnly, k == wholeMaps && !sameImage(last, m):
			m.image = &image{name: m.path, start: m.start, offset: m.offset, from: spaceOf(m, k)}
		case k == noOffsets && m.executable() && last.perm[1] == 'w': // the code of a file does not come after its data
			m.path = "[anon]"
			m.image = &image{name: m.path, bias: m.start, placed: placed}
			continue
		default:
			m.image = last.image
		}
		files[m.path] = m
	}
	for i := range all {
		m := &all[i]
		if n := len(s.mappings); m.executable() && (n == 0 || s.mappings[n-1].end <= m.start) {
			s.starts = append(s.starts, m.start)
			s.mappings = append(s.mappings, *m)
		}
	}
	return s
}

// spaceOf returns the meaning of the start of an image's first mapping.
func spaceOf(m *mapping, k known) symsrc.Space {
	switch {
	case k == textOnly:
		return symsrc.InText
	case m.offset == 0:
		return symsrc.InImage
	}
	return symsrc.InFile
}

// sameImage reports whether b, the next mapping of a's file, belongs to the same image: segments are in the order of the file and
// share at most a page. If the file was mapped again, the offsets begin again.
func sameImage(a, b *mapping) bool {
	const largestPage = 1 << 16
	return b.offset >= a.offset && b.offset+largestPage >= a.offset+(a.end-a.start)
}

// size returns the approximate size of a space, in bytes.
func (s *space) size() int {
	n := 256
	for i := range s.mappings {
		n += int(unsafe.Sizeof(mapping{})+unsafe.Sizeof(image{})) + 24 + len(s.mappings[i].path)
	}
	return n
}

// find returns the executable mapping of an address, or nil.
func (s *space) find(addr uint64) *mapping {
	n := len(s.starts)
	if n == 0 {
		return nil
	}
	lo := 0
	for n > 1 {
		half := n >> 1
		if s.starts[lo+half] <= addr {
			lo += half
		}
		n -= half
	}
	if m := &s.mappings[lo]; addr >= m.start && addr < m.end {
		return m
	}
	return nil
}

// placer finds the addresses of mappings in a module's own address space.
type placer struct{ symbols symsrc.Source }

// inModule converts an address of the process into one of the module that m maps there. ok is false if that is not known.
func (p placer) inModule(ctx context.Context, s *space, m *mapping, addr uint64) (uint64, bool) {
	im := m.image
	if im.placed == unasked {
		im.placed = unplaced
		if bias, ok := p.bias(ctx, s, im); ok {
			im.bias, im.placed = bias, placed
		}
	}
	return addr - im.bias, im.placed == placed
}

// bias asks the file for the place of an image; without the file only an image whose start is known is placed. In a process with
// addresses beyond 4 GiB, images below that are at the addresses they were linked for, and so are images at the usual addresses of
// programs with fixed addresses. The start of any other image is its address 0. At 4 MiB, a 32-bit image may be either.
func (p placer) bias(ctx context.Context, s *space, im *image) (uint64, bool) {
	if prober, ok := p.symbols.(symsrc.Prober); ok {
		q := symsrc.Addr{Module: symsrc.Module{Name: im.name}, Space: im.from}
		if im.from == symsrc.InFile {
			q.Offset = im.offset
		}
		if at := prober.Probe(ctx, q); at.CallDistance != 0 { // the file was found
			return im.start - at.Linked, true
		}
	}
	low := im.start>>32 == 0
	switch {
	case low && s.wide, im.start == 0x8048000, im.start == 0x10000, im.start == 0x8000: // i386, ARM and RISC-V, old ARM
		return 0, true
	case im.from != symsrc.InImage, im.start == 0x400000, low && im.start == 0x200000:
		return 0, false
	}
	return im.start, true
}
