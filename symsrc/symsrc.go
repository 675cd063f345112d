// Package symsrc says what a symbol answer is: the question (Addr), the answer (Answer, Frame), why there is none
// (Status, Files), and who answers (Source). It also holds what every source needs: demangling.
package symsrc

import (
	"context"
	"os"
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
