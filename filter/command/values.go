package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"qss-filter/filter/child"
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

// parseTime reads a time such as 30s or 5m. A number alone is one of seconds.
func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if seconds, e := strconv.ParseFloat(text, 64); e == nil {
		d, err = time.Duration(min(seconds*float64(time.Second), math.MaxInt64/2)), nil
	}
	if err != nil || d < 0 {
		return 0, errors.New("want a time such as 30s or 5m")
	}
	return d, nil
}

// timeValue is a flag with a time, in the format of parseTime.
type timeValue time.Duration

func (t *timeValue) String() string { return time.Duration(*t).String() }

func (t *timeValue) Set(text string) error {
	d, err := parseTime(text)
	if err == nil {
		*t = timeValue(d)
	}
	return err
}

// lingerValue is a flag with a time such as 2s, or forever.
type lingerValue time.Duration

const forever = "forever"

func (l *lingerValue) Set(text string) error {
	if text == forever {
		*l = lingerValue(child.Forever)
		return nil
	}
	d, err := parseTime(text)
	if err != nil {
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
