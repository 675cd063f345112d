package importer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// header is the line before a stack.
type header struct {
	byID  bool   // has the number of a snapshot
	mapID uint64 // that number
	count uint64 // in square brackets: how often, or when
}

var (
	stackWord  = []byte("stack ")
	mapIDWord  = []byte("map_id ")
	callStack  = []byte("] Call Stack (depth: ")
	exportHead = []byte("# PerFlow Performance Data")
)

// parseHeader reads `[N] Call Stack (depth: N)` or `stack N map_id N …`.
func parseHeader(line []byte) (h header, ok bool) {
	if len(line) > 0 && line[0] == '[' {
		n := bytes.Index(line, callStack)
		if n < 0 {
			return h, false
		}
		v, err := strconv.ParseUint(string(line[1:n]), 10, 64) // the greatest number if it overflows
		return header{count: v}, err == nil || errors.Is(err, strconv.ErrRange)
	}
	if !bytes.HasPrefix(line, stackWord) {
		return h, false
	}
	id, ok := numberAfter(line, mapIDWord)
	return header{byID: true, mapID: id, count: 1}, ok
}

// numberAfter returns the decimal number after a word.
func numberAfter(line, word []byte) (uint64, bool) {
	_, rest, ok := bytes.Cut(line, word)
	if !ok {
		return 0, false
	}
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	v, err := strconv.ParseUint(string(rest[:n]), 10, 64)
	return v, err == nil
}

// bareAddress reads a line that is one address, `  0x000055f5ef187a60`.
func bareAddress(line []byte) (uint64, bool) {
	digits, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0x"))
	if !ok || len(digits) > 16 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(digits), 16, 64)
	return v, err == nil
}

// stackReader converts stacks to frames.
type stackReader struct {
	out     *output
	profile *Profile
	// spaces are the snapshots by their numbers; all has every snapshot, for stacks that name none.
	spaces map[uint64]*space
	all    []*space
	now    *space // of the current stack, nil for all

	room  int // bytes left for more snapshots
	mapID uint64
	stack []Call
	depth int
	count int64
}

// Bounds of the snapshots: their number, and bytes.
const (
	maxSnapshots     = 1 << 10
	maxSnapshotBytes = 96 << 20
)

func newStackReader(out *output) *stackReader {
	return &stackReader{out: out, spaces: map[uint64]*space{}, room: maxSnapshotBytes}
}

// keep makes s the snapshot of a number. If there is no room, the snapshots with the lowest numbers are dropped, which are
// the oldest.
func (r *stackReader) keep(id uint64, s *space) {
	r.drop(id)
	r.spaces[id] = s
	r.room -= s.size()
	for len(r.spaces) > 1 && (len(r.spaces) > maxSnapshots || r.room < 0) {
		oldest := uint64(math.MaxUint64)
		for k := range r.spaces {
			if k != id {
				oldest = min(oldest, k)
			}
		}
		r.drop(oldest)
		r.out.note("more snapshots of maps than there is room for: the oldest are not known to stacks that name them")
	}
}

func (r *stackReader) drop(id uint64) {
	if s := r.spaces[id]; s != nil {
		r.room += s.size()
		delete(r.spaces, id)
	}
}

// merge makes the snapshots available to stacks that name none.
func (r *stackReader) merge() {
	r.all, r.now = r.all[:0], nil
	for _, s := range r.spaces {
		r.all = append(r.all, s)
	}
}

// resolve returns the mapping of an address.
func (r *stackReader) resolve(addr uint64) (*space, *mapping) {
	if r.now != nil {
		return r.now, r.now.find(addr)
	}
	return agreed(r.all, addr)
}

// agreed returns the mapping of an address in several spaces, if those that have one agree. It is not known which of them the
// address belongs to.
func agreed(spaces []*space, addr uint64) (in *space, found *mapping) {
	for _, s := range spaces {
		m := s.find(addr)
		switch {
		case m == nil:
		case found == nil:
			in, found = s, m
		case found.path != m.path || found.image.start != m.image.start && found.image.from == m.image.from:
			return nil, nil
		case m.image.from < found.image.from: // more precise
			in, found = s, m
		}
	}
	return in, found
}

// binary reads a .pflw.
func (r *stackReader) binary(ctx context.Context, path string) error {
	f, err := r.out.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	at := int64(0)
	damage := func(format string, args ...any) error { return &DamageError{path, at, fmt.Sprintf(format, args...)} }
	var head [headerSize]byte
	if n, err := io.ReadFull(in, head[:]); err != nil {
		return damage("the header is cut off: %d of %d bytes", n, headerSize)
	}
	if v := binary.LittleEndian.Uint16(head[4:]); v != 1 {
		at = 4
		return damage("version %d of the format, not 1", v)
	}
	if head[6] != 0 {
		at = 6
		return damage("compression %d, which is not supported", head[6])
	}
	entries, greatest := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint32(head[16:])
	at = headerSize
	var b [entrySize]byte
	for i := range entries {
		if n, err := io.ReadFull(in, b[:]); err != nil {
			return damage("entry %d of %d is cut off: %d of %d bytes", i, entries, n, entrySize)
		}
		depth, count := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint64(b[8:])
		if depth > greatest {
			return damage("entry %d has depth %d, beyond the file's %d", i, depth, greatest)
		}
		r.begin(fmt.Sprintf("[%d] Call Stack (depth: %d)\n", count, depth), r.out.signed(count))
		for k := range depth {
			if n, err := io.ReadFull(in, b[:8]); err != nil {
				r.end(ctx)
				at += entrySize + 8*int64(k)
				return damage("frame %d of entry %d is cut off: %d of 8 bytes", k, i, n)
			}
			r.frame(ctx, binary.LittleEndian.Uint64(b[:8]))
		}
		r.end(ctx)
		r.out.printf("\n")
		at += entrySize + 8*int64(depth)
		if err := r.out.failed(ctx); err != nil {
			return err
		}
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return damage("more bytes after the last of %d entries", entries)
	}
	return nil
}

// begin starts a stack with its line.
func (r *stackReader) begin(line string, count int64) {
	r.out.printf("%s", line)
	r.stack, r.depth, r.count = r.stack[:0], 0, count
}

// frame writes one frame: the call before a return address.
func (r *stackReader) frame(ctx context.Context, addr uint64) {
	s, m := r.resolve(addr)
	name, off, ok := unknownModule, addr, m != nil
	if m != nil {
		name = m.path
		off, ok = r.out.inModule(ctx, s, m, addr)
	}
	r.print(name, m, addr, off, ok)
	if r.profile != nil && r.depth < maxDepth {
		r.stack = append(r.stack, r.out.callAt(ctx, name, m, addr, off-1, ok))
	}
	r.depth++
}

const unknownModule = "[unknown]"

// print writes the line of a frame; ok is false if off is not known, and m is nil if nothing was mapped.
func (r *stackReader) print(name string, m *mapping, addr, off uint64, ok bool) {
	offsets := r.out.opt.Offsets
	switch {
	case r.out.quiet:
	case m == nil:
		r.out.printf("%s%s + %#x\n", r.number(), name, addr)
	case offsets == FromMapStart:
		r.out.printf("%s + %#x\n", plain(name), addr-m.start)
	case !ok:
		r.out.printf("%s%s + ? (%#x)\n", r.number(), plain(name), addr)
	case offsets == InModule, name[0] != '/':
		r.out.printf("%s%s + %#x\n", r.number(), plain(name), off)
	default:
		r.out.printf("%s%s(+%#x) [%#x]\n", r.number(), plain(name), off, addr)
	}
}

// number returns the text before a frame, "" for offsets.
func (r *stackReader) number() string {
	if r.out.opt.Offsets != NoOffsets {
		return ""
	}
	return "  #" + strconv.Itoa(r.depth) + " "
}

// end counts the stack.
func (r *stackReader) end(ctx context.Context) {
	if r.profile != nil && len(r.stack) > 0 {
		r.out.proof.weigh(ctx, &r.out.opt, r.stack)
		r.profile.Add(r.stack, r.count)
	}
	r.stack = r.stack[:0]
}

// Sizes of PerFlow's binary files, in bytes; all numbers are little endian. A .libmap begins with u32 magic, u16 version 1,
// u16, u32 process ID, u32 libraries, u64 time, and 40 bytes; a library is u64 base, u64 end, u8 executable, 7 bytes, u32
// length of its name, u32, and the name. A .pflw begins with u32 magic, u16 version 1, u8 compression, u8, u64 entries, u32
// greatest depth, u32, u64 time, and 32 bytes; an entry is u32 depth, u32, u64 count, and u64 for each address.
const (
	headerSize  = 64
	librarySize = 32
	entrySize   = 16
)

// readMaps reads a file of maps, and returns what its format lacks.
func readMaps(in perFlowInput, out *output) ([]mapping, known, error) {
	f, err := out.open(in.path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	list := mappingList{out: out}
	if in.kind == libmapBinary {
		err := readLibmap(f, in.path, &list)
		return list.all, textOnly, err
	}
	k := wholeMaps
	if in.kind == libmapText {
		k = textOnly
	}
	err = eachLine(bufio.NewReaderSize(f, 1<<16), func(line []byte, torn bool) error {
		m, ok := parseMapping(line)
		if k == textOnly {
			m, ok = parseLibrary(line)
		}
		if ok && !torn { // malformed lines are skipped, as in PerFlow
			list.add(m)
		}
		return nil
	})
	if err != nil {
		return list.all, k, fmt.Errorf("read %s: %w", in.path, err)
	}
	if len(list.all) == 0 {
		return nil, k, &DamageError{in.path, 0, "no mapping in it"}
	}
	return list.all, k, nil
}

// mappingList collects the mappings of one process.
type mappingList struct {
	out *output
	all []mapping
}

// maxMappings bounds the mappings of a process: four times the default limit of Linux (vm.max_map_count).
const maxMappings = 1 << 18

// add adds a mapping, unless there are too many.
func (l *mappingList) add(m mapping) {
	if len(l.all) == maxMappings {
		l.out.note("of a process with more than %d mappings the others are not known", maxMappings)
		return
	}
	l.all = append(l.all, m)
}

// readLibmap reads a .libmap into list, up to the first damage.
func readLibmap(f io.Reader, path string, list *mappingList) error {
	in := bufio.NewReader(f)
	at := int64(0)
	damage := func(format string, args ...any) error {
		return &DamageError{path, at, fmt.Sprintf(format, args...)}
	}
	var head [headerSize]byte
	if n, err := io.ReadFull(in, head[:]); err != nil {
		return damage("the header is cut off: %d of %d bytes", n, headerSize)
	}
	if v := binary.LittleEndian.Uint16(head[4:]); v != 1 {
		at = 4
		return damage("version %d of the format, not 1", v)
	}
	count := binary.LittleEndian.Uint32(head[12:])
	at = headerSize
	for i := range count {
		var b [librarySize]byte
		if n, err := io.ReadFull(in, b[:]); err != nil {
			return damage("library %d of %d is cut off: %d of %d bytes", i, count, n, librarySize)
		}
		m := mapping{start: binary.LittleEndian.Uint64(b[:]), end: binary.LittleEndian.Uint64(b[8:]), perm: "r-xp"}
		length := binary.LittleEndian.Uint32(b[24:])
		if length > maxPathLength {
			at += 24
			return damage("the name of library %d has %d bytes", i, length)
		}
		name := make([]byte, length)
		if n, err := io.ReadFull(in, name); err != nil {
			return damage("the name of library %d is cut off: %d of %d bytes", i, n, length)
		}
		if m.end <= m.start {
			return damage("library %d ends at %#x, before its start", i, m.end)
		}
		at += librarySize + int64(length)
		m.path = libraryName(name)
		if b[16] != 0 {
			list.add(m)
		}
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return damage("more bytes after the last of %d libraries", count)
	}
	return nil
}

// parseLibrary reads a line of the text export, `[0xbase - 0xend] (0xsize bytes) [x] name`. Only executable ones count.
func parseLibrary(line []byte) (m mapping, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("[0x"))
	if !ok {
		return m, false
	}
	first, rest, ok := bytes.Cut(rest, []byte(" - 0x"))
	if !ok {
		return m, false
	}
	end, rest, ok := bytes.Cut(rest, []byte("] (0x"))
	if !ok {
		return m, false
	}
	_, name, ok := bytes.Cut(rest, []byte(" bytes) [x] "))
	if !ok {
		return m, false
	}
	var err [2]error
	m.start, err[0] = strconv.ParseUint(string(first), 16, 64)
	m.end, err[1] = strconv.ParseUint(string(end), 16, 64)
	m.perm, m.path = "r-xp", libraryName(bytes.TrimRight(name, "\r\n"))
	return m, err == [2]error{} && m.end > m.start && len(m.path) <= maxPathLength
}

// libraryName returns a name, or "[anon]" for the texts that PerFlow writes when there is none.
func libraryName(name []byte) string {
	if len(name) == 0 || string(name) == "[anonymous]" {
		return "[anon]"
	}
	return string(name)
}
