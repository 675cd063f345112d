package filter

import (
	"context"
	"flag"
	"fmt"
	"os"
)

// Extras are what a filter does beside its stream: files that it reads and writes, commands that it starts.
type Extras struct {
	// DumpContext is the path of Options.DumpContext; "" for none.
	DumpContext string
	// OnDumpfile are commands for dumpfile elements, as TYPE=COMMAND.
	OnDumpfile []string
	// Maps is the path of a list of mappings for processes that state none; "" for none.
	Maps string
}

// Register adds the flags that set x.
func (x *Extras) Register(fs *flag.FlagSet) {
	x.registerMaps(fs)
	fs.StringVar(&x.DumpContext, "dump-context", "", "`FILE` for modules and mappings as JSON, a line at each reset and at the end")
	fs.Func("on-dumpfile", "`TYPE=COMMAND`: run it with the context's file, type and name as $1 $2 $3", func(value string) error {
		x.OnDumpfile = append(x.OnDumpfile, value)
		return nil
	})
}

// registerMaps adds the flag that gives mappings from outside.
func (x *Extras) registerMaps(fs *flag.FlagSet) {
	fs.StringVar(&x.Maps, "maps", "", "`FILE` with mappings as in /proc/PID/maps, for processes that print none")
}

// Open makes a filter with all that. close ends it: it waits for the commands.
func (x *Extras) Open(o Options) (f *Filter, close func(), err error) {
	another, close, err := x.Use(o)
	if err != nil {
		return nil, nil, err
	}
	return another(), close, nil
}

// Use returns what makes filters with all that, which may run at the same time. close ends them: it waits for the commands.
func (x *Extras) Use(o Options) (another func() *Filter, close func(), err error) {
	triggers, err := NewTriggers(x.OnDumpfile, o.Warn)
	if err != nil {
		return nil, nil, err
	}
	if len(x.OnDumpfile) > 0 {
		o.OnDumpfile = func(d Dumpfile) { triggers.Start(context.Background(), d) }
	}
	list, err := x.mappings()
	if err != nil {
		return nil, nil, fmt.Errorf("--maps %s: %w", x.Maps, err)
	}
	closeFile := func() {}
	if x.DumpContext != "" {
		file, err := os.Create(x.DumpContext)
		if err != nil {
			return nil, nil, fmt.Errorf("--dump-context: %w", err)
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
				f.preloaded(newPreload(list)) // each has its own, which remembers what it was asked
			}
			all = append(all, f)
			return f
		}, func() {
			for _, f := range all {
				f.End()
			}
			triggers.Wait()
			closeFile()
		}, nil
}

// mappings reads the list of mappings, nil where there is none.
func (x *Extras) mappings() ([]byte, error) {
	if x.Maps == "" {
		return nil, nil
	}
	list, err := os.ReadFile(x.Maps)
	if err == nil && !newPreload(list).space.Dumped() {
		err = ErrNoMappings
	}
	return list, err
}
