package prefixtest

import (
	"fmt"

	"qss-filter/filter/prefix"
)

// line makes a sample of a format string with the values that args returns.
func line(name string, kind prefix.Kind, pid bool, format string, args func(pid, i int) []any) Sample {
	return Sample{Name: name, Kind: kind, PID: pid, Before: func(pid, i int) string {
		return fmt.Sprintf(format, args(pid, i)...)
	}}
}

func index(_, i int) []any     { return []any{i % 1000} }
func process(pid, _ int) []any { return []any{pid} }
func timed(pid, i int) []any   { return []any{i % 1000, pid} }
func both(pid, i int) []any    { return []any{i % 1000, pid, pid + i%3} }
func threads(pid, i int) []any { return []any{pid, pid + i%3} }
func nothing(_, _ int) []any   { return nil }
func reversed(p, i int) []any  { return []any{p, i % 1000} }
func stamps(pid, i int) []any  { return []any{pid, pid + i%3, i % 1000} }
func suffix(text string) func(pid, i int) string {
	return func(int, int) string { return text }
}

// longTag is a tag that does not fit logcat's buffer for prefixes.
const longTag = "a.tag.that.is.so.long.that.logcat.cuts.it.off.at.the.end.of.its.buffer.for.the.prefix.of.128.bytes" +
	".the.last.of.which.is.a.zero: "

// cut cuts the prefix as logcat does.
func cut(s Sample) Sample {
	whole := s.Before
	s.Before = func(pid, i int) string { return whole(pid, i)[:127] }
	return s
}

// logcat returns Android's and Tizen's formats.
func logcat() []Sample {
	threadtime := func(name, time string) Sample {
		return line("logcat threadtime "+name, prefix.LogcatThreadtime, true, time+" %5d %5d I wrap.sh : ", both)
	}
	brief := func(name, format string) Sample {
		return line("logcat "+name, prefix.LogcatBrief, true, format, process)
	}
	color := line("logcat threadtime color", prefix.LogcatThreadtime, true,
		"\x1b[32m11-20 15:58:12.%03d %5d %5d I wrap.sh : ", both)
	color.After = suffix("\x1b[0m")
	colorBrief := brief("brief color", "\x1b[38;5;75mF/DEBUG   (%5d): ")
	colorBrief.After = suffix("\x1b[0m")
	tail := line("logcat process", prefix.LogcatProcess, true, "D(%5d) ", process)
	tail.After = suffix("  (wrap.sh)")
	tailColor := line("logcat process color", prefix.LogcatProcess, true, "\x1b[34mD(%5d) ", process)
	tailColor.After = suffix("\x1b[0m  (wrap.sh)")
	tailUser := line("logcat process uid", prefix.LogcatProcess, true, "D(10123:%5d) ", process)
	tailUser.After = suffix("  (wrap.sh)")
	long := line("logcat long", prefix.LogcatLong, true, "[ 11-20 15:58:12.%03d %5d:%5d I/wrap.sh  ]", both)
	long.Own = true
	longUser := line("logcat long uid epoch", prefix.LogcatLong, true, "[          1795190292.%03d  root:%5d:%5d I/wrap.sh  ]", both)
	longUser.Own = true
	raw := line("logcat raw", prefix.KindNone, false, "", nothing)
	return []Sample{
		line("logcat threadtime", prefix.LogcatThreadtime, true, "11-20 15:58:12.%03d %5d %5d I wrap.sh : ", both),
		threadtime("year", "2026-11-20 15:58:12.%03d"),
		threadtime("usec", "11-20 15:58:12.%03d456"),
		threadtime("nsec", "11-20 15:58:12.%03d456789"),
		threadtime("year zone", "2026-11-20 15:58:12.%03d +0900"),
		threadtime("UTC", "11-20 15:58:12.%03d +0000"),
		threadtime("epoch", "         1795190292.%03d"),
		threadtime("monotonic", "  1362.%03d"),
		threadtime("monotonic long", "1362123.%03d"),
		threadtime("epoch usec", "         1795190292.%03d456"),
		threadtime("uid number", "11-20 15:58:12.%03d 10123"),
		threadtime("uid name", "11-20 15:58:12.%03d  root"),
		threadtime("tizen", "11-20 15:58:12.%03d+0900"),
		color,
		line("logcat threadtime debug", prefix.LogcatThreadtime, true, "11-20 15:58:12.%03d %5d %5d F DEBUG   : ", both),
		cut(line("logcat threadtime cut", prefix.LogcatThreadtime, true, "11-20 15:58:12.%03d %5d %5d I "+longTag, both)),
		cut(line("logcat threadtime cut color", prefix.LogcatThreadtime, true, "\x1b[32m11-20 15:58:12.%03d %5d %5d I "+longTag, both)),
		line("logcat time", prefix.LogcatTime, true, "11-20 15:58:12.%03d I/wrap.sh (%5d): ", timed),
		line("logcat time uid", prefix.LogcatTime, true, "11-20 15:58:12.%03d I/wrap.sh ( 1000:%5d): ", timed),
		line("logcat time tizen", prefix.LogcatTime, true, "11-20 15:58:12.%03d+0900 I/APP_TAG (%5d): ", timed),
		line("logcat time tizen threads", prefix.LogcatTime, true, "11-20 15:58:12.%03d+0900 I/APP_TAG (P%5d, T%5d): ", both),
		line("logcat time monotonic", prefix.LogcatTime, true, "  1362.%03d I/wrap.sh (%5d): ", timed),
		brief("brief", "I/wrap.sh (%5d): "),
		brief("brief uid", "I/wrap.sh (u0_a1:%5d): "),
		brief("brief tag with spaces", "W/my tag x(y) (%5d): "),
		colorBrief,
		tail, tailColor, tailUser,
		line("logcat tag", prefix.LogcatTag, false, "I/wrap.sh : ", nothing),
		line("logcat thread", prefix.LogcatThread, true, "I(%5d:%5d) ", threads),
		line("logcat thread uid", prefix.LogcatThread, true, "I(10123:%5d:%5d) ", threads),
		line("logcat thread tizen", prefix.LogcatThread, true, "I(P%5d, T%5d) ", threads),
		raw, long, longUser,
		line("android studio", prefix.AndroidStudio, true, "2019-11-08 07:46:16.%03d %d-%d/? A/DEBUG: ", both),
		line("android studio package", prefix.AndroidStudio, true, "11-08 07:46:16.%03d %d-%d/com.example.app E/wrap.sh: ", both),
		line("android studio columns", prefix.AndroidStudio, true,
			"2024-10-22 13:56:48.%03d  %d-%d  DEBUG                   crash_dump64                         A  ", both),
	}
}

// system returns the formats of kernels, syslog, journald and Fuchsia.
func system() []Sample {
	return []Sample{
		line("fuchsia klog", prefix.FuchsiaKlog, true, "[01040.%03d] %05d.%05d> ", both),
		line("fuchsia klog colon", prefix.FuchsiaKlog, true, "[01040.%03d] %05d:%05d> ", both),
		line("fuchsia syslog", prefix.FuchsiaSyslog, true, "[01394.269%03d][%d][%d][klog] INFO: ", both),
		line("fuchsia syslog zero", prefix.FuchsiaSyslog, false, "[0][1][7][klog] INFO: ", nothing),
		named(line("ffx log", prefix.FuchsiaSyslog, false, "[12.%[2]d][core/c%[1]d] ERROR: ", reversed)),
		line("printk", prefix.Printk, false, "[ 1362.000%03d] ", index),
		line("printk caller", prefix.Printk, false, "[ 1362.000%03d][  T123] ", index),
		line("printk caller apart", prefix.Printk, false, "[    5.335%03d] [C1] ", index),
		line("printk level time", prefix.Printk, false, "<6>[ 1362.000%03d] ", index),
		line("printk level", prefix.PrintkLevel, false, "<4>", nothing),
		line("dmesg -x", prefix.Printk, false, "kern  :err   : [ 1362.000%03d] ", index),
		line("dmesg -T", prefix.Timestamp, false, "[Fri Nov 20 15:58:12 2026] ", nothing),
		line("kmsg", prefix.Kmsg, false, "6,1234,1362000%03d,-;", index),
		line("syslog rfc3164", prefix.SyslogBSD, true, "Nov 20 15:58:12 host prog[%d]: ", process),
		line("syslog rfc3164 early", prefix.SyslogBSD, true, "Nov  2 15:58:12 ip-172-31-2-154.ec2.internal scylla[%d]: ", process),
		line("syslog rfc3164 priority", prefix.SyslogBSD, true, "<13>Nov 20 15:58:12 host prog[%d]: ", process),
		line("syslog rfc3164 kernel", prefix.Printk, false, "Nov 20 15:58:12 host kernel: [ 1362.000%03d] ", index),
		line("syslog rfc5424", prefix.SyslogIETF, true, "<14>1 2026-11-20T15:58:12.%03dZ host prog %d - - ", timed),
		line("syslog rfc5424 data", prefix.SyslogIETF, true,
			"<165>1 2026-11-20T15:58:12.%03d+01:00 host prog %d ID47 [a@1 x=\"]\\\" \"][b@1] \xef\xbb\xbf", timed),
		line("journald short-precise", prefix.SyslogBSD, true, "Nov 20 15:58:12.000%03d host prog[%d]: ", timed),
		line("journald no-hostname", prefix.SyslogBSD, true, "Nov 20 15:58:12 prog[%d]: ", process),
		line("journald short-iso", prefix.SyslogISO, true, "2026-11-20T15:58:12+0100 host prog[%d]: ", process),
		line("journald short-iso-precise", prefix.SyslogISO, true, "2026-11-20T15:58:12.000%03d+01:00 host prog[%d]: ", timed),
		line("journald short-full", prefix.JournalFull, true, "Fri 2026-11-20 15:58:12 CET host prog[%d]: ", process),
		line("journald with-unit", prefix.JournalFull, true, "Fri 2026-11-20 15:58:12 UTC host app.service[%d]: ", process),
		line("journald short-monotonic", prefix.JournalMonotonic, true, "[ 1362.609%03d] host prog[%d]: ", timed),
		line("journald short-delta", prefix.JournalMonotonic, true, "[ 1362.609%03d <    0.000003 >] host prog[%d]: ", timed),
		line("journald short-unix", prefix.JournalUnix, true, "1795190292.114%03d host prog[%d]: ", timed),
	}
}

// named says that a format's units are made from the process ID.
func named(s Sample) Sample {
	s.Unit = true
	return s
}
