// Package llvm answers as llvm-symbolizer and llvm-addr2line of LLVM 22 do: the requests that they read, and what they write.
//
//   - llvm.go: Symbolizer, its Options, and how a request is answered
//   - request.go: requests
//   - plain.go: the styles LLVM and GNU; json.go: the style JSON
//
// What is known of an address comes from a symsrc.Source, which names nothing without evidence where llvm guesses.
package llvm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/symbolize/batch"
)

// Style is the form of answers.
type Style uint8

const (
	LLVM Style = iota
	GNU
	JSON
)

// Functions is which names of functions are written.
type Functions uint8

const (
	// LinkageNames are those of the symbol table and, for inlined functions, of the debug information.
	LinkageNames Functions = iota
	// ShortNames are those of the debug information, without namespaces and parameters.
	ShortNames
	// NoNames leaves functions out.
	NoNames
)

// Options are the settings of a Symbolizer. Only Symbols must be set.
type Options struct {
	// Symbols answers for addresses.
	Symbols symsrc.Source
	// Texts has the lines of source files, if ContextLines is set.
	Texts Texts
	// Object is the file that all requests are about, and BuildID its build ID: "" for requests that name their files. Only one of them
	// may be set.
	Object  string
	BuildID symsrc.BuildID
	// Hex reads addresses as hexadecimal numbers, as llvm-addr2line does.
	Hex bool

	Style     Style
	Functions Functions
	// NoDemangle keeps the names as the file has them.
	NoDemangle bool
	// NoInlines leaves out the functions that the innermost one is inlined into.
	NoInlines bool
	// NoSymbolTable prefers the names of the debug information.
	NoSymbolTable bool
	// Basenames cuts the directories off source files. RelativeNames cuts only the compilation directory off.
	Basenames, RelativeNames bool
	// Addresses writes each address before its answer, Pretty writes a function and its place in one line, and Verbose writes all that is
	// known of them.
	Addresses, Pretty, Verbose bool
	// Adjust is subtracted from each address.
	Adjust uint64
	// ContextLines is how many lines of the source file are written with each place.
	ContextLines int
	// DefaultArch is the architecture of Mach-O files of several, of which a request names none.
	DefaultArch string
	// SkipLineZero writes the line of the code before, for code that has none.
	SkipLineZero bool
}

// Texts returns lines of source files.
type Texts interface {
	Excerpt(ctx context.Context, p symsrc.Place, around int) symsrc.Excerpt
}

// Symbolizer answers requests. It may be used by several goroutines at once.
type Symbolizer struct {
	opt    Options
	recent batch.Recent

	mu      sync.Mutex
	modules map[string]symsrc.Module // by their names in requests
}

// New returns a Symbolizer.
func New(o Options) *Symbolizer {
	return &Symbolizer{opt: o, modules: make(map[string]symsrc.Module)}
}

// FileError is the error of a request about a file that cannot be read.
type FileError struct {
	// Module is the file, or the build ID in hexadecimal digits.
	Module string
	// Reason is why, in the words of llvm.
	Reason string
}

func (e *FileError) Error() string { return fmt.Sprintf("'%s': %s", e.Module, e.Reason) }

// Check returns a *FileError if the file of Options cannot be read, and what is written about it.
func (s *Symbolizer) Check(ctx context.Context) (out []byte, err error) {
	r := request{module: s.opt.Object, addressed: true}
	if r.module == "" {
		return nil, nil
	}
	got := s.opt.Symbols.Frames(ctx, symsrc.Addr{Module: s.module(&r)})
	if failed := failure(&r, &got); failed != nil {
		if s.opt.Style == JSON {
			return append(appendError(nil, &r, failed.Reason), '\n'), failed
		}
		return nil, failed
	}
	return nil, nil
}

// maxModules bounds the names of modules that are kept.
const maxModules = 1 << 12

// module returns the module of a request.
func (s *Symbolizer) module(r *request) symsrc.Module {
	if r.id != "" {
		return symsrc.Module{BuildID: r.id}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.modules[r.module]
	if !ok {
		if len(s.modules) >= maxModules {
			clear(s.modules)
		}
		name := strings.Clone(r.module)
		m = batch.Module(name, s.opt.DefaultArch)
		if m.Arch == "" {
			m.Name = absolute(name)
		}
		s.modules[name] = m
	}
	return m
}

// absolute returns the path of a module, without the machine that may be after a colon.
func absolute(name string) string {
	if i := strings.LastIndexByte(name, ':'); i > 0 && isMachine(name[i+1:]) {
		name = name[:i]
	}
	return batch.Path(name)
}

// isMachine reports whether a word is the name of an architecture in LLVM's triples.
func isMachine(word string) bool {
	for _, family := range [...]string{"aarch64", "amdgcn", "amdgpu", "arm", "avr", "bpf", "hexagon", "i386", "i486", "i586", "i686", "loongarch",
		"m68k", "mips", "msp430", "nvptx", "powerpc", "ppc", "riscv", "s390x", "sparc", "spirv", "systemz", "thumb", "wasm", "x86"} {
		if strings.HasPrefix(word, family) {
			return true
		}
	}
	return false
}

// failure returns the error of an answer without usable files.
func failure(r *request, a *symsrc.Answer) *FileError {
	files := a.Files
	if files == nil || len(a.Frames) > 0 || len(a.Locals) > 0 || files.Usable() || len(files.Symbols) > 0 {
		return nil
	}
	e := &FileError{Module: r.module}
	switch files.Reason() {
	case symsrc.NotFound:
		e.Reason = "No such file or directory"
		if r.id != "" {
			e.Reason = "could not find build ID"
		}
	case symsrc.NoReadPermission:
		e.Reason = "Permission denied"
	case symsrc.ReadError, symsrc.NotELF:
		if st, err := os.Stat(absolute(r.module)); err == nil && st.IsDir() {
			e.Reason = "Is a directory"
			break
		}
		e.Reason = "The file was not recognized as a valid object file"
	default:
		e.Reason = cmp.Or(files.Detail, files.Note, files.Reason().String())
	}
	return e
}

// place is a function of an answer as llvm writes it.
type place struct {
	function, file, startFile string // "" is unknown
	line, column, startLine   int
	start                     uint64
	started                   bool
	discriminator             uint32
	source                    []byte // the lines around it
}

// Answer appends the answer to a request to dst. The error is about the request or its file; there is an answer nevertheless.
func (s *Symbolizer) Answer(ctx context.Context, dst, line []byte) ([]byte, error) {
	dst, found := s.recent.Append(dst, line)
	if found {
		return dst, nil
	}
	begin := len(dst)
	dst, full, err := s.answer(ctx, dst, line, true)
	if full && err == nil {
		s.recent.Keep(line, dst[begin:])
	}
	return dst, err
}

// answer appends the answer to a request. Answers in the style JSON end with a newline if ended is set. full is set if the answer is about
// code, and will not be a better one soon.
func (s *Symbolizer) answer(ctx context.Context, dst, line []byte, ended bool) (_ []byte, full bool, err error) {
	var r request
	text := clean(line)
	switch {
	case text == "," && s.opt.Hex: // with which perf marks the end of an answer
		dst = s.appendCode(dst, &request{addressed: true}, []place{{}})
	case text == "": // it asks whether the process is alive
		dst = s.appendCode(dst, &r, []place{{}})
	default:
		if err = s.opt.parse(text, &r); err != nil {
			dst = s.appendCode(dst, &request{module: r.module}, []place{{}})
			break
		}
		dst, full, err = s.look(ctx, dst, &r)
	}
	if s.opt.Style == JSON && ended {
		dst = append(dst, '\n')
	}
	return dst, full, err
}

// List appends the answers to requests in the arguments of a command: in the style JSON they are one list.
func (s *Symbolizer) List(ctx context.Context, dst []byte, requests []string, wrong func(error)) []byte {
	if s.opt.Style == JSON {
		dst = append(dst, '[')
	}
	for i, text := range requests {
		if i > 0 && s.opt.Style == JSON {
			dst = append(dst, ',')
		}
		var err error
		if dst, _, err = s.answer(ctx, dst, []byte(text), false); err != nil {
			wrong(err)
		}
	}
	if s.opt.Style == JSON {
		dst = append(dst, "]\n"...)
	}
	return dst
}

// look answers a request that was understood. full is as for answer.
func (s *Symbolizer) look(ctx context.Context, dst []byte, r *request) (_ []byte, full bool, _ error) {
	m := s.module(r)
	q := symsrc.Addr{Module: m, Offset: r.addr - s.opt.Adjust}
	switch {
	case r.command == dataRequest:
		q.Kind = symsrc.Global
		got := s.opt.Symbols.Frames(ctx, q)
		if failed := failure(r, &got); failed != nil {
			return s.failed(dst, r, failed), false, s.told(failed)
		}
		return s.appendData(dst, r, s.variable(q.Offset, &got)), false, nil
	case r.command == frameRequest:
		q.Kind = symsrc.Locals
		got := s.opt.Symbols.Frames(ctx, q)
		if failed := failure(r, &got); failed != nil {
			return s.failed(dst, r, failed), false, s.told(failed)
		}
		return s.appendLocals(dst, r, got.Locals), false, nil
	case r.symbol != "":
		places, failed := s.named(ctx, m, r)
		if failed != nil {
			return s.failed(dst, r, failed), false, s.told(failed)
		}
		return s.appendNamed(dst, r, places), false, nil
	}
	found, failed := s.code(ctx, q, r)
	if failed != nil {
		return s.failed(dst, r, failed), false, s.told(failed)
	}
	return s.appendCode(dst, r, found.places), found.full, nil
}

// failed appends the answer to a request whose file cannot be read.
func (s *Symbolizer) failed(dst []byte, r *request, e *FileError) []byte {
	switch {
	case s.opt.Style == JSON:
		return appendError(dst, r, e.Reason)
	case r.command == dataRequest:
		return s.appendData(dst, r, global{})
	case r.command == frameRequest:
		return s.appendLocals(dst, r, nil)
	}
	return s.appendCode(dst, r, []place{{}})
}

// told returns the error for standard error; in the style JSON the answer has it.
func (s *Symbolizer) told(e *FileError) error {
	if s.opt.Style == JSON {
		return nil
	}
	return e
}

// global is an answer to a request for data.
type global struct {
	name, file  string
	line        int
	start, size uint64
}

// variable returns the answer to a request for the data at addr.
func (s *Symbolizer) variable(addr uint64, a *symsrc.Answer) (g global) {
	if len(a.Frames) == 0 {
		return g
	}
	f := &a.Frames[0]
	return global{name: s.demangled(symbolName(f.Linkage, a.Files)), file: f.File, line: f.Line, start: addr - f.Offset, size: f.Size}
}

// symbolName returns the name of a symbol as llvm has it: the symbols of a separate debug file have versions that it does not see, because it
// reads those of the program.
func symbolName(name string, files *symsrc.Files) string {
	if files != nil && files.Debug != "" && files.Debug != files.Elf {
		return bin.Unversioned(name)
	}
	return name
}

// demangled returns a name as the options want it.
func (s *Symbolizer) demangled(linkage string) string {
	if s.opt.NoDemangle {
		return linkage
	}
	return demangle.LLVM(linkage, false)
}

// named returns the places of a symbol.
func (s *Symbolizer) named(ctx context.Context, m symsrc.Module, r *request) (places []place, _ *FileError) {
	got := s.opt.Symbols.Frames(ctx, symsrc.Addr{Module: m, Kind: symsrc.Named, Symbol: r.symbol})
	if failed := failure(r, &got); failed != nil {
		return nil, failed
	}
	exact := false
	for i := range got.Frames {
		start := -got.Frames[i].Offset
		at := start
		if r.addr < got.Frames[i].Size {
			at += r.addr
		}
		code, _ := s.code(ctx, symsrc.Addr{Module: m, Offset: at}, r)
		if len(code.places) == 0 || code.places[0].file == "" {
			continue
		}
		if is := code.linkage == r.symbol; is && !exact {
			places, exact = nil, true
		} else if !is && exact {
			continue
		}
		places = append(places, s.single(code.places)[0])
	}
	return places, nil
}

// codeAnswer is an answer to a request for code.
type codeAnswer struct {
	places  []place // there is at least one
	linkage string  // the outermost function's linkage name
	full    bool    // see symsrc.Answer.Full
}

// code returns the functions at an address.
func (s *Symbolizer) code(ctx context.Context, q symsrc.Addr, r *request) (c codeAnswer, _ *FileError) {
	short := s.opt.Functions == ShortNames
	detailed := s.opt.Style != LLVM || s.opt.Verbose || s.opt.NoSymbolTable
	q.Kind = symsrc.Code
	if detailed {
		q.Kind = symsrc.Detailed
	}
	got := s.opt.Symbols.Frames(ctx, q)
	if failed := failure(r, &got); failed != nil {
		return c, failed
	}
	if short {
		details := got.Details
		q.Kind = symsrc.ShortCode
		if got = s.opt.Symbols.Frames(ctx, q); len(details) == len(got.Frames) {
			got.Details = details
		}
	}
	places := make([]place, 0, len(got.Frames)+1)
	c.full = got.Full() && s.opt.ContextLines == 0
	for i := range got.Frames {
		f := &got.Frames[i]
		if s.opt.Functions != LinkageNames && f.Origin > symsrc.SymbolAndDebug {
			continue
		}
		p := s.place(f, got.Files)
		if len(got.Details) == len(got.Frames) {
			s.detail(&p, &got.Details[i])
		}
		if s.opt.ContextLines > 0 && p.line > 0 {
			p.source = s.excerpt(ctx, &q, &got, f)
		}
		places = append(places, p)
		c.linkage = f.Linkage
	}
	if len(places) == 0 {
		c.places = append(places, place{})
		return c, nil
	}
	if s.opt.NoInlines && !s.opt.Hex && s.opt.Style != GNU && got.Frames[len(got.Frames)-1].Origin == symsrc.SymbolAndDebug {
		outer := &places[len(places)-1]
		places[0].function, places[0].start, places[0].started = outer.function, outer.start, outer.started
	}
	c.places = places
	return c, nil
}

// single returns the places that are written without inlined calls.
func (s *Symbolizer) single(places []place) []place {
	if len(places) > 1 {
		return places[:1]
	}
	return places
}

// stub is the end of the name of a stub that calls a function of another file.
const stub = "@plt"

// place returns what is known of a function as llvm writes it.
func (s *Symbolizer) place(f *symsrc.Frame, files *symsrc.Files) place {
	p := place{function: f.Linkage, file: s.path(f.File, f.CompDir), line: f.Line, column: f.Column}
	switch {
	case s.opt.Functions == NoNames:
		p.function = ""
	case p.function == "":
		p.function = f.Func
	case strings.HasSuffix(p.function, stub): // which llvm does not name, and which is no version
		if !s.opt.NoDemangle {
			p.function = f.Func
		}
	default:
		p.function = s.demangled(symbolName(p.function, files))
	}
	if f.Approx && !s.opt.SkipLineZero {
		p.line = 0
	}
	return p
}

// detail adds what else is known of a function.
func (s *Symbolizer) detail(p *place, d *symsrc.Detail) {
	if s.opt.NoSymbolTable && s.opt.Functions == LinkageNames {
		p.function = s.demangled(d.Linkage)
	}
	p.startFile, p.startLine, p.start, p.started = s.path(d.File, d.CompDir), d.Line, d.Start, d.Started
	p.discriminator = d.Discriminator
}

// path returns a path as the options want it.
func (s *Symbolizer) path(path string, compDir int) string {
	switch {
	case s.opt.Basenames:
		return path[strings.LastIndexByte(path, '/')+1:]
	case s.opt.RelativeNames:
		return path[compDir:]
	}
	return path
}
