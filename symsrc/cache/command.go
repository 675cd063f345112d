package cache

import (
	"flag"
	"fmt"
	"io"
	"time"
)

// Exit statuses of Command.
const (
	statusOK    = 0
	statusFails = 1
	statusUsage = 2
)

const usage = `Usage: qss-filter cache COMMAND [flags]

  stats   what is kept, how often it helped, and which process serves it
  clear   forget all of it
  path    the directory
  serve   serve it to filters; they start this themselves

Flags:
`

// Command runs `qss-filter cache ARGS` and gives its exit status: 0 done, 1 it failed, 2 the command line is wrong.
func Command(args []string, stdout, stderr io.Writer) int {
	var o Options
	fs := flag.NewFlagSet("cache", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.Register(fs)
	help := func(w io.Writer, status int) int {
		fmt.Fprint(w, usage)
		fs.SetOutput(w)
		fs.PrintDefaults()
		return status
	}
	complain := func(err error, status int) int {
		fmt.Fprintf(stderr, "qss-filter: cache: %v\n", err)
		return status
	}
	if len(args) == 0 {
		return help(stderr, statusUsage)
	}
	commands := map[string]func(*Options, string, io.Writer) error{"stats": printStats, "clear": forget, "path": printPath, "serve": nil}
	name := args[0]
	run, known := commands[name]
	if name == "help" || name == "-h" || name == "--help" {
		return help(stdout, statusOK)
	}
	if !known {
		return complain(fmt.Errorf("no command %q; there are stats, clear, path and serve", name), statusUsage)
	}
	err := fs.Parse(args[1:])
	switch {
	case err == flag.ErrHelp:
		return help(stdout, statusOK)
	case err != nil:
		return complain(err, statusUsage)
	case fs.NArg() > 0:
		return complain(fmt.Errorf("%s takes no %q", name, fs.Arg(0)), statusUsage)
	}
	dir, err := o.Directory()
	if err == nil && name == "serve" {
		return serveCommand(dir, &o, stderr)
	}
	if err == nil {
		err = run(&o, dir, stdout)
	}
	if err != nil {
		return complain(err, statusFails)
	}
	return statusOK
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
