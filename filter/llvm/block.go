package llvm

import "bytes"

// maxBlock is the length of the longest block, in bytes.
const maxBlock = 64 << 10

// block is the latest run of context lines that begins with a reset. If it comes again while the address space is unchanged, as
// when a process crashes over and over, it does not change the address space either.
type block struct {
	// generation is that of the address space after it, and mod the module whose line is open then.
	generation uint64
	mod        *module
	text, out  []byte
	// from and outFrom are the beginning of a block that has not ended yet, in the text and in its output.
	from, outFrom int
	open          bool
}

// begin notes a reset at from, with the output before it.
func (k *block) begin(dst []byte, from int) { k.open, k.from, k.outFrom = true, from, len(dst) }

// end notes that a line without context has come, or another reset.
func (k *block) end(l *Filter, dst, b []byte) {
	if !k.open {
		return
	}
	k.open = false
	if k.text = k.text[:0]; len(b)-k.from > maxBlock || !l.info.open {
		return
	}
	k.text, k.out = append(k.text, b[k.from:]...), append(k.out[:0], dst[k.outFrom:]...)
	k.generation, k.mod = l.space.generation, l.info.mod
}

// replay handles the latest block again. The open line of its last module still has its mappings: none was added in this
// generation.
func (k *known) replay(dst, b []byte) (used int, out []byte) {
	l, block := k.l, &k.block
	if len(block.text) == 0 || block.generation != l.space.generation || !bytes.HasPrefix(b, block.text) {
		return 0, dst
	}
	l.crlf = b[bytes.IndexByte(b, '\n')-1] == '\r'
	dst = append(l.endInfo(dst), block.out...)
	l.crlf = bytes.HasSuffix(block.text, []byte("\r\n"))
	l.info.open, l.info.mod = true, block.mod
	return len(block.text), dst
}
