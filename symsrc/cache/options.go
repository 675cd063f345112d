package cache

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"qss-filter/symsrc"
)

// Sizes of the cache on disk, in bytes: the default of --cache-max, and the least that makes sense beside Badger's own files.
const (
	defaultMax = 256 << 20
	leastMax   = 32 << 20
)

// Finder finds the files of a module, as the wrapped source does. What it gives is not changed afterwards.
type Finder interface {
	Find(ctx context.Context, m symsrc.Module) *symsrc.Files
}

// Options say where the cache is and how large it may get.
type Options struct {
	// Dir is the cache's directory; "" means $XDG_CACHE_HOME/qss-filter, or else ~/.cache/qss-filter.
	Dir string
	// Off is set to go without a cache.
	Off bool
	// Max is what its files may take on disk, in bytes; 0 means 256 MiB.
	Max int64
	// Engine tells answers of one engine from those of another one; "" is that of symsrc/elfdwarf.
	Engine string
	// Finder, if not nil, is what the wrapped source finds files by. Without it modules without a build ID are not cached,
	// and neither is what Probe gives.
	Finder Finder
	// Local, if not nil, finds files as Finder does, but on this machine only. What they answer is not asked of the cache.
	Local Finder
	// Packed, if not nil, reports whether the files of a module that Local finds take long to be read, for they are packed. What they
	// answer is then asked of the cache.
	Packed func(ctx context.Context, m symsrc.Module) bool
	// Warn, if not nil, is told once per cause why answers are not kept.
	Warn func(msg string)
	// Program is the program, with its first arguments, that is the cache process when it is told `cache serve …`; empty
	// means this executable.
	Program []string
}

// Register adds the flags that set o.
func (o *Options) Register(fs *flag.FlagSet) {
	fs.StringVar(&o.Dir, "cache-dir", o.Dir, "`DIR` where answers are kept (default $XDG_CACHE_HOME/qss-filter or ~/.cache/qss-filter)")
	fs.StringVar(&o.Dir, "cache-db", o.Dir, "`DIR`: same as --cache-dir")
	fs.BoolVar(&o.Off, "no-cache", o.Off, "keep no answers and use none that were kept")
	fs.Func("cache-max", "`SIZE` of the cache on disk, such as 64M or 1G (default 256M)", func(value string) (err error) {
		if o.Max, err = ParseSize(value); err == nil && o.Max < leastMax {
			err = fmt.Errorf("want at least %dM (--no-cache goes without)", leastMax>>20)
		}
		return err
	})
}

// ParseSize reads a number of bytes, or of the binary units K, M and G, perhaps spelt KiB or KB.
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMGkmgiBb")
	shift := map[string]int{"": 0, "B": 0, "K": 10, "M": 20, "G": 30}
	unit := strings.TrimSuffix(strings.ToUpper(s[len(digits):]), "B")
	by, known := shift[strings.TrimSuffix(unit, "I")]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || unit == "I" || n < 0 || n > 1<<(62-by) {
		return 0, errors.New("want a size such as 64M or 1G")
	}
	return n << by, nil
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
