package dumpsym

import (
	"context"
	"io"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// Options say where the symbols go.
type Options struct {
	// Output is the file to write; "" means what Run is given.
	Output string
	// Name is what the program is called at run time; "" means as its file is.
	Name string
}

// Run writes the symbols of the file at path. A file that is to be written is there whole, or stays as it was.
func Run(ctx context.Context, finder symsrc.Finder, path string, o Options, stdout io.Writer) error {
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
