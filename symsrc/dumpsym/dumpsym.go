// Package dumpsym writes Breakpad symbol files from ELF and Mach-O files and their debug information (Breakpad, docs/symbol_files.md).
package dumpsym

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/object"
)

// piecesAtOnce is how many pieces are taken from one reading of the files: what a reader has seen of them stays in memory.
const piecesAtOnce = 2 << 20

// ErrNoBuildID is the error of a file that nothing could find the symbols of.
var ErrNoBuildID = errors.New("no build ID")

// Write writes the symbols of a program or library, whose name is that of its file, with the debug information that finder knows of it. name
// is what the file is called at run time; "" means as its file is, without `.debug`.
func Write(ctx context.Context, finder symsrc.Finder, m symsrc.Module, name string, out io.Writer) (err error) {
	title := m.Name
	if m.Name, err = filepath.Abs(m.Name); err != nil {
		return err
	}
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(m.Name), ".debug")
	}
	d := &dumper{ctx: ctx, finder: finder, module: m, atOnce: piecesAtOnce}
	if err := d.write(name, out); err != nil {
		return fmt.Errorf("dump symbols of %s: %w", title, err)
	}
	return nil
}

// dumper writes the symbols of one module.
type dumper struct {
	ctx     context.Context
	finder  symsrc.Finder
	module  symsrc.Module
	base    uint64
	machine string
	body    *bufio.Writer // takes what stands behind the lists of files and functions, which are known only then

	files, origins names
	fn             function
	labels         []label
	line           []byte
	atOnce         int // pieces from one reading
}

// label is a symbol without a size.
type label struct {
	addr   uint64
	name   string
	shared bool
}

// names assigns numbers to texts.
type names struct {
	numbers map[string]int
	list    []string
}

func (n *names) number(s string) int {
	i, ok := n.numbers[s]
	if !ok {
		if n.numbers == nil {
			n.numbers = make(map[string]int)
		}
		i = len(n.list)
		n.numbers[s], n.list = i, append(n.list, s)
	}
	return i
}

func (d *dumper) write(name string, out io.Writer) error {
	src := object.NewSource(d.finder)
	of, err := src.Describe(d.ctx, d.module)
	src.Close()
	switch {
	case err != nil:
		return err
	case of.ID == "":
		return ErrNoBuildID
	}
	d.base, d.machine = of.Base, of.Machine
	spool, err := os.CreateTemp("", "qss-filter-*.sym")
	if err != nil {
		return err
	}
	defer spool.Close()
	defer os.Remove(spool.Name())
	d.body = bufio.NewWriterSize(spool, 1<<16)
	if err := d.functions(); err != nil {
		return err
	}
	d.publics()
	if err := d.callFrames(); err != nil {
		return err
	}
	if err := d.body.Flush(); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<16)
	switch of.Darwin {
	case "":
		fmt.Fprintf(w, "MODULE Linux %s %s %s\nINFO CODE_ID %X\n", of.Machine, of.ID.DebugID(), clean(name), string(of.ID))
	case "i386":
		of.Darwin = of.Machine // Breakpad has one name for it
		fallthrough
	default:
		fmt.Fprintf(w, "MODULE mac %s %X0 %s\n", of.Darwin, string(of.ID), clean(name))
	}
	for i, s := range d.files.list {
		fmt.Fprintf(w, "FILE %d %s\n", i, clean(s))
	}
	for i, s := range d.origins.list {
		fmt.Fprintf(w, "INLINE_ORIGIN %d %s\n", i, clean(s))
	}
	if _, err := io.Copy(w, spool); err != nil {
		return err
	}
	return w.Flush()
}

// functions writes all functions. The files are opened again from time to time, so that memory stays bounded.
func (d *dumper) functions() error {
	for at := uint64(0); at < math.MaxUint64; {
		src := object.NewSource(d.finder)
		next, err := src.Walk(d.ctx, d.module, at, d.atOnce, d.piece)
		src.Close()
		if err != nil {
			return err
		}
		if err := d.end(); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// publics writes the labels.
func (d *dumper) publics() {
	for _, l := range d.labels {
		d.line = append(d.line[:0], "PUBLIC "...)
		if l.shared {
			d.line = append(d.line, "m "...)
		}
		d.line = fmt.Appendf(d.line, "%x 0 %s\n", l.addr, clean(l.name))
		d.body.Write(d.line)
	}
}

// clean is a text without what would end its line.
func clean(s string) []byte {
	b := []byte(s)
	if bytes.ContainsAny(b, "\r\n") {
		b = bytes.Map(func(r rune) rune {
			if r == '\r' || r == '\n' {
				return '?'
			}
			return r
		}, b)
	}
	return b
}

// Options say where the symbols go.
type Options struct {
	// Output is the file to write; "" means what Run is given.
	Output string
	// Name is what the program is called at run time; "" means as its file is.
	Name string
}

// Run writes the symbols of a module as Write does. A file that is to be written is there whole, or stays as it was.
func Run(ctx context.Context, finder symsrc.Finder, m symsrc.Module, o Options, stdout io.Writer) error {
	if o.Output == "" {
		return Write(ctx, finder, m, o.Name, stdout)
	}
	out, err := diskcache.Output(o.Output)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := Write(ctx, finder, m, o.Name, out); err != nil {
		return err
	}
	return out.Commit()
}

// function is the one whose pieces are being gathered. Addresses are those of the file.
type function struct {
	open          bool
	lo, hi, start uint64
	number        int
	name          string
	shared        bool
	rows          []row
	calls         map[int]*call
}

// row is a line record; file is −1 where there is none.
type row struct {
	lo, hi     uint64
	file, line int
}

// call is an INLINE record.
type call struct {
	id, depth, line, file, origin int
	spans                         [][2]uint64
}

// piece takes the next piece of code.
func (d *dumper) piece(p *object.Piece) error {
	if p.Lo < d.base || p.Func == "" && len(p.Calls) == 0 {
		return nil // padding may have lines, too, but a walker takes what has a name for code that was called
	}
	if p.Label && p.File == "" && len(p.Calls) == 0 {
		if p.Lo == p.Start {
			d.labels = append(d.labels, label{p.Start - d.base, p.Func, p.Shared})
		}
		return nil
	}
	fn := &d.fn
	if !fn.open || p.Lo != fn.hi || p.Start != fn.start || p.Function != fn.number || p.Func != fn.name {
		if err := d.end(); err != nil {
			return err
		}
		*fn = function{open: true, lo: p.Lo, start: p.Start, number: p.Function, name: p.Func, shared: p.Shared && p.Lo == p.Start,
			rows: fn.rows[:0], calls: map[int]*call{}}
	}
	fn.hi = p.Hi
	if p.File != "" {
		r := row{p.Lo, p.Hi, d.files.number(p.File), p.Line}
		if n := len(fn.rows) - 1; n >= 0 && fn.rows[n].hi == r.lo && fn.rows[n].file == r.file && fn.rows[n].line == r.line {
			fn.rows[n].hi = r.hi
		} else {
			fn.rows = append(fn.rows, r)
		}
	}
	for depth, c := range p.Calls {
		d.inlined(depth, &c, p)
	}
	return nil
}

// inlined notes that a piece is of an inlined call.
func (d *dumper) inlined(depth int, c *dwarf.InlinedCall, p *object.Piece) {
	x := d.fn.calls[c.ID]
	if x == nil {
		name := cmp.Or(c.Func, noName)
		x = &call{id: c.ID, depth: depth, line: c.Line, file: d.files.number(c.File), origin: d.origins.number(name)}
		d.fn.calls[c.ID] = x
	}
	if n := len(x.spans) - 1; n >= 0 && x.spans[n][1] == p.Lo {
		x.spans[n][1] = p.Hi
		return
	}
	x.spans = append(x.spans, [2]uint64{p.Lo, p.Hi})
}

// noName is what Breakpad calls a function whose name is not known.
const noName = "<name omitted>"

// end writes the function.
func (d *dumper) end() error {
	fn, b := &d.fn, d.line[:0]
	if !fn.open {
		return nil
	}
	fn.open = false
	b = append(b, "FUNC "...)
	if fn.shared {
		b = append(b, "m "...)
	}
	b = fmt.Appendf(b, "%x %x 0 %s\n", fn.lo-d.base, fn.hi-fn.lo, clean(cmp.Or(fn.name, noName)))
	calls := make([]*call, 0, len(fn.calls))
	for _, c := range fn.calls {
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b *call) int { return cmp.Compare(a.id, b.id) })
	for _, c := range calls {
		b = fmt.Appendf(b, "INLINE %d %d %d %d", c.depth, c.line, c.file, c.origin)
		for _, s := range c.spans {
			b = fmt.Appendf(b, " %x %x", s[0]-d.base, s[1]-s[0])
		}
		b = append(b, '\n')
	}
	for _, r := range fn.rows {
		b = append(strconv.AppendUint(b, r.lo-d.base, 16), ' ')
		b = append(strconv.AppendUint(b, r.hi-r.lo, 16), ' ')
		b = append(strconv.AppendInt(b, int64(r.line), 10), ' ')
		b = append(strconv.AppendInt(b, int64(r.file), 10), '\n')
	}
	d.line = b
	_, err := d.body.Write(b)
	return err
}
