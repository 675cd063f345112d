package importer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
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

// maxMapText bounds a file of maps: a process has 65,530 mappings (vm.max_map_count), with paths of up to 4096 bytes.
const maxMapText = 1 << 28

// readMaps reads a file of maps, and tells what it leaves out.
func readMaps(in perFlowInput) ([]mapping, known, error) {
	f, err := openRegular(in.path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if in.kind == libmapBinary {
		all, err := readLibmap(f)
		return all, textOnly, err
	}
	k := wholeMaps
	if in.kind == libmapText {
		k = textOnly
	}
	var all []mapping
	s := bufio.NewScanner(io.LimitReader(f, maxMapText))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		m, ok := parseMapping(s.Bytes())
		if k == textOnly {
			m, ok = parseLibrary(s.Bytes())
		}
		if ok { // what is malformed is skipped, as PerFlow does
			all = append(all, m)
		}
	}
	if err := s.Err(); err != nil {
		return all, k, fmt.Errorf("read %s: %w", in.path, err)
	}
	if len(all) == 0 {
		return nil, k, &DamageError{in.path, 0, "no mapping in it"}
	}
	return all, k, nil
}

// readLibmap reads a .libmap; what stands before the damage is given with the error.
func readLibmap(f *os.File) ([]mapping, error) {
	in := bufio.NewReader(f)
	at := int64(0)
	damage := func(format string, args ...any) error {
		return &DamageError{f.Name(), at, fmt.Sprintf(format, args...)}
	}
	var head [headerSize]byte
	if n, err := io.ReadFull(in, head[:]); err != nil {
		return nil, damage("the header is cut off: %d of %d bytes", n, headerSize)
	}
	if v := binary.LittleEndian.Uint16(head[4:]); v != 1 {
		at = 4
		return nil, damage("version %d of the format, not 1", v)
	}
	count := binary.LittleEndian.Uint32(head[12:])
	at = headerSize
	var all []mapping
	for i := range count {
		var b [librarySize]byte
		if n, err := io.ReadFull(in, b[:]); err != nil {
			return all, damage("library %d of %d is cut off: %d of %d bytes", i, count, n, librarySize)
		}
		m := mapping{start: binary.LittleEndian.Uint64(b[:]), end: binary.LittleEndian.Uint64(b[8:]), perm: "r-xp"}
		length := binary.LittleEndian.Uint32(b[24:])
		if length > 1<<16 {
			at += 24
			return all, damage("the name of library %d has %d bytes", i, length)
		}
		name := make([]byte, length)
		if n, err := io.ReadFull(in, name); err != nil {
			return all, damage("the name of library %d is cut off: %d of %d bytes", i, n, length)
		}
		if m.end <= m.start {
			return all, damage("library %d ends at %#x, before its start", i, m.end)
		}
		at += librarySize + int64(length)
		m.path = libraryName(name)
		if b[16] != 0 {
			all = append(all, m)
		}
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return all, damage("more bytes behind the last of %d libraries", count)
	}
	return all, nil
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
	return m, err == [2]error{} && m.end > m.start
}

// libraryName is a name, "[anon]" for the ways in which PerFlow writes that there is none.
func libraryName(name []byte) string {
	if len(name) == 0 || string(name) == "[anonymous]" {
		return "[anon]"
	}
	return string(name)
}
