package filter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"qss-filter/filter/corefile"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
	"qss-filter/symsrc/unpack"
)

// Extras are what a filter does beside its stream: files that it reads and writes.
type Extras struct {
	// DumpContext is the path of Options.DumpContext; "" for none.
	DumpContext string
	// Maps is the path of a list of mappings, or of a core file, for processes that print none; "" for none.
	Maps string
	// Each, if not nil, completes the options of each filter.
	Each func(o *Options)
}

// Open makes a filter with all that. close ends it.
func (x *Extras) Open(o Options) (f *Filter, close func(), err error) {
	another, close, err := x.Use(o)
	if err != nil {
		return nil, nil, err
	}
	return another(), close, nil
}

// Use returns what makes filters with all that, which may run at the same time. close ends them. Its error is a
// *symsrc.OptionError.
func (x *Extras) Use(o Options) (another func() *Filter, close func(), err error) {
	list, err := x.mappings()
	if err != nil {
		return nil, nil, &symsrc.OptionError{Option: "filter.Maps", Value: x.Maps, Err: err}
	}
	closeFile := func() {}
	if x.DumpContext != "" {
		file, err := os.Create(x.DumpContext)
		if err != nil {
			return nil, nil, &symsrc.OptionError{Option: "filter.DumpContext", Err: err}
		}
		o.DumpContext, closeFile = file, func() {
			if err := file.Close(); err != nil && o.Warn != nil {
				o.Warn(fmt.Sprintf("dump the context: %v", err))
			}
		}
	}
	var all []*Filter
	return func() *Filter {
			own := o
			if x.Each != nil {
				x.Each(&own)
			}
			f := New(own)
			if list != nil {
				_ = f.Preload(list) // each has its own, which remembers what it was asked
			}
			all = append(all, f)
			return f
		}, func() {
			for _, f := range all {
				f.End()
			}
			closeFile()
		}, nil
}

// Preloaded returns what makes filters that know the mappings of Maps, each of other options. They may run at the same time. Its error
// is a *symsrc.OptionError.
func (x *Extras) Preloaded() (func(Options) *Filter, error) {
	list, err := x.mappings()
	if err != nil {
		return nil, &symsrc.OptionError{Option: "filter.Maps", Value: x.Maps, Err: err}
	}
	return func(o Options) *Filter {
		f := New(o)
		if list != nil {
			_ = f.Preload(list) // each has its own, which remembers what it was asked
		}
		return f
	}, nil
}

// maxMaps bounds the bytes of a list of mappings: Linux has 65530 mappings in a process by default, each with a path.
const maxMaps = 64 << 20

// mappings reads the list of mappings, nil where there is none. Its file is known by its content: a list, or a core file. Both may be
// compressed.
func (x *Extras) mappings() ([]byte, error) {
	if x.Maps == "" {
		return nil, nil
	}
	in, err := os.Open(x.Maps)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return readMaps(in)
}

// readMaps is mappings for an open file.
func readMaps(in *os.File) ([]byte, error) {
	b := bufio.NewReader(in)
	begin, err := b.Peek(1 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if corefile.Is(begin) {
		if _, err := in.Seek(0, io.SeekStart); err == nil { // what is not needed is passed over
			return corefile.List(in)
		}
	}
	r, end, err := unpack.Reader(b)
	if err != nil {
		return nil, err
	}
	if end != nil {
		defer end()
	}
	b = bufio.NewReader(r)
	if begin, _ := b.Peek(1 << 10); corefile.Is(begin) {
		return corefile.List(b)
	}
	list, err := io.ReadAll(io.LimitReader(b, maxMaps))
	if err == nil {
		err = resolve.CheckMappings(list)
	}
	return list, err
}
