// Package record writes the contents of each line of a log as a JSON object on a line.
//
// The object has the text of the line and its end, so that the log can be restored byte for byte. JSON has only UTF-8. If a string
// has other bytes, each of them is U+FFFD, and a field of the same name with `_base64` appended has the bytes themselves
// (RFC 4648 §4). Numbers that may need more than 53 bits are strings, as `0x1150`.
//
//	record.go  the contents of a line, and the JSON Schema of the objects
//	append.go  the objects of lines, of many lines that have only text, and their fields
//	escape.go  strings; plain_amd64.go and plain_other.go, the search for what must be escaped
package record

import (
	_ "embed"

	"qss-filter/symsrc"
)

// Schema is the JSON Schema of the objects, draft 2020-12.
//
//go:embed schema.json
var Schema string

// Line is the contents of one line of the log, or of a part of it.
type Line struct {
	// Number counts the lines of an input from 1. Input names the input, "" if there is only one.
	Number int
	Input  string
	// Signature is that of the stack that begins on the line, or that is repeated.
	Signature string
	// Part counts the parts of a line that is written in several, from 1. It is 0 for a line in one piece. More is set for all
	// parts but the last.
	Part int
	More bool
	// Text is the line without its end. End is "\n", "\r\n", or empty.
	Text, End []byte
	// Process is the key of the process that wrote the line, or that the line is about. It is "" if nothing tells processes
	// apart.
	Process string
	Prefix  Prefix
	Context []Context
	Frames  []Frame
	// Repeats, if its Stack is set, makes the object stand for a whole stack that was there before.
	Repeats Repeats
}

// Repeats is a reference to the stack that a later one repeats: its number, the line of its first frame, and how many lines the
// later one has. Input is that of the first frame, "" if it is the same.
type Repeats struct {
	Stack, Line, Lines int
	Input              string
}

// Holds reports whether the line has anything but text.
func (l *Line) Holds() bool { return len(l.Frames)+len(l.Context) > 0 || l.Repeats.Stack > 0 }

// Prefix is what loggers wrote before the line. Empty fields are not known.
type Prefix struct {
	// Text is the prefix itself, and Suffix what stands after the program's own words.
	Text, Suffix []byte
	// Logger is the name of the innermost logger, such as `logcat threadtime`.
	Logger              string
	PID, TID, Host, Tag []byte
}

// Context is something that the line says of the process's modules and mappings, or of names.
type Context struct {
	Type Type
	// ID is the module's number in markup.
	ID uint64
	// Name and BuildID are those of the module. Name may also be that of a dumpfile, or the readable form of a symbol.
	Name    string
	BuildID symsrc.BuildID
	// Start and Last are the first and the last address. Last is below Start for an empty range. At is the place of Start in
	// the module, counted from Space.
	Start, Last, At uint64
	Space           symsrc.Space
	Mode            string
	// Word is a dumpfile's type, a symbol's mangled name, or what is wrong with a malformed element.
	Word string
	// Column is the place of the error in a malformed element, in bytes from 1.
	Column int
}

// Type is the type of a Context.
type Type uint8

// The types of Context.
const (
	Reset     Type = iota // the process's modules and mappings are forgotten
	Module                // a module is defined
	Mapping               // a module is mapped
	BuildID               // the build ID of a file is stated
	Dumpfile              // a file is announced
	Symbol                // a mangled name
	Malformed             // an element that cannot be read
)

// Kind is the kind of a Frame.
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
	// Process is the key of the frame's process. It is written if it is not the line's.
	Process string
	// Text is the frame as it stands in the log. Address, Offset and Hint are parts of it: the digits as they are written, and
	// the function that the log names.
	Text, Address, Offset, Hint []byte
	// Register is the name of the register if Kind is Register.
	Register string
	// Module is what the log says of the binary.
	Module symsrc.Module
	// Located is set if the module is known. At is then the address that was asked for, counted from Space. Back is how many
	// bytes before the logged address it is, and Why a word for the evidence.
	Located  bool
	At, Back uint64
	Space    symsrc.Space
	Why      string
	// Status is a word for the outcome. If there is no name, Reason is the outcome in a sentence, and Detail more of it.
	Status, Reason, Detail string
	// Unverified is set if the file was found by its path or name alone.
	Unverified bool
	// Functions is the answer, innermost first.
	Functions []symsrc.Frame
	// Java is set for a frame of Java, which has no address: Functions are methods with their classes. Candidates are the possible
	// originals if there are several, and Dropped is set if the compiler has made the frame, which stands for no line of source.
	Java, Dropped bool
	Candidates    [][]symsrc.Frame
	// Files is how the search for the module's files ended. It is not written.
	Files *symsrc.Files
}
