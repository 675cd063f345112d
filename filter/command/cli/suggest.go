package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// suggested adds to the error of an unknown flag what to use in its place: what the user is used to in another program, a flag that
// begins so, a flag that is nearly spelled so, or the command that has the flag.
func (p *Program) suggested(c *Command, flags *Flags, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	typed := unknown.GetSpecifiedName()
	flag := dashed([]string{typed}, "")
	if unknown.GetSpecifiedShortnames() == "" {
		flag = "--" + typed
	}
	advice := cmp.Or(c.Habits[typed], p.Habits[typed])
	if advice == "" {
		advice = p.nearFlag(c, flags, typed)
	}
	if advice == "" {
		return fmt.Errorf("unknown flag: %s", flag)
	}
	return fmt.Errorf("unknown flag: %s: %s", flag, advice)
}

// oneHyphen returns an error about a long flag with one hyphen, which would be read as letters. The flag is one of f, or one that
// users of other programs are used to.
func (p *Program) oneHyphen(f *Flags, args []string) error {
	for _, arg := range args {
		if arg == "--" {
			return nil
		}
		name, one := strings.CutPrefix(arg, "-")
		name, _, _ = strings.Cut(name, "=")
		switch known := f.set.Lookup(name); {
		case !one || len(name) <= 2:
		case known != nil:
			return fmt.Errorf("unknown flag: -%s: did you mean --%s?", name, name)
		case p.Habits[name] != "":
			return fmt.Errorf("unknown flag: -%s: %s", name, p.Habits[name])
		}
	}
	return nil
}

// nearFlag returns the flag that was meant, or "".
func (p *Program) nearFlag(c *Command, flags *Flags, typed string) string {
	var visible []string
	flags.set.VisitAll(func(one *pflag.Flag) {
		if !one.Hidden && len(one.Name) > 1 {
			visible = append(visible, one.Name)
		}
	})
	if slices.Contains(visible, typed) {
		return "did you mean --" + typed + "?"
	}
	begun := slices.DeleteFunc(slices.Clone(visible), func(name string) bool { return len(typed) < 2 || !strings.HasPrefix(name, typed) })
	if len(begun) > 0 && len(begun) < 5 {
		return "did you mean " + dashed(begun, " or ") + "?"
	}
	for _, name := range visible {
		if strings.HasPrefix(typed, name+"-") {
			return "did you mean --" + name + "?"
		}
	}
	least := slices.MinFunc(visible, func(a, b string) int { return cmp.Compare(distance(a, typed), distance(b, typed)) })
	if d := distance(least, typed); d <= max(1, len(typed)/3) && len(typed) > 2 {
		return "did you mean --" + least + "?"
	}
	for _, other := range append([]*Command{p.Commands[0]}, p.named()...) {
		theirs, _ := p.flags(other)
		one := theirs.set.Lookup(typed)
		if len(typed) == 1 {
			one = theirs.set.ShorthandLookup(typed)
		}
		if one != nil && other != c && !one.Hidden {
			if other.Name == "" {
				return fmt.Sprintf("it is a flag of '%s' without a command", p.Name)
			}
			return fmt.Sprintf("it is a flag of '%s %s'", p.Name, other.Name)
		}
	}
	return ""
}

// distance returns how many letters of a must be added, removed, changed or swapped with the next one to make b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := last[j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			row[j] = min(changed, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// joined joins a flag whose value is optional with the next argument, if that is one of its words or a number and no file: --color
// always is --color=always.
func (f *Flags) joined(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		out = append(out, args[i])
		name, long := strings.CutPrefix(args[i], "--")
		one := f.set.Lookup(name)
		if !long || one == nil || one.NoOptDefVal == "" || i+1 == len(args) || !f.isValue(one, args[i+1]) {
			continue
		}
		if _, err := os.Lstat(args[i+1]); errors.Is(err, fs.ErrNotExist) {
			i++
			out[len(out)-1] += "=" + args[i]
		}
	}
	return out
}

// isValue reports whether an argument is a value of a flag whose value is optional.
func (f *Flags) isValue(one *pflag.Flag, arg string) bool {
	if len(f.words[one.Name]) > 0 {
		return slices.Contains(f.words[one.Name], arg)
	}
	return arg != "" && strings.Trim(arg, "0123456789") == "" && strings.Trim(one.NoOptDefVal, "0123456789") == ""
}

// near reports whether two words differ by one added, removed or changed letter, or by two swapped letters.
func near(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
