package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"qss-filter/symsrc"
)

// Sizes of the cache on disk, in bytes: the default of Options.Max, and the least that makes sense beside Badger's own files.
const (
	defaultMax = 256 << 20
	LeastMax   = 32 << 20
)

// Options say where the cache is and how large it may get.
type Options struct {
	// Dir is the cache's directory; "" means $XDG_CACHE_HOME/qss-filter, or else ~/.cache/qss-filter.
	Dir string
	// Off is set to go without a cache.
	Off bool
	// Max is what its files may take on disk, in bytes; 0 means 256 MiB.
	Max int64
	// Engine tells answers of one engine from those of another one; "" is that of symsrc/object.
	Engine string
	// Finder, if not nil, is what the wrapped source finds files by. Without it modules without a build ID are not cached,
	// and neither is what Probe gives.
	Finder symsrc.Finder
	// Local, if not nil, finds files as Finder does, but on this machine only. What they answer is not asked of the cache.
	Local symsrc.Finder
	// Packed, if not nil, reports whether the files of a module that Local finds take long to be read, for they are packed. What they
	// answer is then asked of the cache.
	Packed func(ctx context.Context, m symsrc.Module) bool
	// Warn, if not nil, is told once per cause why answers are not kept.
	Warn func(err error)
	// Program returns the command line of a process that does Serve for a directory and a size in bytes; nil where none can be
	// started.
	Program func(dir string, max int64) []string
}

// max is the limit in force.
func (o *Options) max() int64 {
	if o.Max == 0 {
		return defaultMax
	}
	return o.Max
}

var errNoHome = errors.New("neither $XDG_CACHE_HOME nor $HOME says where to keep answers")

// Directory is the absolute path of the cache's directory. It fails where none is named and there is no home directory.
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
