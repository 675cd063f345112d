package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrCommand is an unknown name of a command.
var ErrCommand = errors.New("want stats, clear, path or serve")

// ServeError says why a process does not serve a directory. Filters that have started one know it by its exit status.
type ServeError struct {
	Dir    string
	Status int
	reason string
}

func (e *ServeError) Error() string { return "cache: " + e.Dir + ": " + e.reason }

// Command does what `cache NAME` asks for: stats says what is kept, how often it helped and which process serves it, clear forgets
// all of it, path is the directory, and serve serves it, until the end of ctx, to filters, which start this themselves. The error of
// serve is a *ServeError.
func (o *Options) Command(ctx context.Context, name string, stdout io.Writer) error {
	commands := map[string]func(*Options, string, io.Writer) error{"stats": printStats, "clear": forget, "path": printPath, "serve": nil}
	run, known := commands[name]
	if !known {
		return fmt.Errorf("no command %q: %w", name, ErrCommand)
	}
	dir, err := o.Directory()
	if err == nil && name == "serve" {
		return serveCommand(ctx, dir, o)
	}
	if err == nil {
		err = run(o, dir, stdout)
	}
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	return nil
}

func printPath(_ *Options, dir string, w io.Writer) error {
	_, err := fmt.Fprintln(w, dir)
	return err
}

// stats is what a person may want to know of the cache.
type stats struct {
	PID          int
	Started      time.Time
	Clients      int
	Entries      int64
	Bytes, Max   int64
	Asked, Found uint64
}

// write writes the figures for a person to read.
func (s *stats) write(w io.Writer, dir string, now time.Time) error {
	rate := "nothing was asked yet"
	if s.Asked > 0 {
		rate = fmt.Sprintf("%.1f%% (%d of %d questions)", 100*float64(s.Found)/float64(s.Asked), s.Found, s.Asked)
	}
	clients := s.Clients - 1 // this one is not meant
	_, err := fmt.Fprintf(w, `directory  %s
version    %d
answers    %d
on disk    %s of at most %s
hit rate   %s
process    %d, up for %s, serving %d filter%s
`, dir, protocol, s.Entries, sizeText(s.Bytes), sizeText(s.Max), rate, s.PID, now.Sub(s.Started).Round(time.Second), clients, plural(clients))
	return err
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// sizeText writes a number of bytes in its binary unit.
func sizeText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 || v == float64(int64(v)) {
		return fmt.Sprintf("%d %s", int64(v), units[i])
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
