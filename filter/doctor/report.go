package doctor

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
	"qss-filter/symsrc/debuginfod"
)

// report is what is written.
type report struct {
	*Options
	survey  *survey
	modules []examined
	near    []nearly
	advice  []advice
	// evidence is what the log says of the files that no build ID verifies.
	evidence []resolve.Entry
	text     bytes.Buffer
}

// Limits of the lists that are shown.
const (
	maxShown = 20
	maxTried = 40
	maxAlike = 2
	maxNamed = 4
)

// painted is text in a color.
type painted struct {
	by   func(text string) string
	text string
}

// put writes a line. Names and paths are from the log, and must not control the terminal.
func (r *report) put(format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = shown(arg)
		case painted:
			args[i] = arg.by(shown(arg.text))
		}
	}
	fmt.Fprintf(&r.text, format+"\n", args...)
}

// title starts a section of the report.
func (r *report) title(text, more string) {
	r.put("\n%s%s", painted{r.Theme.Strong, text}, more)
}

func (r *report) write() {
	s := r.survey
	name := r.source()
	if name == "-" {
		name = "standard input"
	}
	r.put("%s: %s, %s", name, count(s.lines, "line"), count(int(s.bytes), "byte"))
	r.put("%s on %s, %d with a name%s", count(s.all(), "frame"), count(s.framed, "line"), s.named(), said(s.of(resolve.InLog)))
	r.outcomes()
	r.seen()
	r.state()
	r.files()
	r.servers()
	r.ledger()
	r.nearly()
	r.what()
	r.links()
}

// source returns the log's name, or the command that writes it.
func (o *Options) source() string {
	if len(o.Argv) > 0 {
		return strings.TrimPrefix(Command(o.Argv), "-- ")
	}
	return o.Log
}

// links lists the other tools' names under which the program is installed.
func (r *report) links() {
	if len(r.Links) == 0 {
		return
	}
	r.title("In place of other tools", "")
	for _, line := range r.Links {
		r.put("  %s", line)
	}
}

// said returns the text about frames whose names are in the log already.
func said(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of them in the log already)", n)
}

// outcomes writes how many frames without a name have which outcome.
func (r *report) outcomes() {
	var list []string
	for _, o := range resolve.Outcomes() {
		if n := r.survey.of(o); n > 0 && !o.Named() {
			list = append(list, fmt.Sprintf("%d %v", n, o))
		}
	}
	if len(list) > 0 {
		r.put("without a name: %s", strings.Join(list, ", "))
	}
}

// seen writes what was recognized.
func (r *report) seen() {
	s := r.survey
	r.title("Recognized", "")
	if s.all()+s.stated == 0 {
		r.put("  nothing: no line has a frame, a module or a mapping")
	}
	for _, f := range s.formats.ordered() {
		r.put("%6d  %s, format %q; the first in line %d: %s", f.n, plural(f.n, "frame"), f.name, f.line, f.example)
	}
	if s.stated > 0 {
		r.put("%6d  %s of modules and mappings", s.stated, plural(s.stated, "statement"))
	}
	r.list(&s.prefixes, "line", "after the prefix %q; the first in line %d: %s")
	if n := len(s.processes.list) + s.processes.more; n > 0 {
		var keys []string
		for _, p := range s.processes.ordered()[:min(maxShown, len(s.processes.list))] {
			keys = append(keys, excerpt([]byte(p.name)))
		}
		r.put("%6d  %s: %s%s", n, plural(n, "process"), strings.Join(keys, ", "), more(n-len(keys)))
	}
}

func (r *report) list(t *tally, thing, format string) {
	for i, c := range t.ordered() {
		if i == maxShown {
			r.put("        and %d more kinds", len(t.list)-i)
			return
		}
		r.put("%6d  %s "+format, c.n, plural(c.n, thing), c.name, c.line, c.example)
	}
}

// state writes what is wrong with the log itself.
func (r *report) state() {
	lines := r.survey.faults()
	if len(lines) == 0 {
		return
	}
	r.title("The log", "")
	for _, line := range lines {
		r.put("  %s", line)
	}
}

// faults returns what is wrong with the log itself.
func (s *survey) faults() (lines []string) {
	note := func(is bool, format string, args ...any) {
		if is {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	what, _ := wrongStart(s.head)
	note(s.lines == 0, "it is empty")
	note(what != "", "it is %s", what)
	note(s.begun > 0, "it begins in the middle of a stack, with frame %d", s.begun)
	note(s.cut && (s.all() > 0 || bytes.IndexByte(s.last, '#') >= 0 || bytes.Contains(s.last, []byte("{{{"))),
		"its last line has no end, and may be cut off: %s", excerpt(s.last))
	note(s.long > 0, "%s over 1 MiB, and %s not looked at", count(s.long, "line"), verb(s.long))
	for _, m := range s.malformed.ordered() {
		note(true, "%s that cannot be read, %s; the first in line %d: %s", count(m.n, "element"), m.name, m.line, m.example)
		note(strings.Contains(m.name, "unknown module ID"), "the module of a mapping is not defined: the log lacks its beginning, or lines of it")
	}
	for _, n := range s.nowhere.ordered() {
		note(true, "%s of which nothing can be asked: %s; the first in line %d: %s", count(n.n, "frame"), n.name, n.line, n.example)
	}
	return lines
}

// files writes how the modules' files were searched for.
func (r *report) files() {
	if len(r.modules) == 0 {
		return
	}
	r.title("Modules", r.unasked())
	shown := 0
	for i := range r.modules {
		m := &r.modules[i]
		if shown++; shown > maxShown {
			r.put("  and %d more", len(r.modules)-maxShown)
			return
		}
		if !m.bad() {
			r.put("  ok, %s: %s", count(m.frames, "frame"), painted{r.Theme.Strong, m.title()})
			if used := m.used(); used != "" {
				r.put("      from %s", used)
			}
			continue
		}
		r.put("  %s, %d of %s: %s", painted{r.Theme.Alert, m.status}, m.frames-m.named, count(m.frames, "frame"), painted{r.Theme.Strong, m.title()})
		r.put("      the first in line %d: %s", m.line, cause(m))
		if used := m.used(); used != "" {
			r.put("      found %s", used)
		}
		r.places(m.files)
	}
}

// ledger writes what the log says of the files that no build ID verifies.
func (r *report) ledger() {
	if len(r.evidence) == 0 {
		return
	}
	r.title("Evidence", ", of files that no build ID verifies")
	processes := map[*resolve.Process]bool{}
	for _, e := range r.evidence {
		processes[e.Process] = true
	}
	for i, e := range r.evidence {
		if i == maxShown {
			r.put("  and %d more", len(r.evidence)-maxShown)
			return
		}
		of := ""
		if len(processes) > 1 {
			of = ", process " + excerpt([]byte(e.Process.Key))
		}
		r.put("  %s%s: %s", painted{r.Theme.Strong, resolve.Title(e.Module)}, of, e.Basis)
		if e.Agreements != "" {
			r.put("      agree: %s", e.Agreements)
		}
		switch {
		case e.Refuted != "":
			r.put("      refutes it, in line %d: %s", e.Line, e.Refuted)
		case !e.Names:
			r.put("      that is too little: two places must agree")
		}
	}
}

// cause returns why a module's frames have no name.
func cause(m *examined) string {
	for _, text := range []string{m.files.Detail, m.detail, m.files.Note} {
		if text != "" && m.status != "NO_SYMBOL" && !(m.script && m.files.DebugStatus == symsrc.OK) {
			return text
		}
	}
	return m.reason
}

// places writes the places that were searched, in order, with the result of each.
func (r *report) places(files *symsrc.Files) {
	if len(files.Tried) > 0 {
		r.put("      asked, in this order:")
	}
	for i, lines := 0, 0; i < len(files.Tried); lines++ {
		if lines == maxTried {
			r.put("        and %d more", len(files.Tried)-i)
			break
		}
		lacked, n := lackedAt(files, i), 1
		for lacked != "" && i+n < len(files.Tried) && lackedAt(files, i+n) == lacked {
			n++
		}
		switch {
		case n > 1: // many places of which nothing is to be said
			some := files.Tried[i : i+min(n, maxAlike)]
			r.put("   %6s  %s: %s%s", fmt.Sprintf("%d-%d", i+1, i+n), lacked, strings.Join(some, ", "), more(n-len(some)))
		case lacked != "":
			r.put("      %3d  %s: %s", i+1, files.Tried[i], lacked)
		default:
			r.put("      %3d  %s", i+1, files.Tried[i])
		}
		i += n
	}
}

// lackedAt returns what the place of an index lacked.
func lackedAt(files *symsrc.Files, i int) string {
	if i < len(files.Lacked) {
		return files.Lacked[i]
	}
	return ""
}

// servers writes what is known of the servers, unless all is well.
func (r *report) servers() {
	if states := r.serverStates(); slices.ContainsFunc(states, func(s debuginfod.State) bool { return !s.OK }) {
		r.title("Servers", "")
		for _, s := range states {
			r.put("  %s: %s", s.Server, s.State)
		}
		r.put("  qss-filter cache clear has them waited for again")
	}
}

// serverStates returns what is known of the servers.
func (r *report) serverStates() []debuginfod.State {
	if r.States == nil {
		return nil
	}
	return r.States()
}

// unasked returns why no server is asked.
func (r *report) unasked() string {
	switch {
	case r.ServersOff:
		return ", without debuginfod servers (--no-debuginfod)"
	case len(r.Servers) == 0:
		return ", without debuginfod servers (DEBUGINFOD_URLS is not set)"
	}
	return ""
}

// nearly writes which lines look like frames but are not.
func (r *report) nearly() {
	if len(r.near) == 0 {
		return
	}
	r.title("Nearly frames", "")
	for _, n := range r.near {
		r.put("%6d  %s: %s", n.n, plural(n.n, "line"), n.what)
		r.put("        the first in line %d: %s", n.line, n.example)
	}
}

// what writes what to try next.
func (r *report) what() {
	if len(r.advice) == 0 {
		if r.survey.all() == 0 {
			r.put("\nThere is nothing to resolve. `qss-filter help formats` says which formats are known.")
		} else if r.survey.named() == r.survey.all() {
			r.put("\nEvery frame has a name.")
		} else {
			r.put("\nNothing can be done about the frames without a name.")
		}
		return
	}
	where := ""
	if r.log() == "" {
		where = ", in place of this command in the pipe"
	}
	r.title("What to try", where)
	for i, a := range r.advice {
		if i == maxShown {
			r.put("  and so on, for %d more", len(r.advice)-i)
			return
		}
		if a.short {
			r.put("  %d. %s: %s", i+1, a.what, painted{r.Theme.Place, strings.TrimSpace(a.lines[0])})
			for _, line := range a.lines[1:] {
				r.put("     %s", line)
			}
			continue
		}
		switch len(a.modules) {
		case 0:
			r.put("  %d. %s", i+1, a.what)
		case 1:
			r.put("  %d. %s: %s", i+1, a.modules[0], a.what)
		default:
			r.put("  %d. %s (%d modules): %s%s", i+1, a.what, len(a.modules),
				strings.Join(a.modules[:min(maxNamed, len(a.modules))], ", "), more(len(a.modules)-maxNamed))
		}
		for _, line := range a.lines {
			if command := strings.TrimLeft(line, " "); command != line {
				r.put("     %s%s", line[:len(line)-len(command)], painted{r.Theme.Place, command})
			} else {
				r.put("     %s", line)
			}
		}
	}
}

func count(n int, thing string) string { return fmt.Sprintf("%d %s", n, plural(n, thing)) }

func plural(n int, thing string) string {
	switch {
	case n == 1:
		return thing
	case strings.HasSuffix(thing, "s"):
		return thing + "es"
	}
	return thing + "s"
}

func verb(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
