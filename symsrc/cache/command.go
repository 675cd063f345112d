package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"qss-filter/symsrc"
)

// ErrCommand reports an unknown command name.
var ErrCommand = errors.New("want stats, clear or path")

// ServeError says why a process does not serve a directory. The filter that started the process learns it from the exit status.
type ServeError struct {
	Dir    string
	Status int
	reason string
}

func (e *ServeError) Error() string { return "cache: " + e.Dir + ": " + e.reason }

// Command runs `cache NAME`: stats prints the size of the cache, its hit rate and the process that serves it; clear removes all of it; path
// prints the directory; serve serves the cache to filters until ctx ends. Filters start serve themselves. Its error is a *ServeError.
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

func printPath(o *Options, dir string, w io.Writer) error {
	if o.JSON {
		return writeJSON(w, struct {
			Directory string `json:"directory"`
		}{dir})
	}
	_, err := fmt.Fprintln(w, dir)
	return err
}

// stats are the figures of `cache stats`.
type stats struct {
	PID          int
	Started      time.Time
	Clients      int
	Entries      int64
	Bytes, Max   int64
	Asked, Found uint64
}

// statsJSON are the figures as JSON. What is from the process is missing if there are no answers.
type statsJSON struct {
	Directory string    `json:"directory"`
	Version   int       `json:"version,omitempty"`
	Answers   int64     `json:"answers"`
	Bytes     int64     `json:"bytes"`
	Max       int64     `json:"max,omitempty"`
	Asked     uint64    `json:"asked"`
	Found     uint64    `json:"found"`
	PID       int       `json:"pid,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	Clients   int       `json:"clients"` // without this one
	Beside    int64     `json:"beside"`  // bytes of indexes and unpacked files
	Note      string    `json:"note,omitempty"`
}

// writeJSON writes a value as a line of JSON.
func writeJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append(symsrc.VisibleJSON(text), '\n'))
	return err
}

// write writes the figures as text.
func (s *stats) write(w io.Writer, dir string, now time.Time) error {
	rate := "nothing was asked yet"
	if s.Asked > 0 {
		rate = fmt.Sprintf("%.1f%% (%d of %d queries)", 100*float64(s.Found)/float64(s.Asked), s.Found, s.Asked)
	}
	clients := s.Clients - 1 // without this one
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

// Sizes of the cache on disk, in bytes: the default of Options.Max, and the minimum, given the size of Badger's own files.
const (
	defaultMax = 256 << 20
	LeastMax   = 32 << 20
)

// Options say where the cache is and how large it may get.
type Options struct {
	// Dir is the cache's directory; "" means $XDG_CACHE_HOME/qss-filter, or ~/.cache/qss-filter if that is not set.
	Dir string
	// Off turns the cache off.
	Off bool
	// Max bounds the size of its files on disk, in bytes; 0 means 256 MiB.
	Max int64
	// JSON makes stats and path print JSON.
	JSON bool
	// Brief makes serve end with its last filter, instead of waiting for others.
	Brief bool
	// Engine identifies the engine that answers; "" is that of symsrc/object.
	Engine string
	// Finder, if not nil, is the finder of the wrapped source. Without it, modules without a build ID and the results of Probe are
	// not cached.
	Finder symsrc.Finder
	// Local, if not nil, finds files as Finder does, but on this machine only. The cache is not asked if these files answer.
	Local symsrc.Finder
	// Packed, if not nil, reports whether the files of a module that Local finds take long to read because they are compressed. The
	// cache is then asked first.
	Packed func(ctx context.Context, m symsrc.Module) bool
	// Warn, if not nil, is called once per cause with the reason why answers are not stored.
	Warn func(err error)
	// Program returns the command line of a cache process for a directory and a size in bytes. It is nil if none can be started.
	Program func(dir string, max int64) []string
}

// max returns the limit that applies.
func (o *Options) max() int64 {
	if o.Max == 0 {
		return defaultMax
	}
	return o.Max
}

var errNoHome = errors.New("neither $XDG_CACHE_HOME nor $HOME names a place for the cache")

// Directory returns the absolute path of the cache's directory. It fails if none is named and there is no home directory.
func (o *Options) Directory() (string, error) {
	if o.Dir != "" {
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return "", fmt.Errorf("find the directory %s: %w", o.Dir, err)
		}
		return dir, nil
	}
	base := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) { // the XDG specification: relative paths are to be ignored
		home := os.Getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errNoHome
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "qss-filter"), nil
}
