package prefix

import (
	"testing"
	"time"
)

func TestDate(t *testing.T) {
	zone := time.Local
	time.Local = time.FixedZone("", 3600)
	defer func() { time.Local = zone }()
	before := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for line, want := range map[string]string{
		"2026-01-02T03:04:05.678Z stderr F ":              "2026-01-02T03:04:05Z",
		"2026-01-02T03:04:05.678+02:00 host app[1]: ":     "2026-01-02T01:04:05Z",
		"2026-01-02 03:04:05,678 ERROR ":                  "2026-01-02T02:04:05Z",
		"[2026/01/02 03:04:05 UTC] ":                      "2026-01-02T03:04:05Z",
		"2026-01-02 03:04:05.678 +0100 ":                  "2026-01-02T02:04:05Z",
		"01-02 03:04:05.678  4677  4677 F DEBUG   : ":     "2026-01-02T02:04:05Z",
		"12-31 03:04:05.678  4677  4677 F DEBUG   : ":     "2025-12-31T02:04:05Z",
		"Jan  2 03:04:05 host app[1]: ":                   "2026-01-02T02:04:05Z",
		"[Fri Jan 02 03:04:05 2015] [error] ":             "2015-01-02T02:04:05Z",
		"I0102 03:04:05.678901  1 a.cc:1] ":               "2026-01-02T02:04:05Z",
		"F20150102 03:04:05.678901  1 a.cc:1] ":           "2015-01-02T02:04:05Z",
		`1.2.3.4 - - [02/Jan/2015:03:04:05 +0000] `:       "2015-01-02T03:04:05Z",
		"1420167845.123456 host app: ":                    "2015-01-02T03:04:05Z",
		"<6>[12345.678901] ":                              "",
		"10:04:05.678 ":                                   "",
		"2026-13-02 03:04:05 ":                            "",
		"#0 0x7fa52731c130 (/usr/lib/libdemo-1.2.3.so+0x": "",
		"version 2026-01-02 of it ":                       "",
	} {
		at, ok := Date([]byte(line), before)
		got := ""
		if ok {
			got = at.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if at, ok := Date([]byte("01-02 03:04:05.678  1  1 I a: "), time.Time{}); ok {
		t.Errorf("a date without a year is %v", at)
	}
}
