package elf

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/names"
	"qss-filter/symsrc/pages"
)

// MiniSymbols returns the symbol table in the section .gnu_debugdata of a stripped file: an xz-compressed ELF file with only a symbol
// table (GDB manual, "MiniDebugInfo"). It has the symbols that are missing in the dynamic symbol table. MiniSymbols returns nil if there
// is none, or if it is damaged or belongs to another file.
func (f *File) MiniSymbols() *SymbolTable {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Name != ".gnu_debugdata" {
			continue
		}
		packed, ok := f.Contents(s)
		if !ok {
			return nil
		}
		data, err := unxz(packed, f.Budget)
		if err != nil {
			return nil
		}
		return f.readMini(data)
	}
	return nil
}

// readMini reads the symbol table of the ELF file in data.
func (f *File) readMini(data []byte) *SymbolTable {
	m, err := New(data, f.Budget, Rules{})
	if err != nil || m.Machine != f.Machine || m.Is64 != f.Is64 || m.Big != f.Big || m.ID != "" && f.ID != "" && m.ID != f.ID {
		return nil
	}
	t, err := m.SymbolTable(elf.SHT_SYMTAB, &names.Table{Budget: f.Budget})
	if err != nil || t == nil {
		return nil
	}
	t.opd = f.descriptors()
	return t
}

// Limits of the uncompressed size of an xz stream. Symbols are compressed to between a third and a tenth. The limits also bound the
// dictionary, which is never larger than its block.
const (
	maxXZ       = 64 << 20
	maxXZRatio  = 256
	maxXZBlocks = 1 << 10
)

var errXZ = errors.New("xz: damaged or unsupported")

// xzCheckSizes are the sizes of the checks, in bytes, by their IDs (xz file format 1.2.1, §2.1.1.2).
var xzCheckSizes = [16]int{1: 4, 2: 4, 3: 4, 4: 8, 5: 8, 6: 8, 7: 16, 8: 16, 9: 16, 10: 32, 11: 32, 12: 32, 13: 64, 14: 64, 15: 64}

// unxz unpacks a single xz stream whose only filter is LZMA2. It checks the sizes in the index at the end of the stream before it
// unpacks anything.
func unxz(b []byte, limits *budget.File) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(interface{ Addr() uintptr }); ok {
				panic(r) // a fault, because the mapped file was truncated
			}
			if err, ok := r.(error); ok && errors.Is(err, budget.ErrExceeded) {
				panic(err)
			}
			out, err = nil, fmt.Errorf("%w: %v", errXZ, r)
		}
	}()
	const headerSize, footerSize = 12, 12
	if len(b) < headerSize+footerSize || string(b[:6]) != "\xfd7zXZ\x00" || string(b[len(b)-2:]) != "YZ" ||
		!bytes.Equal(b[6:8], b[len(b)-4:len(b)-2]) { // the stream flags, with the kind of check
		return nil, errXZ
	}
	body := b[headerSize : len(b)-footerSize]
	words, _ := bin.Uint(b, len(b)-8, 4, false)
	indexSize := (words + 1) * 4
	if indexSize > uint64(len(body)) {
		return nil, errXZ
	}
	blocks, index := body[:uint64(len(body))-indexSize], body[uint64(len(body))-indexSize:]
	records, total, err := xzIndex(index, min(maxXZ, maxXZRatio*uint64(len(b))))
	if err != nil {
		return nil, err
	}
	const stepsPerByte = 8      // of LZMA, per unpacked byte
	limits.Hold(2 * int(total)) // output and dictionary
	limits.Spend(stepsPerByte * int(total))
	out = pages.Make(int(total))
	for rest := out; len(records) > 0; records = records[1:] {
		r := records[0]
		if r.packed > uint64(len(blocks)) {
			return nil, errXZ
		}
		block := blocks[:min(uint64(len(blocks)), (r.packed+3)&^3)] // the check comes after the padding
		if err := unxzBlock(block, rest[:r.size], b[7]&15); err != nil {
			return nil, err
		}
		rest = rest[r.size:]
		blocks = blocks[len(block):]
	}
	return out, nil
}

// xzRecord is the record of a block in the index: its unpadded size and its uncompressed size, in bytes.
type xzRecord struct{ packed, size uint64 }

// xzIndex reads the index (§4) and returns its records and the total uncompressed size, which is at most limit.
func xzIndex(b []byte, limit uint64) (records []xzRecord, total uint64, err error) {
	sum, p := bin.Uint(b, len(b)-4, 4, false)
	if p == bin.Past || uint32(sum) != crc32.ChecksumIEEE(b[:len(b)-4]) {
		return nil, 0, errXZ
	}
	c := &bin.Cursor{B: b[:len(b)-4]}
	indicator, n := c.U8(), c.ULEB()
	if indicator != 0 || n > maxXZBlocks {
		return nil, 0, errXZ
	}
	for range n {
		r := xzRecord{c.ULEB(), c.ULEB()}
		if !c.OK() || r.size > limit-total {
			return nil, 0, errXZ
		}
		total += r.size
		records = append(records, r)
	}
	return records, total, nil
}

// unxzBlock unpacks a block (§3) to out, and verifies the check at its end if that is of a known kind.
func unxzBlock(b, out []byte, check byte) error {
	const lzma2 = 0x21
	c := &bin.Cursor{B: b}
	headerSize, flags := (int(c.U8())+1)*4, c.U8()
	for _, present := range []bool{flags&0x40 != 0, flags&0x80 != 0} { // sizes that are also in the index
		if present {
			c.ULEB()
		}
	}
	filter, propsSize := c.ULEB(), c.ULEB()
	c.U8() // the dictionary size, which is not needed: a match cannot be longer ago than the block's output
	end := len(b) - xzCheckSizes[check]
	if !c.OK() || flags&0x3f != 0 || filter != lzma2 || propsSize != 1 || headerSize > end || c.P > headerSize {
		return errXZ
	}
	if len(out) == 0 {
		return nil
	}
	r, err := lzma.Reader2Config{DictCap: max(len(out), lzma.MinDictCap)}.NewReader2(bytes.NewReader(b[headerSize:end]))
	if err != nil {
		return fmt.Errorf("xz: %w", err)
	}
	if _, err := io.ReadFull(r, out); err != nil {
		return fmt.Errorf("xz: %w", err)
	}
	return xzCheck(out, b[end:], check)
}

// xzCheck verifies the check of a block. CRCs are stored in little-endian order.
func xzCheck(out, want []byte, check byte) error {
	var h hash.Hash
	switch check {
	case 1:
		h = crc32.NewIEEE()
	case 4:
		h = crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		h = sha256.New()
	default:
		return nil
	}
	h.Write(out)
	sum := h.Sum(nil)
	if check != 10 {
		for i, j := 0, len(sum)-1; i < j; i, j = i+1, j-1 {
			sum[i], sum[j] = sum[j], sum[i]
		}
	}
	if !bytes.Equal(sum, want) {
		return errXZ
	}
	return nil
}
