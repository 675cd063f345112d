package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"qss-filter/filter/child"
	"qss-filter/filter/command/cli"
)

// with returns a function that adds the flags that set o.
func with[T any](add func(*flag.FlagSet, *T), o *T) func(*flag.FlagSet) {
	return func(fs *flag.FlagSet) { add(fs, o) }
}

// oneOf is a flag whose value is one of words; it sets the index of the word.
type oneOf[T ~uint8] struct {
	to    *T
	words []string
}

// choice adds a flag that sets to to the index of one of words. The first word is the default.
func choice[T ~uint8](fs *flag.FlagSet, to *T, name, usage string, words ...string) {
	fs.Var(oneOf[T]{to, words}, name, usage)
}

func (c oneOf[T]) String() string {
	if c.to == nil {
		return ""
	}
	return c.words[*c.to]
}

// Words returns the allowed values.
func (c oneOf[T]) Words() []string { return c.words }

func (c oneOf[T]) Set(value string) error {
	i := slices.Index(c.words, value)
	if i < 0 {
		return fmt.Errorf("want %s", strings.Join(c.words, ", "))
	}
	*c.to = T(i)
	return nil
}

// list adds a flag that may be repeated.
func list(fs *flag.FlagSet, to *[]string, name, usage string) {
	fs.Func(name, usage, func(value string) error {
		*to = append(*to, value)
		return nil
	})
}

// boolValue is a flag that needs no value.
type boolValue func(value string) error

func (boolValue) String() string           { return "" }
func (b boolValue) Set(value string) error { return b(value) }
func (boolValue) IsBoolFlag() bool         { return true }

// action adds a flag without a value that calls do.
func action(fs *flag.FlagSet, name, usage string, do func()) {
	fs.Var(boolValue(func(value string) error {
		if value != "true" {
			return errors.New("takes no value")
		}
		do()
		return nil
	}), name, usage)
}

// jobs is a flag with a number of workers, 0 for auto.
type jobs int

func (j *jobs) String() string {
	if j == nil || *j == 0 {
		return "auto"
	}
	return strconv.Itoa(int(*j))
}

// Set reads auto or a number from 1 on.
func (j *jobs) Set(value string) error {
	if value == "auto" {
		*j = 0
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 1<<12 {
		return fmt.Errorf("want auto, or a number from 1 to %d", 1<<12)
	}
	*j = jobs(n)
	return nil
}

// bytesValue is a flag with a number of bytes, in the format of parseSize.
type bytesValue int64

func (b *bytesValue) String() string {
	n := int64(*b)
	for _, unit := range []string{"", "K", "M"} {
		if n%1024 != 0 || n == 0 {
			return strconv.FormatInt(n, 10) + unit
		}
		n /= 1024
	}
	return strconv.FormatInt(n, 10) + "G"
}

func (b *bytesValue) Set(text string) error {
	n, err := parseSize(text)
	if err == nil && n < 1 {
		err = errSize
	}
	if err == nil {
		*b = bytesValue(n)
	}
	return err
}

var errSize = errors.New("want a size such as 64M or 1G")

// parseSize reads a number of bytes, optionally with a binary unit K, M or G, which may be spelled KiB or KB.
func parseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMGkmgiBb")
	shift := map[string]int{"": 0, "B": 0, "K": 10, "M": 20, "G": 30}
	unit := strings.TrimSuffix(strings.ToUpper(s[len(digits):]), "B")
	by, known := shift[strings.TrimSuffix(unit, "I")]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || unit == "I" || n < 0 || n > 1<<(62-by) {
		return 0, errSize
	}
	return n << by, nil
}

// lingerValue is a flag with a time such as 2s, or forever.
type lingerValue time.Duration

const forever = "forever"

func (l *lingerValue) Set(text string) error {
	if text == forever {
		*l = lingerValue(child.Forever)
		return nil
	}
	d, err := time.ParseDuration(text)
	if text == "0" {
		d, err = 0, nil
	}
	if err != nil || d < 0 {
		return errors.New("want a time such as 2s, or " + forever)
	}
	*l = lingerValue(d)
	return nil
}

// String returns the text that Set reads.
func (l *lingerValue) String() string {
	if time.Duration(*l) == child.Forever {
		return forever
	}
	return time.Duration(*l).String()
}

// common are the flags that --help shows.
var common = []string{"symbols", "build-id-dir", "rootfs", "debuginfod-url", "frames", "explain", "format", "by",
	"color", "summary", "style", "no-cache", "print-config", "help", "help-all", "version"}

// doctorCommon are those of doctor, which accepts all other flags of the filter, too.
var doctorCommon = []string{"symbols", "build-id-dir", "debug-root", "breakpad-dir", "rootfs", "obj", "ids-txt", "debuginfod-url",
	"no-debuginfod", "adjust", "by", "lookahead", "maps", "no-cache", "print-config", "help", "help-all"}

const (
	about = "makes native stack traces in logs readable, live"
	exits = "0 if everything was read, 1 if an input or the output failed, 2 if the command line is wrong; with -- COMMAND the command's own, once its output has ended."
)

// description is the description in the manual page.
const description = `
qss-filter goes at the end of any pipe of logs and makes every native stack trace in it readable: function, source file,
line and inlined calls. Everything else of the log leaves byte for byte as it came, as soon as it came.

  adb logcat | qss-filter --symbols out/target/product/generic/symbols
  tail -f crash.log | qss-filter
  qss-filter --symbols build -- ctest
  qss-filter --explain crash.log
  qss-filter --input-dir logs --output-dir out --rootfs /mnt/rootfs

No wrong name is printed: a build ID that does not match, a stale file, an address outside its symbol leave a frame as it
was. --explain says why at each one; where shows how the files of one module are found.

With -- COMMAND, qss-filter runs the command and filters its output; colors, signals and the exit status are the command's own.
Processes that it leaves behind may go on writing: their output is filtered until they close it, are silent for 2 seconds
(--linger), or a signal ends the wait. Then a line names the processes that still hold the output, and their next write fails, as
into any pipe without a reader.
The first Ctrl-C lets the producer at the other end of a pipe finish, a second one stops at once.
`

// environment are the environment variables that the program reads.
var environment = []cli.Variable{
	{Name: "QSS_FILTER_CONFIG", About: "the configuration; set but empty, or /dev/null, for none"},
	{Name: "XDG_CONFIG_HOME", About: "otherwise the configuration is qss-filter/config below it (~/.config)"},
	{Name: "NO_COLOR", About: "set to anything: --color=auto adds no colors"},
	{Name: "FORCE_COLOR", About: "set to anything but 0: --color=auto adds colors in a pipe, too"},
	{Name: "CLICOLOR_FORCE", About: "the same as FORCE_COLOR"},
	{Name: "QSS_COLORS", About: "the colors of what is added"},
	{Name: "TERM", About: "dumb: --color=auto adds no colors"},
	{Name: "COLUMNS", About: "the width of the terminal, in place of what it says itself"},
	{Name: "CI", About: "set where a machine runs tests: no index of debug information is written there"},
	{Name: "XDG_CACHE_HOME", About: "where answers and downloads are kept (~/.cache)"},
	{Name: "DEBUGINFOD_URLS", About: "debuginfod servers, with spaces between them"},
	{Name: "DEBUGINFOD_CACHE_PATH", About: "where downloads are kept"},
	{Name: "DEBUGINFOD_TIMEOUT", About: "seconds to wait for a server to go on (90)"},
	{Name: "DEBUGINFOD_MAXTIME", About: "seconds that a download may take (no bound)"},
	{Name: "DEBUGINFOD_MAXSIZE", About: "bytes that a file may have (2 GiB)"},
	{Name: "DEBUGINFOD_RETRY_LIMIT", About: "how often a server is asked again (2)"},
	{Name: "DEBUGINFOD_HEADERS_FILE", About: "a file of headers for every request"},
	{Name: "DEBUGINFOD_PROGRESS", About: "set to anything: show downloads on standard error"},
	{Name: "LLVM_SYMBOLIZER_OPTS", About: "flags, where the program is called llvm-symbolizer"},
}

// version returns the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return cmp.Or(info.Main.Version, "(devel)") + " " + info.GoVersion
}

// date returns the day of the commit that the program was built from, "" if that is not known.
func date() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if day, _, isTime := strings.Cut(s.Value, "T"); s.Key == "vcs.time" && isTime {
			return day
		}
	}
	return ""
}
