package cli

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Flags are the flags of one command, and after parsing also its arguments.
type Flags struct {
	values
	program *Program
	words   map[string][]string // allowed words by flag name
	titles  []string            // of the groups, in the order of help
	groups  map[string]string   // titles by flag name
	seldom  map[string]bool     // flags that help shows only where all are asked for
	current string              // the title of the group to which flags are added
	rules   []rule
}

// Group is a group of flags in help, in this order.
type Group struct {
	Title string
	// Flags are the names of its flags, with spaces between them.
	Flags string
}

// values are the values of flags.
type values struct {
	set      *pflag.FlagSet
	repeated map[string]bool    // flags that may be repeated
	given    map[string][]given // the values that were set, by flag name
}

// given is a value of a flag and its source: file:line, or the command line.
type given struct{ value, source string }

// commandLine is the source of flags on the command line.
const commandLine = "command line"

// wordValue is a flag value that is one of a few words.
type wordValue interface{ Words() []string }

func (p *Program) newFlags(name string) *Flags {
	set := pflag.NewFlagSet(name, pflag.ContinueOnError)
	set.SortFlags, set.Usage = false, func() {}
	return &Flags{program: p, values: values{set: set, repeated: map[string]bool{}, given: map[string][]given{}}, words: map[string][]string{}, groups: map[string]string{}, seldom: map[string]bool{}}
}

// Repeated marks flags that may be repeated: each value counts. For other flags only the last one does.
func (v *values) Repeated(names ...string) {
	for _, name := range names {
		v.repeated[name] = true
	}
}

// Register adds flags of other packages, which use package flag.
func (f *Flags) Register(adders ...func(*flag.FlagSet)) {
	for _, add := range adders {
		set := flag.NewFlagSet("", flag.ContinueOnError)
		add(set)
		set.VisitAll(func(one *flag.Flag) {
			if w, ok := one.Value.(wordValue); ok {
				f.words[one.Name] = w.Words()
			}
			added := pflag.PFlagFromGoFlag(one)
			if len(one.Name) > 1 {
				added.Shorthand = f.program.Letters[one.Name]
			}
			f.set.AddFlag(added)
		})
	}
}

// Hide leaves flags out of help, completions and the manual page: other names of flags, and the names that other programs have for them.
func (f *Flags) Hide(names ...string) {
	for _, name := range names {
		if one := f.set.Lookup(name); one != nil {
			one.Hidden = true
		}
	}
}

// Seldom leaves flags that few people need out of --help. --help=all, completions and the manual page have them.
func (f *Flags) Seldom(names ...string) {
	for _, name := range names {
		f.seldom[name] = true
	}
}

// String adds a flag with any text.
func (f *Flags) String(to *string, name, value, usage string) {
	f.set.StringVarP(to, name, f.program.Letters[name], value, usage)
}

// Bool adds a boolean flag.
func (f *Flags) Bool(to *bool, name, usage string) {
	f.set.BoolVarP(to, name, f.program.Letters[name], false, usage)
}

// Word adds a flag whose value is one of words; the first one is the default.
func (f *Flags) Word(to *string, name, usage string, words ...string) {
	*to = words[0]
	f.words[name] = words
	f.set.Var(&word{to, words}, name, usage)
}

// Words sets the suggested values of a flag that accepts others, too.
func (f *Flags) Words(name string, words ...string) { f.words[name] = words }

// Optional makes the value of a flag optional; without one the flag has this value.
func (f *Flags) Optional(name, value string) { f.set.Lookup(name).NoOptDefVal = value }

// Extend wraps the value of a flag, and adds a text to its usage and more words. It is for
// a flag that two packages share.
func (f *Flags) Extend(name string, around func(flag.Value) flag.Value, usage string, words ...string) {
	shared := f.set.Lookup(name)
	shared.Value = plain{around(shared.Value)}
	shared.Usage += usage
	f.words[name] = slices.Concat(f.words[name], words)
}

// parse parses the command line.
func (v *values) parse(args []string) error {
	return v.set.ParseAll(args, func(one *pflag.Flag, value string) error { return v.put(one.Name, value, commandLine) })
}

// put sets a flag and records its source.
func (v *values) put(name, value, source string) error {
	if err := v.set.Set(name, value); err != nil {
		return err
	}
	if !v.repeated[name] {
		v.given[name] = nil
	}
	v.given[name] = append(v.given[name], given{value, source})
	return nil
}

// Has reports whether a flag was set, on the command line or in the configuration.
func (v *values) Has(name string) bool { return len(v.given[name]) > 0 }

// Given returns the flags of the command line for which wanted returns true, each as --NAME or --NAME=VALUE.
func (v *values) Given(wanted func(name string) bool) (list []string) {
	v.set.VisitAll(func(one *pflag.Flag) {
		for _, g := range v.given[one.Name] {
			switch {
			case g.source != commandLine || !wanted(one.Name):
			case one.NoOptDefVal != "" && g.value == one.NoOptDefVal:
				list = append(list, "--"+one.Name)
			default:
				list = append(list, "--"+one.Name+"="+g.value)
			}
		}
	})
	return list
}

// Args returns the arguments that are not flags.
func (v *values) Args() []string { return v.set.Args() }

// Split returns the arguments before `--` and those after it.
func (v *values) Split() (before, after []string) {
	args := v.set.Args()
	if at := v.set.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

// word is a flag value that is one of a few words.
type word struct {
	to    *string
	words []string
}

func (w *word) String() string { return *w.to }
func (w *word) Type() string   { return "word" }

func (w *word) Set(value string) error {
	if !slices.Contains(w.words, value) {
		return fmt.Errorf("want %s", strings.Join(w.words, ", "))
	}
	*w.to = value
	return nil
}

// plain is a value of package flag as one of pflag.
type plain struct{ flag.Value }

func (plain) Type() string { return "value" }

// Group sets the group of the flags that are added after it, or, if names are given, of those flags, which must have
// been added before. Help has the groups in the order of their first calls.
func (f *Flags) Group(title string, names ...string) {
	f.file()
	if i := slices.Index(f.titles, title); i < 0 {
		f.titles = append(f.titles, title)
	}
	for _, name := range names {
		f.groups[name] = title
	}
	if len(names) == 0 {
		f.current = title
	}
}

// file adds the flags without a group to the current one.
func (f *Flags) file() {
	f.set.VisitAll(func(one *pflag.Flag) {
		if _, known := f.groups[one.Name]; !known && f.current != "" {
			f.groups[one.Name] = f.current
		}
	})
}

// group is a group of flags.
type group struct {
	title string
	flags []*pflag.Flag
}

// grouped returns all flags that are not hidden by group: those without a group first, then the groups of the program's layout in
// its order, then the others. A group of the layout begins with the flags that the layout names.
func (f *Flags) grouped() []group {
	f.file()
	all := []group{{}}
	at := map[string]int{"": 0}
	listed := map[string]bool{}
	for _, g := range f.program.Layout {
		one := group{title: g.Title}
		for _, flag := range f.named(strings.Fields(g.Flags)) {
			listed[flag.Name] = true
			if !flag.Hidden {
				one.flags = append(one.flags, flag)
			}
		}
		at[g.Title] = len(all)
		all = append(all, one)
	}
	for _, title := range f.titles {
		if _, laid := at[title]; !laid {
			at[title] = len(all)
			all = append(all, group{title: title})
		}
	}
	f.set.VisitAll(func(one *pflag.Flag) {
		if g := &all[at[f.groups[one.Name]]]; !listed[one.Name] && !one.Hidden {
			g.flags = append(g.flags, one)
		}
	})
	return slices.DeleteFunc(all, func(g group) bool { return len(g.flags) == 0 })
}

// named returns the flags of names, in that order.
func (f *Flags) named(names []string) (all []*pflag.Flag) {
	for _, name := range names {
		if one := f.set.Lookup(name); one != nil {
			all = append(all, one)
		}
	}
	return all
}

// Some flags have an effect only together with others, and some exclude others. On the command line a violation is an error, since the
// flag would silently do nothing. In the configuration, which is for every run, such a flag is ignored.

// CommandAfter stands for a command after -- in place of a flag's name.
const CommandAfter = "--"

// rule relates a flag to others; each is a name, or name=value.
type rule struct {
	flag     string
	others   []string
	excluded bool // by any of the others; otherwise one of them is needed
}

// Needs adds the rule that each of the flags needs one of the others; each is a name, or name=value. Help shows the rule.
func (f *Flags) Needs(others []string, flags ...string) {
	for _, flag := range flags {
		f.rules = append(f.rules, rule{flag: flag, others: others})
		if one := f.set.Lookup(flag); one != nil {
			if !slices.Contains(others, CommandAfter) { // the usage mentions that
				one.Usage += "; needs " + dashed(f.visible(others), " or ")
			}
		}
	}
}

// Excludes adds the rule that each of the flags excludes the others; each is a name, or name=value.
func (f *Flags) Excludes(others []string, flags ...string) {
	for _, flag := range flags {
		f.rules = append(f.rules, rule{flag, others, true})
	}
}

// misfits checks the rules. The error is about a flag of the command line; unfit are the names of violating flags that are only in the
// configuration.
func (f *Flags) misfits() (unfit []string, err error) {
	for _, r := range f.rules {
		name, _, valued := strings.Cut(r.flag, "=")
		one := !valued && len(f.words[name]) > 0 && len(f.given[name]) > 0 // the first of its words, too
		if !one && !f.has(r.flag) {
			continue
		}
		at := slices.IndexFunc(r.others, f.has)
		if r.excluded == (at < 0) {
			continue
		}
		switch {
		case !f.onCommandLine(name):
			unfit = append(unfit, name)
		case r.excluded && r.others[at] == CommandAfter:
			return nil, fmt.Errorf("%s does not go with a command after --", dashed([]string{r.flag}, ""))
		case r.excluded:
			return nil, fmt.Errorf("%s does not go with %s", dashed([]string{r.flag}, ""), dashed(r.others[at:at+1], ""))
		case slices.Contains(r.others, CommandAfter):
			return nil, fmt.Errorf("%s needs a command after --", dashed([]string{r.flag}, ""))
		default:
			return nil, fmt.Errorf("%s needs %s", dashed([]string{r.flag}, ""), dashed(f.visible(r.others), " or "))
		}
	}
	return unfit, nil
}

// has reports whether a flag has a value other than its default, or the given value.
func (v *values) has(flag string) bool {
	if flag == CommandAfter {
		_, after := v.Split()
		return len(after) > 0
	}
	name, value, valued := strings.Cut(flag, "=")
	one, all := v.set.Lookup(name), v.given[name]
	if one == nil || len(all) == 0 {
		return false
	}
	last := all[len(all)-1].value
	return valued && last == value || !valued && last != one.DefValue
}

// onCommandLine reports whether a flag is on the command line.
func (v *values) onCommandLine(name string) bool {
	return slices.ContainsFunc(v.given[name], func(g given) bool { return g.source == commandLine })
}

// visible returns those of flags, each a name, or name=value, that are not hidden, or all if all are.
func (v *values) visible(flags []string) []string {
	shown := slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		name, _, _ := strings.Cut(flag, "=")
		one := v.set.Lookup(name)
		return one != nil && one.Hidden
	})
	if len(shown) == 0 {
		return flags
	}
	return shown
}

// dashed returns flags with their hyphens, with a text between them.
func dashed(flags []string, between string) string {
	typed := make([]string, len(flags))
	for i, flag := range flags {
		typed[i] = "--" + flag
		if len(flag) == 1 {
			typed[i] = "-" + flag
		}
	}
	return strings.Join(typed, between)
}
