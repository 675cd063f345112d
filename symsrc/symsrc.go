// Package symsrc says what a symbol answer is: the query (Addr), the answer (Answer, Frame), why there is none
// (Status, Files), and who answers (Source). It also holds what every source needs: demangling.
package symsrc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"reflect"
	"sync/atomic"
	"time"

	"qss-filter/symsrc/bin"
)

// Module is what a log says of one linked binary.
type Module struct {
	// Name is the path or the bare file name as the log has it; "" where the log has none.
	Name string
	// BuildID is the binary's identity; "" where the log has none.
	BuildID BuildID
	// Member is the name of the binary inside Name if that is an archive, as in base.apk!libfoo.so, with or without
	// its directories; "" if the log names none.
	Member string
	// InArchive is the offset of the binary inside Name, in bytes, as in base.apk (offset 0x1b70000); 0 if the log does not
	// say. If Member is "" it may also be that of a later mapping of the binary.
	InArchive uint64
	// Arch is the architecture of a Mach-O file, such as arm64e, and AnyArch if it is one whose architecture the log does not say.
	// It is "" if the log does not say that the binary is a Mach-O file.
	Arch string
}

// AnyArch stands for the architecture of a Mach-O file that is not known.
const AnyArch = "any"

// archs are the names of the architectures of Mach-O files, as Apple's tools and llvm's write them.
var archs = [...]string{"arm64", "arm64e", "arm64_32", "x86_64", "x86_64h", "i386", "armv6", "armv6m", "armv7", "armv7s", "armv7k", "armv7m", "armv7em", "arm",
	"ppc", "ppc64"}

// IsArch reports whether a text is the name of an architecture of Mach-O files.
func IsArch(text string) bool {
	for _, arch := range archs {
		if arch == text {
			return true
		}
	}
	return false
}

// Kind says what an address points at.
type Kind uint8

const (
	Code Kind = iota // an instruction: the answer is a chain of functions
	Data             // a variable: the answer is one Frame with Func and Offset
	// ShortCode is Code with the short names of the debug information (DW_AT_name), and without the symbol table.
	ShortCode
	// Named asks for all functions with the name Symbol, mangled or not: the answer is a Frame for
	// each, with Func, Size, and Offset as the distance from its start to Addr.Offset, modulo 2^64. It is empty if the
	// file has no function of the name, or too many.
	Named
	// CallSite asks for the call that ends at Offset, which is as logged. The answer has no Frames, but Call.
	CallSite
	// Detailed is Code with Answer.Details.
	Detailed
	// Global is Data, but Frame.File and Frame.Line are where the variable is declared, and Frame.Size is its size.
	Global
	// Locals asks for the variables of the function at Offset. The answer has no Frames, but Locals.
	Locals
)

// Origin says where the name of a physical function comes from, and what debug information it has.
type Origin uint8

const (
	DebugOnly      Origin = iota // everything is from the debug information, as always for inlined functions
	SymbolAndDebug               // the name is from the symbol table
	SymbolInUnit                 // the same; a unit has the address, but neither function nor line
	SymbolOnly                   // the same; no unit has the address
)

// Entry says what else the debug information has of a function, besides its name and its lines.
type Entry uint8

const (
	NoEntry    Entry = iota // nothing
	Undeclared              // that there is one
	Declared                // and where it is declared
)

// Addr is one query.
type Addr struct {
	Module Module
	// Offset is an address of the ELF file's own address space (comparable with p_vaddr), not a file offset. A return
	// address has been moved into its call already.
	Offset uint64
	Kind   Kind
	// Space says what Offset counts from.
	Space Space
	// Symbol, if not "", is the name of the function that Offset counts from, and Size its size, 0 if that is not
	// known: kernels print frames as `name+0x1/0x2`, and glibc as `name+0x1`.
	Symbol string
	Size   uint64
}

// Frame is one function of an answer, or the variable of a data answer.
type Frame struct {
	// Func is the demangled name, "" if it is not known, without symbol versions ("@GLIBC_2.34").
	Func string
	// Linkage is the name as the file has it, with its version.
	Linkage string
	// Folded are the names of all functions that a linker has folded into this one, separated by line breaks: Func is one of them, and the
	// lines and inlined functions are those of one. It is "" if there are no others. See Unfold.
	Folded string
	// File is the source path: compilation directory, include directory and name joined, not normalised; "" unknown.
	File string
	// MD5 is the sum of File's content when it was compiled, 16 bytes; "" if the debug information has none.
	MD5 string
	// CompDir is how many bytes at File's start are the compilation directory, where that was put before a relative name.
	CompDir int
	// Line and Column count from 1; 0 is unknown.
	Line, Column int
	// Approx is set if the code at the address has line 0 and Line is that of the nearest row before it.
	Approx bool
	// LineNow is set if Line is that of the file as it is now, and nothing shows that the file is not newer than the log.
	LineNow bool
	// Unverified is set if the log contradicts the file, or nothing proves it, and the user insists on its names.
	Unverified bool
	// Foreign is set if the source is not the program's own by the word of a map: a dependency, or what a bundler has added.
	Foreign bool
	// Entry is set for functions without a line, in answers in the style of llvm.
	Entry Entry
	// Origin says where Func is from.
	Origin Origin
	// Offset is the distance of the address from the start of the variable or Named function, and Size the size of that
	// function, or of the variable of a Global query, 0 if the file does not say; only in answers to such queries.
	Offset, Size uint64
}

// Marks of lines, which follow them in texts.
const (
	ApproxMark  = " (approximate)"
	LineNowMark = " (line of the file as it is now)"
	// UnverifiedMark follows the marks of lines, or names.
	UnverifiedMark = " (unverified)"
)

// Mark returns what a text says of the frame's line, "" for nothing.
func (f *Frame) Mark() string {
	mark := ""
	if f.Approx {
		mark = ApproxMark
	}
	if f.LineNow && f.Line > 0 {
		mark += LineNowMark
	}
	if f.Unverified {
		mark += UnverifiedMark
	}
	return mark
}

// CutMark cuts the marks of a line off the end of a text, and sets them in the frame.
func (f *Frame) CutMark(text []byte) []byte {
	text, f.Unverified = bytes.CutSuffix(text, []byte(UnverifiedMark))
	text, f.LineNow = bytes.CutSuffix(text, []byte(LineNowMark))
	text, f.Approx = bytes.CutSuffix(text, []byte(ApproxMark))
	return text
}

// Answer is what a Source knows of one address.
type Answer struct {
	// Frames is the chain of functions at the address: the innermost inlined one first, the physical one last. It is
	// empty if no name is known; Files then says why, or, if both files are good, no symbol covers the address.
	Frames []Frame
	// Files are the used files and the result of the search for them; nil if a source does not look for files.
	// It is shared between answers and must not be changed.
	Files *Files
	// Named, if not nil, returns the name of the function of the last frame for the one that a log has for it: what minified code calls it. It
	// returns that one if no other is known. The frame has none then.
	Named func(logged string) string
	// Partial is set if the debug information refers to a missing file: when that is found, the answer
	// may have more.
	Partial bool
	// Made is the time of Files.Made when the answer was found, for an answer that was kept, whose Files may have changed since; the
	// zero Time if it is not known.
	Made time.Time
	// Call is the answer to a query of kind CallSite. It is nil if there is no code of a machine whose calls are known.
	Call *Call
	// Details are what an answer to a query of kind Detailed has of each of Frames. They may be missing.
	Details []Detail
	// Locals is the answer to a query of kind Locals.
	Locals []Local
}

// Full reports whether another search, or the end of a download, would not make the answer better.
func (a *Answer) Full() bool { return !a.Partial && (a.Files == nil || a.Files.Retry == nil) }

// Detail is what the debug information has of a function of an answer besides its Frame.
type Detail struct {
	// Linkage is the name of the function in the debug information; "" unknown.
	Linkage string
	// File and Line are where the function is declared; "" and 0 are unknown. CompDir is as in Frame.
	File    string
	CompDir int
	Line    int
	// Start is where the function begins if Started is set.
	Start   uint64
	Started bool
	// Discriminator distinguishes blocks of code with the same line (DWARF 5 §6.2.2); 0 if there is none.
	Discriminator uint32
}

// Local is a variable or a parameter of a function.
type Local struct {
	// Func is the function's DW_AT_name, and Name the variable's; "" unknown.
	Func, Name string
	// File and Line are where the variable is declared; "" and 0 unknown.
	File string
	Line int
	// Offset counts from the frame base, Size is in bytes, and Tag is the offset of its tag in the frame's (DW_AT_LLVM_tag_offset).
	// Each is unknown unless the bit of that name is set in Known.
	Offset    int64
	Size, Tag uint64
	Known     LocalFields
}

// LocalFields says which fields of a Local are known.
type LocalFields uint8

// The bits of LocalFields.
const (
	LocalOffset LocalFields = 1 << iota
	LocalSize
	LocalTag
)

// Call says what the machine code shows of a place that may be in a stack: the call that ends there, and the function around it.
type Call struct {
	// Addr is the address, as one of the file's own address space.
	Addr uint64
	// Text is set if the address lies in the file's code.
	Text bool
	// Ends is set if a call ends at the address, or so little after it that the emitter may have moved it into the call.
	Ends bool
	// Trampoline is set if the address is that of a signal trampoline.
	Trampoline bool
	// Start is where the function of the address begins, in the file's own address space. It is 0 if that is not known.
	Start uint64
	// Targets are what that call may be of, as far as it is direct: more than one where it can be read in several ways.
	Targets []Target
	// Jumps are the functions that the code of the function jumps to. They are listed only if the address is that of its beginning. Sealed is
	// set if they are all: control leaves the function to no other place, but by calls.
	Jumps  []Target
	Sealed bool
	// Framed is set if the address is behind the beginning of a function that sets its frame pointer up there.
	Framed bool
}

// Target is what a call or a jump leads to.
type Target struct {
	// Addr is the address in the file, or 0 if it leads out of the file.
	Addr uint64
	// Symbol is the function that the dynamic linker finds for it, or "" if it leads to Addr.
	Symbol string
}

// Source answers queries. After a failure, the Answer has no Frames. It may be used by several
// goroutines at once.
type Source interface {
	Frames(ctx context.Context, q Addr) Answer
}

// Finder finds the files of a module. It does not change the result later. It may be used by several goroutines at once.
type Finder interface {
	Find(ctx context.Context, m Module) *Files
}

// Files are the files with a module's code and debug information, and the result of the search for them.
type Files struct {
	// Elf is the path of the runtime object, or the last path that was tried; "" if none was tried.
	Elf string
	// Debug is the path of a separate debug file; "" if there is none.
	Debug string
	// ElfRange and DebugRange are the parts of these files to be read, if they are archives.
	ElfRange, DebugRange Range
	// ElfStatus and DebugStatus are the codes for elf_list.tsv.
	ElfStatus, DebugStatus Status
	// Note says what is wrong, "" for nothing.
	Note string
	// Detail is a longer Note: which file, and what differs; "" if Note is enough.
	Detail string
	// Unverified is set if the files were found by path or name alone: the log has no build ID, or that of the files
	// cannot be compared with it.
	Unverified bool
	// Assumed is set if, moreover, the user has not pointed at them: they are this machine's own, at the path that the log has. The
	// log may be of another machine.
	Assumed bool
	// ByPath is set if one of them was found at the path that the log has, and not by its build ID in a tree that was named or is the
	// system's. A file there may have any build ID: what it answers must not be kept for other paths.
	ByPath bool
	// Tried lists the searched places in order, for messages, and Lacked what each lacked, as far as it has entries:
	// "" if the place was useful, or if Tried has the reason already.
	Tried, Lacked []string
	// Symbols are the paths of Breakpad and GSYM files of the module's build, if there is no debug information.
	Symbols []string
	// Retry, if not nil, reports whether another search may find more by now, since a download has ended or a server can be asked
	// again. It is cheap and may be called by several goroutines at once.
	Retry func() bool `json:"-"`
	// Came reports whether a file that was still being downloaded has come by now; nil if none was.
	Came func() bool `json:"-"`
	// Awaiting counts the frames that have no name, or no source line, since that file had not come; nil if none was. What resolves frames
	// adds to it, for what says that the file has come.
	Awaiting *atomic.Int64 `json:"-"`
	// Unasked is set if a server that may have more could not be asked.
	Unasked bool `json:"-"`
	// Watch reports whether Elf and Debug are still the files that were found; nil if no look is wanted.
	Watch *Watch `json:"-"`
	// Text, if not nil, returns the text of a source by its path in frames, where the files themselves have it, such as source maps. No other
	// file is read for it then: such a path may be any.
	Text func(path string) (text string, ok bool) `json:"-"`
	// Changed is when Elf or Debug was last changed, by its content or by its place: a file that was copied, unpacked or renamed to its
	// path is not older than that. It is the zero Time if that is not known.
	Changed time.Time `json:"-"`
}

// NothingFound is the Note of a module without any file.
const NothingFound = "elf not found"

// Same reports whether another search has found the same, by whatever way.
func (f *Files) Same(other *Files) bool {
	one, two := *f, *other
	for _, files := range []*Files{&one, &two} {
		files.Tried, files.Lacked, files.Retry, files.Came, files.Awaiting, files.Watch, files.Text, files.Changed = nil, nil, nil, nil, nil, nil, nil, time.Time{}
		files.Unasked = false
	}
	return reflect.DeepEqual(&one, &two)
}

// CameLate returns the message that the symbols for something came after n frames that lack them, 0 if it is not known how many.
func CameLate(what string, n int64) string {
	frames := "its frames"
	switch {
	case n == 1:
		frames = "the frame"
	case n > 1:
		frames = fmt.Sprintf("the %d frames", n)
	}
	return fmt.Sprintf("symbols for %s came: run again for %s above", what, frames)
}

// Usable reports whether any of the files can answer.
func (f *Files) Usable() bool {
	return f.ElfStatus.usable() && f.Elf != "" || f.DebugStatus.usable() && f.Debug != ""
}

// Made returns when the files were last changed, the later time of two usable files, the zero Time if there is none.
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

// Reason returns the status that best explains why a module's frames have no name: the status of an unusable debug file says more
// than that the runtime object is missing. If a debug file is good, the address has no name.
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

// Status is the result of the search for a module's file. The codes but for the last one are those of QSS's reports.
type Status uint8

const (
	OK                    Status = iota // readable, with everything that is needed
	NotFound                            // no such file
	NoReadPermission                    // exists, but may not be read
	NotELF                              // wrong magic
	Corrupted                           // the structure is damaged
	Incomplete                          // readable, but without debug sections
	UnsupportedCompressed               // unsupported compression
	MismatchBuildID                     // another build ID
	ReadError                           // an I/O error, a directory, a device
	UnknownError                        // anything else
	NotVerified                         // found by its path alone, and nothing shows that it is the file that ran
)

var statusCodes = [...]string{
	OK: "OK", NotFound: "NOT_FOUND", NoReadPermission: "NO_READ_PERMISSION", NotELF: "NOT_ELF", Corrupted: "CORRUPTED",
	Incomplete: "INCOMPLETE", UnsupportedCompressed: "UNSUPPORTED_COMPRESSED", MismatchBuildID: "MISMATCH_BUILD_ID",
	ReadError: "READ_ERROR", UnknownError: "UNKNOWN_ERROR",
	NotVerified: "NOT_VERIFIED",
}

// String returns the code as in the reports.
func (s Status) String() string {
	if int(s) < len(statusCodes) {
		return statusCodes[s]
	}
	return statusCodes[UnknownError]
}

// usable reports whether a file of this status may name a function: one without debug sections still has symbols.
func (s Status) usable() bool { return s == OK || s == Incomplete }

// Space says what Addr.Offset counts from.
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
	// Fixed is an address of the process in a program that is loaded where it is linked. It is none in other files.
	Fixed
	// InFileOrLinked is InFile or Linked, which the log does not say. It is that of frames only: a source is asked for one of the two.
	InFileOrLinked
	// InFileOrFixed is InFile or Fixed in the same way.
	InFileOrFixed
	// InScript is a line and a column of generated JavaScript, both counted from 0: the line in the upper 32 bits.
	InScript
)

// Probe is what the machine code around an address shows. The zero value means that there is no code.
type Probe struct {
	// Known is set if there is code, of a machine whose calls are known.
	Known bool
	// Linked is the address as one of the ELF file's own address space.
	Linked uint64
	// Returns is set if a call instruction ends at the address: it is a return address.
	Returns bool
	// Calls is set if the address is in a call instruction, where a return address is after it was moved back
	// into its call: at the start if all instructions have the same width, otherwise before the end.
	Calls bool
	// Trampoline is set if the address is that of a signal trampoline: the frame after it was interrupted.
	Trampoline bool
	// CallDistance is the distance, in bytes, from a return address back to a byte of the call: to its first byte if all calls have
	// the same length.
	CallDistance uint64
	// Thumb is set where the lowest bit of the address says that it is one of Thumb code: the address less 1 is the same.
	Thumb bool
}

// Prober looks at the machine code of a module.
type Prober interface {
	Probe(ctx context.Context, q Addr) Probe
}

// Expected is a query that will be asked.
type Expected struct {
	Addr
	// Back, if not nil, returns how far before Offset the query will be, given what the machine code around Offset shows.
	Back func(Probe) uint64
}

// At returns the query as it will be asked after a probe that showed p.
func (e *Expected) At(p Probe) Addr {
	q := e.Addr
	if e.Back != nil {
		q.Offset -= e.Back(p)
	}
	return q
}

// Prefetcher is a Source that answers many queries at once faster than one by one. Prefetch announces queries. It may return
// before the answers are known; Frames then waits for them. It reports whether that helps: local files answer one by one as fast.
type Prefetcher interface {
	Prefetch(ctx context.Context, qs []Expected) (helps bool)
}

// PrefetcherOf returns the Prefetcher of s, or nil. A Source that wraps another one may have a method Prefetcher that returns the
// Prefetcher of that one.
func PrefetcherOf(s Source) Prefetcher {
	switch s := s.(type) {
	case interface{ Prefetcher() Prefetcher }:
		return s.Prefetcher()
	case Prefetcher:
		return s
	}
	return nil
}

// Range is a part of a file: an ELF file that is stored in an archive without compression. The zero Range is the whole file.
type Range struct {
	// Offset and Size count bytes.
	Offset, Size int64
	// Member is its name in the archive, for messages.
	Member string
}

// Whole reports whether it is all of the file.
func (r Range) Whole() bool { return r.Offset == 0 && r.Size == 0 }

// Of returns the name of the part of the file at path, as in logs: base.apk!lib/arm64-v8a/libfoo.so.
func (r Range) Of(path string) string {
	if r.Member == "" {
		return path
	}
	return path + "!" + r.Member
}

// OptionError says which field of a package's Options is wrong. The caller replaces the field's name with that of a flag.
type OptionError struct {
	// Option is the package and the field, such as "locate.Symbols".
	Option string
	// Value is the value of the field; "" if that does not help.
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

// Unwrap returns the error about the field.
func (e *OptionError) Unwrap() error { return e.Err }

// AvoidableError is an error, or a warning, that another value of an option would avoid. The caller adds advice about the
// flag.
type AvoidableError struct {
	// Option is the package and the field, such as "cache.Dir".
	Option string
	Err    error
}

func (e *AvoidableError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *AvoidableError) Unwrap() error { return e.Err }

// Watch reports whether files have changed since they were found. A nil Watch never reports a change. It may be used
// by several goroutines at once.
type Watch struct {
	look    func() bool
	changed atomic.Bool
}

// NewWatch returns a Watch that calls look, which reports whether a file has changed.
func NewWatch(look func() bool) *Watch { return &Watch{look: look} }

// Look checks the files, which takes a few microseconds, and reports whether any has changed.
func (w *Watch) Look() bool {
	if w == nil {
		return false
	}
	if !w.changed.Load() && w.look() {
		w.changed.Store(true)
	}
	return w.changed.Load()
}

// Changed reports whether any Look has seen a change.
func (w *Watch) Changed() bool { return w != nil && w.changed.Load() }

// Place is a line of a source file, as the debug information of a module names it.
type Place struct {
	// Module is the binary that was compiled from it, and Files are its files, nil if they are not known; Made is then
	// Answer.Made.
	Module Module
	Files  *Files
	Made   time.Time
	// Path is the file as in the debug information, Local the same on this machine.
	Path, Local string
	// MD5 is Frame.MD5.
	MD5 string
	// Line counts from 1.
	Line int
}

// Excerpt is the text around a Place.
type Excerpt struct {
	// First is the number of the first line.
	First int
	// Lines are the lines without their ends, which may have any length and any bytes; none if no file is
	// known to be the right one.
	Lines []string
	// Note says why the lines may be wrong, or why there are none; "" for nothing.
	Note string
	// Absent is set if there is no file.
	Absent bool
	// Retry, if not nil, reports whether another query may have a better answer by now. It is cheap.
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

// Prefetcher returns the Prefetcher of the wrapped source.
func (m mangled) Prefetcher() Prefetcher { return PrefetcherOf(m.behind) }

// Frames answers one query.
func (m mangled) Frames(ctx context.Context, q Addr) Answer {
	a := m.behind.Frames(ctx, q)
	if len(a.Frames) == 0 {
		return a
	}
	frames := make([]Frame, len(a.Frames)) // those of the answer are shared
	copy(frames, a.Frames)
	for i := range frames {
		if name := frames[i].Linkage; name != "" {
			frames[i].Func = bin.Unversioned(name)
		}
	}
	a.Frames = frames
	return a
}
