package prefix

// Kind names a logger, or a format of one.
type Kind uint8

// The loggers that Read knows. KindNone is a line without any prefix.
const (
	KindNone Kind = iota
	LogcatBrief
	LogcatProcess
	LogcatTag
	LogcatThread
	LogcatTime
	LogcatThreadtime
	LogcatLong
	AndroidStudio
	FuchsiaKlog
	FuchsiaSyslog
	Printk
	PrintkLevel
	Kmsg
	SyslogBSD
	SyslogISO
	SyslogIETF
	JournalMonotonic
	JournalUnix
	JournalFull
	CRI
	Compose
	Kubectl
	Timestamp
	GitHubActions
	GitHubJob
	GitLab
	CTest
	TestCount
	GoTest
	Bazel
	Pytest
	Glog
	Chromium
	Spdlog
	Valgrind
	Sanitizer
	MPI
	Gecko
	Mozharness
	JSON
)

// kindNames are the names that String gives, in the order of the constants.
var kindNames = [...]string{
	"none",
	"logcat brief", "logcat process", "logcat tag", "logcat thread", "logcat time", "logcat threadtime", "logcat long",
	"android studio", "fuchsia klog", "fuchsia syslog", "printk", "printk level", "kmsg",
	"syslog rfc3164", "syslog iso", "syslog rfc5424", "journald monotonic", "journald unix", "journald full",
	"cri", "compose", "kubectl", "timestamp", "github actions", "github job", "gitlab",
	"ctest", "test count", "go test", "bazel", "pytest",
	"glog", "chromium", "spdlog", "valgrind", "sanitizer", "mpi", "gecko", "mozharness", "json",
}

// String returns the logger's name, such as `logcat threadtime`.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// layer recognises one logger's prefix at line[at:], where line is cut to maxRead bytes. It gives the offset behind the
// prefix, −1 where there is none, and fills r.p only where there is one.
type layer func(r *Reader, line []byte, at int) int

// layers lists the recognisers with the bytes that their prefixes begin with, blanks not counted. Two of them never fit the same text: what
// begins alike, such as the loggers that write a date first, is one recogniser that looks further.
var layers = [...]struct {
	first  string
	indent indent
	read   layer
}{
	{digitBytes, mayIndent, logcatTimed},
	{digitBytes, flush, isoDate},
	{digitBytes, flush, unixTime},
	{digitBytes, flush, clockTime},
	{digitBytes, flush, ctest},
	{digitBytes, flush, kmsg},
	{"VDIWEFSA", flush, logcatBrief},
	{"IWEF", flush, glog},
	{"[", flush, bracketSeconds},
	{"[", flush, bracketDate},
	{"[", flush, logcatLongHeader},
	{"[", flush, chromium},
	{"[", flush, mpi},
	{"[", flush, testCount},
	{"[", flush, kubectl},
	{"<", flush, priority},
	{"JFMASOND", flush, monthDate},
	{"MTWFS", flush, weekday},
	{"=-*", flush, pidMark},
	{digitBytes, mayIndent, gecko},
	{"GP", flush, geckoBar},
	{letterBytes + digitBytes + "_", mustIndent, goTest},
	{"(", flush, bazel},
	{"E", flush, pytest},
	{"k", flush, dmesgDecoded},
	{letterBytes + digitBytes, flush, compose},
}

// indent tells whether blanks stand before what a prefix begins with.
type indent uint8

const (
	flush indent = iota
	mayIndent
	mustIndent
)

const (
	digitBytes  = "0123456789"
	letterBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// dispatch[0][c] has bit n set where layers[n] begins with c; dispatch[1][c], where it does so behind blanks or tabs.
var dispatch = func() (table [2][256]uint32) {
	for n, l := range layers {
		for _, c := range []byte(l.first) {
			if l.indent != mustIndent {
				table[0][c] |= 1 << n
			}
			if l.indent != flush {
				table[1][c] |= 1 << n
			}
		}
	}
	return table
}()
