// Package symsrc says what a symbol answer is: the question (Addr), the answer (Answer, Frame), why there is none
// (Status, Files), and who answers (Source). It also holds what every source needs: demangling.
package symsrc

import (
	"context"
	"encoding/hex"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Module is what a log says of one linked binary.
type Module struct {
	// Name is the path or the bare file name as the log has it; "" where the log has none.
	Name string
	// BuildID is the binary's identity; "" where the log has none.
	BuildID BuildID
	// Member is the name of the binary inside Name where that is an archive, as in base.apk!libfoo.so, in full or without
	// its directories; "" where the log names none.
	Member string
	// InArchive is where the binary begins inside Name, in bytes, as in base.apk (offset 0x1b70000); 0 where the log does not
	// say.
	InArchive uint64
}

// Kind tells what an address points at.
type Kind uint8

const (
	Code Kind = iota // an instruction: the answer is a chain of functions
	Data             // a variable: the answer is one Frame with Func and Offset
	// ShortCode is Code with the short names of the debug information (DW_AT_name), and without the symbol table.
	ShortCode
	// Named asks for the functions that the file calls Symbol, however it is written, wherever they are: the answer is a Frame for
	// each, with Func, Size, and Offset as the distance from its start to Addr.Offset, modulo 2^64. It is empty where the
	// file has none of the name, or too many to tell.
	Named
)

// Origin tells where the name of a physical function comes from, and what debug information there is beside it.
type Origin uint8

const (
	DebugOnly      Origin = iota // all is from the debug information; of inlined functions it always is
	SymbolAndDebug               // the name is from the symbol table
	SymbolInUnit                 // so it is; a unit has the address, but says neither function nor line
	SymbolOnly                   // so it is; no unit has the address
)

// Entry tells of a function what debug information has of it beside its name and its lines.
type Entry uint8

const (
	NoEntry    Entry = iota // nothing
	Undeclared              // that there is one
	Declared                // and where it is declared
)

// Addr is one question.
type Addr struct {
	Module Module
	// Offset is an address of the ELF file's own address space (comparable with p_vaddr), not a file offset. A return
	// address has been moved into its call already.
	Offset uint64
	Kind   Kind
	// Space tells what else Offset may count from.
	Space Space
	// Symbol, where it is set, is the name of the function that Offset counts from, and Size its size, 0 where that is not
	// known: kernels print frames as `name+0x1/0x2`, and glibc as `name+0x1`.
	Symbol string
	Size   uint64
}

// Frame is one function of an answer, or the variable of a data answer.
type Frame struct {
	// Func is the demangled name, "" where none is known. Symbol versions ("@GLIBC_2.34") are cut off.
	Func string
	// Linkage is the name as the file has it, with its version.
	Linkage string
	// File is the source path: compilation directory, include directory and name joined, not normalised; "" unknown.
	File string
	// MD5 is the sum of File's content when it was compiled, 16 bytes; "" where the debug information has none.
	MD5 string
	// CompDir is how many bytes at File's start are the compilation directory, where that was put before a relative name.
	CompDir int
	// Line and Column count from 1; 0 is unknown.
	Line, Column int
	// Approx is set where the code at the address has line 0 and Line is that of the nearest row before it.
	Approx bool
	// Entry tells of a function without a line what the debug information has of it; only in answers in the style of llvm.
	Entry Entry
	// Origin tells where Func is from.
	Origin Origin
	// Offset is the distance of the address from the start of the variable, or of the function that is Named, and Size how
	// long that function is, 0 where the file does not say; in answers to such questions only.
	Offset, Size uint64
}

// Answer is what a Source knows of one address.
type Answer struct {
	// Frames is the chain of functions at the address: the innermost inlined one first, the physical one last. It is
	// empty where no name is known; then Files says why, or, where both files are good, no symbol covers the address.
	Frames []Frame
	// Files tells which files were used and how the search for them went; nil where a source does not look for files.
	// It is shared between answers and must not be changed.
	Files *Files
	// Partial is set where the debug information left things to a file that is not there: once that is found, the answer
	// may say more.
	Partial bool
	// Made is what Files.Made was when the answer was found, of one that was kept without its Files; the zero Time where that
	// is not known.
	Made time.Time
}

// Source answers questions. It never fails otherwise than by an Answer without Frames, and may be used by several
// goroutines at once.
type Source interface {
	Frames(ctx context.Context, q Addr) Answer
}

// Finder finds the files of a module. What it returns is not changed afterwards. It may be used by several goroutines at once.
type Finder interface {
	Find(ctx context.Context, m Module) *Files
}

// Files tells where a module's code and debug information lie, and how the search for them went.
type Files struct {
	// Elf is the path of the runtime object, or where it was looked for last; "" where nothing was tried.
	Elf string
	// Debug is the path of a separate debug file; "" where there is none.
	Debug string
	// ElfRange and DebugRange are the parts of these files to be read, where they are archives.
	ElfRange, DebugRange Range
	// ElfStatus and DebugStatus are what an elf_list.tsv reports.
	ElfStatus, DebugStatus Status
	// Note says in words what is wrong, "" where nothing is.
	Note string
	// Detail says it at length for a person to read: which file, and what differs; "" where Note says it all.
	Detail string
	// Unverified is set where the files were taken by path or name alone: the log has no build ID, or what the files have
	// is not to be compared with it.
	Unverified bool
	// Tried lists the places looked at, in order, for a person to read, and Lacked what each lacked, as far as its entries go:
	// nothing where the place is of use, or where Tried says it already.
	Tried, Lacked []string
	// Symbols are the paths of Breakpad and GSYM files of the module's build, for want of debug information.
	Symbols []string
	// Retry, if not nil, reports whether another search may find more by now: a download goes on, or a server is to be asked
	// again. It is cheap and may be called by several goroutines at once.
	Retry func() bool `json:"-"`
	// Watch reports whether Elf and Debug are still the files that were found; nil if no look is wanted.
	Watch *Watch `json:"-"`
}

// NothingFound is the Note of a module of which there simply is no file.
const NothingFound = "elf not found"

// Usable reports whether any of the files can answer.
func (f *Files) Usable() bool {
	return f.ElfStatus.usable() && f.Elf != "" || f.DebugStatus.usable() && f.Debug != ""
}

// Made returns when the files were last changed, of two that can answer the later time; the zero Time where none is there.
func (f *Files) Made() (made time.Time) {
	look := func(path string, s Status) {
		if path == "" || !s.usable() {
			return
		}
		if st, err := os.Stat(path); err == nil && st.ModTime().After(made) {
			made = st.ModTime()
		}
	}
	look(f.Elf, f.ElfStatus)
	look(f.Debug, f.DebugStatus)
	return made
}

// Reason is the status that best explains why a module's frames have no name: that of a debug file that was found and is
// of no use says more than that there is no runtime object beside it. Where a debug file is good, it is the address that has none.
func (f *Files) Reason() Status {
	if f.Debug != "" && f.DebugStatus == OK {
		return OK
	}
	if f.ElfStatus == NotFound && !f.DebugStatus.usable() {
		return f.DebugStatus
	}
	if !f.ElfStatus.usable() {
		return f.ElfStatus
	}
	return f.DebugStatus
}

// Status tells how the search for a module's file ended. The ten codes are those of QSS's reports.
type Status uint8

const (
	OK                    Status = iota // readable, with what is wanted of it
	NotFound                            // no such file
	NoReadPermission                    // there, but may not be read
	NotELF                              // wrong magic
	Corrupted                           // the structure is damaged
	Incomplete                          // readable, but without debug sections
	UnsupportedCompressed               // compressed or packed in a way that is not read
	MismatchBuildID                     // its build ID is not the wanted one
	ReadError                           // an I/O error, a directory, a device
	UnknownError                        // anything else
)

var statusCodes = [...]string{
	OK: "OK", NotFound: "NOT_FOUND", NoReadPermission: "NO_READ_PERMISSION", NotELF: "NOT_ELF", Corrupted: "CORRUPTED",
	Incomplete: "INCOMPLETE", UnsupportedCompressed: "UNSUPPORTED_COMPRESSED", MismatchBuildID: "MISMATCH_BUILD_ID",
	ReadError: "READ_ERROR", UnknownError: "UNKNOWN_ERROR",
}

// String is the code as the reports spell it.
func (s Status) String() string {
	if int(s) < len(statusCodes) {
		return statusCodes[s]
	}
	return statusCodes[UnknownError]
}

// usable reports whether a file of this status may name a function: one without debug sections still has symbols.
func (s Status) usable() bool { return s == OK || s == Incomplete }

// Space tells what Addr.Offset counts from.
type Space uint8

const (
	// Linked is an address of the ELF file's own address space, comparable with p_vaddr.
	Linked Space = iota
	// InFile is a byte offset in the ELF file, as in the third column of /proc/PID/maps plus the distance into the mapping.
	InFile
	// InImage counts from the start of the module's lowest mapping: pc minus that start.
	InImage
	// InText counts from the start of the module's executable mapping.
	InText
)

// Probe says what the machine code around an address shows. Its zero value shows nothing: there is no text to look at.
type Probe struct {
	// Known is set where there was text to look at, of a machine whose calls are known.
	Known bool
	// Linked is the address as one of the ELF file's own address space.
	Linked uint64
	// Returns is set where a call instruction ends at the address: it is a return address.
	Returns bool
	// Calls is set where the address lies in a call instruction, in the way a return address does that has been moved back
	// into its call: at its start where instructions have one width, before its end otherwise.
	Calls bool
	// Trampoline is set where the address is that of a signal trampoline: the frame after it was interrupted.
	Trampoline bool
	// Back is the distance from a return address to a byte of the call before it: 1, or the width of an instruction where
	// that is fixed.
	Back uint64
}

// Prober looks at the machine code of a module.
type Prober interface {
	Probe(ctx context.Context, q Addr) Probe
}

// Expected is a question that is going to be asked.
type Expected struct {
	Addr
	// Back, if not nil, returns how far before Offset the question will be, given what the machine code around Offset shows; a
	// zero Probe stands for code that is not there.
	Back func(Probe) uint64
}

// At returns the question as it will be asked after a probe that showed p.
func (e *Expected) At(p Probe) Addr {
	q := e.Addr
	if e.Back != nil {
		q.Offset -= e.Back(p)
	}
	return q
}

// Prefetcher is a Source that answers many questions at once faster than one by one. Prefetch tells it of some. It may return
// before it knows the answers; Frames then waits for what is on its way.
type Prefetcher interface {
	Prefetch(ctx context.Context, qs []Expected)
}

// PrefetcherOf returns what is to be told of questions before s is asked, nil where nothing wants to know. A Source that stands
// before another says by its own method Prefetcher which that is.
func PrefetcherOf(s Source) Prefetcher {
	switch s := s.(type) {
	case interface{ Prefetcher() Prefetcher }:
		return s.Prefetcher()
	case Prefetcher:
		return s
	}
	return nil
}

// Range is a part of a file: an ELF file that lies in an archive as it is. The zero Range is the whole file.
type Range struct {
	// Offset and Size count bytes.
	Offset, Size int64
	// Member is its name in the archive, for a person to read.
	Member string
}

// Whole reports whether it is all of the file.
func (r Range) Whole() bool { return r.Offset == 0 && r.Size == 0 }

// Of names the part of the file at path as logs do: base.apk!lib/arm64-v8a/libfoo.so.
func (r Range) Of(path string) string {
	if r.Member == "" {
		return path
	}
	return path + "!" + r.Member
}

// maxBuildID bounds the bytes of a build ID: the longest in use are 20 (SHA-1) and 32 (SHA-256).
const maxBuildID = 64

// BuildID is the payload of an ELF file's NT_GNU_BUILD_ID note: raw bytes in a string, so that it compares and is a key.
type BuildID string

// ParseBuildID reads hexadecimal digits of either case. An odd number of digits is padded with a zero on the left, as
// llvm does. It fails on no digits, on anything else than digits, and on more than 64 bytes.
func ParseBuildID[T string | []byte](digits T) (BuildID, bool) {
	n := len(digits)
	if n == 0 || n > 2*maxBuildID {
		return "", false
	}
	var padded [2 * maxBuildID]byte
	var raw [maxBuildID]byte
	k := n & 1
	padded[0] = '0'
	copy(padded[k:], digits)
	m, err := hex.Decode(raw[:], padded[:n+k])
	if err != nil {
		return "", false
	}
	return BuildID(raw[:m]), true
}

// String is the ID in lower-case hexadecimal digits.
func (b BuildID) String() string { return hex.EncodeToString([]byte(b)) }

// OptionError says which field of a package's Options is wrong. What named the field, such as a flag, names it for its user.
type OptionError struct {
	// Option is the package and the field, such as "locate.Symbols".
	Option string
	// Value is what the field has; "" where that does not help.
	Value string
	Err   error
}

func (e *OptionError) Error() string {
	text := e.Option
	if e.Value != "" {
		text += " " + e.Value
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns what is wrong with the field.
func (e *OptionError) Unwrap() error { return e.Err }

// AvoidableError is an error, or a warning, that another value of an option would avoid. What named the field, such as a flag, says
// so to its user.
type AvoidableError struct {
	// Option is the package and the field, such as "cache.Dir".
	Option string
	Err    error
}

func (e *AvoidableError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *AvoidableError) Unwrap() error { return e.Err }

// Watch reports whether files are still those that were found, as they were. A nil Watch has nothing to look at. It may be used
// by several goroutines at once.
type Watch struct {
	look    func() bool
	changed atomic.Bool
}

// NewWatch makes a Watch whose look at the disk is look: true where a file is another one by now.
func NewWatch(look func() bool) *Watch { return &Watch{look: look} }

// Look looks at the disk, a few microseconds of work, and reports whether anything has changed.
func (w *Watch) Look() bool {
	if w == nil {
		return false
	}
	if !w.changed.Load() && w.look() {
		w.changed.Store(true)
	}
	return w.changed.Load()
}

// Changed reports whether a Look of anybody's has seen a change.
func (w *Watch) Changed() bool { return w != nil && w.changed.Load() }

// Place is a line of a source file, as the debug information of a module names it.
type Place struct {
	// Module is the binary that was compiled from it, and Files are where that lies, nil where that is not known; Made is then
	// what Answer.Made is.
	Module Module
	Files  *Files
	Made   time.Time
	// Path is the file as the debug information has it, Local the same on this machine.
	Path, Local string
	// MD5 is what Frame.MD5 is.
	MD5 string
	// Line counts from 1.
	Line int
}

// Excerpt is the text around a Place.
type Excerpt struct {
	// First is the number of the first of Lines.
	First int
	// Lines are without their ends, as they are in the file, in any length and with any bytes; there are none where no file is
	// known to be the right one.
	Lines []string
	// Note says in words what speaks against the lines, or why there are none; "" where nothing is to be said.
	Note string
	// Absent is set where there simply is no file.
	Absent bool
	// Retry, if not nil, reports whether asking again may bring more by now. It is cheap.
	Retry func() bool
}

// Mangled returns a source whose answers name functions as their files do, without demangling.
func Mangled(s Source) Source {
	if p, ok := s.(Prober); ok {
		return struct {
			mangled
			Prober
		}{mangled{s}, p}
	}
	return mangled{s}
}

type mangled struct{ behind Source }

// Prefetcher returns that of the source behind.
func (m mangled) Prefetcher() Prefetcher { return PrefetcherOf(m.behind) }

// Frames answers one question.
func (m mangled) Frames(ctx context.Context, q Addr) Answer {
	a := m.behind.Frames(ctx, q)
	if len(a.Frames) == 0 {
		return a
	}
	frames := make([]Frame, len(a.Frames)) // for those of the answer are shared
	copy(frames, a.Frames)
	for i := range frames {
		if name, _, _ := strings.Cut(frames[i].Linkage, "@"); name != "" {
			frames[i].Func = name
		}
	}
	a.Frames = frames
	return a
}
