package doctor

import (
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

// advice is one thing to try: its subject, its modules, and lines of text, of which those that begin with
// a space are commands. If it is short, the first line is a command that follows the subject.
type advice struct {
	what    string
	modules []string
	lines   []string
	short   bool
}

// publicServer serves many distributions (sourceware.org/elfutils/Debuginfod.html).
const publicServer = "https://debuginfod.elfutils.org/"

// log returns the log for the end of a command line, with a space before it: its name, or the command that writes it. It is "" for a pipe,
// in which the command stands in place of this one.
func (o *Options) log() string {
	switch {
	case len(o.Argv) > 0:
		return " " + Command(o.Argv)
	case o.Log == "-":
		return ""
	}
	return " " + Quoted(o.Log)
}

// Command returns a command to be run for a command line of a shell.
func Command(argv []string) string {
	text := "--"
	for _, word := range argv {
		text += " " + quoted(word)
	}
	return text
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
	return "  " + o.With(flags)
}

// With is again without the indentation of a command.
func (o *Options) With(flags string) string { return "qss-filter " + given(o.Flags) + flags + o.log() }

// Again returns the command that examines the log again.
func (o *Options) Again() string {
	return strings.TrimSuffix("qss-filter doctor "+given(o.Flags), " ") + o.log()
}

// given returns flags for a command line, with a space after each.
func given(flags []string) (text string) {
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
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" // also of ""
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
	r.advice = append(r.advice, advice{what: what, modules: []string{m.title()}, lines: lines})
}

// advise collects what to try.
func (r *report) advise(ctx context.Context) {
	s := r.survey
	if what, todo := wrongStart(s.head); what != "" {
		r.try("the input is "+what, "  "+strings.ReplaceAll(todo, " %s", r.log()))
	}
	served := r.searched(ctx)
	r.adviseMappings()
	if s.nowhere.by[resolve.NoProgram] != nil {
		r.try("addresses of a board, which has one program", "Name its ELF file, of the build that ran, and no other symbols:", r.again("--symbols FIRMWARE.elf"))
	}
	if s.cut32 > 0 {
		r.try(count(s.cut32, "address")+" cut to 32 bits, of which several modules may be meant",
			"Have the program print its modules alone, or use a build of LLVM that prints whole addresses.")
	}
	for i := range r.modules {
		if m := &r.modules[i]; m.bad() && !served[i] {
			r.adviseModule(m)
		}
	}
	if r.searchedInVain(served) && len(r.Servers) == 0 && !r.ServersOff {
		r.try("no debuginfod server was asked, since DEBUGINFOD_URLS is not set",
			"  DEBUGINFOD_URLS="+publicServer+" "+r.Again())
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
		switch n.todo {
		case "":
		case mapFlag:
			r.try(n.what, mapAdvice, r.again(mapFlag))
		default:
			r.try(n.what, n.todo)
		}
	}
}

// searchedInVain reports whether a server could have helped.
func (r *report) searchedInVain(served map[int]bool) bool {
	for i, m := range r.modules {
		if m.bad() && !served[i] && m.BuildID != "" && (m.status == "NOT_FOUND" || m.status == "MISMATCH_BUILD_ID" || m.status == "INCOMPLETE" || m.status == "NO_SYMBOL") {
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
	what := count(unknown, "address") + " in no known mapping"
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
	case len(r.Argv) > 0:
		r.try(what, "They are in no file that lies where it does for as long as the command runs: in a library that was unloaded, or in code that was made while it ran.",
			"Or the command's program has fixed addresses, at which any other may have code. If it alone writes them, copy /proc/PID/maps while it runs:",
			"  qss-filter "+given(r.Flags)+"--maps FILE -- COMMAND")
	default:
		r.try(what, append(r.mappings(), "Or let the filter start the program, and read them from it:", "  qss-filter "+given(r.Flags)+"-- COMMAND")...)
	}
}

// mappings returns lines about where mappings are that the log does not have: /proc while the process runs, then its core file.
func (r *report) mappings() []string {
	wrote := "PID"
	for pid, places := range r.survey.writers() {
		if r.Process != nil && r.Process(pid).wrote(r.written, places) {
			return []string{"The log has no mappings. Process " + pid + " of this machine began before the log was written, and has code at these addresses:",
				r.again("--maps /proc/" + pid + "/maps")}
		}
		if wrote == "PID" {
			wrote = pid
		}
	}
	return []string{"The log has no mappings. A process that has ended left them in its core file, if there is one:",
		"  coredumpctl dump " + wrote + " --output core", r.again("--maps core")}
}

// adviseModule adds advice for a module's frames.
func (r *report) adviseModule(m *examined) {
	if what, tool := m.foreign(); what != "" {
		r.tryFor(m, what+" files are not read", "Use the tools of that system: "+tool)
		return
	}
	if m.java {
		r.adviseJava(m)
		return
	}
	if m.script {
		if m.files.DebugStatus == symsrc.MismatchBuildID { // otherwise the map has no source there
			r.tryFor(m, m.files.Note, "Give the directory with the source map of the build that ran:", r.again("--symbols DIR"))
		}
		return
	}
	if m.BuildID == symsrc.MachO || m.BuildID == "" && strings.HasSuffix(m.Name, ".dylib") {
		r.tryFor(m, "the log has no UUID of it", "Give the whole report, with the images below its stacks (Binary Images, usedImages)")
		return
	}
	if _, unread := m.BuildID.Unread(); unread {
		r.tryFor(m, "its build ID in the log, "+m.BuildID.Text()+", cannot be read", "If you know which files ran, name them by hand:",
			fmt.Sprintf("  qss-filter symbolize FILE %#x", m.address))
		return
	}
	where := "  qss-filter where " + given(r.FileFlags) + quoted(cmp.Or(m.BuildID.String(), m.Name))
	switch m.status {
	case symsrc.NotVerified.String():
		if found := m.files.Elf; found != "" && !strings.HasPrefix(m.Name, "/") {
			r.tryFor(m, "the log has no build ID, and its stacks do not prove that the file found is the one that ran", "If you know that it is:",
				r.again("--symbols "+quoted(found)), "Otherwise give a directory with the one that ran:", r.again("--symbols DIR"))
			return
		}
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

// What to do about obfuscated names of Java.
const (
	mapAdvice = "Give the mapping.txt of the build that ran:"
	mapFlag   = "--map mapping.txt"
)

// adviseJava adds advice for frames of Java whose map is missing, of another build, or not known.
func (r *report) adviseJava(m *examined) {
	switch m.status {
	case symsrc.NotFound.String():
		r.tryFor(m, "its map of names was not found", mapAdvice, r.again(mapFlag))
	case symsrc.MismatchBuildID.String():
		r.tryFor(m, "the map is of another build", mapAdvice, r.again(mapFlag))
	case symsrc.NotVerified.String():
		r.tryFor(m, "the trace does not say of which build it is", mapAdvice, r.again(mapFlag))
	case resolve.Ambiguous.String():
		r.tryFor(m, "frames without a line, which several methods may be", "Build with -keepattributes LineNumberTable.")
	default:
		r.tryFor(m, cmp.Or(m.files.Note, m.reason), mapAdvice, r.again(mapFlag))
	}
}

// missing adds advice for how to get a file with symbols.
func (r *report) missing(m *examined, why string) {
	lines := []string{"If you built it, give the directory with the unstripped file, or its .debug file:", r.again("--symbols DIR")}
	if strings.HasPrefix(m.Name, "/") && !r.Roots {
		lines = append(lines, "If it is of another machine, give the root of that machine's files:", r.again("--rootfs DIR"))
	}
	if OfSystem(m.Name) {
		lines = append(lines, r.packaged(m)...)
	}
	if m.BuildID == "" {
		lines = append(lines, "The log has no build ID for it, so servers and .build-id trees cannot be asked.")
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

// foreign recognizes the files of other systems by their names. Programs that dune builds are `main.exe` on Unix, too.
func (m *examined) foreign() (what, tool string) {
	switch strings.ToLower(path.Ext(strings.ReplaceAll(m.Name, `\`, "/"))) {
	case ".exe":
		if m.files.Usable() || strings.HasPrefix(m.Name, "/") || strings.HasPrefix(m.Name, "./") {
			return "", ""
		}
		fallthrough
	case ".dll", ".sys":
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
