package locate

import (
	"encoding/binary"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/macho"
)

// The body of a cache file: the tree's path, then for each file its stamp, the number of its ELF files, and, if there are any, its path and
// these. Numbers are varints; strings come after their length.

// appendTree appends the body of a cache file.
func appendTree(b []byte, root string, known contents) []byte {
	b = appendText(b, root)
	for s, k := range known {
		b = binary.AppendUvarint(binary.AppendUvarint(b, s.Device), s.Inode)
		for _, v := range [...]int64{s.Size, s.Mtime, s.Ctime, int64(len(k.list))} {
			b = binary.AppendVarint(b, v)
		}
		if len(k.list) > 0 {
			b = appendText(b, k.path)
		}
		for _, c := range k.list {
			b = appendText(appendText(append(b, c.code()), string(c.id)), c.arch)
			b = appendMember(b, c.member)
		}
	}
	return b
}

// code encodes everything except the build ID in one byte.
func (c *content) code() byte {
	b := byte(c.rank) | byte(c.kind)<<2
	if c.cut {
		b |= 1 << 4
	}
	return b
}

// decodeContent is the inverse of code.
func decodeContent(b byte) (c content, ok bool) {
	c = content{rank: rank(b & 3), kind: symsrc.SymbolKind(b >> 2 & 3), cut: b>>4&1 != 0}
	return c, b < 1<<5 && c.kind <= symsrc.GSYM
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendMember appends a member of an archive, a zero for none.
func appendMember(b []byte, m *member) []byte {
	if m == nil {
		return append(b, 0)
	}
	b = appendText(append(b, byte(m.packing)+1), m.name)
	for _, v := range [...]int64{m.header, m.data, m.packed, m.size, int64(m.crc), m.slice.Offset, m.slice.Size} {
		b = binary.AppendVarint(b, v)
	}
	return appendText(b, m.slice.Arch)
}

// treeReader reads the body of a cache file, up to the first error.
type treeReader struct {
	b   []byte
	bad bool
}

// contents reads all files; nil after any error.
func (r *treeReader) contents() contents {
	known := make(contents, len(r.b)/24)
	for len(r.b) > 0 && !r.bad {
		s := diskcache.Stamp{Device: r.uvarint(), Inode: r.uvarint(), Size: r.varint(), Mtime: r.varint(), Ctime: r.varint()}
		n := r.varint()
		if n < 0 || n > int64(len(r.b)) {
			return nil
		}
		var k foundFile
		if n > 0 {
			k.path = r.text()
		}
		for range n {
			if r.bad {
				return nil
			}
			c, ok := decodeContent(r.byte())
			c.id, c.arch = symsrc.BuildID(r.text()), r.text()
			c.member = r.member()
			r.bad = r.bad || !ok
			k.list = append(k.list, c)
		}
		known[s] = k
	}
	if r.bad {
		return nil
	}
	return known
}

func (r *treeReader) member() *member {
	kind := r.byte()
	if kind == 0 {
		return nil
	}
	m := &member{name: r.text(), packing: packing(kind - 1)}
	m.header, m.data, m.packed, m.size, m.crc = r.varint(), r.varint(), r.varint(), r.varint(), uint32(r.varint())
	m.slice = macho.Slice{Offset: r.varint(), Size: r.varint(), Arch: r.text()}
	r.bad = r.bad || m.slice.Offset < 0 || m.slice.Size < 0 || m.packing == stored && !m.sliceFits()
	// The architectures of a Mach-O file have no header, nor has what a compressed file has in it.
	headless := m.packing == whole || m.packing == stored && m.slice.Size > 0
	r.bad = r.bad || m.packing > whole || m.header < 0 && !headless || m.data < max(0, m.header) || m.size <= 0 || m.packed <= 0
	return m
}

func (r *treeReader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *treeReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

func (r *treeReader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}

// skip advances by the n bytes of a number; n ≤ 0 is an error.
func (r *treeReader) skip(n int) {
	if n <= 0 {
		r.b, r.bad = nil, true
		return
	}
	r.b = r.b[n:]
}

func (r *treeReader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
