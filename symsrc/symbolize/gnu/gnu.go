// Package gnu answers addresses as addr2line of GNU binutils 2.40 does: what it reads, and what it writes.
//
// What is known of an address comes from a symsrc.Source, which names nothing without evidence where addr2line takes the symbol before
// the address.
package gnu

import (
	"bytes"
	"cmp"
	"context"
	stdelf "debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/symbolize/batch"
)

// Queries reads requests of its own kind.
type Queries interface {
	// Query returns the query of a text. The error is about the text.
	Query(ctx context.Context, text string) (q symsrc.Addr, label string, err error)
	// Check is called with the answer to each query. Its error is about the text, too.
	Check(text string, q *symsrc.Addr, a *symsrc.Answer) error
}

// Options are the settings of a Symbolizer. Symbols must be set, and File or Queries.
type Options struct {
	// Symbols answers for addresses.
	Symbols symsrc.Source
	// File is the file of the addresses.
	File string
	// Queries, if not nil, reads requests, in place of Address.
	Queries Queries
	// Section, if not "", is the section that addresses count from.
	Section string
	// Addresses writes each address before its answer, Functions the names of functions, demangled if Demangle is set, Inlines also those
	// that the innermost one is inlined into, and Pretty all of a function in one line.
	Addresses, Functions, Demangle, Inlines, Pretty bool
	// Basenames cuts the directories off source files.
	Basenames bool
}

// Symbolizer answers for one file. It may be used by several goroutines at once.
type Symbolizer struct {
	opt    Options
	module symsrc.Module
	base   uint64 // of the section, whose size is room
	room   uint64
	digits int // of an address
	recent batch.Recent
}

// Errors of New.
var (
	ErrNotFound  = errors.New("no such file")
	ErrDirectory = errors.New("is a directory")
	ErrSpecial   = errors.New("is not an ordinary file")
	ErrArchive   = errors.New("cannot get addresses from archive")
	ErrFormat    = errors.New("file format not recognized")
	ErrSection   = errors.New("cannot find section")
)

// New returns a Symbolizer. The error is one of the errors above, or another one if the file cannot be read.
func New(ctx context.Context, o Options) (*Symbolizer, error) {
	s := &Symbolizer{opt: o, digits: 16, room: 1<<64 - 1}
	if o.File == "" {
		if o.Queries == nil {
			return nil, ErrNotFound
		}
		return s, nil
	}
	path := batch.Path(o.File)
	s.module = symsrc.Module{Name: path}
	if o.Queries == nil {
		files := o.Symbols.Frames(ctx, symsrc.Addr{Module: s.module}).Files
		if files != nil && !files.Usable() && len(files.Symbols) == 0 {
			return nil, reason(path, files)
		}
	}
	return s, s.readHeader(path)
}

// reason returns why a file is not read.
func reason(path string, files *symsrc.Files) error {
	switch files.Reason() {
	case symsrc.NotFound:
		return ErrNotFound
	case symsrc.NotELF:
		if isArchive(path) {
			return ErrArchive
		}
		return ErrFormat
	case symsrc.ReadError:
		if st, err := os.Stat(path); err == nil && !st.IsDir() {
			return ErrSpecial
		}
		return ErrDirectory
	}
	return errors.New(cmp.Or(files.Detail, files.Note, files.Reason().String()))
}

// isArchive reports whether a file is an archive of object files (System V ar).
func isArchive(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 8)
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == "!<arch>\n"
}

// readHeader sets the width of addresses and the section that they count from. A file that is not there, but whose symbols were found, has
// none.
func (s *Symbolizer) readHeader(path string) error {
	f, err := stdelf.Open(path)
	if err != nil {
		if s.opt.Section != "" {
			return fmt.Errorf("%w %s", ErrSection, s.opt.Section)
		}
		return nil
	}
	defer f.Close()
	if f.Class == stdelf.ELFCLASS32 {
		s.digits = 8
	}
	if s.opt.Section == "" {
		return nil
	}
	section := f.Section(s.opt.Section)
	if section == nil {
		return fmt.Errorf("%w %s", ErrSection, s.opt.Section)
	}
	s.base, s.room = elf.PlacedAddr(f, section), section.Size
	return nil
}

// Answer appends the answer to the address in a line to dst. Every line has an answer. The error is that of Options.Queries.
func (s *Symbolizer) Answer(ctx context.Context, dst, line []byte) ([]byte, error) {
	dst, found := s.recent.Append(dst, line)
	if found {
		return dst, nil
	}
	begin := len(dst)
	dst, full, err := s.look(ctx, dst, line)
	if full && err == nil {
		s.recent.Keep(line, dst[begin:])
	}
	return dst, err
}

// look appends the answer to the address in a line. It returns false if there may be a better one soon.
func (s *Symbolizer) look(ctx context.Context, dst, line []byte) (_ []byte, full bool, err error) {
	q, known := symsrc.Addr{Module: s.module, Offset: Address(line)}, true
	text := ""
	own := s.opt.Queries != nil && s.opt.Section == "" && string(line) != "," // which perf writes after each address
	if own {
		text = string(bytes.TrimSpace(line))
		q, _, err = s.opt.Queries.Query(ctx, text)
		known = err == nil
	}
	if q.Kind = symsrc.Detailed; s.digits == 8 {
		q.Offset = uint64(uint32(q.Offset))
	}
	if s.opt.Addresses {
		dst = s.header(dst, q.Offset)
	}
	if !known || q.Offset >= s.room {
		return s.unknown(dst), true, err
	}
	q.Offset += s.base
	got := s.opt.Symbols.Frames(ctx, q)
	if own {
		err = s.opt.Queries.Check(text, &q, &got)
	}
	if len(got.Frames) == 0 {
		return s.unknown(dst), got.Full(), err
	}
	return s.frames(dst, &got), got.Full(), err
}

// header appends the address of an answer.
func (s *Symbolizer) header(dst []byte, addr uint64) []byte {
	dst = append(dst, "0x"...)
	hex := strconv.AppendUint(nil, addr, 16)
	for n := len(hex); n < s.digits; n++ {
		dst = append(dst, '0')
	}
	dst = append(dst, hex...)
	if s.opt.Pretty {
		return append(dst, ": "...)
	}
	return append(dst, '\n')
}

// unknown appends the answer to an address of which nothing is known.
func (s *Symbolizer) unknown(dst []byte) []byte {
	switch {
	case !s.opt.Functions:
	case s.opt.Pretty:
		dst = append(dst, "?? "...)
	default:
		dst = append(dst, "??\n"...)
	}
	return append(dst, "??:0\n"...)
}

// frames appends the functions of an answer.
func (s *Symbolizer) frames(dst []byte, a *symsrc.Answer) []byte {
	details := a.Details
	if len(details) != len(a.Frames) {
		details = make([]symsrc.Detail, len(a.Frames))
	}
	for i := range a.Frames {
		f := &a.Frames[i]
		if i > 0 && s.opt.Pretty {
			dst = append(dst, " (inlined by) "...)
		}
		if s.opt.Functions {
			dst = appendLine(dst, cmp.Or(s.name(f, &details[i]), "??"))
			if s.opt.Pretty {
				dst = append(dst, " at "...)
			} else {
				dst = append(dst, '\n')
			}
		}
		dst = s.place(dst, f, details[0].Discriminator)
		if !s.opt.Inlines {
			break
		}
	}
	return dst
}

// name returns the name of a function: that of the debug information, unless only the symbol has the mangled one.
func (s *Symbolizer) name(f *symsrc.Frame, d *symsrc.Detail) string {
	symbol := bin.Unversioned(f.Linkage)
	name := d.Linkage
	if name == "" || isMangled(symbol) && !isMangled(name) {
		name = symbol
	}
	switch {
	case name == "":
		return f.Func
	case !s.opt.Demangle:
		return name
	case name == symbol:
		return f.Func
	}
	return demangle.Demangle(name)
}

// isMangled reports whether a name is one of C++ or Rust.
func isMangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R")
}

// place appends the file and the line of a function. The discriminator is that of the innermost one, as addr2line has it.
func (s *Symbolizer) place(dst []byte, f *symsrc.Frame, discriminator uint32) []byte {
	file := f.File
	if s.opt.Basenames {
		file = file[strings.LastIndexByte(file, '/')+1:]
	}
	dst = append(appendLine(dst, cmp.Or(file, "??")), ':')
	if f.Line == 0 || f.Approx {
		return append(dst, "?\n"...)
	}
	dst = strconv.AppendInt(dst, int64(f.Line), 10)
	if discriminator > 0 {
		dst = append(dst, " (discriminator "...)
		dst = append(strconv.AppendUint(dst, uint64(discriminator), 10), ')')
	}
	return append(dst, '\n')
}

// appendLine appends a name of a file that may be hostile. Control characters, which could end the answer, are made visible.
func appendLine(dst []byte, text string) []byte {
	for i := range len(text) {
		if text[i] < ' ' {
			return symsrc.AppendVisible(dst, text)
		}
	}
	return append(dst, text...)
}

// Address reads a number as addr2line does: hexadecimal digits after spaces, a plus sign and 0x. What comes after them is left out, and
// without digits it is 0.
func Address(line []byte) uint64 {
	line = bytes.TrimLeft(line, " \t\n\v\f\r")
	line = bytes.TrimPrefix(line, []byte("+"))
	if len(line) > 2 && line[0] == '0' && line[1]|0x20 == 'x' && digit(line[2]) < 16 {
		line = line[2:]
	}
	var v uint64
	for _, c := range line {
		d := digit(c)
		if d == 16 {
			break
		}
		if v >= 1<<60 {
			return 1<<64 - 1
		}
		v = v<<4 | d
	}
	return v
}

// digit returns the value of a hexadecimal digit, and 16 for another byte.
func digit(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return 16
}
