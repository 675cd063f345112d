// Package dumpsym writes Breakpad symbol files from ELF files and their debug information (Breakpad, docs/symbol_files.md).
package dumpsym

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/object"
)

// piecesAtOnce is how many pieces are taken from one reading of the files: what a reader has seen of them stays in memory.
const piecesAtOnce = 2 << 20

// ErrNoBuildID is the error of a file that nothing could find the symbols of.
var ErrNoBuildID = errors.New("no build ID")

// Write writes the symbols of the program or library at path, with the debug information that finder knows of it. name is what
// the file is called at run time; "" means as path is, without `.debug`.
func Write(ctx context.Context, finder symsrc.Finder, path, name string, out io.Writer) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(path), ".debug")
	}
	d := &dumper{ctx: ctx, finder: finder, module: symsrc.Module{Name: path}, atOnce: piecesAtOnce}
	if err := d.write(name, out); err != nil {
		return fmt.Errorf("dump symbols of %s: %w", path, err)
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
	id, machine, base, err := src.Describe(d.ctx, d.module)
	src.Close()
	switch {
	case err != nil:
		return err
	case id == "":
		return ErrNoBuildID
	}
	d.base, d.machine = base, machine
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
	fmt.Fprintf(w, "MODULE Linux %s %s %s\nINFO CODE_ID %X\n", machine, id.DebugID(), clean(name), string(id))
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

// functions writes all functions. The files are read anew from time to time, so that memory stays bounded.
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
