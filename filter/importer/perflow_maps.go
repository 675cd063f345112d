package importer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Sizes of PerFlow's binary files, in bytes; all numbers are little endian. A .libmap begins with u32 magic, u16 version 1,
// u16, u32 process ID, u32 libraries, u64 time, and 40 bytes; a library is u64 base, u64 end, u8 executable, 7 bytes, u32
// length of its name, u32, and the name. A .pflw begins with u32 magic, u16 version 1, u8 compression, u8, u64 entries, u32
// greatest depth, u32, u64 time, and 32 bytes; an entry is u32 depth, u32, u64 count, and u64 for each address.
const (
	headerSize  = 64
	librarySize = 32
	entrySize   = 16
)

// readMaps reads a file of maps, and says what it leaves out.
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
		if ok && !torn { // what is malformed is skipped, as PerFlow does
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

// maxMappings is how many mappings of a process are read: four times what Linux allows, unless it is told otherwise
// (vm.max_map_count).
const maxMappings = 1 << 18

// add adds a mapping, as long as there is room.
func (l *mappingList) add(m mapping) {
	if len(l.all) == maxMappings {
		l.out.note("of a process with more than %d mappings the others are not known", maxMappings)
		return
	}
	l.all = append(l.all, m)
}

// readLibmap reads a .libmap into list, as far as there is no damage.
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

// libraryName is a name, "[anon]" for the ways in which PerFlow writes that there is none.
func libraryName(name []byte) string {
	if len(name) == 0 || string(name) == "[anonymous]" {
		return "[anon]"
	}
	return string(name)
}
