package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/doctor"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// hints are lines about modules without symbols, at their first frames.
type hints struct {
	mu   sync.Mutex // the output of a command has two streams
	told []symsrc.Module
}

// maxHints is how many modules are named while the log is read.
const maxHints = 3

// has reports whether a module was named.
func (h *hints) has(m symsrc.Module) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.told, m)
}

// missing names a module without symbols.
func (h *hints) missing(m symsrc.Module) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.told) >= maxHints || slices.Contains(h.told, m) {
		return
	}
	h.told = append(h.told, m)
	inform("no symbols for %s: try --symbols DIR", resolve.Title(m))
}

// advice is what a run is followed by if frames have no names.
type advice struct {
	// doctor is the command that explains why.
	doctor string
	// found are files with the symbols of some modules, with the command that uses them, and served are these modules. It is "" for none.
	found, command string
	served         []symsrc.Module
	// told are the modules that were named while the log was read.
	told *hints
}

// lookTime bounds how long files are looked for at the end of a run, while the user waits for the shell.
const lookTime = 150 * time.Millisecond

// advise returns the advice for a log.
func (j *job) advise(s resolve.Summary) *advice {
	log := j.again()
	log.Flags = j.flags.Given(ofDoctor())
	a := &advice{doctor: j.around(&log, log.Again(), false), told: j.hints}
	var missing []doctor.Missing
	for _, m := range s.Modules {
		here := m.Files != nil && m.Files.Usable()
		if m.Unstripped && (m.Of.BuildID != "" || here) && !(here && doctor.OfSystem(m.Of.Name)) {
			missing = append(missing, doctor.Missing{Module: m.Of, Files: m.Files})
		}
	}
	if len(missing) == 0 {
		return a
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	found, _ := doctor.Look(ctx, log.Log, missing)
	if len(found.Paths) == 0 {
		return a
	}
	log.Flags = j.flags.Given(func(name string) bool { return name != "output" || log.Log != j.output })
	a.found, a.command = found.Title(), j.around(&log, log.With(found.Flags()), true)
	for _, i := range found.Modules {
		a.served = append(a.served, missing[i].Module)
	}
	return a
}

// again returns the log as the input of another run: its file, the command that writes it, or what was written, in which frames without a
// name are as they were. Otherwise it is standard input, for a command in place of this one.
func (j *job) again() doctor.Options {
	switch {
	case len(j.command) > 0:
		return doctor.Options{Log: "-", Argv: j.command}
	case len(j.inputs) == 1 && j.inputs[0] != "-":
		return doctor.Options{Log: j.inputs[0]}
	case len(j.inputs) == 1 && pathOf(os.Stdin) != "":
		return doctor.Options{Log: pathOf(os.Stdin)}
	case j.options.JSON == nil && j.output != "" && isRegular(j.out):
		return doctor.Options{Log: j.output}
	case j.options.JSON == nil && pathOf(j.out) != "":
		return doctor.Options{Log: pathOf(j.out)}
	}
	return doctor.Options{Log: "-"}
}

// around completes a command for the log, in front and behind: that it is in a pipe, or that it reads several files, which only the filter
// itself can.
func (j *job) around(log *doctor.Options, command string, reads bool) string {
	switch {
	case log.Log != "-" || len(log.Argv) > 0:
		return command
	case slices.Contains(j.inputs, "-"):
		return "… | " + command
	}
	var names string
	for _, name := range j.inputs {
		names += " " + doctor.Quoted(name)
	}
	if reads {
		return command + names
	}
	return "cat" + names + " | " + command
}

// isRegular reports whether an open file is a regular one.
func isRegular(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// pathOf returns the path of a regular file that the shell has opened for us, "" if it has none or the system does not say it.
func pathOf(f *os.File) string {
	opened, err := f.Stat()
	if err != nil || !opened.Mode().IsRegular() || runtime.GOOS != "linux" {
		return ""
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return ""
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(now, opened) {
		return ""
	}
	if dir, err := os.Getwd(); err == nil {
		if below, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(below) {
			return below
		}
	}
	return path
}

// ofDoctor returns a function that reports whether doctor has a flag, too.
func ofDoctor() func(name string) bool {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	s, o, extras := newSymbols(), filter.Options{}, filter.Extras{}
	for _, add := range []func(*flag.FlagSet){with(chainFlags, s), with(programFlags, &s.Programs), with(javaFlags, s), with(addressFlags, &o), with(mapsFlags, &extras)} {
		add(set)
	}
	return func(name string) bool { return set.Lookup(name) != nil || name == "no-config" }
}

// writeFound writes which files have the symbols of modules, and the command that uses them.
func (a *advice) writeFound(b *strings.Builder, theme *sgr.Theme) {
	if a.found != "" {
		fmt.Fprintf(b, "%s %s: %s\n", theme.Quiet("qss-filter:"), theme.Strong(symsrc.Visible(a.found)), theme.Place(symsrc.Visible(a.command)))
	}
}

// writeBrief writes how many frames have no name, or no source line if that is all that is missing, and what is to be tried. It writes
// nothing if there is no problem.
func writeBrief(w io.Writer, s resolve.Summary, a *advice, theme *sgr.Theme) error {
	var b strings.Builder
	const prefix = "qss-filter:"
	unnamed, lineless := s.Unnamed(), s.Lineless()
	switch {
	case unnamed > 0:
		fmt.Fprintf(&b, "%s %s no name: %s\n", theme.Quiet(prefix), lacking(unnamed, s.Frames), theme.Place(a.doctor))
	case lineless > 0:
		fmt.Fprintf(&b, "%s %s no source line: %s\n", theme.Quiet(prefix), lacking(lineless, s.Frames), theme.Place(a.doctor))
	}
	if unnamed > 0 || lineless > 0 {
		a.writeFound(&b, theme)
		missing := slices.DeleteFunc(slices.Clone(s.Modules), func(m resolve.Unresolved) bool {
			return !m.Unstripped || unnamed > 0 && m.Outcome == resolve.InLog || a.told.has(m.Of) || slices.Contains(a.served, m.Of)
		})
		if len(missing) > 0 {
			more := ""
			if n := len(missing) - 1; n > 0 {
				more = fmt.Sprintf(" and %d more", n)
			}
			fmt.Fprintf(&b, "%s no symbols for %s%s: try %s\n", theme.Quiet(prefix), theme.Strong(missing[0].Title), more, theme.Place("--symbols DIR"))
		}
	}
	if s.NoSource != "" {
		fmt.Fprintf(&b, "%s none of the source files is there, the first is %s%s\n", theme.Quiet(prefix), theme.Strong(s.NoSource), theme.Quiet(sourceAdvice))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
