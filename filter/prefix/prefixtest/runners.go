package prefixtest

import (
	"fmt"

	"qss-filter/filter/prefix"
)

// runners returns the formats of containers, CI systems, test runners and the loggers inside of programs.
func runners() []Sample {
	color := named(line("compose color", prefix.Compose, false, "\x1b[36msvc-%d  | \x1b[0m", process))
	old := named(line("compose v1 color", prefix.Compose, false, "\x1b[36msvc_%d  |\x1b[0m ", process))
	return []Sample{
		line("cri", prefix.CRI, false, "2026-11-20T15:58:12.000000%03dZ stderr F ", index),
		line("cri zone", prefix.CRI, false, "2026-11-20T15:58:12.123456%03d+01:00 stdout F ", index),
		named(line("compose", prefix.Compose, false, "svc-%d  | ", process)),
		named(line("foreman", prefix.Compose, false, "15:58:12 web.%d   | ", process)),
		color, old,
		named(line("kubectl", prefix.Kubectl, false, "[pod/web-7d4b9-%d/app] ", process)),
		line("timestamp", prefix.Timestamp, false, "2026-11-20T15:58:12.%03dZ ", index),
		line("timestamp docker", prefix.Timestamp, false, "2026-11-20T15:58:12.123456%03dZ ", index),
		line("timestamp space", prefix.Timestamp, false, "2026-11-20 15:58:12,%03d ", index),
		line("timestamp brackets", prefix.Timestamp, false, "[2026-11-20T15:58:12.%03dZ] ", index),
		line("ts", prefix.Timestamp, false, "Nov 20 15:58:12 ", nothing),
		line("ts -i", prefix.Timestamp, false, "00:00:12 ", nothing),
		line("ts %.s", prefix.Timestamp, false, "1795190292.114%03d ", index),
		line("github actions", prefix.GitHubActions, false, "2026-11-20T15:58:12.0000%03dZ ", index),
		line("github actions mark", prefix.GitHubActions, false, "\ufeff2026-11-20T15:58:12.0000%03dZ ", index),
		named(line("github job", prefix.GitHubJob, false, "test (%d, ubuntu)\tRun tests\t2026-11-20T15:58:12.0000%03dZ ", reversed)),
		named(line("github job mark", prefix.GitHubJob, false, "test (%d)\tUNKNOWN STEP\t\ufeff2026-11-20T15:58:12.0000%03dZ ", reversed)),
		line("gitlab", prefix.GitLab, false, "2026-11-20T15:58:12.962%03dZ 00O ", index),
		named(line("ctest", prefix.CTest, false, "%d: ", process)),
		line("gtest-parallel", prefix.TestCount, false, "[%d/1000] ", index),
		line("go test", prefix.GoTest, false, "    x_test.go:12: ", nothing),
		line("go test subtest", prefix.GoTest, false, "        x_test.go:12: ", nothing),
		line("bazel", prefix.Bazel, false, "(15:58:12) INFO: ", nothing),
		line("pytest", prefix.Pytest, false, "E   ", nothing),
		line("glog", prefix.Glog, false, "I20261120 15:58:12.000%03d 22193 glog_crash.cc:6] ", index),
		line("abseil", prefix.Glog, false, "E1120 15:58:12.000%03d   22193 crash.cc:6] ", index),
		line("abseil early", prefix.Glog, false, "W0000 00:00:1795190292.000%03d   22193 crash.cc:6] ", index),
		line("chromium", prefix.Chromium, true, "[%d:%d:0522/203957.919%03d:FATAL:chrome_extensions_browser_client.cc(148)] ", stamps),
		line("chromium short", prefix.Chromium, false, "[0522/203957.919%03d:VERBOSE1:a/b.cc(148)] ", index),
		line("spdlog", prefix.Spdlog, false, "[2020-07-03 19:23:29.%03d][12][critical][backtrace] ", index),
		line("valgrind", prefix.Valgrind, true, "==%d== ", process),
		line("valgrind time", prefix.Valgrind, true, "==00:00:00:00.%03d %d== ", timed),
		line("valgrind verbose", prefix.Valgrind, true, "--%d-- ", process),
		named(line("mpi", prefix.MPI, false, "[1,%d]<stderr>:", process)),
		named(line("mpi prte", prefix.MPI, false, "[prterun-host-77@1,%d]<stdout>: ", process)),
		line("mpi detailed", prefix.MPI, true, "[1,0][host:%d]<stderr>: ", process),
		named(line("mpi time", prefix.MPI, false, "Fri Nov 20 15:58:12 2026[1,%d]<stderr>:", process)),
		line("ray", prefix.Ray, true, "(RayWorkerWrapper pid=%d) ", process),
		line("ray other machine", prefix.Ray, true, "(train.<locals>.fit(rank=0) pid=%d, ip=10.0.0.7) ", process),
		line("ray color", prefix.Ray, true, "\x1b[36m(RayWorkerWrapper pid=%d)\x1b[0m ", process),
		named(line("torchrun", prefix.Torchrun, false, "[rank%d]: ", process)),
		line("gecko", prefix.Gecko, true, " 4:16.44 GECKO(%d) ", process),
		line("mozharness", prefix.Gecko, true, "15:58:12     INFO - GECKO(%d) | ", process),
		line("wpt", prefix.Gecko, true, "15:58:12     INFO - PID %d | ", process),
	}
}

// objects returns the loggers that write JSON objects. Their Kind is none: that is for the text inside.
func objects() []Sample {
	object := func(name string, pid bool, before, after string) Sample {
		return Sample{Name: name, PID: pid, JSON: true, Before: func(p, i int) string {
			return before
		}, After: func(p, i int) string { return fmt.Sprintf(after, p, i%1000) }}
	}
	return []Sample{
		object("docker json-file", false, `{"log":"`, `\n","stream":"stderr","time":"2026-11-20T15:58:12.%09[2]dZ"}`),
		object("journald json", true, `{"MESSAGE":"`, `","_HOSTNAME":"host","_PID":"%d","__REALTIME_TIMESTAMP":"1795190292%06d"}`),
		object("ndjson pid", true, `{"level":"error","msg":"`, `","pid":%d,"n":%d}`),
		object("ndjson ecs", true, `{"message":"`, `","process":{"pid":%d,"thread":{"id":%d}}}`),
		named(object("fluent-bit", false, `{"log":"`, `","kubernetes":{"pod_name":"p-%d","container_name":"app","n":%d}}`)),
		named(object("go test -json", false, `{"Time":"2026-11-20T15:58:12Z","Action":"output","Output":"`, `\n","Package":"p%d","Elapsed":%d}`)),
	}
}
