package filter

import (
	"bytes"

	"qss-filter/filter/print"

	"qss-filter/filter/resolve"
)

// contextBlock is the latest run of context lines from a reset on. Where it comes again while nothing has changed since, as
// when a process crashes over and over, it changes nothing either.
type contextBlock struct {
	// generation is that of the address space behind it, and fold the line that is open then.
	generation uint64
	fold       print.Fold
	text, out  []byte
	lines      int
	// from, outFrom and line are where one begins that has not ended yet: in the text, in its output and in the log.
	from, outFrom, line int
	open                bool
}

// maxBlock bounds a block, in bytes.
const maxBlock = 64 << 10

// begin notes that a reset has come at b[from:], with what the output was before it.
func (k *contextBlock) begin(f *Filter, dst []byte, from int) {
	k.open, k.from, k.outFrom, k.line = true, from, len(dst), f.line
}

// end notes that something else than context has come, or another reset.
func (k *contextBlock) end(f *Filter, t *resolve.Thread, dst, b []byte) {
	if !k.open {
		return
	}
	k.open = false
	if k.text = k.text[:0]; len(b)-k.from > maxBlock || !f.text.Fold.Pending() {
		return
	}
	k.text, k.out = append(k.text, b[k.from:]...), append(k.out[:0], dst[k.outFrom:]...)
	k.generation, k.lines = t.Space.Generation(), f.line-k.line
	k.fold.Become(&f.text.Fold)
}

// replay handles the latest block again.
func (f *Filter) replay(dst []byte, t *resolve.Thread, b []byte) (used int, out []byte) {
	k := &f.quick.block
	if len(k.text) == 0 || k.generation != t.Space.Generation() || !bytes.HasPrefix(b, k.text) {
		return 0, dst
	}
	dst = append(f.text.Fold.Flush(dst), k.out...)
	f.text.Fold.Become(&k.fold)
	f.line += k.lines
	return len(k.text), dst
}
