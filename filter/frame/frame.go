// Package frame recognizes the stack frames of logs that are not symbolizer markup. It knows text only: where on the
// line a frame stands, what its parts are, and whether it has been symbolized already.
//
// Each format is a row of the table in table.go and has a file of its own. search.go looks for the frames of a line, text.go and gap.go
// hold what the readers of formats share. A reader gets the line without escape sequences, so that colors between the parts of a frame
// do not matter; the caller maps the spans back.
package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Span is a range of bytes of the line.
type Span = scan.Span

func span(start, end int) Span { return Span{Start: start, End: end} }

// Shape says how the answer is written into the line.
type Shape uint8

const (
	// Numbered is `#N addr … (elf+off)`, and every other frame that has its line for itself, with a number or without: the
	// answer goes to Gap, after " in "; inlined functions get lines of their own.
	Numbered Shape = iota
	// Pair is a bare `(elf+off)` in a sentence: the answer goes before it, on the same line.
	Pair
	// Fields is `name=value` text: the answer replaces the values at Func and Source.
	Fields
	// Java is `at CLASS.METHOD(FILE:LINE)`: what follows the word is replaced, and every function has a line of its own.
	Java
	// Thrown is the name of an exception, which is replaced.
	Thrown
	// Member is an object of JSON: the answer goes to Gap, as a member of its own.
	Member
	// NumberOnly is a numbered frame with nothing to look up; its number takes part in its stack if it counts.
	NumberOnly
)

// Base says what Frame.Offset counts from.
type Base uint8

const (
	// InModule counts from where Frame.Space says.
	InModule Base = iota
	// FromSymbol counts from the symbol named by Frame.Symbol.
	FromSymbol
	// Absolute is an address of the process: the frame names no module, or one that is not to be trusted.
	Absolute
	// InMapping is an address of a profile, in the mapping with the number Frame.ImageIndex in it, which says where that is in its file.
	InMapping
)

// Convention says what an emitter prints for the frames of a stack.
type Convention uint8

const (
	// Unsaid: the format does not say.
	Unsaid Convention = iota
	// Moved addresses lie in the call already; that of a fault is exact. Nothing is to be subtracted.
	Moved
	// Raw addresses are return addresses, in the first frame too; only what a signal interrupted is exact.
	Raw
	// RawButFirst addresses are return addresses but for the first frame of a stack, which is exact. Where frames have no
	// numbers, Frame.Run says which that is.
	RawButFirst
	// UnsaidButFirst is Unsaid but for the first frame of a stack, which is exact.
	UnsaidButFirst
	// Exact is the address of the instruction itself.
	Exact
	// OneLess addresses are one less than what Raw formats print, on any machine: that of a fault lies before its instruction.
	OneLess
	// Either is a return address or what a signal interrupted, maybe one less, and nothing says which.
	Either
	// Sanitizers print Moved addresses in this format, others print what they like: the headline of the stack says which it is,
	// and without one the format does not say.
	Sanitizers
	// Strace prints Raw addresses that count in the file, or Moved addresses that count in the module: the machine code says which. The
	// first one of a stack is exact.
	Strace
	// Traced addresses are those of a board's backtrace: on Xtensa 3 less than return addresses, on RISC-V return addresses, on AArch64 those
	// of calls (_bt_kaddr in RT-Thread's libcpu/aarch64/common/backtrace.c).
	Traced
	// TracedFirst is the first one of these, which may be that of a fault, or on Xtensa 3 less.
	TracedFirst
	// Returning is a return address, or anything: only the machine code shows that.
	Returning
	// Branching is Returning, and on ARM, without the bit of Thumb code, it may be the address of the call or of a fault.
	Branching
	// Listed addresses are OneLess after Seastar's own words. Otherwise the format does not say.
	Listed
	// Darwin prints Raw addresses, but for the first one of a thread that crashed, which is exact.
	Darwin
)

// Run says how the first frame of a stack is told in formats without numbers, and in what order the numbers of others are.
type Run uint8

const (
	// Near frames are those of one stack if a few lines at most are between them.
	Near Run = iota
	// Adjacent frames are those of one stack if no line is between them.
	Adjacent
	// Announced stacks have a headline. Any number of lines may be between their frames.
	Announced
	// EitherWay stacks begin with the innermost or with the outermost frame. Their numbers say which.
	EitherWay
)

// Machines are the machines of boards, as a set.
type Machines uint8

// The machines of the boards that print frames of formats here.
const (
	Xtensa Machines = 1 << iota
	RISCV
	ARM
	AArch64
)

// OfJava reports whether it is a frame of Java, or the name of an exception.
func (f *Frame) OfJava() bool { return f.Shape == Java || f.Shape == Thrown }

// Frame is one recognized frame.
type Frame struct {
	// Family names the format, one of the names of Formats.
	Family string
	Shape  Shape
	// Whole runs from the frame's number (or its parenthesis) to its last parenthesis.
	Whole Span
	// Num holds the digits of the frame's number; Number is their value. Both are empty in formats without numbers.
	Num    Span
	Number uint64
	// Counts is set where inlined functions take numbers of their own and the frames after them count on, as in the
	// sanitizers' own reports.
	Counts bool
	// Lists is set where the runtime, if it has debug information, lists all functions at an address in frames of their own.
	Lists bool
	// Addr is the absolute address as written, its digits without 0x in formats that write none.
	Addr Span
	// Gap is the place of the answer: empty, or the function the log names, from the space before it on, which the answer
	// replaces. In the first format it stands between the address and the spaces before the module's parenthesis.
	Gap Span
	// Hint is the function that the log names, with the offset in it, where that does not stand in Gap.
	Hint Span
	// Module, Offset and BuildID as written; symsrc.ReadBuildID reads that. What an emitter is known to take from every address is added to
	// Offset. Module is empty where the log names it elsewhere (Dart) or not at all; it may be a bare file name. A command for addr2line names it
	// once, before its addresses.
	Module  Span
	Off     Span
	Offset  uint64
	BuildID Span
	// Arch is set where the module is a Mach-O file of Darwin: its architecture, or symsrc.AnyArch. It is "" where a build ID says
	// which file that is.
	Arch string
	// Base says what Offset counts from, and Space from where in a module. For another Base it is Linked, or Fixed where an Absolute address
	// is in Module, whose own one it is if no mappings are known and the module can be nowhere else.
	Base  Base
	Space symsrc.Space
	// Member is the name of the ELF file inside Module where that is an archive, as in base.apk!libfoo.so, and InArchive its
	// offset there where the log has one. Member may be empty: then the offset tells which it is.
	Member    Span
	InArchive uint64
	// Symbol is the name of the function that Offset counts from, and Size that function's size, 0 where the log has none.
	// Where Addr is there too and the process's mappings are known, the address is the better query.
	Symbol Span
	Size   uint64
	// Func and Source are the values to replace; shape Fields only.
	Func, Source Span
	// ImageBase is where the module is mapped, of which the log says elsewhere what is mapped there; 0 in other formats.
	ImageBase uint64
	// Beside is set where the emitter names modules only at frames whose function it does not know: these, beside it, say where a module
	// begins. Hint has the function that must be there.
	Beside bool
	// ImageIndex is the number of the image that the module is, counted from 1, of a list elsewhere in the log; 0 in other formats.
	ImageIndex uint64
	// Hosts is set where the module may stand on a line of its own.
	Hosts bool
	// Above is set where the build ID stands on a line above, and whether the frame is the first one of its stack; see Part.
	Above bool
	// Part is set where the line has no more of the frame than that.
	Part ScriptPart
	// Later is set where the log states the build IDs of modules below their frames, or the sum of a board's program.
	Later bool
	// Machines, if not 0, are what the emitter runs on. It is the only program there, and has no mappings.
	Machines Machines
	// Kernel is the name of the file of the kernel, one of the BSDs, where that is the module and the log does not name it.
	Kernel string
	// Data is set where the address is that of a variable.
	Data bool
	// Headline is set for the address of a fault in the headline of the stack that is below it.
	Headline bool
	// Done is set where the frame names a source line already, or shows this filter's answer.
	Done bool
	// Convention is that of the format, and Run says what a stack is.
	Convention Convention
	Run        Run
}
