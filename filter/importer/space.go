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

// mapping is a line of /proc/PID/maps, or its like.
type mapping struct {
	start, end uint64 // end is exclusive
	perm       string
	offset     uint64 // in the file
	path       string // "[anon]" where the line has none
	image      *image
}

// image is a module at one place in memory.
type image struct {
	name string
	// start is where the byte at offset of the file is mapped: that of the lowest mapping, or of the executable one.
	start, offset uint64
	from          symsrc.Space // what start says
	// bias is what an address of the process has beyond that in the module.
	bias   uint64
	placed placement
}

type placement uint8

const (
	unasked placement = iota
	placed
	unplaced
)

// space is what was mapped executable in a process, in order of addresses.
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
	// That the file was deleted stays part of its name: what its path has now is another one.
	m.path = cmp.Or(strings.TrimRight(string(rest), "\r\n"), "[anon]")
	return m, len(m.path) <= maxPathLength
}

// maxPathLength is more than a path in maps has: 4096 bytes (PATH_MAX), of which each may be escaped, as `\012`.
const maxPathLength = 1 << 14

// isPerm reports whether p is `rwxp` with some letters as dashes. Of [vsyscall] the first may be one, too.
func isPerm(p []byte) bool {
	return (p[0] == 'r' || p[0] == '-') && (p[1] == 'w' || p[1] == '-') && (p[2] == 'x' || p[2] == '-') && (p[3] == 'p' || p[3] == 's')
}

func (m *mapping) executable() bool { return len(m.perm) > 2 && m.perm[2] == 'x' }

// known says what a list of mappings leaves out.
type known uint8

const (
	wholeMaps known = iota
	// noOffsets: where in its file a mapping begins is not known, and anonymous mappings carry the path before them.
	noOffsets
	// textOnly: neither is what is not executable.
	textOnly
)

// newSpace makes the space of a process from all of its mappings, in any order.
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
		case k == noOffsets && m.executable() && last.perm[1] == 'w': // the code of a file does not follow its data
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

// spaceOf returns what the start of the first mapping of an image says.
func spaceOf(m *mapping, k known) symsrc.Space {
	switch {
	case k == textOnly:
		return symsrc.InText
	case m.offset == 0:
		return symsrc.InImage
	}
	return symsrc.InFile
}

// sameImage reports whether b, the next mapping of a's file, is of the same image: segments follow each other in the file and
// share a page at most. Where the file was mapped again it begins again.
func sameImage(a, b *mapping) bool {
	const largestPage = 1 << 16
	return b.offset >= a.offset && b.offset+largestPage >= a.offset+(a.end-a.start)
}

// size is about how many bytes a space takes.
func (s *space) size() int {
	n := 256
	for i := range s.mappings {
		n += int(unsafe.Sizeof(mapping{})+unsafe.Sizeof(image{})) + 24 + len(s.mappings[i].path)
	}
	return n
}

// find returns the executable mapping of an address, nil where there is none.
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

// placer finds out where in a module's own address space its mappings lie.
type placer struct{ symbols symsrc.Source }

// inModule turns an address of the process into one of the module that m maps there. It fails where that is not known.
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

// bias asks the file where an image lies; without the file only an image whose start is known is placed. Of a process with
// addresses beyond 4 GiB what lies below is at the address it was linked for, and so is what begins where only programs at
// fixed addresses do. What begins elsewhere has address 0 of its own there. At 4 MiB of 32 bits there may be both.
func (p placer) bias(ctx context.Context, s *space, im *image) (uint64, bool) {
	if prober, ok := p.symbols.(symsrc.Prober); ok {
		q := symsrc.Addr{Module: symsrc.Module{Name: im.name}, Space: im.from}
		if im.from == symsrc.InFile {
			q.Offset = im.offset
		}
		if at := prober.Probe(ctx, q); at.Back != 0 { // there is an answer
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
