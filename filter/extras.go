package filter

import (
	"fmt"
	"os"

	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// Extras are what a filter does beside its stream: files that it reads and writes.
type Extras struct {
	// DumpContext is the path of Options.DumpContext; "" for none.
	DumpContext string
	// Maps is the path of a list of mappings for processes that print none; "" for none.
	Maps string
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
			f := New(o)
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

// mappings reads the list of mappings, nil where there is none.
func (x *Extras) mappings() ([]byte, error) {
	if x.Maps == "" {
		return nil, nil
	}
	list, err := os.ReadFile(x.Maps)
	if err == nil {
		err = resolve.CheckMappings(list)
	}
	return list, err
}
