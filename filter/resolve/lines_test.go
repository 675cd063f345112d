package resolve

import (
	"testing"
	"time"

	"qss-filter/symsrc"
)

func TestLinesNow(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC) }
	const dated = "2026-11-15T00:00:00Z "
	for _, tc := range []struct {
		name             string
		written, changed time.Time
		prefix           string
		verified, marked bool
	}{
		{"a file older than the log", at(20), at(10), "", false, false},
		{"a newer one", at(10), at(20), "", false, true},
		{"as old", at(10), at(10), "", false, true},
		{"of a build ID", at(10), at(20), "", true, false},
		{"nothing is known of the log", time.Time{}, at(10), "", false, true},
		{"nothing is known of the file", at(20), time.Time{}, "", false, true},
		{"a date in the log", time.Time{}, at(10), dated, false, false},
		{"an older one", time.Time{}, at(20), dated, false, true},
		{"a date before the file was written", at(20), at(17), dated, false, true},
		{"a date after that", at(12), at(13), dated, false, true},
	} {
		l := lines{compared: true, written: tc.written}
		l.begin([]byte(tc.prefix))
		a := &Answer{Module: &Module{Files: &symsrc.Files{Unverified: !tc.verified, Changed: tc.changed}}, Frames: []symsrc.Frame{{Func: "f", Line: 1}}}
		got := l.mark(a)
		if got.Frames[0].LineNow != tc.marked || a.Frames[0].LineNow {
			t.Errorf("%s: %v, want %v", tc.name, got.Frames[0].LineNow, tc.marked)
		}
		if again := l.mark(a); again != got {
			t.Errorf("%s: another answer", tc.name)
		}
		if l.mark(got) != got {
			t.Errorf("%s: marked twice", tc.name)
		}
	}
}
