// Package atos answers addresses of Mach-O files as atos of macOS does: what it reads, and what it writes.
//
// What is known of an address comes from a symsrc.Source, which names nothing without evidence where atos takes the symbol before the
// address.
package atos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/macho"
	"qss-filter/symsrc/symbolize/batch"
)

// Place is what addresses count from.
type Place uint8

const (
	// InFile addresses are those of the file.
	InFile Place = iota
	// Loaded addresses are those of a process, in which the image begins at Options.Load.
	Loaded
	// Slid addresses are those of the file and Options.Load.
	Slid
	// Offsets count from where the image begins.
	Offsets
)

// Options are the settings of a Symbolizer. Symbols and File must be set.
type Options struct {
	// Symbols answers for addresses.
	Symbols symsrc.Source
	// File is the program, the library or the dSYM, and Arch the architecture if it has several.
	File, Arch string
	// Load and Place say what addresses count from.
	Load  uint64
	Place Place
	// Inlines writes the functions that are inlined at an address, too, with Delimiter between them.
	Inlines   bool
	Delimiter string
	// FullPath writes the whole paths of source files.
	FullPath bool
}

// Symbolizer answers for one file. It may be used by several goroutines at once.
type Symbolizer struct {
	opt    Options
	module symsrc.Module
	title  string
}

// ErrAddress is the error of a text that is no address.
var ErrAddress = errors.New("not an address")

// New returns a Symbolizer. The error says why the file cannot be read.
func New(ctx context.Context, o Options) (*Symbolizer, error) {
	s := &Symbolizer{opt: o, module: batch.Module(o.File, o.Arch)}
	if only := onlyArch(s.module.Name); o.Arch != "" && s.module.Arch == "" && only != "" && family(only) != family(o.Arch) {
		return nil, fmt.Errorf("%s is for %s, not for %s", o.File, only, o.Arch)
	}
	s.title = path.Base(filepath.ToSlash(s.module.Name))
	files := o.Symbols.Frames(ctx, symsrc.Addr{Module: s.module}).Files
	if files == nil || files.Usable() || len(files.Symbols) > 0 {
		return s, nil
	}
	why := files.Reason().String()
	for _, more := range [...]string{files.Detail, files.Note} {
		if more != "" {
			why = more
			break
		}
	}
	if whole, err := filepath.Abs(o.File); err == nil { // it begins with the path
		why = strings.TrimPrefix(why, whole+": ")
	}
	return nil, fmt.Errorf("cannot read %s: %s", o.File, why)
}

// onlyArch returns the architecture of a Mach-O file that has only one, or "".
func onlyArch(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	h, err := macho.ReadHead(f, info.Size())
	if err != nil {
		return ""
	}
	return h.Arch
}

// family returns what the variants of an architecture have in common: scripts name one of these for another.
func family(arch string) string {
	for _, of := range [...]string{"arm64_32", "arm64", "armv", "x86_64"} {
		if strings.HasPrefix(arch, of) {
			return of
		}
	}
	return arch
}

// Answer appends the answers to the addresses in a line, with spaces between them.
func (s *Symbolizer) Answer(ctx context.Context, dst, line []byte) (_ []byte, err error) {
	for _, word := range bytes.Fields(line) {
		text := string(word)
		addr, wrong := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 64)
		if wrong != nil {
			err = fmt.Errorf("%q: %w", text, ErrAddress)
			dst = append(symsrc.AppendVisible(dst, text), '\n')
			continue
		}
		dst = s.append(ctx, dst, text, addr)
	}
	return dst, err
}

// append appends the answer to an address.
func (s *Symbolizer) append(ctx context.Context, dst []byte, text string, addr uint64) []byte {
	q := symsrc.Addr{Module: s.module, Offset: addr}
	switch s.opt.Place {
	case Loaded:
		q.Offset, q.Space = addr-s.opt.Load, symsrc.InImage
	case Slid:
		q.Offset = addr - s.opt.Load
	case Offsets:
		q.Space = symsrc.InImage
	}
	got := s.opt.Symbols.Frames(ctx, q)
	if len(got.Frames) == 0 || got.Frames[len(got.Frames)-1].Func == "" {
		return append(symsrc.AppendVisible(dst, text), '\n')
	}
	if !s.opt.Inlines { // only the function that the others are inlined into
		got.Frames = got.Frames[len(got.Frames)-1:]
	}
	for i := range got.Frames {
		if i > 0 {
			dst = append(dst, s.opt.Delimiter...)
		}
		dst = s.appendFrame(ctx, dst, &got.Frames[i], q)
	}
	return append(dst, '\n')
}

// appendFrame appends a function: `main (in prog) (main.c:5)`, or `main (in prog) + 12` if its line is not known.
func (s *Symbolizer) appendFrame(ctx context.Context, dst []byte, f *symsrc.Frame, q symsrc.Addr) []byte {
	dst = symsrc.AppendVisible(dst, f.Func)
	dst = append(symsrc.AppendVisible(append(dst, " (in "...), s.title), ')')
	if f.File != "" {
		file, line := f.File, f.Line
		if !s.opt.FullPath {
			file = path.Base(file)
		}
		if f.Approx {
			line = 0
		}
		dst = append(symsrc.AppendVisible(append(dst, " ("...), file), ':')
		return append(strconv.AppendInt(dst, int64(line), 10), ')')
	}
	q.Kind = symsrc.Data // it is a symbol, and the answer has the distance from it
	if at := s.opt.Symbols.Frames(ctx, q).Frames; len(at) > 0 && at[0].Linkage == f.Linkage {
		dst = strconv.AppendUint(append(dst, " + "...), at[0].Offset, 10)
	}
	return dst
}
