// Package filter puts the stages of the pipeline together: lines of a log in, annotated lines out.
//
//	bytes ──▶ stream ──▶ lines ──▶ linecache: seen before? ──▶ the same bytes
//	                                  │ no
//	                                  ▼
//	     parse     who wrote the line, its markup, its frames   (prefix, frame, mappings, markup, sgr)
//	                                  ▼
//	     resolve   which module, which address, which answer    (ctxstate, symsrc)
//	                                  ▼
//	     print     text, or an object of JSON                   (print, print/jsonl)
//
// A stream.Stream searches a log for the literals without which a line can mean nothing (package match), and passes on only the lines that
// have one to Lines. A line that is not understood leaves byte for byte as it came. Package llvm is another such pipeline, which prints what
// llvm-symbolizer does.
//
//	line.go         a line from its bytes to its output: the picture above
//	items.go        what the frames and elements of a text are
//	java.go         what a frame or an exception of Java is
//	hexdict.go      a dump of registers over several lines
//	token.go        the functions of a sanitizer's DEDUP_TOKEN
//	liner.go        the filter as a stream.Liner
//	literals.go     what a line must hold to be looked at
//	known.go        lines that were seen before
//	knownhead.go    prefixes of loggers behind which frames were seen before
//	knownjava.go    frames of Java that were seen before
//	again.go        a line that repeats the last one
//	split.go        a Liner around the filter, which knows the parts of lines that a logger has split
//	twolines.go     frames whose module stands on the next line
//	excerpts.go     a Liner around the filter, in which places of scripts wait for the lines below them, which say the column
//	heldback.go     what the Liners that hold lines back have in common
//	lookahead.go    a Liner around the filter, in which frames wait for the mappings below them
//	traces.go       a Liner around the filter, in which exceptions of Java wait for their first frame, and traces for the map that they prove
//	tracesahead.go  which of the lines that mean nothing may name an exception, after all
//	goroutines.go   a Liner around the filter, in which Go's tracebacks are shortened at a terminal
//	proof.go        a Liner around the filter, in which frames wait for the end of their stack, which is to prove their file
//	contextdump.go  the context as JSON
//	guard.go        what a panic may cost: the one line
//	messages.go     warnings, each once
//	stats.go        counts
package filter

import (
	"io"

	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc"
	"qss-filter/symsrc/javamap"
	"qss-filter/symsrc/sourcemap"
)

// Options say what a Filter does. The zero value of all but Symbols is the default.
type Options struct {
	// Symbols answers for addresses.
	Symbols  symsrc.Source
	Style    print.Style
	Renumber print.Renumber
	Adjust   resolve.Adjust
	Context  print.Context
	// Palette colors what the filter writes; nil writes none.
	Palette *sgr.Palette
	// Screen writes frames for a reader at a terminal; nil for programs. It needs print.Annotate.
	Screen *print.Screen
	// Names says how functions and paths are written. Observe is told what the debug information has.
	Names print.Names
	// Sources returns the source code of frames, of which SourceLines are shown, with the frame's own in the middle; 0 shows none.
	Sources     print.Sources
	SourceLines int
	// Links are the hyperlinks of paths, written where Palette is.
	Links print.Links
	// Java are the maps that give names of Java and Kotlin back; nil for none.
	Java *javamap.Maps
	// Scripts are the maps of generated JavaScript; nil for none.
	Scripts *sourcemap.Maps
	// Board is the program of the board that the log is of, for frames that have only an address; nil for none.
	Board *symsrc.Board
	// Maps returns lists of mappings of the processes that write the log, in any form that is read in logs, for frames that have
	// only an absolute address; nil where they are not known. What such a list has at an address must be all that a frame
	// without a process may mean by it. It may be called by several filters at once.
	Maps func() [][]byte
	// Fixed, if not nil, returns such lists of programs and libraries at addresses where others may have code, too: the stacks must prove that they
	// are of these.
	Fixed func() [][]byte
	// Listing says how to name the mappings of a program that Maps leaves out, for the reasons of frames. It may be "".
	Listing string
	// Ran reports whether a program that writes the log was seen with the file at that path: it needs no proof then if the log has no build
	// IDs. It is nil if the filter has started none. It may be called by several filters at once.
	Ran func(path string) bool
	// Replaced reports whether a program that writes the log was seen with another file from that path: it names no frame then if the log has no
	// build IDs. It is nil, and called, as Ran is.
	Replaced func(path string) bool
	// Named returns the path of the only file that a program that writes the log was seen with, by its path or the name of the file, and its build
	// ID if it is not there any more. They are "" if there is none. It is nil, and called, as Ran is.
	Named func(name string) (path string, id symsrc.BuildID)
	// Insist has files name frames although the log contradicts them, or nothing proves them; the names are marked. Insisting says how a user
	// does that, for messages.
	Insist    bool
	Insisting string
	// Trust says how a user has the file of a module trusted, for the reasons of frames. It may be nil.
	Trust func(module string) string
	// By says what tells processes apart.
	By prefix.By
	// Dedupe puts one line in the place of a stack that was there before, which names the first one. A stack is then held
	// back until it ends or the input pauses.
	Dedupe bool
	// Lookahead lets the frames of a stream wait for the mappings of their process, which some crash reporters print below them.
	Lookahead Lookahead
	// StripSGR takes the log's own colors out. A line that is too long to be looked at keeps them.
	StripSGR bool
	// Explain adds the reason to a frame that could not be resolved.
	Explain bool
	// DumpContext is written the context as a line of JSON, before a reset clears it and at the end; nil writes none.
	DumpContext io.Writer
	// OnDumpfile is told of dumpfile elements; nil leaves it at showing them.
	OnDumpfile func(Dumpfile)
	// JSON asks for an object for each line in place of the line; nil for none. Style, Renumber, Context, Palette and Explain
	// mean nothing then.
	JSON *jsonl.Options
	// OnlyStacks leaves out lines of text without a frame. JSON has an option of its own.
	OnlyStacks bool
	// Observe is called for every frame; nil observes none.
	Observe func(*print.Observation)
	// Read is called with all lines of the log, those of a frame before Observe is called for it. first is the number of the
	// first of them. nil reads none.
	Read func(first int, lines []byte)
	// Below has Observe say what stands below a frame, with print.Append, in place of the filter.
	Below bool
	// Count has Tally and Summary count every frame, also one that means nothing to the output.
	Count bool
	// Narrow is stream.Options.Narrow.
	Narrow bool
	// Missing is told of modules whose unstripped files are missing, at the first frame of each, and of a few of them only; nil is
	// told of none.
	Missing func(m symsrc.Module)
	// Warn is told of malformed markup and the like, at most once per cause; nil drops it.
	Warn func(message string)
}

// Filter carries the state of one stream. It is for one goroutine.
type Filter struct {
	opt      Options
	parser   parse.Parser
	resolver *resolve.Resolver
	// out is text, or objects where lines leave as JSON.
	out  print.Printer
	text print.Text
	// renumbers is set if the numbers of frames may change.
	renumbers bool
	items     []print.Item   // of the text at hand
	only      *onlyStacks    // nil if all lines are written
	repeats   *print.Repeats // nil if repeated stacks are written out
	brief     *print.Brief   // nil unless a reader at a terminal sees stacks as they are read best
	objectsOf int            // the line whose objects of JSON were read last
	window    int            // how many more lines are looked at whatever they hold
	tracing   bool           // bpftrace has said that stacks may follow
	dump      dump
	asked     shownBy // of the last bt element
	// recalled is what is known of the frame that the segment at hand is, nil if it was read.
	recalled *shownTail
	liner    liner
	context  contextDump
	messages
	// unidentified is set once an element has defined a module without a build ID.
	unidentified bool
	// objects is nil if lines leave as text.
	objects *jsonl.Printer
	// line is the number of the line at hand, from 1.
	line int
	// missed are the modules of which Options.Missing was told.
	missed []*resolve.Module
	// weighed says with which maps of names of Java lines are read, by their numbers.
	weighed weighed
	// joints are the lines that are one part of several, by their numbers.
	joints joints
	// idle is set if nothing was found in the last line that was read, for itself. lasting is set if it has frames at most, none of them with a
	// name, and all of it is of one thread: by.
	idle, lasting bool
	by            *resolve.Thread
	// original is what the frame or the exception of Java at hand was.
	original original
	// Scratch memory, kept from line to line.
	stripped []byte
	seen     print.Observation
}

// New makes a filter. Options.Symbols must be set.
func New(o Options) *Filter {
	var r *jsonl.Printer
	if o.JSON != nil {
		r = jsonl.New(*o.JSON, o.Names)
		// Nothing is folded or put off, and a frame whose mapping is not known is a frame.
		o.Style, o.Context, o.Palette, o.Explain, o.SourceLines, o.Screen = print.Annotate, print.ContextKeep, nil, true, 0, nil
	}
	if o.OnlyStacks && r == nil {
		o.Context = print.ContextDrop
	}
	text := print.Options{Style: o.Style, Renumber: o.Renumber, Context: o.Context, Palette: o.Palette,
		Names: o.Names, Sources: o.Sources, SourceLines: o.SourceLines, Links: o.Links, Explain: o.Explain, Screen: o.Screen, Observed: o.Below}
	f := &Filter{opt: o, text: print.NewText(text), objects: r, messages: messages{tell: o.Warn, insisting: o.Insisting, said: map[string]bool{}, recorded: r != nil}}
	f.resolver = resolve.New(resolve.Options{Symbols: o.Symbols, Adjust: o.Adjust, Maps: o.Maps, Fixed: o.Fixed, Listing: o.Listing, By: o.By, Ran: o.Ran, Replaced: o.Replaced, Named: o.Named, Insist: o.Insist, Trust: o.Trust, Java: o.Java, Board: o.Board, Scripts: o.Scripts,
		Refuted: f.refuted, Broken: func(fault string) { f.broken(f.line, fault) }})
	f.parser.Ahead = f.resolver.Prefetch.Lines
	f.dump = dump{resolver: f.resolver, colored: o.Palette != nil}
	f.context = contextDump{out: o.DumpContext, announced: o.OnDumpfile, resolver: f.resolver, warn: f.warn}
	if f.out, f.renumbers = &f.text, r == nil; r != nil {
		f.out = r
	}
	if o.OnlyStacks && r == nil {
		f.only = &onlyStacks{Printer: f.out}
		f.out = f.only
	}
	if o.Dedupe {
		f.repeats = print.NewRepeats(f.out, text, r != nil)
		f.out = f.repeats
	} else if o.Screen != nil && o.Style == print.Annotate {
		f.brief = print.NewBrief(f.out, &f.text, text)
		f.out, f.opt.Read = f.brief, readers(f.brief.Heads.Read, o.Read)
	}
	f.liner.init(f)
	return f
}

// readers joins two readers of the lines of a log, the second of which may be nil.
func readers(one, two func(first int, lines []byte)) func(first int, lines []byte) {
	if two == nil {
		return one
	}
	return func(first int, lines []byte) {
		one(first, lines)
		two(first, lines)
	}
}

// absolutes reports whether frames with nothing but an absolute address mean anything: where every frame counts, or as for shown.
func (f *Filter) absolutes() bool { return f.observed() || f.shown() }

// shown reports whether such frames may change the output: where mappings are known, where a reason is wanted, and with bpftrace's frames, which
// have the form of numbers.
func (f *Filter) shown() bool {
	return f.resolver.Mapped || f.tracing || f.opt.Lookahead != (Lookahead{}) || f.opt.Maps != nil || f.opt.Board != nil && !f.opt.Board.Hosted || f.opt.Explain
}

// numbers reports whether frames with nothing but a number mean anything: the number changes, or every frame counts.
func (f *Filter) numbers() bool { return f.resolver.Processes.Shifted > 0 || f.observed() }
