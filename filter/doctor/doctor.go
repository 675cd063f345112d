// Package doctor says why frames of a log have no names, and what to do about it. What it advises are command lines of this
// program, which is why it, alone of the packages below command, names flags.
//
//	survey.go   what the log holds, gathered line by line
//	near.go     lines that look nearly like frames, and why they are none
//	modules.go  how each module was searched for
//	advice.go   what to try next
//	report.go   all that in words
package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"qss-filter/filter"
	"qss-filter/filter/print/jsonl"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// Options say what is looked at, and with what.
type Options struct {
	// Log is the path of the log; "-" is standard input.
	Log string
	// Flags are those that the log is examined with, each one --NAME or --NAME=VALUE, and FileFlags those of them that say where
	// symbols are. They belong into commands that are advised.
	Flags, FileFlags []string
	// New makes the filter that reads it.
	New func(o jsonl.Options) (f *filter.Filter, end func(), err error)
	// Finder shows how modules are searched for.
	Finder symsrc.Finder
	// Theme colors the report; nil for none.
	Theme *sgr.Theme
	// Roots is set where --rootfs names the file system of the log's machine.
	Roots bool
	// Servers are the debuginfod servers that are asked; none where there are none.
	Servers []string
	// ServersOff is set where none may be asked.
	ServersOff bool
	// Cache returns what is wrong with the cache of answers, nil for nothing.
	Cache func() error
	// Owner returns the name of the distribution's package that a file of this machine is from, and the command that installs its
	// debug information; both are "" where that is not known. It may be nil.
	Owner func(path string) (name, install string)
}

// Run looks at the log and writes the report. healthy reports whether every frame of the log has a name, and there are frames. It
// fails where the log could not be read, or the report not be written.
func Run(ctx context.Context, o Options, out io.Writer) (healthy bool, err error) {
	in := os.Stdin
	if o.Log != "-" {
		if in, err = os.Open(o.Log); err != nil {
			return false, err
		}
		defer in.Close()
	}
	return o.examine(ctx, in, out)
}

// examine is Run for a log that is open.
func (o *Options) examine(ctx context.Context, in io.Reader, out io.Writer) (healthy bool, err error) {
	s := newSurvey()
	f, end, err := o.New(jsonl.Options{Each: s.line})
	if err != nil {
		return false, err
	}
	b := bufio.NewReaderSize(in, headLen)
	s.head, err = b.Peek(headLen)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		end()
		return false, err
	}
	s.head = append([]byte(nil), s.head...)
	err = f.Run(ctx, b, io.Discard)
	end()
	if err != nil {
		return false, fmt.Errorf("%s: %w", o.Log, err)
	}
	r := &report{Options: o, survey: s}
	for _, m := range s.ordered() {
		r.modules = append(r.modules, o.examined(ctx, m))
	}
	r.near = s.near.kinds()
	r.advise()
	r.write()
	if _, err := out.Write(r.text.Bytes()); err != nil {
		return false, err
	}
	return s.frames > 0 && s.named >= s.frames-s.done, nil
}

// headLen is how much of a log's start shows what it is.
const headLen = 4096
