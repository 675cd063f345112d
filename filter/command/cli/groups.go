package cli

import (
	"slices"

	"github.com/spf13/pflag"
)

// Group names the subject of the flags that are added from here on or, where names are given, of those flags, which have
// been added before. Groups stand in help in the order in which they are named first.
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

// file puts the flags that have no group yet into the current one.
func (f *Flags) file() {
	f.set.VisitAll(func(one *pflag.Flag) {
		if _, known := f.groups[one.Name]; !known && f.current != "" {
			f.groups[one.Name] = f.current
		}
	})
}

// group is flags of one subject.
type group struct {
	title string
	flags []*pflag.Flag
}

// grouped returns all flags by subject. Flags of no group come first.
func (f *Flags) grouped() []group {
	f.file()
	all := []group{{}}
	at := map[string]int{"": 0}
	for _, title := range f.titles {
		at[title] = len(all)
		all = append(all, group{title: title})
	}
	f.set.VisitAll(func(one *pflag.Flag) {
		g := &all[at[f.groups[one.Name]]]
		g.flags = append(g.flags, one)
	})
	return slices.DeleteFunc(all, func(g group) bool { return len(g.flags) == 0 })
}

// named gives flags in the order of names.
func (f *Flags) named(names []string) (all []*pflag.Flag) {
	for _, name := range names {
		if one := f.set.Lookup(name); one != nil {
			all = append(all, one)
		}
	}
	return all
}
