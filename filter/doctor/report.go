package doctor

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// report is what is written.
type report struct {
	*Options
	survey  *survey
	modules []examined
	near    []nearly
	advice  []advice
	text    bytes.Buffer
}

// Limits of the lists that are shown.
const (
	maxShown = 20
	maxTried = 40
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
	name := r.Log
	if name == "-" {
		name = "standard input"
	}
	r.put("%s: %s, %s", name, count(s.lines, "line"), count(int(s.bytes), "byte"))
	r.put("%s on %s, %d with a name%s", count(s.all(), "frame"), count(s.framed, "line"), s.named(), said(s.of(resolve.InLog)))
	r.outcomes()
	r.seen()
	r.state()
	r.files()
	r.nearly()
	r.what()
	r.links()
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
	s := r.survey
	var lines []string
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
	if len(lines) == 0 {
		return
	}
	r.title("The log", "")
	for _, line := range lines {
		r.put("  %s", line)
	}
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

// cause returns why a module's frames have no name.
func cause(m *examined) string {
	for _, text := range []string{m.files.Detail, m.detail, m.files.Note} {
		if text != "" && m.status != "NO_SYMBOL" {
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
	for i, place := range files.Tried {
		if i == maxTried {
			r.put("        and %d more", len(files.Tried)-i)
			break
		}
		if i < len(files.Lacked) && files.Lacked[i] != "" {
			place += ": " + files.Lacked[i]
		}
		r.put("      %3d  %s", i+1, place)
	}
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
	r.title("What to try", "")
	for i, a := range r.advice {
		if i == maxShown {
			r.put("  and so on, for %d more", len(r.advice)-i)
			return
		}
		switch len(a.modules) {
		case 0:
			r.put("  %d. %s", i+1, a.what)
		case 1:
			r.put("  %d. %s: %s", i+1, a.modules[0], a.what)
		default:
			r.put("  %d. %s, of %d modules: %s%s", i+1, a.what, len(a.modules),
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

// advice is one thing to try: its subject, its modules, and lines of text, of which those that begin with
// a space are commands.
type advice struct {
	what    string
	modules []string
	lines   []string
}

// publicServer serves many distributions (sourceware.org/elfutils/Debuginfod.html).
const publicServer = "https://debuginfod.elfutils.org/"

// log returns the log's name for a command line.
func (o *Options) log() string {
	if o.Log == "-" {
		return "LOG"
	}
	return Quoted(o.Log)
}

// Quoted returns the path of a log for a command line of a shell.
func Quoted(path string) string {
	if strings.HasPrefix(path, "-") { // must not look like a flag
		path = "./" + path
	}
	return quoted(path)
}

// again returns the command that filters the log again, with the given flags and more.
func (o *Options) again(flags string) string {
	return "  qss-filter " + o.given(o.Flags) + flags + " " + o.log()
}

// given returns flags for a command line, with a space after each.
func (o *Options) given(flags []string) (text string) {
	for _, f := range flags {
		text += quoted(f) + " "
	}
	return text
}

// quoted returns a path quoted for a shell.
func quoted(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-=@%,") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// try adds advice, unless it is there already.
func (r *report) try(what string, lines ...string) {
	for _, a := range r.advice {
		if a.what == what {
			return
		}
	}
	r.advice = append(r.advice, advice{what: what, lines: lines})
}

// tryFor adds advice for a module. The same advice for several modules is written once.
func (r *report) tryFor(m *examined, what string, lines ...string) {
	for i := range r.advice {
		if a := &r.advice[i]; a.what == what && slices.Equal(a.lines, lines) {
			a.modules = append(a.modules, m.title())
			return
		}
	}
	r.advice = append(r.advice, advice{what, []string{m.title()}, lines})
}

// advise collects what to try.
func (r *report) advise() {
	s := r.survey
	if what, todo := wrongStart(s.head); what != "" {
		r.try("the input is "+what, "  "+strings.ReplaceAll(todo, "%s", r.log()))
	}
	r.adviseMappings()
	if s.cut32 > 0 {
		r.try(count(s.cut32, "address")+" cut to 32 bits, of which several modules may be meant",
			"Have the program print its modules alone, or use a build of LLVM that prints whole addresses.")
	}
	for _, m := range r.modules {
		if m.bad() {
			r.adviseModule(&m)
		}
	}
	if r.searchedInVain() && len(r.Servers) == 0 && !r.ServersOff {
		r.try("no debuginfod server was asked, since DEBUGINFOD_URLS is not set",
			fmt.Sprintf("  DEBUGINFOD_URLS=%s qss-filter doctor %s%s", publicServer, r.given(r.Flags), r.log()))
	}
	if s.unverified > 0 {
		r.try(count(s.unverified, "frame")+" with an unverified name: the log has no build ID, and the file was found by its name",
			"The name is right if that is the file that ran. Link with -Wl,--build-id, and have the build IDs printed.")
	}
	if r.Cache != nil {
		if err := r.Cache(); err != nil {
			r.try("the cache of answers does not work: "+err.Error(),
				"Names are found without it, but every run searches again:", r.again("--cache-dir DIR"))
		}
	}
	for _, n := range r.near {
		if n.todo != "" {
			r.try(n.what, n.todo)
		}
	}
}

// searchedInVain reports whether a server could have helped.
func (r *report) searchedInVain() bool {
	for _, m := range r.modules {
		if m.bad() && m.BuildID != "" && (m.status == "NOT_FOUND" || m.status == "MISMATCH_BUILD_ID" || m.status == "INCOMPLETE" || m.status == "NO_SYMBOL") {
			return true
		}
	}
	return false
}

// adviseMappings adds advice for addresses that no mapping covers.
func (r *report) adviseMappings() {
	s := r.survey
	unknown := s.of(resolve.NoMapping)
	if unknown == 0 {
		return
	}
	what := count(unknown, "address") + " in no mapping that is known"
	below, other := 0, false
	for _, p := range s.unmapped {
		for _, m := range s.mapped {
			switch {
			case p.address < m.start || p.address > m.last:
			case m.process == p.process && m.line > p.line:
				below = max(below, m.line-p.line)
			case m.process != p.process:
				other = true
			}
		}
	}
	switch {
	case below > 0:
		r.try(what, "Mappings that cover them come below them in the log:", r.again(fmt.Sprintf("--lookahead=%d", below+below/2+10)))
	case other:
		r.try(what, "Mappings that cover them are in the log, of another process. If that is the same:", r.again("--process-key=none"))
	case len(s.mapped) > 0:
		r.try(what, fmt.Sprintf("The log has %d mappings, none of which covers them: the list is of another process, or not complete.", len(s.mapped)))
	default:
		r.try(what, "The log has no mappings. Take them from the running process, or have the program print them:",
			"  cp /proc/PID/maps maps.txt", r.again("--maps maps.txt"),
			"Or let the filter start the program, and read them from it:", "  qss-filter "+r.given(r.Flags)+"-- COMMAND")
	}
}

// adviseModule adds advice for a module's frames.
func (r *report) adviseModule(m *examined) {
	if what, tool := foreign(m.Name); what != "" {
		r.tryFor(m, what+" files are not read", "Use the tools of that system: "+tool)
		return
	}
	where := "  qss-filter where " + r.given(r.FileFlags) + quoted(cmp.Or(m.BuildID.String(), m.Name))
	switch m.status {
	case symsrc.NotVerified.String():
		r.tryFor(m, "the log has no build ID, and its stacks do not prove that this machine's file is the one that ran", "If the log is of this machine:",
			r.again("--rootfs /"), "Otherwise give the root of the files that ran, or a directory with them:", r.again("--rootfs DIR"))
	case symsrc.MismatchBuildID.String():
		if m.BuildID == "" {
			r.tryFor(m, "the file at hand is of another build", "Give the directory that has the one that ran:", r.again("--symbols DIR"))
			return
		}
		r.tryFor(m, "the file found is from another build", "The one that ran has the build ID "+m.BuildID.String()+"; name the directory that has it:",
			r.again("--symbols DIR"))
	case "NO_SYMBOL":
		if strings.HasPrefix(m.reason, "no symbol") && m.files.DebugStatus == symsrc.OK {
			r.tryFor(m, "no symbol covers the address", "It may be code without a name, or the offset is wrong. Look at it by hand:",
				fmt.Sprintf("  qss-filter symbolize %s %#x", quoted(m.asked()), m.address))
			return
		}
		if len(m.files.Symbols) > 0 {
			r.missing(m, "the symbol file that was found has none for the address")
			return
		}
		r.missing(m, "the file that was found has no debug information, and no symbol for the address")
	case symsrc.Incomplete.String():
		r.missing(m, "the file that was found has no debug information, and no symbol for the address")
	case symsrc.NotFound.String():
		r.missing(m, "its file was not found")
	case symsrc.NoReadPermission.String():
		r.tryFor(m, "no permission to read its file", "  ls -l "+quoted(m.files.Elf), "Run the filter as a user that may read it, or copy it and pass --symbols DIR.")
	case symsrc.UnsupportedCompressed.String():
		r.tryFor(m, "its file is packed ("+m.files.Note+")", "Unpack it, and pass its directory:", r.again("--symbols DIR"))
	case symsrc.NotELF.String(), symsrc.Corrupted.String(), symsrc.ReadError.String():
		r.tryFor(m, "its file cannot be used", "Replace it, or pass a directory that has a good one:",
			r.again("--symbols DIR"))
	default:
		r.tryFor(m, cmp.Or(m.files.Note, m.reason), where)
	}
}

// missing adds advice for how to get a file with symbols.
func (r *report) missing(m *examined, why string) {
	lines := []string{"If you built it, give the directory with the unstripped file, or its .debug file:", r.again("--symbols DIR")}
	if strings.HasPrefix(m.Name, "/") && !r.Roots {
		lines = append(lines, "If it is of another machine, give the root of that machine's files:", r.again("--rootfs DIR"))
	}
	if of(m.Name, "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/libexec") {
		lines = append(lines, r.packaged(m)...)
	}
	if m.BuildID == "" {
		lines = append(lines, "The log has no build ID of it: neither servers nor .build-id trees can be asked.")
	}
	r.tryFor(m, why, lines...)
}

// packaged returns lines about the distribution's package that has the symbols.
func (r *report) packaged(m *examined) []string {
	if r.Owner != nil && len(m.files.Tried) > 0 && m.files.Elf == m.Name && m.files.ElfStatus != symsrc.NotFound && m.files.ElfStatus != symsrc.MismatchBuildID {
		if name, install := r.Owner(m.Name); name != "" {
			return []string{"It is from the package " + name + " of this machine, whose debug information is another one:", "  " + install}
		}
	}
	if path.Base(m.Name) == "libc.so.6" {
		return []string{"If it is a distribution's, its debug information is a package there (of libc: libc6-dbg on Debian, glibc-debuginfo on Fedora):", "  apt-get install libc6-dbg"}
	}
	return []string{"If it is a distribution's, its debug information is a package there (PACKAGE-dbgsym or PACKAGE-dbg on Debian, PACKAGE-debuginfo on Fedora):",
		"  dpkg -S PATH                  # names PACKAGE", "  dnf debuginfo-install PACKAGE"}
}

// of reports whether a path is below one of some directories.
func of(name string, dirs ...string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// foreign recognizes the files of other systems by their names.
func foreign(name string) (what, tool string) {
	switch strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/"))) {
	case ".dylib":
		return "Mach-O", "atos, llvm-symbolizer"
	case ".dll", ".exe", ".sys":
		return "PE", "llvm-symbolizer, WinDbg"
	}
	return "", ""
}

// Owner asks the machine's package manager which package has a file: dpkg of Debian, rpm of Fedora and SUSE. install is the command
// that installs its debug information. Both are "" if there is no answer.
func Owner(path string) (name, install string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "dpkg-query", "--search", "--", path).Output(); err == nil {
		return debian(string(out))
	}
	if out, err := exec.CommandContext(ctx, "rpm", "--query", "--file", "--queryformat", "%{NAME}\n", "--", path).Output(); err == nil {
		name, _, _ = strings.Cut(string(out), "\n")
		return name, "dnf debuginfo-install " + name
	}
	return "", ""
}

// debian reads `libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6`. The debug information of a package is in another one, whose name ends
// in -dbgsym and which is in a separate archive; for a few packages, such as libc, the name ends in -dbg.
func debian(line string) (name, install string) {
	line, _, _ = strings.Cut(line, "\n")
	name, _, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsAny(name, " /") {
		return "", ""
	}
	if name == "libc6" {
		return name, "apt-get install libc6-dbg"
	}
	return name, "apt-get install " + name + "-dbgsym    # from debian-debug, or ddebs.ubuntu.com"
}
