package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"qss-filter/symsrc"
)

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
	// Symbols answers for addresses where functions are counted, and says where modules lie that their maps do not place;
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

// Creatable fails where a profile could not be saved. It is for the time before the stacks are known, which may be long.
func (o *Options) Creatable() error {
	return errors.Join(creatable("importer.Pprof", o.Pprof), creatable("importer.Folded", o.Folded))
}

// creatable fails where the file that an option names cannot be written. What is there stays as it is: it may be what is read.
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
	if errors.Is(err, fs.ErrExist) { // a link to what is not there yet
		return nil
	}
	if err != nil {
		return &symsrc.OptionError{Option: option, Err: err}
	}
	return errors.Join(file.Close(), os.Remove(path))
}

// Save writes a profile to the files that the options name. A file that is not whole is removed.
func (o *Options) Save(ctx context.Context, p *Profile) error {
	return errors.Join(saveFile(ctx, "importer.Pprof", o.Pprof, p.WritePprof), saveFile(ctx, "importer.Folded", o.Folded, p.WriteFolded))
}

// warn says what is no failure.
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
		if statErr == nil && info.Mode().IsRegular() { // a device or a pipe is not ours to remove
			os.Remove(path)
		}
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		return &symsrc.OptionError{Option: option, Err: fmt.Errorf("write %s: %w", path, err)}
	}
	return nil
}
