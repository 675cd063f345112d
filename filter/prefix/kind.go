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
	Ray
	Torchrun
	Gecko
	Mozharness
	JSON
)

// kindNames are the names that String returns.
var kindNames = [...]string{
	KindNone:    "none",
	LogcatBrief: "logcat brief", LogcatProcess: "logcat process", LogcatTag: "logcat tag", LogcatThread: "logcat thread",
	LogcatTime: "logcat time", LogcatThreadtime: "logcat threadtime", LogcatLong: "logcat long", AndroidStudio: "android studio",
	FuchsiaKlog: "fuchsia klog", FuchsiaSyslog: "fuchsia syslog", Printk: "printk", PrintkLevel: "printk level", Kmsg: "kmsg",
	SyslogBSD: "syslog rfc3164", SyslogISO: "syslog iso", SyslogIETF: "syslog rfc5424",
	JournalMonotonic: "journald monotonic", JournalUnix: "journald unix", JournalFull: "journald full",
	CRI: "cri", Compose: "compose", Kubectl: "kubectl", Timestamp: "timestamp",
	GitHubActions: "github actions", GitHubJob: "github job", GitLab: "gitlab",
	CTest: "ctest", TestCount: "test count", GoTest: "go test", Bazel: "bazel", Pytest: "pytest",
	Glog: "glog", Chromium: "chromium", Spdlog: "spdlog", Valgrind: "valgrind", Sanitizer: "sanitizer", MPI: "mpi",
	Ray: "ray", Torchrun: "torchrun",
	Gecko: "gecko", Mozharness: "mozharness", JSON: "json",
}

// String returns the logger's name, such as `logcat threadtime`.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}
