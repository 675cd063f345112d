// Package symbolize names given addresses of a file, as addr2line does.
package symbolize

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/symbolize/batch"
)

// Options say how answers are printed.
type Options struct {
	// JSON asks for one object per address, in order.
	JSON bool
	// NoDemangle keeps the names as the file has them.
	NoDemangle bool
	// NoLines, if not nil, is called once for each file without debug information, if lines are unknown for that reason.
	NoLines func(title string)
}

// The errors of an address. The other addresses were answered.
var (
	ErrAddress   = errors.New("not an address: want hexadecimal digits, with or without 0x, or a function of the file")
	ErrAmbiguous = errors.New("several functions have this name")
	ErrNoFile    = errors.New("of which file? want FILE@0xADDRESS")
)

// Symbolizer answers for one file.
type Symbolizer struct {
	opt     Options
	symbols symsrc.Source
	module  symsrc.Module
	watch   atomic.Pointer[symsrc.Watch] // of the file
	bare    sync.Map                     // the titles that Options.NoLines was called with
}

// New returns a Symbolizer for the file at path, or for the module of a build ID in hexadecimal digits. If path is "", every address names
// its file. The error is "open PATH: …" if there is no such regular file, and "read PATH: …" if nothing in it can be read.
func New(ctx context.Context, path string, symbols symsrc.Source, o Options) (*Symbolizer, error) {
	s := &Symbolizer{opt: o, symbols: symbols}
	if path == "" {
		return s, nil
	}
	if id, ok := moduleID(path); ok {
		s.module = symsrc.Module{BuildID: id}
		return s, s.check(ctx, path)
	}
	s.module = batch.Module(path, "")
	info, err := os.Stat(s.module.Name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Unwrap(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: not a regular file", path)
	}
	return s, s.check(ctx, path)
}

// moduleID returns the build ID that a text is, if there is no file of that name.
func moduleID(text string) (symsrc.BuildID, bool) {
	id, ok := symsrc.ParseUUID(text)
	if !ok || len(id) < 4 {
		return "", false
	}
	if _, err := os.Stat(text); err == nil {
		return "", false
	}
	return id, true
}

// check returns an error if nothing of the module can be read.
func (s *Symbolizer) check(ctx context.Context, title string) error {
	files := s.symbols.Frames(ctx, symsrc.Addr{Module: s.module}).Files
	if files == nil {
		return nil
	}
	if s.watch.Store(files.Watch); files.Usable() {
		return nil
	}
	why := files.Reason().String()
	if more := cmp.Or(files.Detail, files.Note); more != "" {
		why += ": " + more
	}
	return fmt.Errorf("read %s: %s", title, why)
}

// Run answers the addresses, or, if there are none, those in the lines of in. Answers leave before in is read again, so that a caller may
// wait for each. The error is a failed read or write, or ErrAddress.
func (s *Symbolizer) Run(ctx context.Context, addresses []string, in io.Reader, out io.Writer) error {
	if len(addresses) > 0 {
		in = strings.NewReader(strings.Join(addresses, "\n"))
	}
	var wrong error
	err := batch.Run(ctx, s, batch.Options{In: in, Out: out, Before: func() { s.watch.Load().Look() }, // answers see what that has seen
		Wrong: func(err error) { wrong = err }})
	return cmp.Or(err, wrong)
}

// Answer appends the answer to the address in a line, and nothing for an empty line.
func (s *Symbolizer) Answer(ctx context.Context, dst, line []byte) ([]byte, error) {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return dst, nil
	}
	return s.answer(ctx, dst, string(line))
}

// Result is an answer for JSON: the functions at an address, innermost first.
type Result struct {
	Address string  `json:"address"`
	Frames  []Frame `json:"frames"`
	Status  string  `json:"status"`
}

// Frame is one function of a Result. Unknown fields are "" or 0.
type Frame struct {
	Function    string `json:"function"`
	LinkageName string `json:"linkage_name"`
	File        string `json:"file"`
	Line        int    `json:"line"`
	Column      int    `json:"column"`
	Approximate bool   `json:"approximate,omitempty"`
}

// answer appends the output for one address: hexadecimal digits, or the name of a function with or without a number, as in main+0x10. The
// file may stand before it, as in FILE@0x10.
func (s *Symbolizer) answer(ctx context.Context, dst []byte, text string) ([]byte, error) {
	q, label, err := s.Query(ctx, text)
	if err != nil {
		return s.invalid(dst, text), err
	}
	got := s.symbols.Frames(ctx, q)
	got.Frames = symsrc.Unfold(got.Frames)
	if err := s.Check(text, &q, &got); err != nil {
		return s.invalid(dst, text), err
	}
	if got.Files != nil && got.Files.Watch != s.watch.Load() {
		s.watch.Store(got.Files.Watch)
	}
	if s.opt.JSON {
		return append(dst, encode(s.result(label, &got))...), nil
	}
	return s.appendText(dst, label, got.Frames), nil
}

// Check returns an error if the answer to the query of a text is that there is no such function. It calls Options.NoLines if the answer has no
// line because the file has no debug information.
func (s *Symbolizer) Check(text string, q *symsrc.Addr, a *symsrc.Answer) error {
	if q.Symbol != "" && len(a.Frames) == 0 {
		return fmt.Errorf("%q: %w", text, ErrAddress)
	}
	f := a.Files
	if s.opt.NoLines == nil || f == nil || !f.Usable() || f.DebugStatus == symsrc.OK || len(f.Symbols) > 0 || len(a.Frames) > 0 && a.Frames[0].Line > 0 {
		return nil
	}
	title := cmp.Or(q.Module.Name, q.Module.BuildID.String())
	if _, told := s.bare.LoadOrStore(title, true); !told {
		s.opt.NoLines(title)
	}
	return nil
}

// invalid appends the answer to a text that is no address.
func (s *Symbolizer) invalid(dst []byte, text string) []byte {
	if s.opt.JSON {
		return append(dst, encode(Result{text, []Frame{}, symsrc.UnknownError.String()})...)
	}
	return append(symsrc.AppendVisible(dst, text), ": ??\n"...)
}

// Query returns the query of a text, and how the answer names the address. Its error is one of those of an address.
func (s *Symbolizer) Query(ctx context.Context, text string) (q symsrc.Addr, label string, err error) {
	q.Module = s.module
	address := text
	if at := strings.LastIndexByte(text, '@'); at > 0 {
		q.Module, address = namedModule(text[:at]), text[at+1:]
	}
	name, offset, counted := strings.Cut(address, "+")
	addr, isNumber := hexadecimal(address)
	switch {
	case q.Module == (symsrc.Module{}):
		err = ErrNoFile
	case isNumber:
		q.Offset = addr
		return q, text[:len(text)-len(address)] + "0x" + strconv.FormatUint(addr, 16), nil
	case name == "":
		err = ErrAddress
	case counted:
		if q.Offset, isNumber = hexadecimal(offset); !isNumber {
			err = ErrAddress
		}
	}
	if err == nil {
		err = s.find(ctx, &q, name)
	}
	if err != nil {
		return q, "", fmt.Errorf("%q: %w", text, err)
	}
	return q, text, nil
}

// namedModule returns the module that is named before an address: a file, a build ID, or the name of a file that is searched for.
func namedModule(name string) symsrc.Module {
	if id, ok := moduleID(name); ok {
		return symsrc.Module{BuildID: id}
	}
	m := batch.Module(name, "")
	if _, missing := os.Stat(m.Name); missing == nil || strings.ContainsRune(name, filepath.Separator) {
		return m
	}
	return symsrc.Module{Name: name}
}

// find makes the address of q count from the start of the file, not from that of the function with a name. The name is a linkage name,
// a demangled one, or the plain one of a single function.
func (s *Symbolizer) find(ctx context.Context, q *symsrc.Addr, name string) error {
	var plain, exact []uint64 // where the functions start
	for _, f := range s.symbols.Frames(ctx, symsrc.Addr{Module: q.Module, Kind: symsrc.Named, Symbol: name}).Frames {
		start := -f.Offset
		if !slices.Contains(plain, start) {
			plain = append(plain, start)
		}
		code := s.symbols.Frames(ctx, symsrc.Addr{Module: q.Module, Offset: start}).Frames
		if n := len(code); n > 0 && (code[n-1].Linkage == name || code[n-1].Func == name) && !slices.Contains(exact, start) {
			exact = append(exact, start)
		}
	}
	if len(exact) == 0 {
		exact = plain
	}
	switch len(exact) {
	case 0: // perhaps it is a symbol that is no function
		q.Symbol = name
	case 1:
		q.Offset += exact[0]
	default:
		return ErrAmbiguous
	}
	return nil
}

// hexadecimal reads digits with or without 0x.
func hexadecimal(text string) (v uint64, ok bool) {
	v, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X"), 16, 64)
	return v, err == nil
}

// result returns an answer for JSON.
func (s *Symbolizer) result(label string, got *symsrc.Answer) Result {
	r := Result{label, make([]Frame, 0, len(got.Frames)), symsrc.OK.String()}
	if len(got.Frames) == 0 && got.Files != nil {
		r.Status = got.Files.Reason().String()
	}
	for i := range got.Frames {
		fr := &got.Frames[i]
		r.Frames = append(r.Frames, Frame{s.name(fr), fr.Linkage, fr.File, fr.Line, fr.Column, fr.Approx})
	}
	return r
}

// name returns the name of a function as it is to be printed.
func (s *Symbolizer) name(fr *symsrc.Frame) string {
	if s.opt.NoDemangle && fr.Linkage != "" {
		return fr.Linkage
	}
	return fr.Func
}

// appendText appends a line per function, `0x1150: f /src/f.c:5:13`, and ` (inlined into) g /src/g.c:12:11` for those it is inlined
// into.
func (s *Symbolizer) appendText(dst []byte, label string, frames []symsrc.Frame) []byte {
	dst = append(symsrc.AppendVisible(dst, label), ": "...)
	if len(frames) == 0 {
		dst = append(dst, "?? ??:0\n"...)
	}
	for i := range frames {
		fr := &frames[i]
		if i > 0 {
			dst = append(dst, " (inlined into) "...)
		}
		dst = append(symsrc.AppendVisible(dst, cmp.Or(s.name(fr), "??")), ' ')
		dst = append(symsrc.AppendVisible(dst, cmp.Or(fr.File, "??")), ':')
		dst = strconv.AppendInt(dst, int64(fr.Line), 10)
		if fr.Column > 0 {
			dst = strconv.AppendInt(append(dst, ':'), int64(fr.Column), 10)
		}
		if fr.Approx {
			dst = append(dst, " (approximate)"...)
		}
		dst = append(dst, '\n')
	}
	return dst
}

func encode(r Result) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // names are full of <>
	if err := e.Encode(r); err != nil {
		return []byte("{}\n") // cannot happen
	}
	return symsrc.VisibleJSON(b.Bytes())
}
