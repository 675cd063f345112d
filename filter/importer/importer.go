// Package importer converts the output of other profilers and tracers into lines that the filter reads: Scaler's trace
// directories, PerFlow's stacks and library maps, ChopStiX databases. Later stages do not know these formats.
//
//	importer.go  Options, and which of the three formats an input has, by its content
//	space.go     memory maps: address → module and address in the module
//	scaler*.go   threads' trees of calls → indented {{{symbol:…}}} lines
//	perflow*.go  stacks of return addresses → `#N path(+0xoff) [0xaddr]`, the form of glibc's backtrace_symbols
//	chopstix*.go samples by address → `count percent #0 0xaddr  (path+0xoff)`, the form of the sanitizers' exact addresses
//	proof.go     whether this machine's files are those that ran
//	profile.go   stacks with values (counter.go), and those of a log; written for flame graph tools, as tables, and for pprof (pprof.go)
//
// Offsets in modules are addresses of the ELF file's own address space, as everywhere in the filter. The lines of an
// input can be saved and filtered later, with the same result.
package importer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"qss-filter/symsrc"
)

// Importer is an input of another tool.
type Importer interface {
	// Lines writes the input as lines for the filter. It writes everything that can be read before it returns an error; Problems
	// splits that error.
	Lines(ctx context.Context, w io.Writer) error
}

// DamageError says where a file is damaged.
type DamageError struct {
	File string
	// Offset is the place in the file, in bytes from 0; for damage inside a database, 0.
	Offset int64
	// Problem says what is wrong there.
	Problem string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: byte %d: %s", e.File, e.Offset, e.Problem)
}

// Problems returns the errors that an error of Lines consists of, each for a separate line. A reader may have wrapped the
// error.
func Problems(err error) []error {
	if err == nil {
		return nil
	}
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		var all []error
		for _, e := range several.Unwrap() {
			all = append(all, Problems(e)...)
		}
		return all
	}
	return []error{err}
}

// reader is one kind of input.
type reader interface {
	read(ctx context.Context, out *output) error
}

// input is an Importer of any kind.
type input struct {
	path string
	opt  Options
	kind reader
}

// Lines writes the lines, or the table of Options.By, and then the files of the profile. The profile of a damaged input
// has what could be read.
func (in *input) Lines(ctx context.Context, w io.Writer) error {
	out := &output{Writer: bufio.NewWriterSize(w, 1<<16), opt: in.opt, placer: placer{in.opt.Symbols},
		progress: progress{report: in.opt.Progress}}
	defer func() { out.profile.Close() }()
	if in.opt.By != ByNothing {
		out.quiet = true
	}
	err := in.kind.read(ctx, out)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out.verify()
	if out.quiet {
		out.end() // the table may go to the same terminal
	}
	defer out.end()
	defer func() {
		for _, note := range out.notes {
			in.opt.warn(note)
		}
	}()
	if in.opt.By != ByNothing && out.profile != nil {
		err = errors.Join(err, out.profile.WriteTable(ctx, out.Writer, in.opt.By))
	}
	if werr := out.Flush(); werr != nil {
		return werr
	}
	if out.profile != nil {
		err = errors.Join(err, in.opt.Save(ctx, out.profile))
		for _, note := range out.profile.notes() {
			out.note("%s", note)
		}
	}
	return err
}

// output is where an import writes to.
type output struct {
	*bufio.Writer
	opt Options
	placer
	// quiet is set if only the profile is wanted.
	quiet   bool
	profile *Profile
	proof   proof
	progress
	notes []string
}

// note records a remark that is neither a line nor an error, once.
func (out *output) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(out.notes, text) {
		out.notes = append(out.notes, text)
	}
}

// sum adds v to a sum. On overflow, the sum stays at the limit, and a note says so.
func (out *output) sum(sum *int64, v int64) {
	var exact bool
	if *sum, exact = addInt64(*sum, v); !exact {
		out.note(beyondNote)
	}
}

// signed returns a count as a signed number.
func (out *output) signed(count uint64) int64 {
	if count > math.MaxInt64 {
		out.note(beyondNote)
		return math.MaxInt64
	}
	return int64(count)
}

// wants starts a profile with values of these kinds, if one is wanted.
func (out *output) wants(kinds ...ValueKind) *Profile {
	o := &out.opt
	if out.profile == nil && (o.By != ByNothing || o.Pprof != "" || o.Folded != "") {
		out.profile = NewProfile(kinds...)
	}
	return out.profile
}

// printf writes a part of a line, unless only the profile is wanted. Flush returns the error of a failed write.
func (out *output) printf(format string, args ...any) {
	if !out.quiet {
		_, _ = fmt.Fprintf(out.Writer, format, args...)
	}
}

// failed returns an error if the import should not continue.
func (out *output) failed(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := out.Writer.Write(nil)
	return err
}

// callAt asks the symbols for the code at off in a module, which contains addr of the process. If nothing is mapped, m is
// nil and only the address is known; if off is not known, ok is false and only the module is known.
func (out *output) callAt(ctx context.Context, module string, m *mapping, addr, off uint64, ok bool) Call {
	switch {
	case m == nil:
		return Call{Addr: addr}
	case !ok:
		return Call{Module: symsrc.Module{Name: module}}
	}
	c := Call{Module: symsrc.Module{Name: module}, Addr: off}
	if out.opt.Symbols != nil && strings.HasPrefix(module, "/") {
		a := out.opt.Symbols.Frames(ctx, symsrc.Addr{Module: c.Module, Offset: off})
		c.Frames, c.assumed = a.Frames, a.Files != nil && a.Files.Assumed
	}
	return c
}

// verify takes the names of calls away that nothing proves.
func (out *output) verify() {
	if out.profile != nil {
		for i := range out.profile.calls {
			out.proof.verify(&out.profile.calls[i])
		}
	}
	for _, note := range out.proof.notes() {
		out.note("%s", note)
	}
}

// plain returns text of an input without characters that could break a line or look like markup.
func plain(s string) string {
	if strings.Contains(s, "{{{") || strings.Contains(s, "}}}") {
		s = strings.NewReplacer("{{{", `\x7b\x7b\x7b`, "}}}", `\x7d\x7d\x7d`).Replace(s)
	}
	return symsrc.Visible(s)
}

// progress counts how much of an input was read.
type progress struct {
	report      func(done, total int64)
	done, total int64
}

// expect adds to what there is to read.
func (p *progress) expect(n int64) { p.total += n }

// read adds to what was read.
func (p *progress) read(n int64) {
	if p.report != nil && n > 0 {
		p.done += n
		p.report(min(p.done, max(p.total, 1)-1), max(p.total, 1))
	}
}

// reach sets the amount that was read to done.
func (p *progress) reach(done int64) { p.read(done - p.done) }

// end reports that everything was read.
func (p *progress) end() {
	if p.report != nil {
		p.total = max(p.total, 1)
		p.report(p.total, p.total)
	}
}

// counted is a file whose bytes count for the progress as they are read.
type counted struct {
	*os.File
	p *progress
}

// open opens a file whose bytes were expected.
func (p *progress) open(path string) (io.ReadCloser, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	return &counted{f, p}, nil
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.File.Read(b)
	c.p.read(int64(n))
	return n, err
}

// By says what samples are grouped by.
type By uint8

const (
	// ByNothing leaves samples as the input has them.
	ByNothing By = iota
	ByFunction
	ByAddress
	ByLine
	ByModule
)

// Offsets says what is printed of PerFlow's frames.
type Offsets uint8

const (
	// NoOffsets prints frames that the filter names.
	NoOffsets Offsets = iota
	// InModule prints `library + 0xoffset`, an address of the ELF file's own address space.
	InModule
	// FromMapStart prints what PerFlow itself does: the distance from the start of the executable mapping.
	FromMapStart
)

// Options say how an input is read.
type Options struct {
	// Symbols names functions if they are counted, and finds the addresses of modules that their maps do not place;
	// nil for none.
	Symbols symsrc.Source
	// Kind is "scaler", "perflow" or "chopstix"; "" decides by content.
	Kind    string
	By      By
	Offsets Offsets
	// Threads are those of a Scaler trace to show; none means all.
	Threads []uint64
	// MinDuration hides shorter calls of a Scaler trace.
	MinDuration time.Duration
	// PID and Session, counted from 1, select sessions of a ChopStiX database; 0 means all.
	PID     int64
	Session int
	// WriteCounts fills the annotation tables of a copy of a ChopStiX database, InPlace of the database itself.
	WriteCounts, InPlace bool
	// Pprof and Folded are files for the profile; "" for none.
	Pprof, Folded string
	// Trust says how a user has the file of a module trusted, for remarks. It may be nil.
	Trust func(module string) string
	// Warn, if not nil, is called with each note of an import.
	Warn func(message string)
	// Progress, if not nil, is called with how much of the input was read, and of how much, in bytes or rows. In the last
	// call, before a table of Options.By is written, both are equal.
	Progress func(done, total int64)
}

// Creatable returns an error if a profile cannot be saved. It is called before the stacks are read, which may take long.
func (o *Options) Creatable() error {
	return errors.Join(creatable("importer.Pprof", o.Pprof), creatable("importer.Folded", o.Folded))
}

// creatable returns an error if the file of an option cannot be written. It does not change an existing file, which may be the input.
func creatable(option, path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular() && !info.IsDir():
		return nil // opening a pipe waits for its reader
	case err == nil:
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return &symsrc.OptionError{Option: option, Err: err}
		}
		return file.Close()
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // a link to a file that does not exist
		return nil
	}
	if err != nil {
		return &symsrc.OptionError{Option: option, Err: err}
	}
	return errors.Join(file.Close(), os.Remove(path))
}

// Save writes a profile to the files of the options. An incomplete file is removed.
func (o *Options) Save(ctx context.Context, p *Profile) error {
	return errors.Join(saveFile(ctx, "importer.Pprof", o.Pprof, p.WritePprof), saveFile(ctx, "importer.Folded", o.Folded, p.WriteFolded))
}

// warn reports a problem that is not a failure.
func (o *Options) warn(message string) {
	if o.Warn != nil {
		o.Warn(message)
	}
}

// saveFile writes the file that an option names.
func saveFile(ctx context.Context, option, path string, write func(context.Context, io.Writer) error) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return &symsrc.OptionError{Option: option, Err: err}
	}
	info, statErr := f.Stat()
	err = write(ctx, f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		if statErr == nil && info.Mode().IsRegular() { // do not remove a device or a pipe
			os.Remove(path)
		}
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		return &symsrc.OptionError{Option: option, Err: fmt.Errorf("write %s: %w", path, err)}
	}
	return nil
}

// Kinds are those of inputs, as Options.Kind has them.
var Kinds = []string{"scaler", "perflow", "chopstix"}

// kinds makes the reader of an input whose kind is known.
var kinds = map[string]func(path string) (reader, error){
	"scaler":   newScaler,
	"perflow":  newPerFlow,
	"chopstix": newChopStiX,
}

// headSize is how many bytes of a file are read to recognize its format.
const headSize = 1 << 16

// Detect recognizes an input by its content: a Scaler trace directory (or the file of one of its threads), PerFlow's files or
// a directory of them, a ChopStiX database or a directory with one.
func Detect(path string, o Options) (Importer, error) {
	kind := o.Kind
	if kind == "" {
		var err error
		if kind, err = kindOf(path); err != nil {
			return nil, err
		}
	}
	newReader := kinds[kind]
	if newReader == nil {
		return nil, &symsrc.OptionError{Option: "importer.Kind", Value: kind, Err: errors.New("want " + strings.Join(Kinds, ", "))}
	}
	k, err := newReader(path)
	if err != nil {
		return nil, err
	}
	if o.By != ByNothing && o.Offsets != NoOffsets {
		return nil, &symsrc.OptionError{Option: "importer.Offsets", Err: errors.New("counted samples have no lines with offsets")}
	}
	return &input{path, o, k}, nil
}

func kindOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return kindOfFile(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	found := ""
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		switch kind, _ := kindOfFile(filepath.Join(path, e.Name())); {
		case kind == "scaler":
			return kind, nil
		case kind == "chopstix", found == "": // copies of maps may be in the same directory
			found = kind
		}
	}
	if found == "" {
		return "", fmt.Errorf("%s: no file of Scaler, PerFlow or ChopStiX in it", path)
	}
	return found, nil
}

func kindOfFile(path string) (string, error) {
	head, err := readHead(path)
	name := filepath.Base(path)
	switch {
	case err != nil:
		return "", err
	case bytes.HasPrefix(head, sqliteMagic):
		return "chopstix", nil
	case isThreadFile(name), isSymbolFile(name) && bytes.Contains(head, []byte(`"funcNames"`)):
		return "scaler", nil
	}
	switch kind, err := perFlowFile(path, false); {
	case err != nil:
		return "", err
	case kind != notPerFlow:
		return "perflow", nil
	}
	return "", &symsrc.AvoidableError{Option: "importer.Kind", Err: fmt.Errorf("%s: not a file of Scaler, PerFlow or ChopStiX", path)}
}

// readHead returns the first bytes of a regular file.
func readHead(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return head[:n], nil
}

// openRegular opens a regular file for reading; others could block.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", path)
	}
	return os.Open(path)
}

// threadOf returns the ID in the name of a Scaler thread file, `thread_0x7f01.bin`, or the name of any other file.
func threadOf(name string) (id string) {
	return strings.TrimPrefix(strings.TrimSuffix(name, ".bin"), "thread_")
}

func isThreadFile(name string) bool {
	return strings.HasPrefix(name, "thread_") && strings.HasSuffix(name, ".bin")
}

func isSymbolFile(name string) bool {
	return strings.HasPrefix(name, "symbol") && strings.HasSuffix(name, ".json")
}
