package command

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"qss-filter/filter/importer"
)

// importFlags adds the flags of inputs of other tools, but for --by, whose name the filter uses too: byFlag is that.
func importFlags(fs *flag.FlagSet, o *importer.Options) {
	fs.Func("from-kind", "`KIND` of input: scaler, perflow, chopstix; decided by content without it", func(s string) error {
		if !slices.Contains(importer.Kinds, s) {
			return errors.New("want " + strings.Join(importer.Kinds, ", "))
		}
		o.Kind = s
		return nil
	})
	fs.Var((*offsetsFlag)(&o.Offsets), "offsets",
		"PerFlow: print library + 0xoffset instead of names; --offsets=map-start counts from the mapping, as PerFlow does")
	fs.Func("from-threads", "Scaler: only the threads `ID,...`, hexadecimal as in the names of their files", func(ids string) (err error) {
		o.Threads, err = threads(ids)
		return err
	})
	fs.DurationVar(&o.MinDuration, "min-duration", 0, "Scaler: hide calls that took less than `DURATION`")
	fs.Int64Var(&o.PID, "pid", 0, "ChopStiX: only the sessions of process `PID`")
	fs.IntVar(&o.Session, "session", 0, "ChopStiX: only session `N`, counted from 1")
	fs.BoolVar(&o.WriteCounts, "write-counts", false, "ChopStiX: fill the annotation tables of a copy, NAME.counts.db")
	fs.BoolVar(&o.InPlace, "in-place", false, "ChopStiX: fill those of the database itself")
	fs.StringVar(&o.Pprof, "pprof", "", "write the stacks to `FILE` for go tool pprof")
	fs.StringVar(&o.Folded, "folded", "", "write the stacks to `FILE` for flame graph tools")
}

// byFlag sets what samples are counted by, and hands words that it does not know to the filter's flag of the same name, which tells
// processes apart; that may be nil.
type byFlag struct {
	by     *importer.By
	filter flag.Value
}

func (f byFlag) String() string {
	switch {
	case f.by != nil && *f.by != importer.ByNothing:
		return f.by.String()
	case f.filter != nil:
		return f.filter.String()
	}
	return ""
}

func (f byFlag) Set(s string) error {
	for by := importer.ByFunction; by <= importer.ByModule; by++ {
		if s == by.String() {
			*f.by = by
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

// threads reads a list of hexadecimal thread IDs.
func threads(list string) (ids []uint64, err error) {
	for id := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(id), "0x"), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("thread %q is no hexadecimal number", id)
		}
		ids = append(ids, v)
	}
	return ids, nil
}

// offsetsFlag is --offsets, with a value or without.
type offsetsFlag importer.Offsets

// IsBoolFlag lets the flag stand without a value.
func (f *offsetsFlag) IsBoolFlag() bool { return true }

func (f *offsetsFlag) String() string {
	return [...]string{importer.NoOffsets: "", importer.InModule: "true", importer.FromMapStart: "map-start"}[*f]
}

func (f *offsetsFlag) Set(s string) error {
	switch s {
	case "true":
		*f = offsetsFlag(importer.InModule)
	case "map-start":
		*f = offsetsFlag(importer.FromMapStart)
	case "false":
		*f = offsetsFlag(importer.NoOffsets)
	default:
		return errors.New("want map-start, or no value")
	}
	return nil
}
