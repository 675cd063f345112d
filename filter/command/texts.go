package command

import (
	"embed"
	"strings"

	"qss-filter/filter/command/cli"
)

//go:embed topics/*.md
var topicFiles embed.FS

// topicNames are the topics of help, in its order.
var topicNames = []string{"android", "apple", "ci", "tree", "llvm-symbolizer", "addresses", "symbols", "formats", "javascript", "printing", "output", "json",
	"configuration", "fleet", "imports", "limits", "security", "benchmarks"}

// topics returns the topics of help. Each describes itself in its title.
func topics() (all []cli.Topic) {
	for _, name := range topicNames {
		text, err := topicFiles.ReadFile("topics/" + name + ".md")
		if err != nil {
			continue // a test holds that each is there
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		all = append(all, cli.Topic{Name: name, About: title, Text: string(text)})
	}
	return all
}

// common are the flags that -h shows.
var common = []string{"symbols", "mapping", "rootfs", "debuginfod", "follow", "output", "frames", "names", "source", "color", "explain", "json",
	"maps", "verbose", "help", "version"}

// doctorCommon are those of doctor.
var doctorCommon = []string{"symbols", "mapping", "rootfs", "debuginfod", "addresses", "process-key", "lookahead", "maps", "json", "no-cache", "print-config",
	"h", "help"}

// treeCommon are those of tree.
var treeCommon = []string{"output", "include", "exclude", "jobs", "symbols", "mapping", "rootfs", "frames", "names", "only-stacks", "report", "json",
	"fail-unresolved", "verbose", "help"}

// treeExamples are the examples of tree.
var treeExamples = [][2]string{
	{"qss-filter tree logs -o out -s out/symbols", "name the frames of all logs, and list their stacks"},
	{"qss-filter tree logs -o out --include '*.log'", "read only some files"},
	{"qss-filter tree logs -o out --json", "print what was found, for a program"},
}

// examples are the examples of -h.
var examples = [][2]string{
	{"adb logcat | qss-filter -s out/symbols", "name the crashes of a device, live"},
	{"qss-filter -s build -- ctest", "run a command; its status is kept"},
	{"qss-filter crash.log", "read a log"},
	{"qss-filter doctor crash.log", "say why a name is missing, and what to do"},
	{"qss-filter tree logs -o out", "read a directory of logs"},
}

// letters are the one-letter names of flags.
var letters = map[string]string{"symbols": "s", "output": "o", "quiet": "q", "verbose": "v", "version": "V", "jobs": "j", "follow": "f"}

// layout is the order of flags in help, the groups that most people need first.
var layout = []cli.Group{
	{Title: "Logs", Flags: "follow include exclude follow-links jobs"},
	{Title: "Symbols", Flags: "symbols mapping rootfs debuginfod debuginfod-timeout trust-files backend"},
	{Title: "Traces and samples"},
	{Title: "Fleet"},
	{Title: "Output", Flags: "output name check frames names no-demangle source source-root path-map hyperlink-format color explain only-stacks " +
		"dedupe modules strip-ansi json style"},
	{Title: "Messages", Flags: "summary own annotate fail-unresolved verbose quiet"},
	{Title: "Processes and addresses", Flags: "process-key addresses lookahead maps linger"},
	{Title: "Files beside the log", Flags: "report pprof folded dump-context on-dumpfile"},
	{Title: "Cache", Flags: "no-cache cache-dir cache-max"},
}

// habits say what to use in place of other programs' flags.
var habits = map[string]string{
	"colour": "use --color[=WHEN]", "no-colour": "use --color=never", "no-color": "use --color=never", "nocolor": "use --color=never",
	"silent": "use --quiet", "n": "--source=N shows lines around a frame's", "C": "--source=N shows lines around a frame's",
	"context": "--source=N shows lines around a frame's, --modules=fold|show|hide the lines of modules",
	"A":       "--source=N shows lines around a frame's", "B": "--source=N shows lines around a frame's",
	"e": "give the file with --symbols FILE, or use 'qss-filter symbolize FILE'", "exe": "give the file with --symbols FILE",
	"i": "inlined functions are always shown",
	"p": "give the directory with --symbols DIR", "file": "give the log's name without a flag", "input": "give the log's name without a flag",
	"sym": "name the directory of ndk-stack's -sym with --symbols DIR", "dump": "give the log's name without a flag",
	"symbol-path": "use --symbols DIR", "symbol-dir": "use --symbols DIR", "symdir": "use --symbols DIR", "sympath": "use --symbols DIR",
	"log": "give the log's name without a flag", "in": "give the log's name without a flag",
	"r": "'qss-filter tree DIR --output OUT' reads the logs in a directory", "recursive": "'qss-filter tree DIR --output OUT' reads the logs in a directory",
	"z": "packed files are unpacked without a flag", "cache": "use --no-cache, or --cache-dir DIR", "no-json": "text is the default",
	"symfs": "use --rootfs DIR", "sysroot": "use --rootfs DIR", "debug-dir": "use --symbols DIR", "solib-search-path": "use --symbols DIR",
	"format": "use --json", "output-style": "use --json", "pretty": "use --frames=append",
	"pid":   "--process-key says what tells processes apart; --maps /proc/PID/maps gives the mappings of one",
	"debug": "use --verbose", "jsonl": "use --json", "offline": "use --debuginfod=off",
}

// commandWords say what to use in place of other programs' commands.
var commandWords = map[string]string{
	"version": "use --version", "run": "to run a program, write 'qss-filter -- PROGRAM …'", "exec": "to run a program, write 'qss-filter -- PROGRAM …'",
	"addr2line": "there is 'qss-filter symbolize FILE 0xADDRESS'", "lookup": "there is 'qss-filter symbolize FILE 0xADDRESS'",
	"filter": "give the log's name alone", "config": "use --print-config", "topics": "there is 'qss-filter help'",
	"find": "there is 'qss-filter where BUILDID'", "dump": "there is 'qss-filter dump-sym FILE'",
}

// treeHabits say of the filter's flags what a tree of logs has in their place.
var treeHabits = map[string]string{
	"dedupe": "the page of stacks and groups.tsv have each stack once", "linger": "it is for a command after --, which a tree has not",
	"hyperlink-format": "files have no links; the page of stacks links to the logs", "style": "read the logs one by one for llvm's form",
	"summary": "a line at the end and summary.json have the counts", "pprof": "read the logs one by one for profiles",
	"folded": "read the logs one by one for profiles", "dump-context": "'qss-filter modules DIR' lists the modules",
	"annotate":    "annotations are for the step of a test; the page of stacks has the lines",
	"on-dumpfile": "read the logs one by one to run commands",
	"i":           "give the directory of the logs without a flag",
}

const (
	about = "makes native stack traces in logs readable, live"
	exits = "0 if everything was read, 1 if an input or the output failed, 2 if the command line is wrong or names what cannot be opened, 3 if --fail-unresolved has found a frame without a name; with -- COMMAND the command's own, once its output has ended."
)

// description is the description in the manual page.
const description = `
qss-filter goes at the end of any pipe of logs and makes every native stack trace in it readable: function, source file,
line and inlined calls. Everything else of the log leaves byte for byte as it came, as soon as it came.

  adb logcat | qss-filter --symbols out/target/product/generic/symbols
  tail -f crash.log | qss-filter
  qss-filter --symbols build -- ctest
  qss-filter --explain crash.log
  qss-filter tree logs --output out --rootfs /mnt/rootfs

No wrong name is printed: a build ID that does not match, a stale file, an address outside its symbol leave a frame as it
was. --explain says why at each one; where shows how the files of one module are found.

With -- COMMAND, qss-filter runs the command and filters its output; colors, signals and the exit status are the command's own.
Processes that it leaves behind may go on writing: their output is filtered until they close it, are silent for 2 seconds
(--linger), or a signal ends the wait. Then a line names the processes that still hold the output, and their next write fails, as
into any pipe without a reader.
The first Ctrl-C lets the producer at the other end of a pipe finish, a second one stops at once.
`

// environment are the environment variables that the program reads.
var environment = []cli.Variable{
	{Name: "QSS_FILTER_CONFIG", About: "the configuration; set but empty, or /dev/null, for none"},
	{Name: "XDG_CONFIG_HOME", About: "otherwise the configuration is qss-filter/config below it (~/.config)"},
	{Name: "QSS_FILTER_SYMBOLS", Flag: "symbols", About: "more places for --symbols, with : between them (; on Windows)"},
	{Name: "QSS_FILTER_PROJECT", About: "set to 1: read .qss-filter of the working directory, or the nearest one above it, too"},
	{Name: "NO_COLOR", About: "set to anything: --color=auto adds no colors"},
	{Name: "FORCE_COLOR", About: "set to anything but 0: --color=auto adds colors in a pipe, too"},
	{Name: "CLICOLOR_FORCE", About: "the same as FORCE_COLOR"},
	{Name: "CLICOLOR", About: "set to 0: --color=auto adds no colors"},
	{Name: "PAGER", About: "what shows long help on a terminal (less); cat, or nothing, shows it at once"},
	{Name: "QSS_FILTER_PAGER", About: "the same, before PAGER"},
	{Name: "LESS", About: "flags of less (FRX)"},
	{Name: "LC_ALL", About: "the locale: without UTF-8 in it a terminal gets ASCII only"},
	{Name: "LC_CTYPE", About: "the same, if LC_ALL is not set"},
	{Name: "LANG", About: "the same, if LC_CTYPE is not set either"},
	{Name: "QSS_COLORS", About: "the colors of what is added"},
	{Name: "TERM", About: "set to dumb: --color=auto adds no colors"},
	{Name: "COLUMNS", About: "the width of the terminal, in place of what it says itself"},
	{Name: "CI", About: "if set, no background process outlives the filter"},
	{Name: "GITHUB_ACTIONS", About: "set to true: --annotate=auto is --annotate=github"},
	{Name: "TF_BUILD", About: "set to true: --annotate=auto is --annotate=azure"},
	{Name: "GITHUB_WORKSPACE", About: "the repository, to which paths of findings are relative"},
	{Name: "CI_PROJECT_DIR", About: "the same, on GitLab"},
	{Name: "BUILD_SOURCESDIRECTORY", About: "the same, on Azure Pipelines"},
	{Name: "ANDROID_PRODUCT_OUT", About: "files in symbols below it are found by their build IDs"},
	{Name: "XDG_CACHE_HOME", About: "where the cache and downloads are (~/.cache)"},
	{Name: "DEBUGINFOD_URLS", About: "debuginfod servers, with spaces between them"},
	{Name: "_NT_SYMBOL_PATH", About: "URLs of stores, as Windows has them: SRV*DIR*URL;…"},
	{Name: "DEBUGINFOD_CACHE_PATH", About: "where downloads are"},
	{Name: "DEBUGINFOD_TIMEOUT", About: "seconds to wait for a server to go on (90)"},
	{Name: "DEBUGINFOD_MAXTIME", About: "seconds that a download may take (no bound)"},
	{Name: "DEBUGINFOD_MAXSIZE", About: "bytes that a file may have (2 GiB)"},
	{Name: "DEBUGINFOD_RETRY_LIMIT", About: "how often a server is asked again (2)"},
	{Name: "DEBUGINFOD_HEADERS_FILE", About: "a file of headers for every request"},
	{Name: "NETRC", About: "the file of logins to stores of symbols (~/.netrc)"},
	{Name: "QSS_FILTER_STORE_TOKENS", About: "tokens for stores of symbols: HOST=TOKEN, with spaces between them"},
	{Name: "AWS_REGION", About: "the region of stores s3://BUCKET/PREFIX"},
	{Name: "AWS_ACCESS_KEY_ID", About: "the key that signs requests to these stores"},
	{Name: "AWS_SECRET_ACCESS_KEY", About: "its secret"},
	{Name: "AWS_SESSION_TOKEN", About: "its token, if it is of a session"},
	{Name: "AWS_ENDPOINT_URL_S3", About: "the server of these stores, in place of Amazon's"},
	{Name: "DEBUGINFOD_PROGRESS", About: "set to anything: show downloads on standard error"},
	{Name: "LLVM_SYMBOLIZER_OPTS", About: "flags, where the program is called llvm-symbolizer"},
}

// files are the files that the program uses.
var files = []cli.Variable{
	{Name: "~/.config/qss-filter/config", About: "the configuration"},
	{Name: ".qss-filter", About: "the configuration of a project, read if $QSS_FILTER_PROJECT is set"},
	{Name: "~/.cache/qss-filter", About: "cached results, indexes of symbol directories, and unpacked copies of large files"},
	{Name: "~/.cache/debuginfod_client", About: "downloads, shared with elfutils and gdb"},
	{Name: "/usr/lib/debug", About: "debug files of the system's packages"},
}

// seeAlso are related manual pages.
var seeAlso = []string{"addr2line(1)", "debuginfod(8)", "eu-stack(1)", "llvm-symbolizer(1)", "perf-script(1)"}
