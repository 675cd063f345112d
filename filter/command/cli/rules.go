package cli

import (
	"fmt"
	"slices"
	"strings"
)

// Some flags mean something only beside others, and some nothing. Of the command line that is an error, for otherwise the flag would
// do nothing without a word; in the configuration, which is for every run, such a flag does not count.

// CommandAfter stands for a command after -- in the place of a flag's name.
const CommandAfter = "--"

// rule ties a flag to others; each is a name, or name=value.
type rule struct {
	flag     string
	others   []string
	excluded bool // with any of the others; otherwise one of them is needed
}

// Needs says of flags that they mean something only where one of the others is there; each is a name, or name=value. Help says so.
func (f *Flags) Needs(others []string, flags ...string) {
	for _, flag := range flags {
		f.rules = append(f.rules, rule{flag: flag, others: others})
		if one := f.set.Lookup(flag); one != nil {
			if !slices.Contains(others, CommandAfter) { // which the usage mentions
				one.Usage += "; needs " + dashed(others, " or ")
			}
		}
	}
}

// Excludes says of flags that they mean nothing where one of the others is there; each is a name, or name=value.
func (f *Flags) Excludes(others []string, flags ...string) {
	for _, flag := range flags {
		f.rules = append(f.rules, rule{flag, others, true})
	}
}

// misfits looks for flags that mean nothing beside the others: the error is about one of the command line, and unfit are the names
// of those that are in the configuration only.
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
			return nil, fmt.Errorf("%s needs %s", dashed([]string{r.flag}, ""), dashed(r.others, " or "))
		}
	}
	return unfit, nil
}

// has reports whether a flag asks for something: it has another value than without it, or that value.
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

// onCommandLine reports whether a flag is there.
func (v *values) onCommandLine(name string) bool {
	return slices.ContainsFunc(v.given[name], func(g given) bool { return g.source == commandLine })
}

// dashed returns flags as they are typed, with a word between them.
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
