package importer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"qss-filter/symsrc"
)

// By tells what samples are grouped by.
type By uint8

const (
	// ByNothing leaves samples as the input has them.
	ByNothing By = iota
	ByFunction
	ByAddress
	ByLine
	ByModule
)

// Offsets tells what is printed of PerFlow's frames.
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
	// Symbols answers for addresses where functions are counted, and tells where modules lie that their maps do not place;
	// nil for none.
	Symbols symsrc.Source
	// Kind is "scaler", "perflow" or "chopstix"; "" decides by content.
	Kind    string
	By      By
	Offsets Offsets
	// Threads are those of a Scaler trace to show; none means all.
	Threads []uint64
	// MinDuration hides the calls of a Scaler trace that took less.
	MinDuration time.Duration
	// PID and Session, counted from 1, choose among the sessions of a ChopStiX database; 0 means all.
	PID     int64
	Session int
	// WriteCounts fills the annotation tables of a copy of a ChopStiX database, InPlace of the database itself.
	WriteCounts, InPlace bool
	// Pprof and Folded are files for the profile; "" for none.
	Pprof, Folded string
	// Warn is called with what an import says beside its lines and errors, one line each; nil for nothing.
	Warn func(message string)
	// Progress is called with how much of the input was read, of how much, in bytes or rows; nil for nothing. The last
	// call, when all is written but a table of what Options.By asks for, has both equal.
	Progress func(done, total int64)
}

// Register adds the flags that set o, but for --by, whose name the filter uses too: ByValue is that.
func (o *Options) Register(fs *flag.FlagSet) {
	fs.Func("from-kind", "`KIND` of input: scaler, perflow, chopstix; decided by content without it", func(s string) error {
		if _, ok := kinds[s]; !ok {
			return errors.New("want scaler, perflow, chopstix")
		}
		o.Kind = s
		return nil
	})
	fs.Var((*offsetsFlag)(&o.Offsets), "offsets",
		"PerFlow: print library + 0xoffset instead of names; --offsets=map-start counts from the mapping, as PerFlow does")
	fs.Func("from-threads", "Scaler: only the threads `ID,...`, hexadecimal as in the names of their files", o.setThreads)
	fs.DurationVar(&o.MinDuration, "min-duration", 0, "Scaler: hide calls that took less than `DURATION`")
	fs.Int64Var(&o.PID, "pid", 0, "ChopStiX: only the sessions of process `PID`")
	fs.IntVar(&o.Session, "session", 0, "ChopStiX: only session `N`, counted from 1")
	fs.BoolVar(&o.WriteCounts, "write-counts", false, "ChopStiX: fill the annotation tables of a copy, NAME.counts.db")
	fs.BoolVar(&o.InPlace, "in-place", false, "ChopStiX: fill those of the database itself")
	fs.StringVar(&o.Pprof, "pprof", "", "write the stacks to `FILE` for go tool pprof")
	fs.StringVar(&o.Folded, "folded", "", "write the stacks to `FILE` for flame graph tools")
}

// ByValue returns a flag that sets o.By, and hands words that it does not know to the filter's flag of the same name, which
// tells processes apart. It may be nil.
func (o *Options) ByValue(filter flag.Value) flag.Value { return &byFlag{o, filter} }

type byFlag struct {
	opt    *Options
	filter flag.Value
}

func (f *byFlag) String() string {
	switch {
	case f.opt != nil && f.opt.By != ByNothing:
		return f.opt.By.String()
	case f.filter != nil:
		return f.filter.String()
	}
	return ""
}

func (f *byFlag) Set(s string) error {
	for by := ByFunction; by <= ByModule; by++ {
		if s == by.String() {
			f.opt.By = by
			return nil
		}
	}
	const words = "want function, address, line, module for samples"
	if f.filter == nil {
		return errors.New(words)
	}
	if err := f.filter.Set(s); err != nil {
		return fmt.Errorf("%s; for processes %w", words, err)
	}
	return nil
}

func (o *Options) setThreads(list string) error {
	o.Threads = nil
	for id := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(id), "0x"), 16, 64)
		if err != nil {
			return fmt.Errorf("thread %q is no hexadecimal number", id)
		}
		o.Threads = append(o.Threads, v)
	}
	return nil
}

// offsetsFlag is --offsets, with a value or without.
type offsetsFlag Offsets

// IsBoolFlag lets the flag stand without a value.
func (f *offsetsFlag) IsBoolFlag() bool { return true }

func (f *offsetsFlag) String() string {
	return [...]string{NoOffsets: "", InModule: "true", FromMapStart: "map-start"}[*f]
}

func (f *offsetsFlag) Set(s string) error {
	switch s {
	case "true":
		*f = offsetsFlag(InModule)
	case "map-start":
		*f = offsetsFlag(FromMapStart)
	case "false":
		*f = offsetsFlag(NoOffsets)
	default:
		return errors.New("want map-start, or no value")
	}
	return nil
}

// Creatable fails where a profile could not be saved. It is for the time before the stacks are known, which may be long.
func (o *Options) Creatable() error {
	return errors.Join(creatable("--pprof", o.Pprof), creatable("--folded", o.Folded))
}

// creatable fails where the file that a flag names cannot be written. What is there stays as it is: it may be what is read.
func creatable(flag, path string) error {
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
			return fmt.Errorf("%s: %w", flag, err)
		}
		return file.Close()
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // a link to what is not there yet
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return errors.Join(file.Close(), os.Remove(path))
}

// Save writes a profile to the files that the flags name. A file that is not whole is removed.
func (o *Options) Save(ctx context.Context, p *Profile) error {
	return errors.Join(saveFile(ctx, "--pprof", o.Pprof, p.WritePprof), saveFile(ctx, "--folded", o.Folded, p.WriteFolded))
}

// warn says what is no failure.
func (o *Options) warn(message string) {
	if o.Warn != nil {
		o.Warn(message)
	}
}

// saveFile writes the file that a flag names.
func saveFile(ctx context.Context, flag, path string, write func(context.Context, io.Writer) error) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	info, statErr := f.Stat()
	err = write(ctx, f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		if statErr == nil && info.Mode().IsRegular() { // a device or a pipe is not ours to remove
			os.Remove(path)
		}
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		return fmt.Errorf("%s: write %s: %w", flag, path, err)
	}
	return nil
}
