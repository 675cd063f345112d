package dumpsym

import (
	"context"
	"flag"
	"io"

	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/elfdwarf"
)

// Options say where the symbols go.
type Options struct {
	// Output is the file to write; "" means what Run is given.
	Output string
	// Name is what the program is called at run time; "" means as its file is.
	Name string
}

// Register adds the flags that set o.
func (o *Options) Register(fs *flag.FlagSet) {
	fs.StringVar(&o.Output, "output", o.Output, "`FILE` to write, in place of standard output")
	fs.StringVar(&o.Name, "name", o.Name, "`NAME` of the program or library at run time (default: that of the file)")
}

// Run writes the symbols of the file at path. A file that is to be written is there whole, or stays as it was.
func Run(ctx context.Context, finder elfdwarf.Finder, path string, o Options, stdout io.Writer) error {
	if o.Output == "" {
		return Write(ctx, finder, path, o.Name, stdout)
	}
	out, err := diskcache.Output(o.Output)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := Write(ctx, finder, path, o.Name, out); err != nil {
		return err
	}
	return out.Commit()
}
