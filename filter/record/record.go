// Package record writes what a line of a log holds as one JSON object a line.
//
// The text of every line is there, with its end, so that the log can be put together again byte for byte. JSON knows no
// bytes that are not UTF-8: where a string has any, each of them is U+FFFD, and a field of the same name with `_base64`
// behind it has the bytes themselves (RFC 4648 §4). Numbers that may need more than 53 bits are strings, `0x1150`.
package record

import "qss-filter/symsrc"

// Line is what one line of the log holds, or a part of it.
type Line struct {
	// Number counts the lines from 1.
	Number int
	// Part counts the parts of a line that leaves in several, from 1; 0 for a line in one piece. More is set for all of
	// them but the last.
	Part int
	More bool
	// Text is the line without its end; End is "\n", "\r\n", or nothing.
	Text, End []byte
	// Process is the key of the process that wrote the line, or that its words are about; "" where nothing tells processes
	// apart.
	Process string
	Prefix  Prefix
	Context []Context
	Frames  []Frame
	// Repeats, where its Stack is set, makes the object stand for a whole stack that was there before.
	Repeats Repeats
}

// Repeats names the stack that a later one repeats: its number, the line of its first frame, and how many lines the later
// one takes.
type Repeats struct{ Stack, Line, Lines int }

// Holds reports whether the line says anything.
func (l *Line) Holds() bool { return len(l.Frames)+len(l.Context) > 0 || l.Repeats.Stack > 0 }

// Prefix is what loggers wrote in front of the line; empty fields are not known.
type Prefix struct {
	// Text is the prefix itself, and Suffix what stands behind the program's own words.
	Text, Suffix []byte
	// Logger names the innermost one, such as `logcat threadtime`.
	Logger              string
	PID, TID, Host, Tag []byte
}

// Context is something that the line says of the process's modules and mappings, or of names.
type Context struct {
	Type Type
	// ID is the module's number; of modules and mappings of markup.
	ID uint64
	// Name and BuildID are those of the module; Name may also be a dumpfile's, or the readable form of a symbol.
	Name    string
	BuildID symsrc.BuildID
	// Start and Last are the first and the last address; Last is below Start for an empty range. At is where Start lies in
	// the module, counted as Space says.
	Start, Last, At uint64
	Space           symsrc.Space
	Mode            string
	// Word is a dumpfile's type, a symbol's mangled name, or what is wrong with a malformed element.
	Word string
	// Column is where a malformed element's fault lies, in bytes from 1.
	Column int
}

// Type tells what a Context is.
type Type uint8

// The things that a line may say beside frames.
const (
	Reset     Type = iota // the process's modules and mappings are forgotten
	Module                // a module is defined
	Mapping               // a module is mapped
	BuildID               // the build ID of a file is stated
	Dumpfile              // a file is announced
	Symbol                // a mangled name
	Malformed             // an element that cannot be read
)

// Kind tells what a Frame is.
type Kind uint8

// The kinds of frames.
const (
	Stack    Kind = iota // a frame of a stack
	Sentence             // a place of the code that is named in passing
	Variable             // an address of data
	Register             // the value of a register
)

// Frame is one frame of the line.
type Frame struct {
	Kind Kind
	// Format is the name of the frame's format: markup, or one of the families of package frame.
	Format   string
	Number   uint64
	Numbered bool
	// Process is the key of the frame's process; it is written where it is not the line's.
	Process string
	// Text is the frame as it stands in the log; Address, Offset and Hint are parts of it: the digits as they are written,
	// and the function that the log names.
	Text, Address, Offset, Hint []byte
	// Register is the name of the register, of that kind only.
	Register string
	// Module is what the log says of the binary.
	Module symsrc.Module
	// Located is set where the module is known. At is then the address that was asked for, counted as Space says, and Back
	// how many bytes before the logged one it is; Why says on what evidence.
	Located  bool
	At, Back uint64
	Space    symsrc.Space
	Why      string
	// Status is a word for the outcome, Reason the same in a sentence where there is no name, Detail more of it.
	Status, Reason, Detail string
	// Unverified is set where the file was taken by its path or name alone.
	Unverified bool
	// Functions is the answer, innermost first.
	Functions []symsrc.Frame
	// Files tells how the module's files were searched for; it is not written.
	Files *symsrc.Files
}
