package unpack

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	numbers "encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"slices"

	"github.com/ulikunitz/xz/lzma"
)

// xzReader decompresses concatenated .xz streams (the .xz file format 1.2.1) whose dictionaries have at most MaxWindow bytes: they are
// allocated before anything is decompressed. LZMA2 is supported, alone or behind the filter for code of x86, as kernels are packed.
type xzReader struct {
	in       *bufio.Reader
	sum      hash.Hash32 // CRC of the current block header or index
	n        int64       // bytes read of the data of the current block, or of the index
	checkID  byte        // §2.1.1.2
	blocks   uint64      // number in the stream so far
	inStream bool
	block    io.Reader // nil between blocks
	check    hash.Hash // of the content of the block; nil if the type of check is not supported
	err      error
}

var errXZ = errors.New("damaged, or of a kind that is not read")

// xzCheckSizes are the sizes of checks in bytes, by check ID (§2.1.1.2).
var xzCheckSizes = [16]int{1: 4, 2: 4, 3: 4, 4: 8, 5: 8, 6: 8, 7: 16, 8: 16, 9: 16, 10: 32, 11: 32, 12: 32, 13: 64, 14: 64, 15: 64}

// Read implements io.Reader.
func (x *xzReader) Read(b []byte) (int, error) {
	for x.err == nil {
		if x.block == nil {
			x.err = x.next()
			continue
		}
		n, err := x.block.Read(b)
		if x.check != nil {
			x.check.Write(b[:n])
		}
		if errors.Is(err, io.EOF) {
			x.block, err = nil, x.endBlock()
		}
		if x.err = err; n > 0 {
			return n, nil
		}
	}
	return 0, x.err
}

// next begins the next block. It returns io.EOF at the end of the last stream.
func (x *xzReader) next() error {
	if !x.inStream {
		return x.header()
	}
	x.n, x.sum = 0, crc32.NewIEEE()
	size, err := x.ReadByte()
	switch {
	case err != nil:
		return err
	case size == 0:
		return x.index()
	}
	return x.beginBlock((int(size) + 1) * 4)
}

// ReadByte reads a byte of a header or an index.
func (x *xzReader) ReadByte() (byte, error) {
	b, err := x.in.ReadByte()
	if err != nil {
		return 0, unexpectedEOF(err)
	}
	x.n++
	x.sum.Write([]byte{b})
	return b, nil
}

// unexpectedEOF returns err, or io.ErrUnexpectedEOF for io.EOF.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// xzBody reads the compressed data of the current block.
type xzBody struct{ x *xzReader }

// Read implements io.Reader.
func (b xzBody) Read(p []byte) (int, error) {
	n, err := b.x.in.Read(p)
	b.x.n += int64(n)
	if err != nil {
		err = unexpectedEOF(err)
	}
	return n, err
}

// header reads the header of a stream (§2.1.1), after the padding of the previous one (§2.2).
func (x *xzReader) header() error {
	var h [12]byte
	for {
		if _, err := io.ReadFull(x.in, h[:4]); err != nil {
			return err // io.EOF at the end
		}
		if !bytes.Equal(h[:4], make([]byte, 4)) {
			break
		}
	}
	if _, err := io.ReadFull(x.in, h[4:]); err != nil {
		return unexpectedEOF(err)
	}
	if !bytes.Equal(h[:6], xzMagic) || h[6] != 0 || h[7] > 15 || crc32.ChecksumIEEE(h[6:8]) != numbers.LittleEndian.Uint32(h[8:]) {
		return errXZ
	}
	x.checkID, x.inStream, x.blocks = h[7], true, 0
	return nil
}

// beginBlock reads the header of a block (§3.1), of which the first byte has been read. size includes that byte.
func (x *xzReader) beginBlock(size int) error {
	h := make([]byte, size-1)
	if _, err := io.ReadFull(x.in, h); err != nil {
		return unexpectedEOF(err)
	}
	x.sum.Write(h[:len(h)-4])
	if x.sum.Sum32() != numbers.LittleEndian.Uint32(h[len(h)-4:]) {
		return errXZ
	}
	const lzma2, forX86 = 0x21, 4
	fields := h[1 : len(h)-4]
	for _, present := range [...]bool{h[0]&0x40 != 0, h[0]&0x80 != 0} { // compressed and uncompressed size
		if present {
			_, n := numbers.Uvarint(fields)
			if n <= 0 {
				return errXZ
			}
			fields = fields[n:]
		}
	}
	filtered := h[0]&0x3f == 1 && len(fields) >= 2 && fields[0] == forX86 && fields[1] == 0
	if filtered {
		fields = fields[2:]
	}
	if h[0]&0x3f != 0 && !filtered || len(fields) < 3 || fields[0] != lzma2 || fields[1] != 1 || fields[2] > 40 {
		return errXZ
	}
	dict := uint64(1<<32 - 1) // §5.3.1
	if bits := fields[2]; bits < 40 {
		dict = uint64(2|bits&1) << (bits/2 + 11)
	}
	if dict > MaxWindow {
		return fmt.Errorf("it asks for %d MiB of memory, more than %d", dict>>20, MaxWindow>>20)
	}
	x.blocks++
	x.n = 0
	r, err := lzma.Reader2Config{DictCap: max(int(dict), lzma.MinDictCap)}.NewReader2(xzBody{x}) // it does not read past the block
	if x.block = r; filtered && err == nil {
		x.block = newX86Reader(r)
	}
	switch x.check = nil; x.checkID {
	case 1:
		x.check = crc32.NewIEEE()
	case 4:
		x.check = crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		x.check = sha256.New()
	}
	return err
}

// endBlock reads the padding of a block and verifies the check after it (§3.3, §3.4).
func (x *xzReader) endBlock() error {
	b := make([]byte, int(-x.n&3)+xzCheckSizes[x.checkID])
	if _, err := io.ReadFull(x.in, b); err != nil {
		return unexpectedEOF(err)
	}
	if x.check == nil {
		return nil
	}
	want, got := b[int(-x.n&3):], x.check.Sum(nil)
	if x.checkID != 10 { // CRCs are little-endian
		slices.Reverse(got)
	}
	if !bytes.Equal(want, got) {
		return fmt.Errorf("%w: the check of a block differs", errXZ)
	}
	return nil
}

// index reads the index of a stream (§4), of which the first byte has been read, and the footer (§2.1.2). The sizes of blocks in the
// index are not verified: the checks of the blocks cover their content.
func (x *xzReader) index() error {
	n, err := numbers.ReadUvarint(x)
	if err != nil || n != x.blocks {
		return cmp.Or(err, errXZ)
	}
	for range 2 * n {
		if _, err := numbers.ReadUvarint(x); err != nil {
			return err
		}
	}
	for x.n&3 != 0 {
		if _, err := x.ReadByte(); err != nil {
			return err
		}
	}
	sum := x.sum.Sum32()
	var b [4 + 12]byte
	if _, err := io.ReadFull(x.in, b[:]); err != nil {
		return unexpectedEOF(err)
	}
	if numbers.LittleEndian.Uint32(b[:]) != sum || string(b[14:]) != "YZ" || crc32.ChecksumIEEE(b[8:14]) != numbers.LittleEndian.Uint32(b[4:]) || b[13] != x.checkID {
		return errXZ
	}
	x.inStream = false
	return nil
}
