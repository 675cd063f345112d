package command

import (
	"cmp"
	"runtime/debug"
	"strings"

	"qss-filter/filter/command/cli"
)

// common are the flags that --help shows.
var common = []string{"symbols", "build-id-dir", "rootfs", "debuginfod-url", "frames", "explain", "format", "by",
	"color", "summary", "style", "no-cache", "print-config", "help", "help-all", "version"}

// doctorCommon are those of doctor, which takes the others of the filter, too.
var doctorCommon = []string{"symbols", "build-id-dir", "debug-root", "breakpad-dir", "rootfs", "obj", "ids-txt", "debuginfod-url",
	"no-debuginfod", "adjust", "by", "lookahead", "maps", "no-cache", "print-config", "help", "help-all"}

const (
	about = "makes native stack traces in logs readable, live"
	exits = "0 if everything was read, 1 if an input or the output failed, 2 if the command line is wrong; with -- COMMAND the command's own, once its output has ended."
)

// description is that of the manual page.
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

// environment are the variables that count.
var environment = []cli.Variable{
	{Name: "QSS_FILTER_CONFIG", About: "the configuration; set but empty, or /dev/null, for none"},
	{Name: "XDG_CONFIG_HOME", About: "otherwise the configuration is qss-filter/config below it (~/.config)"},
	{Name: "NO_COLOR", About: "set to anything: --color=auto adds no colors"},
	{Name: "FORCE_COLOR", About: "set to anything but 0: --color=auto adds colors in a pipe, too"},
	{Name: "CLICOLOR_FORCE", About: "the same as FORCE_COLOR"},
	{Name: "QSS_COLORS", About: "the colors of what is added"},
	{Name: "TERM", About: "dumb: --color=auto adds no colors"},
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

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return cmp.Or(info.Main.Version, "(devel)") + " " + info.GoVersion
}

// date is the day of the commit that the program was built from, "" if that is not known.
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
